# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Who may see which tile, by every address of it, and what names a handler without a location."""
import io
import itertools
import re
import urllib.parse

import pytest
from PIL import Image

from rest import ask, states
from seeding import GRIDS, REST, layer, stub
from test_tiles import fetch, put, quiet, serve
from tileseed_httpd import one_mpm

TILES = '''
<Location "/tiles">
    TileSeedTiles on
    AuthMerging And
    Require local
</Location>
'''
RULES = '''
<Directory "@ROOT@/cache">
    Options %s
    Require all granted
</Directory>
<Directory "@ROOT@/cache/secret/small/7/*">
    Require all denied
</Directory>
'''
REFUSED = 'AH01630|AH00127'     # denied by the server's configuration


def by_query(service, **parameters):
    """An address with a query."""
    return f'/{service}?' + urllib.parse.urlencode(parameters)


def addresses(name, x):
    """Every form of the address of a tile of level 7, in the bottom row of the small grid: (form,
    its column) each, from `x` on, so that each lies in a directory of its own."""
    wmts = {'SERVICE': 'WMTS', 'REQUEST': 'GetTile', 'LAYER': name, 'TILEMATRIXSET': 'small',
            'TILEROW': 127, 'FORMAT': 'image/png'}
    wms = {'SERVICE': 'WMS', 'REQUEST': 'GetMap', 'LAYERS': name, 'WIDTH': 16, 'HEIGHT': 16,
           'FORMAT': 'image/png', 'STYLES': ''}

    def box(column):
        bounds = GRIDS['small'].box((7, column, 0, column, 0))
        return ','.join(map(str, bounds))
    forms = [lambda x: f'/{name}/small/7/{x}/127.png', lambda x: f'/tms/{name}/small/7/{x}/0.png']
    for service in '', '/service', '/rest':
        forms += [
            lambda x, service=service: f'{service}/tms/1.0.0/{name}@small@png/7/{x}/0.png',
            lambda x, service=service: f'{service}/tms/1.0.0/{name}/7/{x}/0.png',
            lambda x, service=service: f'{service}/wmts/{name}/default/small/small:7/127/{x}.png',
            lambda x, service=service: f'{service}/wmts/{name}/small/7/127/{x}?format=image/png',
            lambda x, service=service: service + by_query('wmts', TILEMATRIX='small:7', TILECOL=x,
                                                          **wmts),
            lambda x, service=service: service + by_query('wms', VERSION='1.1.1', SRS='EPSG:32632',
                                                          BBOX=box(x), **wms),
            lambda x, service=service: service + by_query('wms', VERSION='1.3.0', CRS='EPSG:32632',
                                                          BBOX=box(x), **wms)]
    return [form(column) for form, column in zip(forms, itertools.count(x, 2))]


@one_mpm
@pytest.mark.parametrize('options', ['FollowSymLinks', 'SymLinksIfOwnerMatch', 'None'])
def test_directories_that_a_miss_makes(httpd, upstream, options):
    """<Directory> rules hold for the first request as for the next, by every address."""
    httpd.start(REST + TILES + RULES % options + 'TileSeedMetatile 2x2\n'
                + stub(upstream, name='open', store='xyz')
                + layer('secret', 'TileSeedSource wms upstream:stub layers=any',
                        'TileSeedGrid small', store='xyz'))
    for address in addresses('secret', 0):
        for _ in range(2):
            assert fetch(httpd, '/tiles' + address, 403).body.startswith(b'<!DOCTYPE')
    assert (options == 'FollowSymLinks') == (not upstream.requests)     # it sees no directories
    for address in addresses('open', 0):
        tiles = [fetch(httpd, '/tiles' + address).body for _ in range(2)]
        assert tiles[0] == tiles[1] and Image.open(io.BytesIO(tiles[0])).size == (16, 16)
    httpd.expect(REFUSED)


@one_mpm
@pytest.mark.parametrize('options', ['FollowSymLinks', 'None'])
def test_rights_of_a_layer(httpd, upstream, options):
    """Users of a layer by the rules of its directory, as README writes them."""
    httpd.users(ada='a', bob='b')
    rules = RULES % options
    login = ('AuthType Basic\nAuthName tiles\nAuthBasicProvider file\n'
             'AuthUserFile "@ROOT@/users"\nAuthMerging And\nRequire valid-user')
    httpd.start(REST + TILES.replace('AuthMerging And\n    Require local', login)
                + rules.replace('Require all denied', 'Require user ada')
                + stub(upstream, name='secret', store='xyz'))
    for x, first in (0, 'bob'), (4, 'ada'):
        for user in first, 'ada', 'bob':
            answer = httpd.get(f'/tiles/secret/small/7/{x}/0.png', auth=(user, user[0]))
            assert answer.status == {'ada': 200, 'bob': 401}[user], (x, user)
            assert ('WWW-Authenticate' in answer.headers) == (user == 'bob')
    fetch(httpd, '/tiles/secret/small/7/8/0.png', 401)
    httpd.expect('AH01631')     # the wrong user


@one_mpm
def test_tiles_that_are_not_stored(httpd, upstream):
    """What the store does not take is judged by the place where it would lie; where httpd sees no
    such place nobody gets it."""
    for options, status in ('FollowSymLinks', (403, 200)), ('None', (503, 503)):
        httpd.start(REST + TILES + RULES % options + 'TileSeedMetatile 2x2\n'
                    + stub(upstream, name='secret', store='xyz'))
        httpd.path('cache/secret').write_text('a file where a directory should be')
        fetch(httpd, '/tiles/secret/small/7/0/0.png', status[0])
        fetch(httpd, '/tiles/secret/small/6/0/0.png', status[1])
        httpd.stop()
    httpd.expect(REFUSED)


@one_mpm
@pytest.mark.parametrize('options', ['FollowSymLinks', 'SymLinksIfOwnerMatch', 'None'])
def test_blanks_for_those_who_may_see_the_tile(httpd, options):
    """An empty tile is judged as the one that is missing; where httpd can't see its directory there
    is none, and where the directory is there it is as good as the tile."""
    blank = 'TileSeedOnMiss empty'
    serve(httpd, *(quiet(name, blank, store='xyz') for name in ('open', 'secret')),
          tiles=TILES + RULES % options)
    judged = options == 'FollowSymLinks'
    for name, status in ('open', 200), ('secret', 403):
        for x, address in zip(itertools.count(0, 2), addresses(name, 0)):
            answer = fetch(httpd, '/tiles' + address, status if judged else 404)
            assert judged or 'nobody knows who may see it' in answer.text
            put(httpd, f'cache/{name}/small/7/{x}/1.png', b'tile')
            assert fetch(httpd, '/tiles' + address, status).body[1:4] == (
                b'PNG' if status == 200 else b'!DO')
    httpd.expect(REFUSED)


@one_mpm
@pytest.mark.parametrize('options', ['FollowSymLinks', 'None'])
def test_links_in_a_store(httpd, options):
    """Symbolic links are followed where httpd's own files would be, but a link is no tile."""
    serve(httpd, quiet('open', store='xyz'), tiles=TILES + RULES % options)
    put(httpd, 'cache/open/small/7/0/127.png', b'tile')
    put(httpd, 'elsewhere/127.png', b'else')
    (httpd.path('cache/open/small/7/1')).symlink_to('../../../../elsewhere')
    (httpd.path('cache/open/small/7/0/126.png')).symlink_to('../../../../../elsewhere/127.png')
    status = 200 if options == 'FollowSymLinks' else 403
    fetch(httpd, '/tiles/open/small/7/0/127.png')
    fetch(httpd, '/tiles/open/small/7/0/126.png', 404 if status == 200 else 403)
    fetch(httpd, '/tiles/open/small/7/1/127.png', status)
    httpd.expect('AH00037')     # symbolic link not allowed


@one_mpm
def test_layers_of_a_location_by_every_address(httpd):
    """A location with TileSeedLayers knows no other layer, whichever way it is asked."""
    few = TILES.replace('/tiles', '/few').replace('AuthMerging And', 'TileSeedLayers open')
    serve(httpd, quiet('open', store='xyz'), quiet('secret', store='xyz'),
          tiles=TILES + few + RULES.replace('Require all denied', '') % 'FollowSymLinks')
    for name, status in ('open', (200,)), ('secret', (400, 404)):
        for x, address in zip(itertools.count(0, 2), addresses(name, 0)):
            put(httpd, f'cache/{name}/small/7/{x}/127.png', b'tile')
            assert fetch(httpd, '/tiles' + address).body == b'tile'
            assert httpd.get('/few' + address).status in status, address
    for document in '/wmts?REQUEST=GetCapabilities', '/wms?REQUEST=GetCapabilities', '/tms/1.0.0':
        text = fetch(httpd, '/few' + document).text
        assert 'open' in text and 'secret' not in text
    fetch(httpd, '/few/tms/1.0.0/secret@small@png', 404)


@one_mpm
def test_addresses_that_are_rewritten(httpd):
    """Whoever is sent to another location gets what that one gives: its layers, and the rights of
    the directories in which its tiles lie."""
    rules = ('LoadModule rewrite_module "${MODULES}/mod_rewrite.so"\nRewriteEngine on\n'
             'RewriteRule "^/few/staff/(.*)$" "/few/$1" [PT]\n'
             'RewriteRule "^/tiles/x/(.*)$" "/few/$1" [PT]\n'
             'RewriteRule "^/none/(.*)$" "/tiles/$1" [PT]\n')
    few = TILES.replace('/tiles', '/few').replace('AuthMerging And', 'TileSeedLayers open')
    staff = '<Location "/few/staff">\nTileSeedLayers open secret\n</Location>\n'
    serve(httpd, quiet('open', store='xyz'), quiet('secret', store='xyz'),
          tiles=TILES + few + staff + rules + RULES % 'FollowSymLinks')
    for name, statuses in ('open', (200,)), ('secret', (400, 404)):
        for x, address in zip(itertools.count(0, 2), addresses(name, 0)):
            put(httpd, f'cache/{name}/small/7/{x}/127.png', b'tile')
            for location in '/few', '/few/staff', '/tiles/x':
                assert httpd.get(location + address).status in statuses, location + address
            for location in '/tiles', '/none':      # <Directory> denies one of them
                assert httpd.get(location + address).status == (200 if name == 'open' else 403)
    httpd.expect('AH01630')     # client denied


@one_mpm
def test_one_address_of_many(httpd):
    """A location that guards a layer by one of its addresses is named at the start."""
    closed = ''.join(f'<Location "{path}">\nRequire all denied\n</Location>\n' for path in (
        '/tiles/secret', '/tiles/open/small/', '/tiles/tms', '/tiles/none', '/secret', '/tilesx',
        '/tiles/tms/secret', '/tiles/service/tms/1.0.0/open@small@png', '/tiles/wmts/none'))
    serve(httpd, quiet('open'), quiet('secret'), tiles=TILES + closed)
    found = set(re.findall(r'<Location "([^"]*)"> guards one address of the layer (\w+)',
                           httpd.error_log()))
    assert found == {('/tiles/secret', 'secret'), ('/tiles/open/small/', 'open'),
                     ('/tiles/tms/secret', 'secret'),
                     ('/tiles/service/tms/1.0.0/open@small@png', 'open')}
    httpd.expect('guards one address')


# Handlers

@one_mpm
@pytest.mark.parametrize('handler', ['tileseed', 'tileseed-tiles'])
@pytest.mark.parametrize('words', ['SetHandler {}', 'AddHandler {} .json .png .xml',
                                   'RewriteEngine on\nRewriteRule ^ - [H={}]'])
def test_handlers_by_name(httpd, upstream, handler, words):
    """What a .htaccess calls a handler is none: no interface, no tiles, no dead child."""
    page = httpd.folder('pages')
    (page / 'rest').mkdir()
    (page / 'rest/seed.json').write_text('a file')
    (page / '.htaccess').write_text(words.format(handler) + '\n')
    httpd.start('LoadModule rewrite_module "${MODULES}/mod_rewrite.so"\n' + REST + states(upstream)
                + 'Alias "/pages" "@ROOT@/pages"\n<Directory "@ROOT@/pages">\n    AllowOverride all'
                  '\n    Require all granted\n</Directory>\n<Location "/named">\n'
                  f'    SetHandler {handler}\n    Require all granted\n</Location>\n')
    for base in '/pages', '/named':
        for address in ('/rest/tasks.json', '/rest/diskquota.xml', '/roads/EPSG:3857/0/0/0.png',
                        '/wmts?REQUEST=GetCapabilities', '/rest', '', '/seed.json'):
            answer = httpd.get(base + address)
            assert answer.status in (403, 404, 301), (base, address, answer.status)
        for method, body in ('POST', 'kill_all=all'), ('PUT', '{}'), ('OPTIONS', None):
            answer = httpd.request(method, base + '/rest/seed', body)
            assert 'TileSeed' not in str(answer.headers) + answer.body.decode()
            assert answer.status in (403, 404, 405) or method == 'OPTIONS'
    assert fetch(httpd, '/pages/rest/seed.json').body == b'a file'
    assert ask(httpd, 'GET', '/rest/tasks.json').json() == {'tasks': []}
    httpd.expect('AH01276')     # a folder without an index
