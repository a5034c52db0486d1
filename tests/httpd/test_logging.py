# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What httpd's access log and the client hear of each tile: notes for LogFormat, variables of the
environment for CustomLog, Cache-Status (RFC 9211) and the headers of GeoWebCache."""
import re

from seeding import REST, done, stub
from test_tiles import TILES, fetch, put, quiet, serve
from tileseed_httpd import TOP, one_mpm, wait_until
from upstream import Fault

NOTES = ('result', 'layer', 'tileset', 'z', 'wait-ms', 'upstream-ms')
LOG = ('LogFormat "%>s %U ' + ' '.join('%{tileseed-' + note + '}n' for note in NOTES) + '" notes\n'
       'CustomLog "@ROOT@/notes.log" notes\n'
       'CustomLog "@ROOT@/hits.log" "%U" env=tileseed-hit\n'
       'CustomLog "@ROOT@/others.log" "%U" env=!tileseed-hit\n')


def logged(httpd, path, name='notes.log'):
    """The fields of the last line of a log about a path, once it is there."""
    def found():
        lines = httpd.path(name).read_text().splitlines()
        return [line.split() for line in lines if path in line.split()]
    return wait_until(found, what=f'a line about {path}')[-1]


def noted(httpd, path):
    """Result, layer, tile set and level of a tile, and whether it waited for itself, and for the
    upstream."""
    fields = logged(httpd, path)
    return fields[2:6] + [re.fullmatch(r'\d+', field) is not None for field in fields[6:]]


def told(httpd, path, status=200, **more):
    """Cache-Status of a tile."""
    return fetch(httpd, path, status, **more).headers['Cache-Status']


@one_mpm
def test_missing_tile_and_hit(httpd, upstream):
    """Who has a tile made reads how long the upstream took, who finds it reads of neither."""
    httpd.start(REST + TILES + LOG + stub(upstream))
    path = '/tiles/tms/stub/small/3/1/1.png'
    key = 'stub/small/png/default'
    assert told(httpd, path) == 'tileseed; fwd=uri-miss; stored'
    assert noted(httpd, path) == ['made', 'stub', key, '3', True, True]
    assert 1 <= int(logged(httpd, path)[7])
    neighbour = '/tiles/tms/stub/small/3/0/0.png'       # of the same metatile
    assert told(httpd, neighbour) == 'tileseed; hit'
    assert noted(httpd, neighbour) == ['hit', 'stub', key, '3', False, False]
    assert logged(httpd, neighbour, 'hits.log')
    assert logged(httpd, path, 'others.log')
    assert path not in httpd.path('hits.log').read_text()


@one_mpm
def test_tiles_that_are_not_made(httpd, upstream):
    """A failure of the upstream, the same when it is remembered, and what OnMiss says."""
    httpd.expect('failed answers? of the upstream')
    upstream.always = Fault('status', 500)
    second = stub(upstream, 'TileSeedOnMiss 404', name='closed').split('</TileSeedGridSet>')[1]
    third = stub(upstream, 'TileSeedOnMiss empty', name='empty').split('</TileSeedGridSet>')[1]
    second, third = (text[text.index('<TileSeedLayer'):] for text in (second, third))
    httpd.start(REST + TILES + LOG + stub(upstream) + second + third)
    path = '/tiles/tms/stub/small/3/1/1.png'
    assert told(httpd, path, 502) == 'tileseed; fwd=uri-miss; detail=failed'
    assert noted(httpd, path)[0] == 'failed' and noted(httpd, path)[4:] == [True, True]
    again = '/tiles/tms/stub/small/3/0/1.png'
    assert told(httpd, again, 502) == 'tileseed; detail=failed'
    assert noted(httpd, again)[4:] == [True, False]
    for name, status, result in (('closed', 404, 'miss'), ('empty', 200, 'empty')):
        path = f'/tiles/tms/{name}/small/3/1/1.png'
        assert told(httpd, path, status) == f'tileseed; detail={result}'
        assert noted(httpd, path) == [result, name, f'{name}/small/png/default', '3', False, False]


@one_mpm
def test_what_is_no_tile(httpd):
    """Addresses of nothing, other methods and documents say nothing of a cache."""
    serve(httpd, quiet('a'), tiles=TILES + LOG)
    for path, status, result in (('/tiles/tms/none/small/0/0/0.png', 404, 'refused'),
                                 ('/tiles/tms/a/small/20/0/0.png', 404, 'refused'),
                                 ('/tiles/tms/1.0.0', 200, 'document')):
        assert told(httpd, path, status) is None
        assert logged(httpd, path)[2:6] == [result, '-', '-', '-']
    put(httpd, 'cache/a/small_00/0_0/00_00.png', b'0123456789')
    path = '/tiles/a/small/0/0/0.png'
    answer = httpd.request('POST', path)
    assert (answer.status, answer.headers['Cache-Status']) == (405, None)
    assert logged(httpd, path)[2] == 'refused'


@one_mpm
def test_hits_of_all_kinds(httpd):
    """HEAD, ranges and conditions are hits."""
    serve(httpd, quiet('a'), tiles=TILES + LOG)
    file = put(httpd, 'cache/a/small_00/0_0/00_00.png', b'0123456789')
    path = '/tiles/a/small/0/0/0.png'
    etag = fetch(httpd, path).headers['ETag']
    assert told(httpd, path, 206, headers={'Range': 'bytes=2-4'}) == 'tileseed; hit'
    assert httpd.request('HEAD', path).headers['Cache-Status'] == 'tileseed; hit'
    assert told(httpd, path, 304, headers={'If-None-Match': etag}) == 'tileseed; hit'
    wait_until(lambda: httpd.path('hits.log').read_text().count(path) == 4)
    lines = [line.split() for line in httpd.path('notes.log').read_text().splitlines()]
    assert {(status, result) for status, _, result, *_ in lines} == {
        (status, 'hit') for status in ('200', '206', '304')}
    file.unlink()
    file.mkdir()
    assert told(httpd, path, 404) == 'tileseed; detail=miss'


@one_mpm
def test_directory_that_keeps_clients_out(httpd):
    """A client that may not see a tile does not hear whether it is there."""
    serve(httpd, quiet('a'), tiles=LOG + '''
<Location "/tiles">
    TileSeedTiles on
</Location>
<Directory "@ROOT@/cache">
    Require all granted
</Directory>
<Directory "@ROOT@/cache/a">
    Require all denied
</Directory>
''')
    httpd.expect('AH01630')
    put(httpd, 'cache/a/small_00/0_0/00_00.png', b'0123456789')
    assert told(httpd, '/tiles/a/small/0/0/0.png', 403) is None
    assert told(httpd, '/tiles/a/small/1/0/0.png', 403) is None


@one_mpm
def test_headers_of_mod_headers(httpd):
    """mod_headers sees what the module says, and takes it away or adds to it."""
    serve(httpd, quiet('a'), tiles=TILES + '''
<Location "/tiles/a/small/0">
    Header unset Cache-Status
</Location>
<Location "/tiles/a/small/1">
    Header merge Cache-Status "front; fwd=miss"
</Location>
''')
    for z in (0, 1):
        put(httpd, f'cache/a/small_0{z}/0_0/00_00.png', b'0123456789')
    assert told(httpd, '/tiles/tms/a/small/0/0/0.png') == 'tileseed; hit'
    assert told(httpd, '/tiles/a/small/0/0/0.png') is None
    assert told(httpd, '/tiles/a/small/1/0/1.png') == 'tileseed; hit, front; fwd=miss'


@one_mpm
def test_headers_of_geowebcache(httpd, upstream):
    """Names and forms are those of GeoWebCache 1.24, which writes numbers as Java does."""
    gwc = TILES.replace('/tiles', '/gwc').replace(' on', ' on\nTileSeedDialect geowebcache')
    httpd.start(REST + TILES + gwc + stub(upstream, 'TileSeedGrid EPSG:900913',
                                          'TileSeedGrid EPSG:4326 zoom=0-3'))
    def headers(path, **more):
        answer = fetch(httpd, path, **more)
        return {name[12:]: value for name, value in answer.headers.items()
                if name.startswith('geowebcache-')}
    path = '/gwc/tms/stub/EPSG:900913/1/1/0.png'
    expected = {'cache-result': 'MISS', 'tile-index': '[1, 0, 1]', 'gridset': 'EPSG:900913',
                'crs': 'EPSG:900913', 'tile-bounds': '0.0,-20037508.34,20037508.34,0.0'}
    assert headers(path) == expected
    assert headers(path) == {**expected, 'cache-result': 'HIT'}
    assert headers('/gwc/tms/stub/EPSG:4326/2/7/2.png') == {
        'cache-result': 'MISS', 'tile-index': '[7, 2, 2]', 'gridset': 'EPSG:4326',
        'crs': 'EPSG:4326', 'tile-bounds': '135.0,0.0,180.0,45.0'}
    assert headers('/gwc/tms/stub/small/3/1/1.png')['tile-bounds'] == '125.0,125.0,250.0,250.0'
    assert headers('/gwc/tms/stub/small/9/0/0.png', status=404) == {}
    assert headers('/tiles/tms/stub/EPSG:900913/1/1/0.png') == {}


@one_mpm
def test_example_of_the_manual(httpd, upstream):
    """The LogFormat of the manual writes what the manual shows."""
    manual = (TOP / 'mod_tileseed/manual/tiles.md').read_text()
    example = re.search(r'```apache by-hand\n(LogFormat .*?)```\n\n```text\n(.*?)```', manual, re.S)
    httpd.start(REST + TILES + re.sub(r'CustomLog "\S+/(\w+\.log)"', r'CustomLog "@ROOT@/\1"',
                                      example[1]) + stub(upstream))
    done(httpd, 'stub', zoomStop=1)
    fetch(httpd, '/tiles/stub/small/1/0/0.png')
    fetch(httpd, '/tiles/stub/small/3/0/0.png')
    fetch(httpd, '/tiles/stub/small/30/0/0.png', 404)
    wait_until(lambda: len(httpd.path('tiles.log').read_text().splitlines()) == 3)
    lines = [re.sub(r'\d+', 'N', line) for line in httpd.path('tiles.log').read_text().splitlines()]
    shown = [re.sub(r'\d+', 'N', line) for line in example[2].splitlines()]
    assert sorted(lines) == sorted(shown)
    assert len(httpd.path('made.log').read_text().splitlines()) == 1
