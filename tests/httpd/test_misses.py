# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Tiles that are missing: a storm of them, and whatever may end while somebody waits for one."""
import concurrent.futures
import contextlib
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest

from database import locked
from seeding import (GRIDS, REST, SMALL_GRID, done, files, geowebcache_path, halt, layer,
                     seeder_of, stub, world)
from test_children import children
from test_tiles import TILES, fetch
from tileseed_httpd import MODULES, one_mpm, wait_until
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
    upstream.always = Fault('held')
    return upstream.released


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


@pytest.mark.main_path
@one_mpm
def test_metatile_that_fails_is_asked_for_once(httpd, upstream):
    """Whoever comes before the time that was named hears the same at once; after it the upstream
    is asked again."""
    httpd.start(REST + TILES + stub(upstream))
    httpd.expect('failed answers? of the upstream')
    upstream.decide = lambda asked: (Fault('xml') if asked['BBOX'].startswith('0')
                                     else None)
    for _ in range(3):
        for path in ('/tiles/tms/stub/small/2/0/0.png', '/tiles/tms/stub/small/2/1/1.png'):
            answer = fetch(httpd, path, 502)
            assert 0 < int(answer.headers['Retry-After']) <= 10
    assert len(upstream.requests) == 1
    fetch(httpd, '/tiles/tms/stub/small/2/2/2.png')                 # another metatile
    upstream.decide = lambda _asked: None
    wait_until(lambda: httpd.get('/tiles/tms/stub/small/2/0/0.png').status == 200)
    assert len(upstream.requests) == 3


@one_mpm
def test_seeder_that_dies(httpd, upstream):
    """Who waits gets the tile from the next seeder."""
    httpd.start(REST + TILES + stub(upstream))
    released = held(upstream)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(httpd.get, '/tiles/stub/small/3/0/0.png')
        wait_until(lambda: upstream.requests)
        os.kill(wait_until(lambda: seeder_of(httpd)), signal.SIGKILL)
        httpd.expect('TS0048: the seeder')
        released.set()
        assert waiting.result(60).status == 200


@one_mpm
def test_database_that_somebody_holds(httpd, upstream):
    """What can't be booked is passed on unstored; a tile set that is new can't be entered, and the
    answer says what is wrong."""
    httpd.start(REST + TILES + stub(upstream, 'TileSeedParameter STYLES default= value=night'))
    fetch(httpd, '/tiles/stub/small/7/0/0.png')
    httpd.expect('database')
    with locked(httpd):
        fetch(httpd, '/tiles/stub/small/7/127/127.png')
        refused = fetch(httpd, '/tiles/stub/small/7/0/0.png?STYLES=night', 503)
        assert 'state database' in refused.text
        assert len(files(httpd)) == 4
    assert until_served(httpd, '/tiles/stub/small/7/0/0.png?STYLES=night')[-1] == 200


@one_mpm
def test_empty_tile_while_somebody_holds_the_database(httpd, upstream):
    """A tile that the upstream does not have is empty, whether it can be booked or not."""
    httpd.start(REST + TILES + SMALL_GRID + layer(
        'stub', f'TileSeedSource xyz {upstream.url}/{{z}}/{{x}}/{{y}}?WIDTH=16&HEIGHT=16 '
                'missing=empty', 'TileSeedGrid small', 'TileSeedMetatile 1x1'))
    upstream.always = Fault('status', 404)
    empty = fetch(httpd, '/tiles/stub/small/7/0/0.png')
    httpd.expect('database')
    with locked(httpd):
        assert fetch(httpd, '/tiles/stub/small/7/100/100.png').body == empty.body


def test_graceful_restart(httpd, upstream):
    """Who waits in a process of before the restart gets the tile from the seeder of after it."""
    httpd.start(REST + TILES + stub(upstream))
    released = held(upstream)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(httpd.get, f'/tiles/stub/small/3/{x}/{x}.png') for x in (0, 3, 5, 7)]
        wait_until(lambda: len(upstream.requests) == 4)
        httpd.graceful()
        released.set()
        refused = [one.result(60) for one in waiting if one.result(60).status != 200]
        assert not refused, [answer.text for answer in refused]


def is_started(pid):
    """Whether a process of event waits for words of its parent. One that has not come to that would
    forget that it is ending: its first thread says after the start of the others that it runs."""
    with contextlib.suppress(FileNotFoundError):
        return 'pipe_read' in pathlib.Path(f'/proc/{pid}/wchan').read_text(encoding='ascii')
    return False


def is_ending(httpd):
    """Whether a process of httpd lives that takes no connection any more."""
    listening = set()
    for line in pathlib.Path('/proc/net/tcp').read_text(encoding='ascii').splitlines()[1:]:
        fields = line.split()
        if fields[3] == '0A' and int(fields[1].split(':')[1], 16) == httpd.port:
            listening.add(f'socket:[{fields[9]}]')
    answering = children(httpd)
    return bool(answering) and not any(listening & descriptors(pid) for pid in answering)


def descriptors(pid):
    """What the descriptors of a process are; nothing of one that has ended."""
    found = set()
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(f'/proc/{pid}/fd'):
            with contextlib.suppress(FileNotFoundError):
                found.add(os.readlink(f'/proc/{pid}/fd/{name}'))
    return found


def test_process_that_must_end(httpd, mpm, upstream):
    """The only process of httpd is ending and lets nobody wait: another can't begin before."""
    if mpm != 'event':
        pytest.skip('a process of prefork ends between two requests; worker begins another one in '
                    'its place before it has ended')
    config = ('ServerLimit 1\nThreadsPerChild 8\nMaxRequestWorkers 8\nMaxSpareThreads 8\n'
              'StartServers 1\n' + REST + TILES + stub(upstream))
    httpd.start(config)
    httpd.expect('AH00484|AH00161|AH03490|AH00286|AH00287|AH10159')
    done(httpd, 'stub', zoomStop=0)     # the seeder is at work
    held(upstream)
    before = children(httpd)
    httpd.graceful('MaxConnectionsPerChild 2\n' + config)
    wait_until(lambda: any(map(is_started, children(httpd) - before)), what='a new process')
    with contextlib.ExitStack() as clients:
        first, _ = [clients.enter_context(begun(httpd, '/tiles/stub/small/3/0/0.png'))
                    for _ in range(2)]
        wait_until(lambda: is_ending(httpd), what='a process that takes no more connections')
        first.sendall(b'\r\n')
        answer = http.client.HTTPResponse(first)
        answer.begin()
        assert answer.status == 503
        assert 'this process of httpd is ending' in answer.read().decode()
        assert int(answer.headers['Retry-After']) > 0


def begun(httpd, path):
    """A connection with a request that lacks its last line."""
    client = socket.create_connection(('127.0.0.1', httpd.port), timeout=60)
    client.sendall(f'GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n'.encode())
    return client


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
            wait_until(lambda: sum(one.done() for one in waiting) >= 15)
            assert all(one.result().status == 503 for one in waiting if one.done())
            assert not all(one.done() for one in waiting)
        finally:
            os.kill(pid, signal.SIGCONT)
    assert all(one.result().status in (200, 503) for one in waiting)


class Impatient:
    """Clients that ask for tiles and go away when they are told to, without an answer."""

    def __init__(self, httpd, paths):
        self.clients = []
        for path in paths:
            client = socket.create_connection(('127.0.0.1', httpd.port))
            client.sendall(f'GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HT'.encode())
            self.clients.append(client)

    def leave(self):
        """All of them."""
        for client in self.clients:
            client.close()


@one_mpm
def test_client_that_goes_away(httpd, upstream):
    """The tile is stored all the same, and nobody waits any more."""
    httpd.start('TileSeedMissWaiters 1\n' + REST + TILES + stub(upstream, meta='1x1'))
    released = held(upstream)
    client = Impatient(httpd, ['/tiles/stub/small/3/0/0.png'])
    wait_until(lambda: upstream.requests)
    refused = fetch(httpd, '/tiles/stub/small/3/7/7.png', 503)
    assert 'TileSeedMissWaiters' in refused.text
    client.leave()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        other = pool.submit(until_served, httpd, '/tiles/stub/small/3/7/7.png')
        wait_until(lambda: len(upstream.requests) == 2)     # it has the place, nobody was answered
        released.set()
        assert other.result()[-1] == 200
    wait_until(lambda: len(files(httpd)) == 2)


@one_mpm
def test_client_that_goes_away_over_http2(httpd, upstream):
    """A stream has no socket of its own: that of its connection is watched."""
    httpd.start(f'LoadModule http2_module {MODULES}/mod_http2.so\nProtocols h2c http/1.1\n'
                'TileSeedMissWaiters 1\n' + REST + TILES + stub(upstream, meta='1x1'))
    released = held(upstream)
    with subprocess.Popen(['curl', '-s', '--http2-prior-knowledge',
                           httpd.url('/tiles/stub/small/3/0/0.png')],
                          stdout=subprocess.DEVNULL) as client:
        wait_until(lambda: upstream.requests)
        fetch(httpd, '/tiles/stub/small/3/7/7.png', 503)
        client.kill()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        other = pool.submit(until_served, httpd, '/tiles/stub/small/3/7/7.png')
        wait_until(lambda: len(upstream.requests) == 2)     # it has the place
        released.set()
        assert other.result()[-1] == 200


@one_mpm
def test_clients_that_go_away_from_a_layer_that_hangs(httpd, upstream):
    """Their places are free at once, and what nobody waits for is not fetched."""
    httpd.start('TileSeedMissWaiters 10\n' + REST + TILES +
                stub(upstream, meta='1x1', connections=2) +
                layer('other', f'TileSeedSource wms {upstream.url} layers=other',
                      'TileSeedGrid small', 'TileSeedMetatile 1x1'))
    upstream.decide = lambda asked: Fault('held') if asked['LAYERS'] == 'any' else None
    clients = Impatient(httpd, [f'/tiles/stub/small/6/{x}/0.png' for x in range(20)])
    wait_until(lambda: len(upstream.requests) == 2)
    clients.leave()
    assert until_served(httpd, '/tiles/other/small/6/0/0.png')[-1] == 200
    upstream.released.set()
    assert until_served(httpd, '/tiles/stub/small/6/63/63.png')[-1] == 200
    asked = [one for one in upstream.requests if one['LAYERS'] == 'any']
    assert len(asked) <= 4, asked           # two under way, this one, one that was met on its way


@one_mpm
def test_upstream_that_hangs_is_named(httpd, upstream):
    """Whoever waits hears that it is the upstream, and so does the log."""
    httpd.start('LogLevel tileseed:info\n' + REST + TILES + stub(upstream, meta='1x1'))
    httpd.expect('failed answers? of the upstream')
    upstream.decide = lambda asked: Fault('held')
    answer = fetch(httpd, '/tiles/stub/small/6/1/0.png', 503)
    assert 'the upstream has not answered in time' in answer.text
    wait_until(lambda: ': the upstream has not answered in time' in httpd.error_log())
    upstream.released.set()


@one_mpm
def test_clients_that_go_away_leave_the_upstream_to_others(httpd, upstream):
    """Another layer gets the connections that nobody waits for, as often as that happens; the
    upstream is not called away by it."""
    httpd.start('TileSeedMissWaiters 10\n' + REST + TILES +
                stub(upstream, meta='1x1', connections=2, timeout='600s') +
                layer('other', 'TileSeedSource wms upstream:stub layers=other',
                      'TileSeedGrid small', 'TileSeedMetatile 1x1'))
    httpd.expect('failed answers? of the upstream')          # the last two, when the upstream ends
    upstream.decide = lambda asked: Fault('hang') if asked['LAYERS'] == 'any' else None

    def window():       # a busy machine answers late: then the upstream is asked for less at once
        found = httpd.get('/rest/upstreams.json').json()['upstreams'][0]
        return found['window'] or found['connections']

    for x in range(4):
        before = len(upstream.requests)
        clients = Impatient(httpd, [f'/tiles/stub/small/6/{2 * x + i}/0.png' for i in range(2)])
        wait_until(lambda: len(upstream.requests) >= before + window())
        clients.leave()
        assert until_served(httpd, f'/tiles/other/small/6/{x}/0.png') == [200]
    assert 'is away' not in httpd.error_log()


@one_mpm
def test_a_layer_that_hangs_leaves_places(httpd, upstream):
    """However many wait for it, another layer's tiles are made; so for clients."""
    httpd.start('TileSeedMissWaiters 10 client=10\n' + REST + TILES +
                stub(upstream, meta='1x1') +
                layer('other', f'TileSeedSource wms {upstream.url} layers=other',
                      'TileSeedGrid small', 'TileSeedMetatile 1x1'))
    httpd.expect('failed answers? of the upstream')          # it ends before they do
    upstream.decide = lambda asked: Fault('held') if asked['LAYERS'] == 'any' else None
    clients = Impatient(httpd, [f'/tiles/stub/small/6/{x}/0.png' for x in range(30)])
    wait_until(lambda: len(upstream.requests) == 5)         # half of them
    for x in range(3):
        fetch(httpd, f'/tiles/other/small/6/{x}/0.png')
    refused = fetch(httpd, '/tiles/stub/small/6/63/63.png', 503)
    assert 'TileSeedMissWaiters (layer=)' in refused.text
    asked = len(upstream.requests)
    httpd.graceful('TileSeedMissWaiters 10 client=1\n' + REST + TILES + stub(upstream, meta='1x1'))
    wait_until(lambda: len(upstream.requests) > asked)      # one of those who wait is let in again
    refused = fetch(httpd, '/tiles/stub/small/6/63/63.png', 503)
    assert 'TileSeedMissWaiters (client=)' in refused.text
    clients.leave()


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
