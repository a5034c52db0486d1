# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Sources other than one WMS: tiles of others, and several addresses."""
import io

import pytest
from PIL import Image, PngImagePlugin

import upstream as stubs
from seeding import (REST, SMALL_GRID, begin, coords, counts, done, ended, failures, files,
                     layer)
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault, Upstream

SUMMARY = 'failed answers? of the upstream'
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
@pytest.mark.parametrize('words, fault', (
    ('empty', Fault('status', 204)), ('empty', Fault('status', 404)),
    ('404,403', Fault('status', 403)), ('410,Empty-Body', Fault('empty')),
    ('TileOutOfRange,LayerNotDefined', Fault('layer'))), ids=('204', '404', '403', 'body', 'code'))
@pytest.mark.parametrize('source', (
    'xyz @?Z={z}&X={x}&Y={y}&WIDTH=16&HEIGHT=16', 'wmts @ layer=roads width=16 height=16'),
    ids=('xyz', 'wmts'))
def test_missing_tiles_are_empty(httpd, upstream, source, words, fault):
    """One request for each, no failure, and a tile that is transparent; clients get it as well."""
    upstream.decide = lambda asked: (
        fault if asked.get('X', asked.get('TILECOL')) == '1' else None)
    httpd.start('<Location "/tiles">\nTileSeedTiles on\nRequire local\n</Location>\n'
                + REST + SMALL_GRID
                + layer('stub', f'TileSeedSource {source.replace("@", upstream.url)} '
                        f'missing={words}', 'TileSeedGrid small', 'TileSeedRetries 0'))
    answer = httpd.get('/tiles/stub/small/1/1/0.png')
    assert answer.status == 200, answer.body
    document = done(httpd, 'stub', zoomStop=2)
    assert counts(document) == (20, 1, 0, 0) and document['reason'] is None
    assert len(upstream.requests) == 21
    with Image.open(io.BytesIO(answer.body)) as picture:
        assert picture.convert('RGBA').getextrema()[3] == (0, 0)


@one_mpm
def test_redirects_to_another_port(httpd, upstream, second):
    """It is another origin: nobody goes there unless it is named. Then it learns no header of ours,
    and its words are not repeated."""
    httpd.expect(SUMMARY)
    upstream.always, second.always = Fault('redirect'), Fault('status', 403)
    upstream.elsewhere = second.url
    host = second.url.split('/')[2]

    def start_with(option):
        httpd.start(f'TileSeedUpstream own {upstream.url} header="X-Key: of-ours" {option}\n' + REST
                    + SMALL_GRID + layer('stub', 'TileSeedSource wms upstream:own layers=any',
                                         'TileSeedGrid small', 'TileSeedRetries 0'))
        return ended(httpd, begin(httpd, 'stub', zoomStop=0))
    (*_, cause, _), = failures(httpd, start_with('')['id'])
    assert cause.endswith('does not name: ' + host)
    assert not second.requests
    httpd.stop()
    document = start_with('redirect=' + host)
    assert counts(document) == (0, 0, 0, 1)
    assert {headers['X-Key'] for headers in upstream.headers} == {'of-ours'}
    assert {headers['X-Key'] for headers in second.headers} == {None}
    assert 'told to fail' not in httpd.error_log() + str(document)


@one_mpm
def test_pictures_with_much_beside_their_pixels(httpd, upstream, monkeypatch):
    """One that is a tile as it comes is stored without what nobody sees."""
    def wordy(_bbox, width, height, kind):
        words, buffer = PngImagePlugin.PngInfo(), io.BytesIO()
        words.add_text('Comment', 'x' * 1000000)
        Image.linear_gradient('L').resize((width, height)).convert('P').save(
            buffer, kind, pnginfo=words)
        return buffer.getvalue()
    monkeypatch.setattr(stubs, 'picture', wordy)
    start(httpd, f'wms {upstream.url} layers=any', 'TileSeedMetatile 1x1')
    assert counts(done(httpd, 'stub', zoomStop=0)) == (1, 0, 0, 0)
    (tile,) = files(httpd)
    assert (httpd.path('cache') / tile).stat().st_size < 10000


@one_mpm
def test_gutters_end_with_the_grid_set(httpd, upstream):
    """Servers refuse what lies beyond the world."""
    start(httpd, f'wms {upstream.url} layers=any', 'TileSeedMetatile 2x2 gutter=8')
    assert counts(done(httpd, 'stub', zoomStop=2)) == (21, 0, 0, 0)
    edges = [float(edge) for asked in upstream.requests for edge in asked['BBOX'].split(',')]
    assert (min(edges), max(edges)) == (0, 1000)
    assert {int(asked['WIDTH']) for asked in upstream.requests} == {16, 32, 40}


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
    start(httpd, f'wms {upstream.url} {second.url} layers=any', 'TileSeedMetatile 1x1',
          'TileSeedReseed all')
    assert counts(done(httpd, 'stub', zoomStop=1)) == (5, 0, 0, 0)
    assert not second.requests
    upstream.faults = [Fault('status', 404)]
    assert counts(done(httpd, 'stub', type='reseed', zoomStop=1)) == (5, 0, 0, 0)
    assert len(second.requests) == 1
    upstream.always = Fault('status', 503)
    assert counts(done(httpd, 'stub', type='reseed', zoomStop=4, threadCount=4)) == (341, 0, 0, 0)
    assert len(second.requests) >= 340
    assert len(upstream.requests) < 40


CAPABILITIES = '''<?xml version="1.0"?>
<!DOCTYPE WMT_MS_Capabilities SYSTEM "http://schemas.opengis.net/wms/1.1.1/capabilities_1_1_1.dtd">
<WMT_MS_Capabilities version="1.1.1"><Capability><Request><GetMap><Format>image/png</Format>
</GetMap></Request><Layer><Title>all</Title><SRS>EPSG:4326 EPSG:32632</SRS><Layer><Name>any</Name>
<BoundingBox SRS="EPSG:32632" minx="0" miny="0" maxx="100" maxy="100"/></Layer></Layer></Capability>
</WMT_MS_Capabilities>'''


@one_mpm
@pytest.mark.parametrize('source, lines, lacks', (
    ('layers=any', ('TileSeedGrid small',), None),
    ('layers=any,more', ('TileSeedGrid small',), "a layer 'more'"),
    ('layers=any', ('TileSeedGrid small srs=EPSG:25832',), "its layer 'any' in EPSG:25832"),
    ('layers=any', ('TileSeedGrid small', 'TileSeedFormat image/jpeg'), 'the format image/jpeg'),
    ('layers=any,more', ('TileSeedGrid small', 'TileSeedFormat image/jpeg'),
     "a layer 'more'; the format image/jpeg"),
    ('layers=any', ('TileSeedGrid small extent=500,500,900,900',),
     "anything of its layer 'any' within the extent in EPSG:32632"),
), ids=('nothing', 'layer', 'system', 'format', 'two things', 'extent'))
def test_what_the_upstream_lacks(httpd, upstream, source, lines, lacks):
    """Is said once in the log and on the layer's tasks, which run all the same."""
    httpd.expect('does not offer')
    upstream.capabilities = CAPABILITIES
    httpd.start(REST + SMALL_GRID + layer('stub', f'TileSeedSource wms {upstream.url} {source}',
                                          *lines))
    wait_until(lambda: upstream.capabilities_requests == 1)
    name = upstream.url.split('/')[2]
    said = lacks and f'the upstream {name} does not offer {lacks}'
    if lacks:
        wait_until(lambda: said in httpd.error_log())
    document = done(httpd, 'stub', zoomStop=1)
    assert document['reason'] == said
    assert document['tilesFailed'] == 0
    assert httpd.error_log().count("layer 'stub': the upstream") == (1 if lacks else 0)
    assert upstream.capabilities_requests == 1


@one_mpm
def test_an_upstream_that_is_away_is_asked_later(httpd, upstream):
    """When it has answered others; and nobody hears of it before."""
    httpd.expect('does not offer')
    httpd.expect(SUMMARY)
    upstream.refuse_capabilities = 1
    upstream.capabilities = CAPABILITIES
    start(httpd, f'wms {upstream.url} layers=none')
    wait_until(lambda: upstream.capabilities_requests == 1)
    assert done(httpd, 'stub', zoomStop=1)['reason'] is None
    wait_until(lambda: 'does not offer' in httpd.error_log())
    assert upstream.capabilities_requests == 2


@one_mpm
def test_names_of_levels(httpd, upstream):
    """Upstreams that name their levels with two digits, or count from another one."""
    base = upstream.url.rsplit('/', 1)[0]
    httpd.start(REST + SMALL_GRID + layer(
        'wmts', f'TileSeedSource wmts {base}/a layer=a tilematrix={{z:02}} WIDTH=16 HEIGHT=16',
        'TileSeedGrid small', 'TileSeedMetatile 1x1') + layer(
            'xyz', f'TileSeedSource xyz {base}/?L={{z-1:03}}/{{z+1}}/{{x}}/{{y}}&'
            'WIDTH=16&HEIGHT=16',
            'TileSeedGrid small', 'TileSeedMetatile 1x1'))
    for name in ('wmts', 'xyz'):
        done(httpd, name, zoomStart=3, zoomStop=3, bounds=coords(1, 1, 2, 2))
    first, second = upstream.requests
    assert first['TILEMATRIX'] == '03'
    assert second['L'] == '002/4/0/7'
