# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Sources other than one WMS: tiles of others, and several addresses."""
import pytest

from seeding import REST, SMALL_GRID, counts, done, files, layer
from tileseed_httpd import one_mpm
from upstream import Fault, Upstream

SUMMARY = 'failed answers of the upstream'
TILES = {(0, 0, 0)} | {(1, x, y) for x in (0, 1) for y in (0, 1)}


@pytest.fixture
def second():
    """Another stub."""
    with Upstream() as server:
        yield server


def start(httpd, source, *lines):
    """An httpd with one layer of a source."""
    httpd.start(REST + SMALL_GRID + layer('stub', f'TileSeedSource {source}',
                                          'TileSeedGrid small', *lines))


@one_mpm
@pytest.mark.parametrize('source', (
    'xyz @?Z={z}&X={x}&Y={y}&WIDTH=16&HEIGHT=16',
    '"wmts" @ layer=roads width=16 height=16',
    'wmts @?Z={TileMatrix}&X={TileCol}&Y={TileRow}&WIDTH=16&HEIGHT=16&L={Layer} layer=roads',
), ids=('xyz', 'wmts', 'template'))
def test_single_tiles(httpd, upstream, source):
    """Each tile is asked for once, its row counted from the top, and lands where it belongs."""
    start(httpd, source.replace('@', upstream.url))
    assert counts(done(httpd, 'stub', zoomStop=1)) == (5, 0, 0, 0)
    asked = [tuple(int(one.get(short) or one[full]) for short, full in
                   (('Z', 'TILEMATRIX'), ('X', 'TILECOL'), ('Y', 'TILEROW')))
             for one in upstream.requests]
    assert sorted(asked) == sorted(TILES)
    assert len(files(httpd)) == 5
    if 'wmts' in source:
        assert {one.get('LAYER', one.get('L')) for one in upstream.requests} == {'roads'}


@one_mpm
def test_sharing(httpd, upstream, second):
    """Two upstreams have about as much to do each."""
    start(httpd, f'wms {upstream.url} {second.url} mode=share layers=any',
          'TileSeedMetatile 1x1')
    assert counts(done(httpd, 'stub', zoomStop=3)) == (85, 0, 0, 0)
    assert {len(upstream.requests), len(second.requests)} == {42, 43}


@one_mpm
def test_falling_back(httpd, upstream, second):
    """The second is asked for what the first can't, and for all while that is away."""
    httpd.expect(SUMMARY)
    httpd.expect('is away')
    start(httpd, f'wms {upstream.url} {second.url} layers=any', 'TileSeedMetatile 1x1')
    assert counts(done(httpd, 'stub', zoomStop=1)) == (5, 0, 0, 0)
    assert not second.requests
    upstream.faults = [Fault('status', 404)]
    assert counts(done(httpd, 'stub', type='reseed', zoomStop=1)) == (5, 0, 0, 0)
    assert len(second.requests) == 1
    upstream.always = Fault('status', 503)
    assert counts(done(httpd, 'stub', type='reseed', zoomStop=4, threadCount=4)) == (341, 0, 0, 0)
    assert len(second.requests) >= 340
    assert len(upstream.requests) < 40
