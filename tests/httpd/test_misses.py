# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Tiles that are missing: a storm of them, and whatever may end while somebody waits for one."""
import concurrent.futures
import os
import signal
import socket
import threading
import time

from seeding import GRIDS, REST, files, geowebcache_path, halt, seeder_of, stub, world
from test_tiles import TILES, fetch
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

FEW_WORKERS = {
    'prefork': 'ServerLimit 4\nMaxRequestWorkers 4\n',
    'event': 'ServerLimit 1\nThreadsPerChild 4\nMaxRequestWorkers 4\nMaxSpareThreads 4\n',
}
FEW_WORKERS['worker'] = FEW_WORKERS['event']


def until_served(httpd, path):
    """Asks as often as it is told to; returns the answers' statuses."""
    statuses = []
    deadline = time.monotonic() + 60
    while not statuses or (statuses[-1] != 200 and time.monotonic() < deadline):
        answer = httpd.get(path)
        statuses.append(answer.status)
        if answer.status == 503:
            time.sleep(int(answer.headers['Retry-After']))
    return statuses


def held(upstream):
    """Lets the upstream answer only when the returned event is set."""
    released = threading.Event()
    upstream.decide = lambda _asked: released.wait(60) and None
    return released


def test_upstream_in_the_same_httpd(httpd, mpm):
    """A storm of misses leaves workers to the upstream, which is the same server, and all who ask
    again as they are told get their tiles."""
    httpd.start(FEW_WORKERS[mpm] + 'StartServers 1\nKeepAliveTimeout 1\n' + REST + TILES +
                world('TileSeedGrid EPSG:3857', 'TileSeedMetatile 2x2'))
    httpd.expect('AH10159|AH00287|AH03490|AH00484|AH00161|AH00286|AH00288')     # all are at work
    tiles = sorted(GRIDS['EPSG:3857'].tiles(3))
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        told = list(pool.map(lambda tile: until_served(
            httpd, f'/tiles/world/EPSG:3857/3/{tile[1]}/{tile[2]}.png'), tiles))
    assert all(set(statuses[:-1]) <= {503} and statuses[-1] == 200 for statuses in told), told
    assert len(files(httpd)) == len(tiles)


@one_mpm
def test_metatile_that_fails_is_asked_for_once(httpd, upstream):
    """Whoever comes before the time that was named hears the same at once; after it the upstream
    is asked again."""
    httpd.start(REST + TILES + stub(upstream))
    httpd.expect('failed answers of the upstream')
    upstream.decide = lambda asked: (Fault('xml') if asked['BBOX'].startswith('0')
                                     else None)
    for _ in range(10):
        for path in ('/tiles/tms/stub/small/2/0/0.png', '/tiles/tms/stub/small/2/1/1.png'):
            answer = fetch(httpd, path, 502)
            assert 0 < int(answer.headers['Retry-After']) <= 10
    assert len(upstream.requests) == 1
    fetch(httpd, '/tiles/tms/stub/small/2/2/2.png')                 # another metatile
    upstream.decide = lambda _asked: None
    wait_until(lambda: httpd.get('/tiles/tms/stub/small/2/0/0.png').status == 200, 30)
    assert len(upstream.requests) == 3


@one_mpm
def test_seeder_that_dies(httpd, upstream):
    """Who waits hears of it at once, and the next seeder makes the tile."""
    httpd.start(REST + TILES + stub(upstream))
    released = held(upstream)
    path = '/tiles/stub/small/3/0/0.png'
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(httpd.get, path)
        wait_until(lambda: upstream.requests)
        os.kill(wait_until(lambda: seeder_of(httpd)), signal.SIGKILL)
        answer = waiting.result(15)                                 # of 30 s that it would wait
    assert answer.status == 503 and int(answer.headers['Retry-After']) > 0
    httpd.expect('tileseed: the seeder')
    released.set()
    assert until_served(httpd, path)[-1] == 200


@one_mpm
def test_seeder_that_hangs(httpd, upstream):
    """No more wait for it than may, give or take what the length of a question makes out."""
    httpd.start('TileSeedMissWaiters 20\n' + REST + TILES + stub(upstream, meta='1x1'))
    paths = [f'/tiles/stub/small/6/{x}/0.png' for x in range(40)]
    pid = wait_until(lambda: seeder_of(httpd))
    halt(httpd, pid)
    with concurrent.futures.ThreadPoolExecutor(len(paths)) as pool:
        waiting = [pool.submit(httpd.get, path) for path in paths]
        try:
            wait_until(lambda: sum(one.done() for one in waiting) >= 15, 20)
            assert all(one.result().status == 503 for one in waiting if one.done())
            assert not all(one.done() for one in waiting)
        finally:
            os.kill(pid, signal.SIGCONT)
    assert all(one.result().status in (200, 503) for one in waiting)


@one_mpm
def test_client_that_goes_away(httpd, upstream):
    """The tile is stored all the same, and nobody waits any more."""
    httpd.start('TileSeedMissWaiters 1\n' + REST + TILES + stub(upstream, meta='1x1'))
    released = held(upstream)
    with socket.create_connection(('127.0.0.1', httpd.port)) as client:
        client.sendall(b'GET /tiles/stub/small/3/0/0.png HTTP/1.0\r\n\r\n')
        wait_until(lambda: upstream.requests)
    fetch(httpd, '/tiles/stub/small/3/7/7.png', 503)
    released.set()
    wait_until(lambda: len(files(httpd)) == 1)
    assert until_served(httpd, '/tiles/stub/small/3/7/7.png')[-1] == 200


@one_mpm
def test_full_quota(httpd, upstream):
    """What there is no room for is passed through, and not stored."""
    httpd.expect('would remove a large part')
    httpd.start('TileSeedDiskQuota on 1KiB\n' + REST + TILES + stub(upstream, meta='1x1'))
    tiles = iter(sorted(GRIDS['small'].tiles(3)))

    def is_passed():
        tile = next(tiles)
        answer = fetch(httpd, '/tiles/tms/stub/small/{}/{}/{}.png'.format(*tile))
        assert answer.headers['Content-Type'] == 'image/png'
        if 'ETag' in answer.headers:            # no limit holds before the cache was looked over
            return False
        assert answer.headers['Cache-Control'] == 'max-age=60'
        return geowebcache_path('stub', 'small', 'png', tile) not in files(httpd)
    wait_until(is_passed)
