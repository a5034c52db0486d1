# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Tiles by number: which file is sent, with which headers, and what is never sent."""
import concurrent.futures
import email.utils
import io
import os
import socket
import threading
import time
import urllib.parse

import pytest
from PIL import Image

from seeding import GRIDS, REST, SMALL_GRID, done, geowebcache_path, layer, stub
from tileseed_httpd import MODULES, one_mpm, wait_until
from upstream import Fault

TILES = '''
<Location "/tiles">
    TileSeedTiles on
    Require local
</Location>
'''
COUNTED = '''
Alias "/plain" "@ROOT@/cache"
<Directory "@ROOT@/cache">
    TileSeedTiles count
    Require all granted
</Directory>
'''
SOURCE = 'TileSeedSource wms http://127.0.0.1:1/wms layers=any'
SECRET = b'not for everybody'


def put(httpd, name, content):
    """Writes a file below the server's folder."""
    path = httpd.path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def serve(httpd, *layers, tiles=TILES):
    """Starts a server with layers whose upstream is never asked."""
    httpd.folder('cache')
    httpd.start(REST + tiles + SMALL_GRID + 'TileSeedOnMiss 404\n' + ''.join(layers))
    return httpd


def quiet(name, *lines, **more):
    """A layer in the small grid set that has no upstream."""
    return layer(name, SOURCE, 'TileSeedGrid small', *lines, **more)


def fetch(httpd, path, status=200, **more):
    """GET with that status."""
    answer = httpd.get(path, **more)
    assert answer.status == status, (path, answer.status, answer.body)
    return answer


@pytest.mark.main_path
@one_mpm
def test_every_tile_of_a_seed(httpd, upstream):
    """Each tile is the file of the cache, byte for byte, whichever way rows are counted."""
    httpd.start(REST + TILES + stub(upstream))
    done(httpd, 'stub', zoomStop=3)
    for z, x, y in GRIDS['small'].between(0, 3):
        file = httpd.path('cache') / geowebcache_path('stub', 'small', 'png', (z, x, y))
        for path in (f'/tiles/stub/small/{z}/{x}/{2 ** z - 1 - y}.png',
                     f'/tiles/tms/stub/small/{z}/{x}/{y}.png'):
            assert fetch(httpd, path).body == file.read_bytes()


@pytest.mark.main_path
@one_mpm
def test_headers(httpd):
    """What httpd says of its own files, and Cache-Control of TileSeedExpires."""
    serve(httpd, quiet('a', 'TileSeedFormat image/png', 'TileSeedFormat image/png8',
                       'TileSeedFormat image/jpeg', 'TileSeedExpires 1h'), quiet('b'))
    for extension, kind in (('png', 'image/png'), ('png8', 'image/png'), ('jpeg', 'image/jpeg')):
        file = put(httpd, f'cache/a/small_01/0_0/01_00.{extension}', b'0123456789')
        os.utime(file, (1_700_000_000, 1_700_000_000))
        answer = fetch(httpd, f'/tiles/tms/a/small/1/1/0.{extension}')
        assert answer.body == b'0123456789'
        assert answer.headers['Content-Type'] == kind
        assert answer.headers['Cache-Control'] == 'max-age=3600'
        assert answer.headers['Accept-Ranges'] == 'bytes'
        assert answer.headers['ETag']
        assert answer.headers['Last-Modified'] == email.utils.formatdate(1_700_000_000, usegmt=True)
    assert fetch(httpd, '/tiles/tms/a/small/1/1/0.jpg').body == b'0123456789'
    put(httpd, 'cache/b/small_01/0_0/01_00.png', b'0123456789')
    assert 'Cache-Control' not in fetch(httpd, '/tiles/tms/b/small/1/1/0.png').headers


@one_mpm
def test_conditions_ranges_and_methods(httpd):
    """304, 206, 412, 416, HEAD, and 405 for everything else."""
    serve(httpd, quiet('a'))
    file = put(httpd, 'cache/a/small_00/0_0/00_00.png', b'0123456789')
    os.utime(file, (1_700_000_000, 1_700_000_000))
    path = '/tiles/a/small/0/0/0.png'
    etag = fetch(httpd, path).headers['ETag']
    since = fetch(httpd, path).headers['Last-Modified']
    assert fetch(httpd, path, 304, headers={'If-None-Match': etag}).body == b''
    assert fetch(httpd, path, 304, headers={'If-Modified-Since': since}).headers['ETag'] == etag
    assert fetch(httpd, path, 200, headers={'If-None-Match': '"other"'}).body == b'0123456789'
    fetch(httpd, path, 412, headers={'If-Match': '"other"'})
    assert fetch(httpd, path, 206, headers={'Range': 'bytes=2-4'}).body == b'234'
    fetch(httpd, path, 416, headers={'Range': 'bytes=20-'})
    head = httpd.request('HEAD', path)
    assert (head.status, head.headers['Content-Length'], head.body) == (200, '10', b'')
    for method in ('POST', 'PUT', 'DELETE', 'OPTIONS'):
        answer = httpd.request(method, path)
        assert (answer.status, answer.headers['Allow']) == (405, 'GET, HEAD'), method


@one_mpm
@pytest.mark.parametrize('how', ['EnableMMAP on', 'EnableMMAP off', 'EnableSendfile on'])
def test_small_and_large_files(httpd, how):
    """All of a file or a part of it, whether it is read, mapped or left to the kernel."""
    serve(httpd, quiet('a'), tiles=f'{TILES}{how}\n')
    path = '/tiles/a/small/0/0/0.png'
    for length in (1, 32768, 32769, 100_000):
        content = os.urandom(length)
        put(httpd, 'cache/a/small_00/0_0/00_00.png', content)
        assert fetch(httpd, path).body == content
        part = fetch(httpd, path, 206, headers={'Range': f'bytes={length // 2}-{length - 1}'})
        assert part.body == content[length // 2:]
        head = httpd.request('HEAD', path)
        assert (head.headers['Content-Length'], head.body) == (str(length), b'')


def time_of(answer, name):
    """A header that is a time, in seconds."""
    return email.utils.parsedate_to_datetime(answer.headers[name]).timestamp()


@one_mpm
def test_a_tile_that_is_replaced_within_a_second(httpd):
    """Nobody who asks by time misses the new one: its time is told when the second is over."""
    serve(httpd, quiet('a'))
    file = put(httpd, 'cache/a/small_00/0_0/00_00.png', b'old')
    path = '/tiles/a/small/0/0/0.png'
    first = fetch(httpd, path)
    moment = os.stat(file).st_mtime_ns
    file.write_bytes(b'new')
    os.utime(file, ns=(moment, moment))
    assert time_of(first, 'Last-Modified') < moment // 10**9
    for since in (first.headers['Last-Modified'],
                  email.utils.formatdate(moment // 10**9, usegmt=True)):
        answer = fetch(httpd, path, headers={'If-Modified-Since': since})
        assert answer.body == b'new'
        fetch(httpd, path, 304, headers={'If-None-Match': answer.headers['ETag']})
    os.utime(file, (1_700_000_000, 1_700_000_000))
    settled = fetch(httpd, path)
    assert time_of(settled, 'Last-Modified') == 1_700_000_000
    fetch(httpd, path, 304, headers={'If-Modified-Since': settled.headers['Last-Modified']})


def dated(seconds):
    """A time as HTTP writes it."""
    return email.utils.formatdate(seconds, usegmt=True)


@one_mpm
@pytest.mark.parametrize('where', ['/tiles/a/small/0/0/0.png', '/plain/a/small_00/0_0/00_00.png'])
def test_a_tile_that_is_replaced_by_an_older_file(httpd, where):
    """Shared files of tiles of one colour, and copied caches, bring old times along. A client that
    asks by time gets the tile that is there, whoever delivers the file."""
    serve(httpd, quiet('a'), tiles=TILES + COUNTED)
    file = put(httpd, 'cache/a/small_00/0_0/00_00.png', b'first ')
    shared = put(httpd, 'cache/.tileseed/shared', b'second')
    os.utime(file, (1_700_000_000, 1_700_000_000))
    os.utime(shared, (1_600_000_000, 1_600_000_000))
    first = fetch(httpd, where)
    since = {'If-Modified-Since': first.headers['Last-Modified']}
    fetch(httpd, where, 304, headers=since)
    file.unlink()
    file.hardlink_to(shared)
    assert fetch(httpd, where, headers=since).body == b'second'
    for second in (1_600_000_000, 1_700_000_000, int(time.time())):     # those of other links
        assert fetch(httpd, where, headers={'If-Modified-Since': dated(second)}).body == b'second'
    linked = fetch(httpd, where, headers={'If-Unmodified-Since': dated(1_500_000_000)})
    fetch(httpd, where, 304, headers={'If-None-Match': linked.headers['ETag']})
    assert fetch(httpd, where, headers={'Range': 'bytes=0-0',
                                        'If-Range': dated(1_600_000_000)}).body == b'second'
    assert fetch(httpd, where, 206, headers={'Range': 'bytes=0-0'}).body == b's'
    copied = put(httpd, 'cache/copied', b'third ')
    os.utime(copied, (1_650_000_000, 1_650_000_000))
    copied.rename(file)
    assert fetch(httpd, where, headers=since).body == b'third '
    fetch(httpd, where, 304, headers={'If-Modified-Since': dated(1_650_000_000)})


@one_mpm
def test_what_is_no_file(httpd):
    """A pipe, a socket, a directory or a link in place of a tile is no tile: nobody waits for it,
    and no other file is told."""
    serve(httpd, quiet('a'))
    folder = httpd.path('cache/a/small_00/0_0')
    folder.mkdir(parents=True)
    put(httpd, 'secret', SECRET)
    tile = folder / '00_00.png'
    with socket.socket(socket.AF_UNIX) as listener:
        for make in (lambda: os.mkfifo(tile), lambda: listener.bind(str(tile)), tile.mkdir,
                     lambda: tile.symlink_to(httpd.path('secret'))):
            make()
            with concurrent.futures.ThreadPoolExecutor(100) as pool:
                answers = list(pool.map(lambda _: fetch(httpd, '/tiles/a/small/0/0/0.png', 404),
                                        range(100)))
            assert not any(SECRET in answer.body for answer in answers)
            if tile.is_dir():
                tile.rmdir()
            else:
                tile.unlink()
    put(httpd, 'cache/a/small_00/0_0/00_00.png', b'a tile')
    answer = fetch(httpd, '/tiles/a/small/0/0/0.png')
    assert (answer.body, answer.headers['X-Content-Type-Options']) == (b'a tile', 'nosniff')


@one_mpm
def test_times_of_tiles_just_made(httpd, upstream):
    """No tile says that it was modified after the answer's Date (RFC 9110 8.8.2.1)."""
    httpd.start(REST + TILES + stub(upstream))
    upstream.always = Fault('delay', 1)
    made = fetch(httpd, '/tiles/stub/small/0/0/0.png')
    assert time_of(made, 'Last-Modified') <= time_of(made, 'Date')


@one_mpm
@pytest.mark.parametrize('policy', ['404', 'empty'])
def test_beside_mod_expires(httpd, policy):
    """What the module says of caching is said once, and mod_expires says it where it does not."""
    expires = (f'LoadModule expires_module "{MODULES}/mod_expires.so"\n'
               'ExpiresActive on\nExpiresDefault "access plus 1 hour"\n')
    serve(httpd, quiet('a', f'TileSeedOnMiss {policy}', 'TileSeedExpires 1d'),
          quiet('b'), tiles=TILES + expires)
    for name in 'ab':
        put(httpd, f'cache/{name}/small_00/0_0/00_00.png', b'tile')
    for path, status, caching, age in (
            ('/tiles/a/small/0/0/0.png', 200, 'max-age=86400', 86400),
            ('/tiles/b/small/0/0/0.png', 200, 'max-age=3600', 3600),
            ('/tiles/a/small/1/0/0.png', 200, 'max-age=60', 60),
            ('/tiles/wmts?REQUEST=GetCapabilities', 200, 'no-store', None),
            ('/rest/seed.json', 200, 'no-store', None)):
        missing = policy == '404' and age == 60
        answer = fetch(httpd, path, 404 if missing else status)
        assert answer.headers['Cache-Control'] == ('no-store' if missing else caching), path
        if age and not missing:
            assert time_of(answer, 'Expires') - time_of(answer, 'Date') == age
        else:
            assert answer.headers['Expires'] == '0'


@one_mpm
def test_parameters(httpd):
    """A value that differs from the default is another tile set; what no filter knows is nothing.
    """
    serve(httpd, quiet('a', 'TileSeedParameter STYLES default=day value=night'))
    put(httpd, 'cache/' + geowebcache_path('a', 'small', 'png', (0, 0, 0)), b'day')
    put(httpd, 'cache/' + geowebcache_path('a', 'small', 'png', (0, 0, 0), {'STYLES': 'night'}),
        b'night')
    path = '/tiles/a/small/0/0/0.png'
    for query, body in (('', b'day'), ('?STYLES=night', b'night'), ('?styles=night', b'night'),
                        ('?STYLES=', b'day'), ('?styles=day', b'day'), ('?key=7&time=8', b'day'),
                        ('?STYLES=night&STYLES=day', b'night')):
        assert fetch(httpd, path + query).body == body, query
    assert b"'dusk' is not allowed" in fetch(httpd, path + '?STYLES=dusk', 400).body
    for wrong in ('STYLE', 'style', 'Sytles', 'STYLES_'):
        assert b'Is STYLES meant?' in fetch(httpd, f'{path}?{wrong}=night', 400).body


@one_mpm
def test_styles_that_a_layer_has_not(httpd):
    """A style is refused by every service and name, unless it is the default one; what stands in
    addresses against caches means nothing."""
    serve(httpd, quiet('a'), quiet('b', 'TileSeedParameter T default=1 value=2',
                                   'TileSeedParameter STYLES default=day value=night'))
    for name in 'ab':
        put(httpd, 'cache/' + geowebcache_path(name, 'small', 'png', (0, 0, 0)), b'day')
    wmts = ('/tiles/wmts?REQUEST=GetTile&LAYER={}&FORMAT=image/png&TILEMATRIXSET=small&TILEMATRIX=0'
            '&TILEROW=0&TILECOL=0&')
    addresses = {'STYLES': ('/tiles/{}/small/0/0/0.png?', '/tiles/tms/{}/small/0/0/0.png?'),
                 'STYLE': (wmts, '/tiles/wmts/{}/default/small/0/0/0.png?')}
    for right, paths in addresses.items():
        for path in paths:
            for query in ('v=3', '_=17', 't=1', 'STYLES=', 'STYLES=default', 'nocache=7&ts=3'):
                if right == 'STYLE' or query != 'STYLES=default':
                    assert fetch(httpd, path.format('b') + query).body == b'day', (path, query)
                assert fetch(httpd, path.format('a') + query).body == b'day', (path, query)
            for wrong in ('STYLE', 'STYLES'):
                refused = fetch(httpd, path.format('a') + wrong + '=x', 400)
                assert 'has no style' in refused.text, (path, wrong)
    assert 'Is STYLE meant?' in fetch(httpd, wmts.format('b') + 'STYLES=night', 400).text
    by_path = addresses['STYLE'][1].format('b').replace('default', 'day')
    assert 'names another style' in fetch(httpd, by_path + 'STYLE=night', 400).text
    for query in ('STYLE=day&STYLES=day', 'STYLE=day'):
        assert fetch(httpd, wmts.format('b') + query).body == b'day'


@one_mpm
@pytest.mark.parametrize('policy', ['404', 'empty'])
def test_missing_tile(httpd, policy):
    """404, or a tile with nothing on it that no cache keeps for long and nobody writes."""
    serve(httpd, quiet('a', f'TileSeedOnMiss {policy}', 'TileSeedExpires 1d',
                       'TileSeedFormat image/png', 'TileSeedFormat image/png8',
                       'TileSeedFormat image/jpeg'))
    for extension, mode in (('png', 'RGBA'), ('png8', 'RGBA'), ('jpeg', 'RGB')):
        path = f'/tiles/a/small/2/1/1.{extension}'
        if policy == '404':
            assert fetch(httpd, path, 404).headers['Cache-Control'] == 'no-store'
            continue
        answer = fetch(httpd, path)
        assert answer.headers['Cache-Control'] == 'max-age=60'
        picture = Image.open(io.BytesIO(answer.body)).convert(mode)
        assert picture.size == (16, 16)
        colour = (255, 255, 255, 0) if mode == 'RGBA' else (255, 255, 255)
        assert picture.getcolors() == [(256, colour)]
        fetch(httpd, f'/tiles/a/small/2/4/1.{extension}', 404)
    assert not list(httpd.path('cache').iterdir())


@pytest.mark.pgsql
@pytest.mark.main_path
def test_missing_tile_is_made(httpd, upstream):
    """All who ask for tiles of a metatile wait for one request, and get what is stored then."""
    httpd.start(REST + TILES + stub(upstream, 'TileSeedExpires 1h'))
    tiles = sorted(GRIDS['small'].between(1, 1))
    upstream.always = Fault('delay', 1)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda tile: fetch(
            httpd, f'/tiles/tms/stub/small/1/{tile[1]}/{tile[2]}.png'), tiles))
    assert len(upstream.requests) == 1
    for tile, answer in zip(tiles, answers):
        file = httpd.path('cache') / geowebcache_path('stub', 'small', 'png', tile)
        assert answer.body == file.read_bytes()
        assert answer.headers['Cache-Control'] == 'max-age=3600' and answer.headers['ETag']


@one_mpm
def test_missing_tile_that_can_not_be_made(httpd, upstream):
    """502 when the upstream fails; 503 when too many wait, at once and with Retry-After."""
    httpd.start('TileSeedMissWaiters 1\n' + REST + TILES + stub(upstream, 'TileSeedRetries 0'))
    upstream.always = Fault('status', 500)
    answer = fetch(httpd, '/tiles/stub/small/0/0/0.png', 502)
    assert int(answer.headers['Retry-After']) > 0
    assert answer.headers['Cache-Control'] == 'no-store'
    httpd.expect('failed answers? of the upstream')
    upstream.always = None
    released = threading.Event()
    upstream.decide = lambda _asked: released.wait(60) and None
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(httpd.get, '/tiles/stub/small/3/0/0.png')
        wait_until(lambda: len(upstream.requests) > 1)
        answer = fetch(httpd, '/tiles/stub/small/3/7/7.png', 503)
        released.set()
        assert int(answer.headers['Retry-After']) > 0
        assert first.result().status == 200


@one_mpm
def test_missing_tile_that_can_not_be_stored(httpd, upstream):
    """The client gets it all the same."""
    httpd.start(REST + TILES + stub(upstream))
    httpd.path('cache/stub').write_text('a file where a directory should be')
    answer = fetch(httpd, '/tiles/stub/small/0/0/0.png')
    assert Image.open(io.BytesIO(answer.body)).size == (16, 16)
    assert answer.headers['Cache-Control'] == 'max-age=60' and 'ETag' not in answer.headers


@one_mpm
def test_tiles_that_a_layer_has_not(httpd):
    """Files of other zooms and places may lie there, of another layer or format: 404."""
    serve(httpd, layer('a', SOURCE, 'TileSeedGrid small zoom=1-2 extent=0,0,500,500'),
          quiet('b', 'TileSeedFormat image/jpeg'))
    for z, x, y in GRIDS['small'].between(0, 3):
        put(httpd, 'cache/' + geowebcache_path('a', 'small', 'png', (z, x, y)), SECRET)
        status = 200 if z in (1, 2) and max(x, y) < 2 ** (z - 1) else 404
        fetch(httpd, f'/tiles/tms/a/small/{z}/{x}/{y}.png', status)
    put(httpd, 'cache/b/small_00/0_0/00_00.png', SECRET)
    for path in ('/tiles/b/small/0/0/0.png', '/tiles/b/small/0/0/0.jpeg',
                 '/tiles/b/other/0/0/0.png', '/tiles/c/small/0/0/0.png',
                 '/tiles/B/small/0/0/0.jpeg', '/tiles/b/small/0/0/0.JPEG', '/tiles', '/tiles/'):
        fetch(httpd, path, 404)


@one_mpm
def test_layers_of_a_location(httpd):
    """A location with TileSeedLayers serves those alone."""
    more = TILES.replace('/tiles', '/few').replace('Require', 'TileSeedLayers b\n    Require')
    serve(httpd, quiet('a'), quiet('b'), tiles=TILES + more)
    for name in 'ab':
        put(httpd, f'cache/{name}/small_00/0_0/00_00.png', b'tile')
        fetch(httpd, f'/tiles/{name}/small/0/0/0.png')
    fetch(httpd, '/few/a/small/0/0/0.png', 404)
    fetch(httpd, '/few/b/small/0/0/0.png')


def service_tricks():
    """Addresses of no tile that are made of one of the layer `a`, in the words of every service."""
    paths = []
    for number in ('..', '-1', '+0', '%2B0', '0%00', '%20', '0.0', '0x0', '9' * 4000, '%2e%2e%2f0',
                   '%252e%252e', '0' * 20, '9223372036854775808', '', '../../secret'):
        for z, x, y in ((number, 0, 0), (0, number, 0), (0, 0, number)):
            paths += [f'/tiles/tms/a/small/{z}/{x}/{y}.png', f'/tiles/tms/1.0.0/a/{z}/{x}/{y}.png',
                      f'/tiles/service/wmts/a/default/small/small:{z}/{y}/{x}.png',
                      f'/tiles/wmts?REQUEST=GetTile&LAYER=a&TILEMATRIXSET=small&FORMAT=image/png'
                      f'&TILEMATRIX={z}&TILECOL={x}&TILEROW={y}']
    for key in ('LAYER', 'TILEMATRIXSET', 'FORMAT'):
        for value in ('..', '%2e%2e%2fa', 'a%00', '/a', 'A', 'a' * 5000, 'image/png%00', ''):
            asked = {'LAYER': 'a', 'TILEMATRIXSET': 'small', 'FORMAT': 'image/png', key: value}
            paths.append('/tiles/wmts?REQUEST=GetTile&TILEMATRIX=0&TILECOL=0&TILEROW=0&'
                         + '&'.join(f'{name}={text}' for name, text in asked.items()))
    return paths + [
        '/tiles/tms/1.0.0/a@..@png/0/0/0.png', '/tiles/tms/1.0.0/@@/0/0/0.png',
        '/tiles/a/small/0/0/0.PNG', '/tiles/a/Small/0/0/0.png', '/tiles/a/small/0/0/0.png.txt',
        '/tiles/a/small/0/0//0.png/.', '/tiles/./a/small/0/0/1.png', '/tiles//a/small/9/0/0.png']


@one_mpm
def test_path_tricks(httpd):
    """Nothing but tiles of the layer is ever sent: 400 or 404, and 403 where httpd has resolved a
    path to one outside of the location."""
    serve(httpd, quiet('a', store='xyz'), tiles=TILES + 'AllowEncodedSlashes NoDecode\n')
    put(httpd, 'cache/a/small/0/0/0.png', b'tile')
    put(httpd, 'cache/secret.png', SECRET)
    put(httpd, 'cache/a/small/0/0/-1.png', SECRET)
    put(httpd, 'cache/a/small/0/0/1.png', SECRET)
    put(httpd, 'cache/a/small/9/0/0.png', SECRET)
    put(httpd, 'cache/a/small/0/0/0.txt', SECRET)
    numbers = ('..', '%2e%2e', '-1', '+0', '1', '0x0', '0%00', '%00', '0;', '%20', '', '9',
               '4294967296', '9223372036854775807', '9223372036854775808',
               '18446744073709551616', '9' * 4000, '..%2f..', '%2f', '0%2f..%2f0', '%ff', 'NaN')
    paths = [f'/tiles/a/small/{z}/{x}/{y}.png' for number in numbers
             for z, x, y in ((number, 0, 0), (0, number, 0), (0, 0, number))]
    paths += [f'/tiles/{name}/small/0/0/0.png' for name in ('..', '%2e%2e', 'a%2f..', 'a%00',
                                                            'a' * 5000, '.', 'a%2fsmall%2f..')]
    paths += ['/tiles/a/small/0/0/0.png/', '/tiles/a/small/0/0/0.png/..', '/tiles/a/small/0/0/0',
              '/tiles/a/small/0/0/0.', '/tiles/a/small/0/0/0.txt',
              '/tiles/a/small/0/0/0.png%00.txt', '/tiles/a/small/0/0/0.png%20',
              '/tiles/a/small/0/0/../../../../../secret.png',
              '/tiles/secret.png', '/tiles/a/../secret.png', '/tiles/../cache/secret.png']
    for path in paths + service_tricks():
        answer = httpd.get(path)
        outside = not os.path.normpath(urllib.parse.unquote(path)).startswith('/tiles')
        assert answer.status in (400, 404, 403 if outside else 404), (path, answer.status)
        assert SECRET not in answer.body and b'tile' != answer.body, path
    assert fetch(httpd, '/tiles/a/small/0/0/0.png').body == b'tile'
    httpd.expect('AH01630')                             # what was denied outside


@one_mpm
def test_access(httpd):
    """Whoever may not see the location gets nothing, hit or miss, as with any file of httpd's."""
    closed = TILES.replace('/tiles', '/closed').replace('Require local', 'Require all denied')
    silent = TILES.replace('/tiles', '/silent').replace('Require local', '')
    serve(httpd, quiet('a'), tiles=TILES + closed + silent)
    put(httpd, 'cache/a/small_00/0_0/00_00.png', b'tile')
    for base, status in (('/tiles', (200, 404)), ('/closed', (403, 403)), ('/silent', (403, 403))):
        for z, expected in zip((0, 1), status):
            fetch(httpd, f'{base}/a/small/{z}/0/0.png', expected)
    httpd.expect('AH01630')


@one_mpm
def test_beside_rest(httpd):
    """One location may be both, or hold the other."""
    both = ('<Location "/gwc">\nTileSeedTiles on\nRequire local\n</Location>\n'
            '<Location "/gwc/rest">\nTileSeedRest on\n</Location>\n'
            '<Location "/both">\nTileSeedTiles on\nTileSeedRest on\nRequire local\n</Location>\n')
    serve(httpd, quiet('a'), tiles=both)
    put(httpd, 'cache/a/small_00/0_0/00_00.png', b'tile')
    for base, rest in (('/gwc', '/gwc/rest'), ('/both', '/both')):
        assert fetch(httpd, f'{base}/a/small/0/0/0.png').body == b'tile'
        assert fetch(httpd, f'{rest}/seed.json').json() == {'long-array-array': []}
