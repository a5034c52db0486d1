# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""TileSeedMetatile auto: neighbouring metatiles are fetched by one request as long as that helps,
and nothing else of a task can tell."""
import io
import os
import re
import signal

import pytest
from PIL import Image

from quota import put, size
from seeding import (GRIDS, REST, begin, coords, counts, done, ended, failures, files,
                     geowebcache_path, seeder_of, stub, task)
from test_quota_limit import QUICK
from test_reseed import stamps
from tileseed_httpd import one_mpm, wait_until
from truth import Painted, Truth
from upstream import Fault, ground

AUTO = 'auto max=16x16'
TILE = 16
PYRAMID = (4 ** 6 - 1) // 3     # levels 0 to 5
SUMMARY = 'failed answers? of the upstream'
AWAY = 'the upstream stub is away'


def tiles_of(asked):
    """How many tiles a request was for."""
    return int(asked['WIDTH']) * int(asked['HEIGHT']) // TILE ** 2


def contents(httpd):
    """What is in each file of the cache."""
    return {name: (httpd.path('cache') / name).read_bytes() for name in files(httpd)}


def assert_right(httpd, stop):
    """Each tile is there, and each seventh shows what lies there."""
    grid = GRIDS['small']
    tiles = sorted(grid.between(0, stop))
    assert len(files(httpd)) == len(tiles)
    for tile in tiles[::7]:
        path = httpd.path('cache') / geowebcache_path('stub', 'small', 'png', tile)
        expected = Image.open(io.BytesIO(ground(grid.box(grid.metatile(tile, (1, 1))), TILE, TILE)))
        assert Image.open(path).convert('RGB').tobytes() == expected.tobytes(), tile


def largest(upstream):
    """The most tiles of a request."""
    return max(map(tiles_of, upstream.requests), default=0)


def latency(upstream, seconds=.03):
    """Lets each request take its time, whatever its size."""
    upstream.decide = lambda asked: Fault('delay', seconds)


@one_mpm
def test_tiles_are_those_of_single_requests(httpd, upstream):
    """Pixel by pixel, with a gutter around the whole request."""
    upstream.is_ground = True
    httpd.start(REST + stub(upstream, meta='4x4 gutter=3'))
    assert counts(done(httpd, 'stub', zoomStop=5, threadCount=4)) == (PYRAMID, 0, 0, 0)
    expected, single = contents(httpd), len(upstream.requests)
    assert len(expected) == PYRAMID
    done(httpd, 'stub', zoomStop=5, type='truncate')

    del upstream.requests[:]
    latency(upstream)
    httpd.restart(REST + stub(upstream, meta='auto gutter=3'))
    document = done(httpd, 'stub', zoomStop=5, threadCount=4)
    assert counts(document) == (PYRAMID, 0, 0, 0)
    assert document['upstreamRequests'] == len(upstream.requests) < single
    assert contents(httpd) == expected


@one_mpm
def test_a_second_seed_and_gaps(httpd, upstream):
    """What is there is skipped, and only gaps are asked for."""
    upstream.is_ground = True
    latency(upstream)
    httpd.start(REST + stub(upstream, meta=AUTO))
    done(httpd, 'stub', zoomStop=6, threadCount=2)
    assert largest(upstream) > 16
    again = done(httpd, 'stub', zoomStop=6, threadCount=2)
    assert counts(again)[:2] == (0, again['tilesTotal'])
    assert again['upstreamRequests'] == 0
    expected = contents(httpd)
    gone = 0
    for left in range(30, 1000, 300):
        bounds = coords(left, 2 * left / 3, left + 40, left + 9)
        gone += counts(done(httpd, 'stub', zoomStop=6, type='truncate', bounds=bounds))[2]
    document = done(httpd, 'stub', zoomStop=6, threadCount=2)
    assert counts(document)[:2] == (gone, document['tilesTotal'] - gone) and gone > 0
    assert contents(httpd) == expected


def assert_seeds_all(httpd, upstream, refused=64):
    """Seeds to level 6: each tile is there, as it must be, and none was ever given up on. Large
    requests, with their parts that are still too large, are the fewer."""
    document = done(httpd, 'stub', timeout=300, zoomStop=6, threadCount=4)
    assert counts(document) == (document['tilesTotal'], 0, 0, 0)
    assert not failures(httpd, document['id'])
    assert_right(httpd, 6)
    asked = list(map(tiles_of, upstream.requests))
    assert sum(1 for tiles in asked if tiles > refused) < len(asked) / 2


@one_mpm
@pytest.mark.parametrize('fault', [
    Fault('status', 400), Fault('status', 500), Fault('status', 413), Fault('xml'),
    Fault('disguised'), Fault('size'), Fault('reset'), Fault('delay', 8)],
    ids=lambda fault: f'{fault.name}{fault.number:.0f}')
def test_an_upstream_that_refuses_large_requests(httpd, upstream, fault):
    """By a status, an exception, a smaller picture, a crash, or an answer that comes too late: all
    is made, and such requests become seldom."""
    httpd.expect(f'{SUMMARY}|{AWAY}')
    upstream.is_ground = True
    upstream.decide = lambda asked: fault if tiles_of(asked) > 64 else Fault('delay', .02)
    httpd.start('LogLevel tileseed:info\n' + REST + 'TileSeedRetries 0\n'
                + stub(upstream, meta=AUTO, timeout='2s'))
    assert_seeds_all(httpd, upstream)
    assert largest(upstream) > 64
    assert re.search(r"TS0078: layer 'stub' at level \d: a request for \d+x\d+ tiles failed and is "
                     r'sent in parts: [^;\s]', httpd.error_log())


@one_mpm
def test_an_upstream_that_changes_its_speed(httpd, upstream):
    """At first a tile is what takes its time, then a request: requests become larger. A second
    is more than what a request takes on a busy machine anyway."""
    upstream.is_ground = True
    upstream.decide = lambda asked: Fault('delay', .0005 * tiles_of(asked))
    httpd.start(REST + stub(upstream, meta=AUTO))
    number = begin(httpd, 'stub', zoomStop=7, threadCount=4)
    wait_until(lambda: task(httpd, number)['tilesProcessed'] > 3000)
    upstream.decide = lambda asked: Fault('delay', 1)
    before = len(upstream.requests)
    document = ended(httpd, number, 300)
    assert counts(document) == (document['tilesTotal'], 0, 0, 0)
    assert_right(httpd, 7)
    sizes = [tiles_of(asked) for asked in upstream.requests[before:]]
    assert sizes.count(256) > 8, sizes      # more than were asked for before times changed


@one_mpm
def test_an_upstream_that_dies_for_a_while(httpd, upstream):
    """In the middle of large requests: nothing is given up on, and nothing is missing."""
    httpd.expect(f'{SUMMARY}|{AWAY}')
    upstream.is_ground = True
    latency(upstream)
    httpd.start(REST + 'TileSeedRetries 0\n' + stub(upstream, meta=AUTO))
    number = begin(httpd, 'stub', zoomStop=6, threadCount=4)
    wait_until(lambda: largest(upstream) > 64)
    upstream.leave()
    wait_until(lambda: task(httpd, number)['reason'])
    upstream.come_back()
    document = ended(httpd, number, 300)
    assert document['state'] == 'DONE'
    assert counts(document) == (5461, 0, 0, 0)
    assert_right(httpd, 6)


@one_mpm
def test_one_bad_corner_costs_one_metatile(httpd, upstream):
    """However large the requests around it are."""
    httpd.expect(SUMMARY)
    side = 1000 / 2 ** 6        # of a tile of level 6

    def decide(asked):
        left, bottom, right, top = map(float, asked['BBOX'].split(','))
        scale = (right - left) / int(asked['WIDTH']) * TILE / side
        spot = 21.5 * side
        is_bad = abs(scale - 1) < .01 and left < spot < right and bottom < spot < top
        return Fault('disguised') if is_bad else Fault('delay', .02)
    upstream.decide = decide
    httpd.start(REST + 'TileSeedRetries 1\n' + stub(upstream, meta=AUTO))
    document = done(httpd, 'stub', zoomStop=6, threadCount=4)
    assert counts(document) == (document['tilesTotal'] - 16, 0, 0, 16)
    (z, x, y, _, attempts), = failures(httpd, document['id'])
    assert (z, x, y, attempts) == (6, 20, 20, 2)


@one_mpm
def test_killed_in_the_middle(httpd, upstream):
    """The counts are exact over kill -9 of the seeder."""
    httpd.expect('seeder')
    upstream.is_ground = True
    latency(upstream)
    httpd.start(REST + stub(upstream, meta=AUTO))
    number = begin(httpd, 'stub', zoomStop=6, threadCount=4)
    for share in (4, 2):
        wait_until(lambda share=share: task(httpd, number)['tilesProcessed'] > 5461 // share)
        old = seeder_of(httpd)
        os.kill(old, signal.SIGKILL)
        wait_until(lambda old=old: seeder_of(httpd) not in (None, old))
    document = ended(httpd, number)
    assert document['state'] == 'DONE'
    assert counts(document) == (5461, 0, 0, 0)
    assert len(files(httpd)) == 5461


@one_mpm
def test_a_reseed_writes_only_what_has_changed(httpd):
    """It asks by the same requests, so that answers can be compared, unless they were so small that
    they take twice as long, as at the end of a seed. Then, and where a part of an answer has
    changed, tiles are compared."""
    with Painted(Truth({'any': 0})) as painted:
        latency(painted)
        httpd.start(REST + stub(painted, meta=AUTO))
        done(httpd, 'stub', zoomStop=6, threadCount=4)
        before, cell = stamps(httpd), 5
        for changed in (0, 0, 2 + sum(4 ** z for z in range(5)), 0):
            if changed:
                painted.truth.change('any', [cell])
            again = done(httpd, 'stub', zoomStop=6, threadCount=4, type='reseed')
            assert counts(again)[:2] == (changed, PYRAMID + 4096 - changed)
            after = stamps(httpd)
            assert sum(after[tile] != stamp for tile, stamp in before.items()) == changed
            before = after


@one_mpm
def test_the_document_says_what_was_chosen(httpd, upstream):
    """While the task runs."""
    latency(upstream)
    httpd.start(REST + stub(upstream, meta=AUTO))
    number = begin(httpd, 'stub', zoomStop=7, threadCount=4)
    size = wait_until(lambda: (task(httpd, number)['requestSize'] or {}).get('width') == 16 and
                      task(httpd, number)['requestSize'])
    assert set(size) == {'width', 'height', 'reason'} and size['reason']
    assert ended(httpd, number)['requestSize'] is None


@one_mpm
def test_a_restart_begins_with_what_was_found(httpd, upstream):
    """No trial of small requests after it. A busy machine may find 128 tiles as good as 256."""
    latency(upstream)
    httpd.start(REST + stub(upstream, meta=AUTO))
    done(httpd, 'stub', zoomStop=6, threadCount=4)
    assert tiles_of(upstream.requests[0]) < 64
    done(httpd, 'stub', zoomStop=6, type='truncate')
    httpd.restart(REST + stub(upstream, meta=AUTO))
    del upstream.requests[:]
    done(httpd, 'stub', zoomStart=6, zoomStop=6, threadCount=4)
    assert tiles_of(upstream.requests[0]) >= 64


@one_mpm
def test_a_quota_smaller_than_a_request(httpd, upstream):
    """The task gets on all the same, tile by tile."""
    latency(upstream)
    httpd.expect('paused')
    httpd.start('TileSeedDiskQuotaGrace 0\n' + REST + stub(upstream, meta=AUTO))
    put(httpd, enabled=True, globalQuota=size(80), **QUICK)
    document = done(httpd, 'stub', zoomStop=5, threadCount=2)
    assert counts(document) == (PYRAMID, 0, 0, 0)
