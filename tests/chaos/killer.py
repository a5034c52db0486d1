# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The killer: does to httpd, to the seeder and to their directories what operators and hardware do.

One disturbance at a time; every kind comes once before any comes again.
"""
import os
import random
import signal
import time

from actors import Squeezer
from clients import TIGHT_LIMITS, TINY_LIMITS, Accountant
from database import opened
from journal import Disturbance
from seeding import seeder_of
from tileseed_httpd import wait_until

LOOKED_AT = 10      # seconds between two looks of httpd at its seeder
BACK_OFF = 35       # the longest time that a new seeder waits after quick deaths, and some
TIDE = 90           # seconds after which a lowered limit counts as never reached


class Killer:
    """Its generator hangs on the run's seed alone."""

    def __init__(self, run):
        self.run = run
        self.httpd = run.hosts[0]   # which it disturbs next
        self.random = random.Random(f'{run.seed} killer')
        self.kinds = self.KINDS | (self.PGSQL_KINDS if self.httpd.postgres else {})
        self.deck = []
        self.killed = set()         # processes that died of SIGSEGV because we sent it

    def work(self, until):
        """Disturbs until that time."""
        while time.time() < until:
            time.sleep(self.random.uniform(0.3, 3))
            if not self.deck:
                self.deck = sorted(self.kinds)
                self.random.shuffle(self.deck)
            kind = self.deck.pop()
            event = self.choose(kind)
            self.run.journal.disturbances.append(event)
            self.run.say(f'{kind} {self.httpd.name}')
            try:
                self.kinds[kind](self)
            except AssertionError as error:
                self.run.broken.append(f'{kind}: {error}')
            event.ended = time.time()

    def choose(self, kind):
        """Begins a disturbance."""
        return Disturbance(kind, time.time())

    # httpd

    def graceful(self):
        """apachectl graceful, one to three times in a row."""
        for _ in range(self.random.randint(1, 3)):
            self.httpd.graceful()

    def restart(self):
        """apachectl restart."""
        self.httpd.restart()

    def stop_start(self):
        """apachectl stop or graceful-stop, then start with the next MPM."""
        self.httpd.stop(self.random.choice((signal.SIGTERM, signal.SIGTERM, signal.SIGWINCH)))
        self.run.start(self.httpd)

    def child_kill(self):
        """One to three children of httpd, at any instant."""
        for _ in range(self.random.randint(1, 3)):
            children = sorted(pid for pid, name in self.httpd.processes().items()
                              if name != 'tileseed' and pid != self.httpd.process.pid)
            kill(self.random.choice(children) if children else None, signal.SIGKILL)
            time.sleep(self.random.uniform(0, 0.3))

    def parent_kill(self):
        """httpd's parent, then a start. Its children would go on serving, so they are killed; the
        seeder must see for itself that it is alone."""
        seeder = seeder_of(self.httpd)
        self.httpd.process.kill()
        self.httpd.process.wait()
        for pid in self.httpd.processes():
            if pid != seeder:
                kill(pid, signal.SIGKILL)
        wait_until(lambda: not self.httpd.listens(), 60, 'the end of the children')
        self.run.start(self.httpd)
        if seeder:
            wait_until(lambda: seeder not in self.httpd.processes(), 60, 'the old seeder\'s end')

    # The seeder

    def seeder_kill(self):
        """kill -9."""
        kill(seeder_of(self.httpd), signal.SIGKILL)

    def seeder_crash(self):
        """As if it had followed a wild pointer."""
        seeder = seeder_of(self.httpd)
        self.killed.add(seeder)
        kill(seeder, signal.SIGSEGV)

    def seeder_hang(self):
        """It stands still until httpd finds out."""
        seeder = seeder_of(self.httpd)
        kill(seeder, signal.SIGSTOP)
        if seeder:
            wait_until(lambda: seeder not in self.httpd.processes(),
                       self.run.HANG_SECONDS + LOOKED_AT + BACK_OFF, 'the end of a hanging seeder')

    # Directories

    def state_removed(self):
        """The state directory goes away, and comes back as it was."""
        state = self.httpd.path('state')
        away = self.httpd.path('state.away')
        state.rename(away)
        time.sleep(self.random.uniform(0.5, 4))
        if state.exists():
            self.run.broken.append('somebody made a new state directory in place of the old one')
            state.rename(self.httpd.path(f'state.{time.time()}'))
        away.rename(state)

    def state_readonly(self):
        """Neither the state directory nor what is in it can be written."""
        state = self.httpd.path('state')
        for directory, file in ((0o500, 0o400), (0o700, 0o600)):
            for path in state.iterdir():
                change_mode(path, file)
            change_mode(state, directory)
            if directory == 0o500:
                time.sleep(self.random.uniform(0.5, 4))

    def cache_readonly(self):
        """No directory of the cache can be written."""
        for mode in (0o555, 0o755):
            for folder, _, _ in os.walk(self.httpd.path('cache')):
                change_mode(folder, mode)
            if mode == 0o555:
                time.sleep(self.random.uniform(0.5, 3))

    def names_slow(self):
        """Each link and rename takes its time, as over a network."""
        for seconds in (self.random.choice((0.002, 0.005)), 0):
            self.run.name_slowly(seconds)
            if seconds:
                time.sleep(self.random.uniform(1, 5))

    # The limits

    def low_tide(self):
        """The limits are lowered, then left alone: what lies there comes down to them, whoever
        waits for room, whatever else clients do, and whatever was disturbed before."""
        with self.run.limits:
            self.lower(Accountant(self.run, 'tide', 0), None, 20, self.random.choice(TINY_LIMITS))
            if 'squeezer' in self.run.actors:
                self.lower(Squeezer(self.run, 'tide', 0), 'tight', 0, min(TIGHT_LIMITS))

    def lower(self, client, layer, shift, limit):
        """Has a client that is no thread set one, and waits until it is reached."""
        begun = time.time()
        if client.put(limit):
            wait_until(lambda: self.run.disk.used(layer) <= limit << shift, TIDE,
                       f'{limit << shift} bytes of {layer or "all layers"}')
            self.run.journal.tides.append(time.time() - begun)

    # PostgreSQL

    def connections_cut(self):
        """All connections end, a few times in a row."""
        for _ in range(self.random.randint(1, 10)):
            with opened(self.httpd) as state:
                state.execute('SELECT pg_terminate_backend(pid) FROM pg_stat_activity '
                              'WHERE datname = ? AND pid <> pg_backend_pid()',
                              (self.httpd.database,))
            time.sleep(self.random.uniform(0, 0.3))

    def database_crash(self):
        """The server ends in the middle of everything, and comes back after a while."""
        self.httpd.postgres.crash()
        time.sleep(self.random.uniform(0, 8))
        self.httpd.postgres.start()

    def database_hang(self):
        """No process of the server does anything, be it for longer than a lease is good for."""
        self.httpd.postgres.hang()
        time.sleep(self.random.choice((0.5, 2, 5, 20)))
        self.httpd.postgres.go_on()

    KINDS = {function.__name__: function for function in (
        graceful, restart, stop_start, child_kill, parent_kill, seeder_kill, seeder_crash,
        seeder_hang, state_removed, state_readonly, cache_readonly, names_slow, low_tide)}
    PGSQL_KINDS = {function.__name__: function for function in (
        connections_cut, database_crash, database_hang)}


def kill(pid, number):
    """Sends a signal to a process that may be gone already."""
    try:
        if pid:
            os.kill(pid, number)
    except ProcessLookupError:
        pass


def change_mode(path, mode):
    """Sets the mode of a path that may be gone already."""
    try:
        os.chmod(path, mode)
    except FileNotFoundError:
        pass
