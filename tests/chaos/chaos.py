# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Chaos: clients that do at random what clients do, while a killer does what can happen to httpd.

    make chaos CHAOS_MINUTES=5 CHAOS_SEED=7 CHAOS_ACTORS=painter,leavers
    make chaos CHAOS_ACTORS=painter CHAOS_FLAGS=--alone
    make chaos DATABASE=pgsql
    make chaos-fleet CHAOS_MINUTES=30

When the time is over and all tasks have ended, what was answered is compared with what there is,
and each tile, on the disk and as a browser is shown it, with what a calculation says (truth.py). It
prints what it did and a line for each violation; with one or more of them it ends with status 1 and
keeps its folder. Disturbances begin after a third of the time, so that clients meet undisturbed as
well. One seed gives the same clients and the same disturbances in the same order; how they meet is
the machine's doing.
"""
import argparse
import collections
import contextlib
import datetime
import http.client
import pathlib
import pickle
import re
import resource
import shutil
import statistics
import sys
import threading
import time

sys.path[:0] = [str(pathlib.Path(__file__).parent),
                str(pathlib.Path(__file__).parents[1] / 'httpd')]

import actors                                                            # noqa: E402
from books import Books, misbooked                                       # noqa: E402
from checker import ledger, processed, violations                        # noqa: E402
from clients import DATA, DEEP, LIMITS, PAINTED, SUNK, TILESETS, crowd, limit  # noqa: E402
from crashes import is_fault_of_httpd                                    # noqa: E402
from database import Postgres                                            # noqa: E402
from disk import BLOCK, Disk                                             # noqa: E402
from journal import Disturbance, Journal, Seen, tiles_between            # noqa: E402
from fleet_killer import FleetKiller                                     # noqa: E402
from killer import Killer                                                # noqa: E402
from seeding import REST, SMALL_GRID, failures, layer, rows              # noqa: E402
from source import Source                                                # noqa: E402
from tileseed_httpd import MPMS, Httpd, wait_until                       # noqa: E402
from truth import Truth, survey                                          # noqa: E402

SLOW_SECONDS = 0.001        # that a closedir, rename or unlink takes
CALM = 3                    # so large a part of the time nothing is disturbed
LEASE = '5s'                # of one host among several
DRAIN_SECONDS = 120
SETTLE_SECONDS = 90         # marks outlast the work, by a minute at most
THREADS = 8
MOST_TOLD = 50              # violations of a kind
CRASH = re.compile(r'^\[([^]]+)\].* AH0005[12]: child pid (\d+) exit signal '
                   r'(?!Killed|Terminated)(.*)', re.M)
STOPS = ('restart', 'stop_start')      # they send SIGTERM to the children
BOARD = re.compile(r'the board (?:is )?(.*)')          # what seeders say of it
LOST = (AssertionError, OSError, http.client.HTTPException)


TILES = f'''
<Location "/tiles">
    TileSeedTiles on
    Require local
</Location>
TileSeedDiskQuota on {LIMITS[1]}MiB every=1s blocksize={BLOCK}
TileSeedDiskQuotaGrace 0s
TileSeedMissWaiters 200 client=200
'''


def layers(url, names):
    """The layers of clients.TILESETS, and of some actors, over the stub upstream."""
    lines = collections.defaultdict(list)
    for tileset in TILESETS:
        own = lines[tileset.layer]
        own.append(f'TileSeedSource wms upstream:stub layers={tileset.data}')
        own.append(f'TileSeedFormat {tileset.format}')
        if tileset.style:
            own.append(f'TileSeedParameter STYLES "default=" value={tileset.style}')
    lines.update(actors.layers(names))
    return SMALL_GRID + (f'TileSeedUpstream stub {url} connections=8\n'
                         f'TileSeedUpstream flaky {url} connections=8\n'
                         f'TileSeedUpstream sleepy {url} connections=8\n') + ''.join(
        layer(name, 'TileSeedGrid small', *dict.fromkeys(own),
              options='link-uniform=off' if name == 'mood' else '')
        for name, own in lines.items())


class Run:
    """One run: private httpds, which share database and cache if there are several, their clients,
    their killer, and the journal of it all."""
    HANG_SECONDS = 5

    def __init__(self, seed, mpm=None, verbose=False, names=(), postgres=None, count=1,
                 is_alone=False):
        self.seed = seed
        self.actors = names
        self.is_alone = is_alone
        self.verbose = verbose
        self.begun = time.time()
        self.truth = Truth(DATA)
        self.journal = Journal(history=self.truth.history, begun=self.begun)
        self.enough = threading.Event()
        self.limits = threading.Lock()      # who has it changes them
        self.broken = []            # what went wrong with the run itself
        self.remaining = 0          # tiles, by the last status list
        self.boards = []            # what seeders have said of them
        self.source = Source(seed, self.truth)
        first = seed % len(MPMS)
        self.mpms = [mpm] if mpm else MPMS[first:] + MPMS[:first]
        self.hosts = [Httpd(self.mpms[0], postgres=postgres) for _ in range(count)]
        self.journal.hosts = [f'web{number}' for number in range(1, count + 1)]
        cache = self.hosts[0].folder('cache')
        for name, httpd in zip(self.journal.hosts, self.hosts):
            httpd.name = name
            httpd.database = self.hosts[0].database
            httpd.make_mischief()
            if {'neighbours', 'painter'} & {*names}:    # truncates of a cold disk take their time
                httpd.mischief.slow(cache, SLOW_SECONDS)
        self.disk = Disk(cache)
        self.books = Books(self.hosts)
        self.config = (REST + TILES + layers(self.source.url, names) +
                       f'TileSeedThreads {THREADS}\n'
                       f'TileSeedHangTimeout {self.HANG_SECONDS}s\nMaxConnectionsPerChild 20\n'
                       'LogLevel tileseed:debug\n<IfModule mpm_event_module>\n'
                       'LogLevel tileseed:debug mpm_event:debug\n'        # when children retire
                       '</IfModule>\n').replace('@ROOT@/cache', str(cache))

    def say(self, words):
        """Progress, for whoever asked for it."""
        if self.verbose:
            print(f'{time.time() - self.begun:7.1f} {words}', flush=True)

    def name_slowly(self, seconds):
        """Each link and rename takes that long from now on, as over a network."""
        for httpd in self.hosts:
            httpd.mischief.name_slowly(self.disk.cache, seconds)

    def start(self, httpd):
        """Starts an httpd with the next MPM."""
        self.mpms.append(self.mpms.pop(0))
        httpd.mpm = self.mpms[-1]
        of_many = f'TileSeedHost {httpd.name}\nTileSeedLease {LEASE}\n'
        httpd.start(self.config + (of_many if len(self.hosts) > 1 else ''))

    def play(self, seconds):
        """The whole run, from the first start to the last stop."""
        for httpd in self.hosts:
            self.start(httpd)
        killer = killer_of(self)
        clients = ([] if self.is_alone else crowd(self)) + actors.cast(self, self.actors)
        try:
            for client in clients:
                client.start()
            until = time.time() + seconds
            time.sleep(seconds / CALM)
            killer.work(until)
        finally:
            self.enough.set()
            for client in clients:
                client.join()
        self.say('draining')
        self.drain()
        self.journal.rested = time.time()
        self.settle()
        self.look_up()
        self.look_over_http(clients)
        self.journal.disturbances.append(Disturbance('stop_start', time.time()))
        for httpd in self.hosts:
            httpd.stop()
        self.look_at_rest(killer)

    def drain(self):
        """Waits until all tasks have ended."""
        try:
            wait_until(lambda: not rows(self.hosts[0]), DRAIN_SECONDS, 'the end of all tasks')
        except LOST as error:
            self.broken.append(str(error))

    def settle(self):
        """Waits until the cache is within its limit, and the books are sure of it."""
        def is_settled():
            value = limit(self.hosts[0].get('/rest/diskquota.json'))
            return self.disk.used() <= value << 20 and self.books.doubts() == (0, 0)
        try:
            wait_until(is_settled, SETTLE_SECONDS, 'an end of doubts within the limit')
        except LOST as error:
            self.broken.append(f'{error}: {self.disk.used()} bytes, {self.books.doubts()}')

    def look_up(self):
        """What httpd says of everything when it has come to rest."""
        posts = self.journal.posts
        last = max((post.task for post in posts if post.task), default=0)
        for task in range(1, last + len(posts)):
            answer = self.hosts[0].get(f'/rest/tasks/{task}.json')
            if answer.status == 200:
                self.journal.documents[task] = answer.json()
            elif task > last:
                break
        self.journal.quota = limit(self.hosts[0].get('/rest/diskquota.json'))

    def look_over_http(self, clients):
        """Asks for all tiles of data that change, and then whether what clients have kept is
        good."""
        journal = self.journal
        changing = [*(PAINTED if 'painter' in self.actors else ()),
                    *([SUNK] if 'sinker' in self.actors else ())]
        keys = [(tileset, tile) for tileset in changing for tile in tiles_between(0, DEEP, None)]
        found, journal.unserved, journal.confirmed = survey(
            self.hosts[0], journal.history, keys, [client.copies for client in clients])
        journal.seen += [Seen(*key, versions, sent) for key, (sent, versions) in found.items()]

    def look_at_rest(self, killer):
        """What httpd left behind."""
        journal = self.journal
        journal.tiles = self.disk.tiles()
        journal.evictions = self.books.evictions()
        journal.births = self.books.births()
        journal.standbys = self.books.standbys()
        journal.retired = self.books.retired()
        journal.shown, journal.damaged = self.disk.shown(journal.history)
        journal.open_tilesets = self.books.open_tilesets()
        journal.misbooked = misbooked(self.books, self.disk)
        journal.strays = self.disk.strays()
        for task, document in journal.documents.items():
            if document['tilesFailed']:
                journal.given_up[task] = [lost[:3] for lost in failures(self.hosts[0], task)]
        for httpd in self.hosts:
            self.look_at_host(httpd, killer)

    def look_at_host(self, httpd, killer):
        """What one of the httpds left behind."""
        journal = self.journal
        self.boards += BOARD.findall(httpd.error_log())
        journal.crashes += unexplained(httpd.error_log(), killer.killed, journal.disturbances,
                                       httpd.calls())
        journal.leftovers += [f'process {pid} ({name})' for pid, name in httpd.leftovers.items()]
        if httpd.listens():
            journal.leftovers.append(f'a socket that listens on port {httpd.port}')
        journal.leftovers += segments(httpd.sessions)

    def violations(self):
        """Everything that is wrong."""
        boards = [f'the board {words}' for words in self.boards if 'wrong' in words]
        reports = [report for httpd in self.hosts for report in httpd.reports()]
        return self.broken + reports + boards + violations(self.journal)

    def report(self):
        """What was done, as lines."""
        journal = self.journal
        states = collections.Counter(document['state'] for document in journal.documents.values())
        kinds = collections.Counter(event.kind for event in journal.disturbances)
        failed = collections.Counter(str(failure.status or 'cut') for failure in journal.failures)
        ways = collections.Counter(seen.how.split()[0] for seen in journal.seen)
        taken = [request[1] for request in journal.requests] or [0]
        return [
            f'seed {self.seed}, {time.time() - self.begun:.0f} s, '
            f'actors {", ".join(self.actors) or "none"}',
            f'requests {len(journal.requests)}, without success {counted(failed)}, '
            f'median {statistics.median(taken) * 1000:.1f} ms, slowest {max(taken):.1f} s',
            f'kills by kind {counted(kinds)}',
            f'children of event retired {len(journal.retired)}',
            f'boards taken over {self.boards.count("taken over")}, found sound '
            f'{self.boards.count("sound")} times',
            f'tasks {len(journal.documents)}, {counted(states)}',
            f'tiles {sum(map(processed, journal.documents.values()))} processed, '
            f'{len(journal.tiles)} on the disk, upstream requests {self.source.count()}',
            f'pages removed for the quota {len(journal.evictions)}, at most '
            f'{max((sample.used for sample in journal.samples), default=0) / 2 ** 20:.1f} MiB seen '
            f'in {len(journal.samples)} samples, tiles read {len(journal.reads)}',
            f'tiles compared with the calculation {len(journal.shown)} on the disk, '
            f'{len(journal.seen)} over HTTP, {counted(ways)}; changes of the data '
            f'{sum(journal.history.versions.values())}, truncates, reseeds and retries that '
            f'replaced them {sum(map(len, ledger(journal).lines.values()))}',
            f'limits lowered and left alone {len(journal.tides)}, reached after at most '
            f'{max(journal.tides, default=0):.1f} s',
        ]

    def finish(self, keep=False):
        """Ends what is left, and removes the folder or leaves the journal in it."""
        for httpd in self.hosts:
            httpd.stop()
            if not keep:
                shutil.rmtree(httpd.root, ignore_errors=True)
        self.source.finish()
        if keep:
            self.hosts[0].path('journal.pickle').write_bytes(pickle.dumps(self.journal))


def killer_of(run):
    """Who disturbs a run."""
    return FleetKiller(run) if len(run.hosts) > 1 else Killer(run)


def unexplained(log, killed, disturbances, calls):
    """Processes that died of a signal that nobody sent, but for those that httpd itself kills when
    it ends its children (crashes.py)."""
    return [f'process {pid}: {signal}\n{calls.get(int(pid), "")}'
            for when, pid, signal in CRASH.findall(log)
            if int(pid) not in killed and not (
                is_stop(when, disturbances) and
                is_fault_of_httpd(calls.get(int(pid), '')))]


def is_stop(when, disturbances):
    """Whether httpd was being stopped at a time of its error log."""
    time_ = datetime.datetime.strptime(when, '%a %b %d %H:%M:%S.%f %Y').timestamp()
    return any(event.kind in STOPS and event.begun <= time_ <= (event.ended or time_)
               for event in disturbances)


def counted(counter):
    """'2 of this, 1 of that'"""
    return ', '.join(f'{count} {name}' for name, count in sorted(counter.items())) or 'none'


def segments(creators):
    """Shared segments of System V whose creators were those processes."""
    with open('/proc/sysvipc/shm', encoding='ascii') as table:
        names, *lines = [line.split() for line in table]
    creator = names.index('cpid')
    return [f'segment {line[1]}' for line in lines if int(line[creator]) in creators]


def print_some(lines):
    """Prints violations, but no more than a few of each kind."""
    told = collections.Counter()
    for line in lines:
        kind = line.split(':')[0]
        told[kind] += 1
        if told[kind] <= MOST_TOLD:
            print(f'  {line}')
    for kind, count in told.items():
        if count > MOST_TOLD:
            print(f'  {kind}: {count - MOST_TOLD} more')


def names_of(text):
    """Names of actors, from the command line."""
    names = [name for name in text.split(',') if name]
    unknown = {*names} - actors.ACTORS.keys()
    if unknown:
        raise argparse.ArgumentTypeError(f'no actor is called {", ".join(sorted(unknown))}')
    return names


def main():
    """The command."""
    parser = argparse.ArgumentParser(description='Disturbs httpd at random and checks all promises')
    parser.add_argument('--minutes', type=float, default=5)
    parser.add_argument('--seed', type=int, default=int(time.time()))
    parser.add_argument('--mpm', choices=MPMS, help='default: all in turn')
    parser.add_argument('--actors', default=actors.USUAL, type=names_of,
                        help=f'those of {",".join(actors.ACTORS)} that take part beside the usual '
                             'clients, by default %(default)s')
    parser.add_argument('--alone', action='store_true',
                        help='the actors have all to themselves: no usual clients')
    parser.add_argument('--verbose', action='store_true', help='say what is disturbed when')
    parser.add_argument('--database', choices=('sqlite3', 'pgsql'), default='sqlite3',
                        help='of the state; a private PostgreSQL is disturbed as well')
    parser.add_argument('--hosts', type=int, default=1,
                        help='that share a PostgreSQL and the cache')
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.ExitStack() as stack:
        postgres = None
        if options.database == 'pgsql' or options.hosts > 1:
            postgres = Postgres(is_own=True).start()
            stack.callback(postgres.end)
        run = Run(options.seed, options.mpm, options.verbose, options.actors, postgres,
                  options.hosts, options.alone)
        found = ['the run was interrupted']
        try:
            run.play(options.minutes * 60)
            found = run.violations()
        finally:
            run.finish(keep=bool(found))
            print('\n'.join(run.report()))
            print(f'violations {len(found)}' +
                  (f', see {" ".join(str(httpd.root) for httpd in run.hosts)}' if found else ''))
            print_some(found)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
