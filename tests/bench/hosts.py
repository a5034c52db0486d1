# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Hosts that share a PostgreSQL and a store, behind an upstream whose answers are late: how much
faster three and four of them are than one, and how long nothing is made when one hands over. And
what a hundred hosts cost their PostgreSQL."""
import contextlib
import os
import statistics
import subprocess
import time
from pathlib import Path

from database import Missing, Postgres
from fleet import Fleet
from rig import Case, inventory
from rows import RUNS, ZOOM, verdict
from seeders import Tileseed
from tileseed_httpd import wait_until
from upstreams import SPENT, TICKS, stat_of

WANTED = {3: 2.9, 4: 3.8}       # hosts -> times the tiles/s of one
LEASE = 'TileSeedLease 5s'      # the default, which the tests' is not
THREADS = 64                    # of the task; the connections of all hosts are fewer
MANY = int(os.environ.get('BENCH_HOSTS', 100))
SECONDS = int(os.environ.get('BENCH_HOSTS_SECONDS', 60))
PATIENCE = {('small', 'killed'): 10, ('large', 'killed'): 10, ('small', 'drained'): 1}
PAGES = 100_000                 # of large books, all of one level
PAGES_LEVEL = 14                # which has 512 x 512 pages
FILL = '''
    INSERT INTO page (tileset, z, x, y, names, files, bytes, allocated, accessed, heat, written,
        dirty)
    SELECT id, %s, n / 512, n %% 512, 1024, 1024, 9000000, 9000000, 1790000000 + n,
        300000000 + n, 1780000000, 0
    FROM tileset, generate_series(0, %s - 1) AS n;
    UPDATE tileset SET (pages, names, files, bytes, allocated) =
        (SELECT count(*), sum(names), sum(files), sum(bytes), sum(allocated) FROM page)'''
SIZES = ("SELECT relname, pg_total_relation_size(relid) FROM pg_stat_user_tables"
         " WHERE relname IN ('host', 'portion', 'task') ORDER BY 1")


class Host(Tileseed):
    """The next one of hosts."""

    def __init__(self, rig, case, server, hosts):
        first = hosts[0] if hosts else None
        name = f'web{len(hosts) + 1}'
        super().__init__(rig, case, lambda _cache: f'TileSeedHost {name}\n{LEASE}\n', server,
                         first and first.cache)
        if first:
            self.httpd.database = first.httpd.database

    def state(self):
        """The state of its seeder."""
        return self.httpd.get('/rest/overview.json').json()['seeder']['state']

    def is_there(self):
        """Whether it works or stands by."""
        return self.state() in ('WORKING', 'STANDBY')


def speed(rig, case, server, count):
    """The tiles a second of so many hosts."""
    with contextlib.ExitStack() as stack:
        hosts = []
        for _ in range(count):
            hosts.append(stack.enter_context(Host(rig, case, server, hosts)))
            wait_until(hosts[-1].is_there, what='a host that works or stands by')
        found = rig.finish(case, hosts[0].seed(threadCount=THREADS))
    return found.tiles / found.seconds


def fleet(rig):
    """One host, then three, then four."""
    try:
        server = Postgres(is_own=True).start(settings=('fsync=on',))
    except Missing as missing:
        yield f'-      {missing}'
        return
    case = Case('plain', ZOOM + 1, links=True, delay=200, in_flight=4)
    try:
        speeds = {count: speed(rig, case, server, count) for count in (1, *WANTED)}
    finally:
        server.end()
    yield '       fleet        ' + ', '.join(f'{count}: {found:.0f} tiles/s'
                                              for count, found in speeds.items())
    for count, wanted in WANTED.items():
        yield verdict('fleet', f'tiles/s of one host, by {count}', speeds[count] / speeds[1],
                      wanted, True)


def fill_books(server, host):
    """Adds many pages to the books of a host, and has it read them."""
    host.httpd.stop()
    with contextlib.closing(server.connect(host.httpd.database)) as connection:
        connection.cursor().execute(FILL, (PAGES_LEVEL, PAGES))
    host.start()
    wait_until(lambda: host.state() == 'WORKING', what='large books that are read')


def until_next(cache, other, hand_over):
    """Seconds from the begin of a handing over until the other host has stored a tile."""
    begun = time.monotonic()
    hand_over()
    wait_until(lambda: other.state() == 'WORKING', what='the other host at work', longest=.02)
    before = inventory(cache)[0]
    wait_until(lambda: inventory(cache)[0] > before, what='a new tile', longest=.02)
    return time.monotonic() - begun


def killed_and_drained(rig, server, is_large):
    """Seconds until another host makes tiles: after the end of the host that works, and when it
    drains."""
    case = Case('plain', ZOOM + 2, delay=200, in_flight=4)
    with contextlib.ExitStack() as stack:
        one = stack.enter_context(Host(rig, case, server, []))
        wait_until(one.is_there, what='a host that works')
        one.post(zoomStop=0)
        wait_until(one.is_idle, what='a tile set in the books')
        if is_large:
            fill_books(server, one)
        other = stack.enter_context(Host(rig, case, server, [one]))
        wait_until(other.is_there, what='a host that stands by')
        one.post(threadCount=THREADS)
        wait_until(lambda: inventory(one.cache)[0] > 100, what='some tiles')
        killed = until_next(one.cache, other, lambda: Fleet.kill(one.httpd))
        one.start()
        wait_until(lambda: one.state() == 'STANDBY', what='the first host again')
        drained = until_next(one.cache, one, lambda: other.httpd.put(
            '/rest/hosts/web2', '{"state": "draining"}'))
        assert not one.is_idle(), 'tiles that are still to be made'
    return killed, drained


def takeover(rig):
    """A host is killed, and another one drained, amid a task; with small books and with large."""
    try:
        server = Postgres(is_own=True).start(settings=('fsync=on',))
    except Missing as missing:
        yield f'-      {missing}'
        return
    try:
        found = {books: zip(*[killed_and_drained(rig, server, books == 'large')
                              for _ in range(RUNS)]) for books in ('small', 'large')}
    finally:
        server.end()
    for books, runs in found.items():
        for what, seconds in zip(('killed', 'drained'), runs):
            yield f'       takeover     {books} books, {what}: ' + ' '.join(
                f'{value:.2f}' for value in sorted(seconds)) + ' s'
            if (books, what) in PATIENCE:
                yield verdict('takeover',
                              f's until another host makes tiles, {what}, {books} books',
                              statistics.median(seconds), PATIENCE[books, what], False)


def spent(server):
    """CPU seconds of a PostgreSQL: of its processes that are there, and of those that were."""
    main = server.process.pid
    ticks = sum(map(int, stat_of(main)[SPENT]))
    for path in Path('/proc').glob('[0-9]*'):
        stat = stat_of(path.name)
        if stat[1] == str(main):
            ticks += sum(map(int, stat[SPENT][:2]))
    return ticks / TICKS


def table_sizes(server, name):
    """Bytes of the tables that change all the time."""
    with contextlib.closing(server.connect(name)) as connection:
        cursor = connection.cursor()
        cursor.execute(SIZES)
        return dict(cursor.fetchall())


def many_hosts(rig):
    """A hundred simulated hosts at a task of 10^9 metatiles."""
    try:
        server = Postgres(is_own=True).start(settings=('fsync=on', f'max_connections={MANY + 20}'))
    except Missing as missing:
        yield f'-      {missing}'
        return
    try:
        name = server.database()
        with subprocess.Popen([rig.programs / 'hosts_load', server.params(name), str(MANY),
                               str(SECONDS)], stdout=subprocess.PIPE, text=True) as load:
            assert load.stdout.readline() == 'ready\n'
            before, begun = spent(server), time.monotonic()
            time.sleep(SECONDS / 2)
            half = table_sizes(server, name)
            time.sleep(SECONDS / 2 - 1)     # what has just ended is in no sum for a moment
            cpu = (spent(server) - before) / (time.monotonic() - begun)
            done = load.stdout.readline().strip()
            sizes = table_sizes(server, name)
    finally:
        server.end()
    growth = ', '.join(f'{table} {half[table] >> 10} {sizes[table] >> 10}' for table in sizes)
    yield (f'       many_hosts   {MANY} hosts, {done}; KiB after {SECONDS // 2} and {SECONDS} s: '
           + growth)
    yield verdict('many_hosts', 'of a core for PostgreSQL', cpu, .5, False)
    yield verdict('many_hosts', 'rows a second and host', int(done.split()[0]) / MANY, 25, False)
