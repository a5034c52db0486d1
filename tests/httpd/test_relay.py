# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Missing tiles at hosts that stand by: the host that works makes them."""
import concurrent.futures
import contextlib
import os
import signal
import socket

import pytest

from database import opened
from fleet import Fleet, Proxy
from seeding import done, seeder_of
from test_hosts import LOST, SHORT, UNCLEAN
from test_tiles import TILES
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

TILE = '/tiles/stub/small/3/{}/{}.png'
METATILE = [TILE.format(x, y) for x in range(2) for y in range(2)]

pytestmark = one_mpm


@pytest.fixture
def fleet(mpm, postgres, upstream):
    """Hosts whose leases don't end by themselves."""
    hosts = Fleet(mpm, postgres, upstream)
    hosts.lines = ('TileSeedOnMiss fetch',)
    yield hosts
    hosts.finish()


def add(hosts, count, before='', **more):
    """So many hosts: the first one works."""
    return [hosts.add(more=before + TILES, **more) for _ in range(count)]


def questions(httpd):
    """How many questions the database has."""
    with opened(httpd) as state:
        return state.execute('SELECT COUNT(*) FROM miss').fetchone()[0]


@pytest.fixture
def crowd(mpm, large_postgres, upstream):
    """Twenty hosts, and places for all that they ask for."""
    hosts = Fleet(mpm, large_postgres, upstream, lease='60s')
    hosts.lines = ('TileSeedOnMiss fetch',)
    yield add(hosts, 20, before='TileSeedMissWaiters 400\n')
    hosts.finish()


def test_one_request_for_all_hosts(crowd, upstream):
    """Whoever asks whatever host for a tile of one metatile waits for one request."""
    upstream.always = Fault('held')
    with concurrent.futures.ThreadPoolExecutor(80) as pool:
        waiting = [pool.submit(host.get, path) for path in METATILE for host in crowd]
        wait_until(lambda: questions(crowd[0]) == 19 * len(METATILE), what='all questions')
        upstream.released.set()
        answers = [one.result() for one in waiting]
    assert {answer.status for answer in answers} == {200}
    assert len(upstream.requests) == 1
    for path in METATILE:
        assert len({host.get(path).body for host in crowd}) == 1
    wait_until(lambda: questions(crowd[0]) == 0, what='the end of all questions')


def test_upstream_that_fails(fleet, upstream):
    """A host that stands by says the same as the one that works."""
    one, other = add(fleet, 2)
    one.expect('failed answers? of the upstream')
    upstream.always = Fault('xml')
    answer = other.get(METATILE[0])
    assert answer.status == 502 and 0 < int(answer.headers['Retry-After']) <= 10, answer.body
    assert one.get(METATILE[1]).status == 502
    assert len(upstream.requests) == 1


def test_client_that_leaves(fleet, upstream):
    """Nothing is made for a request whose client has left before the upstream was asked."""
    one, other = add(fleet, 2)
    upstream.always = Fault('held')
    with socket.create_connection(('127.0.0.1', other.port)) as client:
        client.sendall(f'GET {METATILE[0]} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
        wait_until(lambda: questions(one) == 1, what='the question')
    wait_until(lambda: questions(one) == 0, what='that the question is forgotten')
    upstream.released.set()


def test_upstream_that_is_slow(fleet, upstream):
    """A host that stands by lets a request wait as long as the host that works does."""
    _, other = add(fleet, 2)
    upstream.always = Fault('delay', 12)    # longer than a request waits for a seeder
    assert other.get(METATILE[0]).status == 200


@pytest.mark.parametrize('how', ['graceful', 'kill'])
def test_seeder_that_begins_anew(fleet, upstream, how):
    """Who waits at a host that stands by takes one place, though its seeder asks once more."""
    one, other = (fleet.add(more=TILES + 'TileSeedMissWaiters 20 client=1\n') for _ in range(2))
    other.expect('TS0048|AH00052')
    upstream.always = Fault('held')
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(other.get, METATILE[0])
        wait_until(lambda: upstream.requests, what='the request')
        if how == 'graceful':
            other.graceful()
        else:
            os.kill(seeder_of(other), signal.SIGKILL)
        fleet.stands_by(other)
        wait_until(lambda: questions(one) == 1, what='the question')
        upstream.released.set()
        assert waiting.result().status == 200
    wait_until(lambda: questions(one) == 0, what='the end of all questions')


def test_host_that_dies(mpm, postgres, upstream):
    """Who waits gets the tile from the host that takes over."""
    hosts = Fleet(mpm, postgres, upstream, SHORT)
    hosts.lines = ('TileSeedOnMiss fetch',)
    with contextlib.closing(contextlib.ExitStack()) as stack:
        stack.callback(hosts.finish)
        one, other = add(hosts, 2)
        other.expect(LOST)
        one.expect(UNCLEAN)
        upstream.always = Fault('held')
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(other.get, METATILE[0])
            wait_until(lambda: upstream.requests, what='the request')
            hosts.kill(one)
            upstream.released.set()
            wait_until(lambda: hosts.state(other) == 'WORKING', what='the takeover')
            assert waiting.result().status in (200, 503)    # a busy machine takes over too late
        wait_until(lambda: other.get(METATILE[0]).status == 200, what='the tile')


def test_database_that_does_not_answer(fleet, postgres, upstream):
    """Cached tiles are served; a missing one is asked for again later."""
    one = fleet.add(more=TILES)
    with contextlib.closing(Proxy(postgres)) as proxy:
        other = fleet.add(proxy=proxy, more=TILES)
        other.expect(LOST)
        assert other.get(METATILE[0]).status == 200
        proxy.stall()
        answer = other.get('/tiles/stub/small/3/5/5.png')
        assert answer.status == 503 and answer.headers['Retry-After'], answer.body
        assert other.get(METATILE[0]).status == 200
        proxy.go_on()
        wait_until(lambda: other.get('/tiles/stub/small/3/5/5.png').status == 200)
    assert done(one, 'stub', zoomStop=1)['state'] == 'DONE'


def test_tile_that_is_never_stored(fleet, upstream):
    """What lies below one colour comes from the host that works, byte by byte."""
    upstream.lands = []
    fleet.lines = ('TileSeedOnMiss fetch', 'TileSeedPrune uniform=1 check=0 sparse=on')
    one, other = add(fleet, 2)
    assert done(other, 'stub', zoomStop=3, threadCount=1)['tilesPruned'] > 0
    before = fleet.tiles()
    answers = [host.get(TILE.format(1, 1)) for host in (one, other)]
    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].body == answers[1].body
    assert answers[0].headers['ETag'] == answers[1].headers['ETag']
    assert fleet.tiles() == before
