# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What holds over all hosts of a database: rate, quota, truncates, and the order of locks."""
import bisect
import concurrent.futures
import os
import random
import signal

from PIL import Image

from database import opened
from quota import put, size, usage
from seeding import GRIDS, begin, counts, done, ended, seeder_of, stands, task, terminate
from test_hosts import LOST, put_state
from test_portions import fleet, packs     # pylint: disable=unused-import
from test_skew import hand_over
from test_tiles import TILES as TILES_LOCATION
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

RATE = 50           # requests a second
CONNECTIONS = 8     # of the stub, for each host
LAST = 5
OLD, NEW = 40, 200  # shades of grey
LIMIT = 4 << 20

pytestmark = one_mpm


def test_rate_of_hosts_that_come_and_go(fleet, upstream):
    """However often the role moves, no more requests are sent than rate= allows: in two seconds
    twice as many, those that a late stub has let pile up on the connections of one host, and a
    twentieth for what requests may take on their way."""
    fleet.polite = f'rate={RATE}/s'
    one, other, third = [fleet.add() for _ in range(3)]
    number = begin(third, 'stub', zoomStop=7, threadCount=64)
    for leaver, taker in ((one, other), (other, third), (third, one), (one, None)):
        seen = len(upstream.requests)
        wait_until(lambda seen=seen: len(upstream.requests) > seen + RATE, what='some requests')
        if taker:
            hand_over(fleet, leaver, taker)
    terminate(one)
    assert counts(ended(one, number))[0] > 0
    times = upstream.times
    for i, begun in enumerate(times):
        most = bisect.bisect_left(times, begun + 2) - i
        assert most <= 2 * RATE * 1.05 + CONNECTIONS, (most, begun - times[0])


def bytes_of_tiles(hosts):
    """What the tiles in the store take, a file once whatever its links."""
    found = {}
    for path in hosts.store.rglob('*.png'):
        try:
            info = path.stat()
        except FileNotFoundError:
            continue
        found[info.st_ino] = info.st_blocks * 512
    return sum(found.values())


def test_quota_smaller_than_what_hosts_make(fleet, upstream):
    """The tiles of three hosts never take more than the limit, and the books equal the disk."""
    fleet.meta = '4x4'
    hosts = [fleet.add() for _ in range(3)]
    put(hosts[1], enabled=True, globalExpirationPolicyName='LRU', globalQuota=size(4, 'MiB'))
    upstream.always = Fault('delay', 0.1)
    number = begin(hosts[2], 'stub', zoomStop=6, threadCount=64)
    most = []

    def is_done():
        seeder = seeder_of(hosts[0])
        os.kill(seeder, signal.SIGSTOP)     # it alone gives tiles their names, and removes some
        try:
            wait_until(lambda: stands(seeder))
            most.append(bytes_of_tiles(fleet))
        finally:
            os.kill(seeder, signal.SIGCONT)
        return task(hosts[0], number)['state'] == 'DONE'
    wait_until(is_done, what='the end of the seed')
    assert LIMIT // 2 < max(most) <= LIMIT
    assert max(upstream.busy) > 8, 'other hosts fetched'
    wait_until(lambda: usage(hosts[1])['bytes'] == bytes_of_tiles(fleet), what='true books')


def shades(hosts):
    """What the tiles of the store show."""
    found = set()
    for path in hosts.store.rglob('*.png'):
        with Image.open(path) as picture:
            found.add(picture.convert('L').getpixel((7, 7)))
    return found


def test_truncate_beside_hosts_that_fetch(fleet, upstream):
    """One of them stands still with old pictures in hand: none of them is seen afterwards."""
    upstream.shade = OLD
    upstream.always = Fault('delay', 0.1)
    one, other, third = [fleet.add() for _ in range(3)]
    third.expect(LOST)
    seed = begin(other, 'stub', zoomStop=LAST, threadCount=24)
    wait_until(lambda: packs(fleet) and OLD in shades(fleet), what='old tiles', longest=0.01)
    pid = fleet.pause(third)
    upstream.shade = NEW
    truncate = begin(other, 'stub', type='truncate', zoomStart=0, zoomStop=LAST)
    for number in (truncate, seed):
        document = ended(one, number)
        assert document['state'] == 'DONE', document
    os.kill(pid, signal.SIGCONT)
    fleet.stands_by(third)
    assert OLD not in shades(fleet)
    done(other, 'stub', zoomStop=LAST)
    assert shades(fleet) == {NEW}


def test_no_deadlock_of_hosts(fleet, upstream):
    """Tasks over one area, misses, terminations and truncates of three hosts at once: PostgreSQL
    has never had to end one of two transactions that waited for each other."""
    fleet.lines = ('TileSeedOnMiss fetch',)
    upstream.always = Fault('delay', 0.01)
    hosts = [fleet.add(more=TILES_LOCATION) for _ in range(3)]
    chance = random.Random(5)
    kinds = chance.choices(('seed', 'reseed', 'truncate', 'tile', 'terminate', 'drain'),
                           (3, 3, 3, 6, 2, 1), k=180)

    def do_some(host, kind, number):
        if kind == 'tile':
            x, y = number * 7 % 32, number * 11 % 32
            assert host.get(f'/tiles/stub/small/5/{x}/{y}.png').status in (200, 404, 503)
        elif kind == 'terminate':
            assert host.post('/rest/seed', 'kill_all=running').status == 200
        elif kind == 'drain':
            assert put_state(host, host.name, 'draining').status == 200
            fleet.stands_by(host)
            assert put_state(host, host.name, 'active').status == 200
        else:
            begin(host, 'stub', type=kind, zoomStart=number % 3, zoomStop=4,
                  threadCount=number % 8 + 1)

    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        list(pool.map(do_some, hosts * 60, kinds, range(180)))
    assert sum(host.error_log().count('TS0080') for host in hosts) > 1, 'the role has moved'
    with opened(hosts[0]) as state:
        last = state.execute('SELECT MAX(id) FROM task').fetchone()[0]
    hosts[0].post('/rest/seed', 'kill_all=all')
    wait_until(lambda: hosts[0].get('/rest/seed.json').json()['long-array-array'] == [],
               what='the end of all tasks')
    assert last > 20
    with opened(hosts[0]) as state:
        assert state.execute("SELECT deadlocks FROM pg_stat_database WHERE datname ="
                             " current_database()").fetchone()[0] == 0
