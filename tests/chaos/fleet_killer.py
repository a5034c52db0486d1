# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The killer of a fleet: it disturbs a host at random, more often the one that works, and does what
can happen to a machine and its network. Clocks are left alone, because logs and files are compared
by their times; test_hosts.py and test_clock.py set them."""
import contextlib
import json
import os
import signal
import time

from database import opened
from fleet import Fleet
from journal import Disturbance
from killer import Killer
from tileseed_httpd import wait_until

TAKEN_OVER = 60     # seconds in which another host must have the role


class FleetKiller(Killer):
    """Every disturbance is of one host; those of PostgreSQL and of the cache are of all."""

    def choose(self, kind):
        """Chooses a host for a disturbance, and begins it. What happens to a host that stands by
        hinders nobody who works."""
        active = self.active()
        hosts = self.run.hosts
        self.httpd = self.random.choice(hosts + [httpd for httpd in hosts if httpd.name == active])
        is_of_all = kind in self.PGSQL_KINDS or kind in ('cache_readonly', 'low_tide')
        return Disturbance(kind, time.time(),
                           bystander=not is_of_all and self.httpd.name != active)

    def active(self):
        """The name of the host that has the role."""
        with opened(self.run.hosts[0]) as state:
            return state.execute('SELECT host FROM role').fetchone()[0]

    def host_kill(self):
        """All processes of a host at once, as when its machine loses its power; it comes back."""
        Fleet.kill(self.httpd)
        time.sleep(self.random.uniform(0, 15))
        self.run.start(self.httpd)

    def host_pause(self):
        """All processes of a host stand still, as when its machine is moved, and go on."""
        pids = list(self.httpd.processes())
        for number, seconds in ((signal.SIGSTOP, self.random.choice((1, 4, 12, 20))),
                                (signal.SIGCONT, 0)):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(seconds)

    def drain(self):
        """A host gives its work away, and may have it again."""
        self.ask('draining')
        with contextlib.suppress(OSError):
            wait_until(lambda: self.active() != self.httpd.name, TAKEN_OVER,
                       f'a host that drains instead of {self.httpd.name}')
        time.sleep(self.random.uniform(0, 3))
        self.ask('active')

    def ask(self, state):
        """Sets the state of the host; any host takes the request, and says no for a moment at
        most."""
        def is_set():
            other = self.random.choice(self.run.hosts)
            try:
                return other.put(f'/rest/hosts/{self.httpd.name}',
                                 json.dumps({'state': state})).status == 200
            except OSError:
                return False
        wait_until(is_set, TAKEN_OVER, f'{self.httpd.name} {state}')

    KINDS = Killer.KINDS | {function.__name__: function for function in (
        host_kill, host_pause, drain)}
