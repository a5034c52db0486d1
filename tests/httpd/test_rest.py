# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Addresses, methods, statuses and headers of the REST interface, and who may do what."""
import contextlib
import gzip
import html
import http.client
import itertools
import re
import threading
import urllib.parse

import pytest

from rest import (BASIC, EMPTY_LIST, HTML, JSON, LEAST, PLAIN, ROADS, XML, Client, ask, checked,
                  kind, layers, listed, location, number_of, refused, seed, serve, unknown)
from seeding import GRIDS, REST, ended, layer, task, terminate
from tileseed_httpd import one_mpm, wait_until

GET, POST, PUT = {'GET', 'HEAD'}, {'POST'}, {'PUT'}

ADDRESSES = {
    '/rest/seed': POST,
    '/rest/seed/': POST,
    '/rest/seed/topp:states': POST,
    '/rest/seed/nowhere': POST,
    '/rest/seed.json': GET,
    '/rest/seed/topp:states.xml': GET | POST,
    '/rest/seed/topp:states.json': GET | POST,
    '/rest/seed/nowhere.xml': GET | POST,
    '/rest/diskquota': GET | PUT,
    '/rest/diskquota.xml': GET | PUT,
    '/rest/diskquota.json': GET | PUT,
    '/rest/diskquota/cleanup': POST,
    '/rest/layers.json': GET,
    '/rest/overview.json': GET,
    '/rest/upstreams.json': GET,
    '/rest/upstreams/again/topp:states': POST,
    '/rest/estimate/nowhere.json': GET | POST,
}
METHODS = ('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'PROPFIND', 'MOVE', 'BREW')

NOT_THERE = ('/rest/page', '/rest/page/', '/rest/seed.xml', '/rest/seed.txt', '/rest/seeds',
             '/rest/seed/a/b.xml', '/rest/seed/a/b', '/rest/diskquota/',
             '/rest/diskquota.txt', '/rest/diskquota.xml/', '/rest/masstruncate',
             '/rest/layers.xml', '/rest/tasks/1', '/rest/tasks/1.xml', '/rest/tasks/x.json',
             '/rest/tasks/0.json', '/rest/tasks/-1.json', '/rest/tasks/1/2.json',
             '/rest/tasks/99999999999999999999.json', '/rest/index.html')


def allowed(answer):
    """The methods of the header Allow."""
    return set(answer.headers['Allow'].split(', '))


# Methods and addresses

@one_mpm
@pytest.mark.parametrize('dialect', ['document', 'geowebcache'])
def test_methods(httpd, upstream, dialect):
    """Every other method is 405 with exactly what is possible, whether the layer exists or not."""
    serve(httpd, upstream, f'<Location "/rest">\nTileSeedDialect {dialect}\n</Location>\n')
    more = {'OPTIONS'} if dialect == 'geowebcache' else set()
    for (address, possible), method in itertools.product(ADDRESSES.items(), METHODS):
        if method in possible:
            continue
        status = 200 if method in more else 405
        answer = ask(httpd, method, address, status=status)
        assert allowed(answer) == possible | more, (method, address)
        assert (status == 405 and method != 'HEAD') == bool(answer.body), (method, address)
    assert not listed(httpd)


@one_mpm
def test_task_address_is_to_be_read(httpd, upstream):
    """A task's address has GET; what is not possible there is 405, whether the task exists."""
    serve(httpd, upstream)
    for method in ('POST', 'PUT', 'PATCH'):
        assert GET <= allowed(ask(httpd, method, '/rest/tasks/7.json', status=405))
    assert ask(httpd, 'GET', '/rest/tasks/7.json', status=404).text == 'there is no task 7'


@one_mpm
@pytest.mark.parametrize('method', ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])
def test_unknown_addresses(httpd, upstream, method):
    """What no page names is 404, whatever the method."""
    serve(httpd, upstream)
    for address in NOT_THERE:
        ask(httpd, method, address, status=404)
    if method == 'GET':
        for address in ('/rest/tasks/1', '/rest/layers', '/rest/overview', '/rest/nothing'):
            suffix = '' if address == '/rest/nothing' else '; .json is missing at its end'
            assert ask(httpd, 'GET', address, status=404).text == (
                'there is nothing at this address' + suffix)


@one_mpm
def test_head_is_get_without_a_body(httpd, upstream):
    """The same status and headers."""
    serve(httpd, upstream)
    seed(httpd, 'roads')
    for address in ('/rest/seed.json', '/rest/seed/roads.xml', '/rest/seed/nowhere.json',
                    '/rest/diskquota.xml', '/rest/diskquota.json', '/rest/tasks/1.json',
                    '/rest/tasks/2.json', '/rest/nothing'):
        full = httpd.get(address)
        head = ask(httpd, 'HEAD', address, status=full.status)
        assert head.body == b''
        same = ['Content-Type', 'Cache-Control']
        if 'tasks/1' not in address:        # its numbers move
            same.append('Content-Length')
        assert [head.headers[name] for name in same] == [full.headers[name] for name in same]


@one_mpm
def test_types_of_answers(httpd, upstream):
    """The suffix decides, but for lists and errors; Accept and Content-Type do not matter."""
    serve(httpd, upstream)
    for accept in ('*/*', 'text/html', 'application/xml', 'image/png;q=1'):
        more = {'headers': {'Accept': accept, 'Content-Type': 'image/gif'}}
        assert kind(ask(httpd, 'GET', '/rest/seed.json', **more)) == JSON
        assert kind(ask(httpd, 'GET', '/rest/seed/roads.xml', **more)) == JSON
        assert kind(ask(httpd, 'GET', '/rest/seed/roads.json', **more)) == JSON
        assert kind(ask(httpd, 'GET', '/rest/diskquota.xml', **more)) == XML
        assert kind(ask(httpd, 'GET', '/rest/diskquota.json', **more)) == JSON
        assert kind(ask(httpd, 'POST', '/rest/seed', 'kill_all=all', **more)) == HTML
        assert kind(seed(httpd, 'roads', **more)) == PLAIN


@one_mpm
def test_quota_without_a_suffix(httpd, upstream):
    """XML unless Accept wants JSON alone; a PUT in the format of its body, whatever its label."""
    serve(httpd, upstream)
    for accept, expected in (('application/json', JSON), ('application/JSON;charset=utf-8', JSON),
                             ('application/json, */*', XML), ('text/xml, application/json', XML),
                             ('*/*', XML), ('', XML), ('application/jsonish', XML)):
        answer = ask(httpd, 'GET', '/rest/diskquota', headers={'Accept': accept})
        assert kind(answer) == expected, accept
    for body, expected in (('{"cacheQuotaConfiguration":{"cacheCleanUpFrequency":7}}', JSON),
                           (' <cacheQuotaConfiguration><cacheCleanUpFrequency>8'
                            '</cacheCleanUpFrequency></cacheQuotaConfiguration>', XML)):
        for label in ('application/json', 'text/xml', 'application/x-www-form-urlencoded', ''):
            answer = ask(httpd, 'PUT', '/rest/diskquota', body, headers={'Content-Type': label})
            assert kind(answer) == expected
    assert '<cacheCleanUpFrequency>8<' in ask(httpd, 'GET', '/rest/diskquota').text
    for label, words in (('application/json', 'JSON is expected'), ('text/xml', 'XML is expected')):
        assert words in refused(httpd, 400, 'PUT', '/rest/diskquota', '',
                                headers={'Content-Type': label})


@one_mpm
def test_types_survive_the_server_s_own(httpd, upstream):
    """AddDefaultCharset, AddType and AddEncoding of the server do not reach our answers."""
    serve(httpd, upstream, 'AddDefaultCharset UTF-8\nAddType text/weird .json\n'
          'AddEncoding x-gzip .gz\nAddLanguage de .de\nAddCharset UTF-16 .u16\n',
          layers_of(upstream, 'a.de.u16.gz'))
    answer = ask(httpd, 'GET', '/rest/seed/a.de.u16.gz.json')
    assert kind(answer) == JSON
    assert 'Content-Encoding' not in answer.headers and 'Content-Language' not in answer.headers
    assert kind(seed(httpd, 'a.de.u16.gz')) == PLAIN


def layers_of(upstream, *names):
    """More layers beside the usual two."""
    text = layers(upstream, **{name: ROADS for name in names})
    return '\n'.join(text.splitlines()[1:]) + '\n'      # the upstream is there already


@one_mpm
def test_queries_of_seed_requests(httpd, upstream):
    """They are read as the page's form is; one that contradicts the body is refused, one that
    could narrow and is not known as well; what narrows nothing is named."""
    serve(httpd, upstream)
    answer = ask(httpd, 'POST', '/rest/seed/topp:states.json?zoomStop=03&minX=0&minY=0&maxX=9'
                 '&maxY=9&parameter_STYLES=outline&workspace=topp&_=1&kill_all=all',
                 '{"seedRequest":{"zoomStop":3,"gridSetId":"EPSG:4326"}}')
    assert answer.headers['TileSeed-Warning'] == 'ignored: workspace, _, kill_all'
    found = task(httpd, number_of(answer))
    assert (found['zoomStop'], found['bounds']) == (3, [0, 0, 9, 9])
    assert found['parameters'] == {'STYLES': 'outline'}
    assert found['ignored'] == ['workspace', '_', 'kill_all']
    number = number_of(ask(httpd, 'POST', '/rest/seed/roads.xml?type=truncate&f=json',
                           LEAST['xml']))
    assert ended(httpd, number)['type'] == 'truncate'
    for query, body, message in (
            ('zoomStop=3', '<zoomStop>5</zoomStop>',
             "zoomStop is '3' in the query and '5' in the body"),
            ('type=truncate', '<type>seed</type>',
             "type is 'truncate' in the query and 'seed' in the body"),
            ('zoomEnd=3', '', "Unknown member: 'zoomEnd'. Is zoomStop meant?"),
            ('tileRange=0,0,1,1', '', "Unknown member: 'tileRange'. Is zoomStart, zoomStop or bbox "
             'meant?'),
            ('color=red', '<type>truncate</type>', "Unknown member: 'color'. A truncate is "
             'refused rather than done without it: leave it out if it says nothing'),
            ('layer=d&type=truncate', '', "Unknown member: 'layer'. A truncate is "
             'refused rather than done without it: leave it out if it says nothing'),
            ('zoomstopp=3', '', "Unknown member: 'zoomstopp'. Is zoomStop meant?"),
            ('boundingBox=1,2,3,4', '', "Unknown member: 'boundingBox'. Is bbox meant?"),
            ('TIME=2026', '', "Unknown member: 'TIME'. Is parameter_NAME meant?"),
            ('parameter_TIME=2026', '', "layer roads has no parameter 'TIME', it has none"),
            ('type=truncate', '<priority>1</priority>', "Unknown member: 'priority'. A truncate is "
             'refused rather than done without it: leave it out if it says nothing'),
            ('gridSetId=EPSG:3857', '<srs><number>4326</number></srs>',
             "bounds.srs must be that of grid set EPSG:3857, EPSG code 3857, not '4326'")):
        body = f'<seedRequest>{body}</seedRequest>'
        for address in ('seed', 'estimate'):
            path = f'/rest/{address}/roads.xml?{query}'
            assert refused(httpd, 400, 'POST', path, body) == message


NARROWS = ('zmin zmax minz maxz lod lods tileRange rect startAt stopAt only x y z x0 row column '
           'tiles window subset quadkey shape area depth pyramid until limit expires where dryRun'
           ).split()


@one_mpm
def test_names_that_could_narrow(httpd, upstream):
    """Whichever way they come in, also when all of the request stands in the query; a truncate
    takes no name that is not known."""
    serve(httpd, upstream)
    for kind_, names in (('seed', NARROWS), ('truncate', (*NARROWS, 'layer', 'color', 'force'))):
        for name in names:
            for path, body in ((f'.json?{name}=4', '{"seedRequest":{"type":"%s"}}' % kind_),
                               (f'?minX=&type={kind_}&{name}=4', ''),
                               ('', f'minX=&type={kind_}&{name}=4'),
                               ('.json', '{"seedRequest":{"type":"%s","%s":4}}' % (kind_, name)),
                               ('.xml', f'<seedRequest><type>{kind_}</type><{name}>4</{name}>'
                                '</seedRequest>')):
                answer = refused(httpd, 400, 'POST', f'/rest/seed/roads{path}', body)
                assert answer.startswith(f"Unknown member: '{name}'."), (path, body)
    for root in ('{"seedRequest":{"seedRequest":{"type":"truncate"}}}',
                 '{"seedRequest":{"options":{"zoomStart":3}}}',
                 '{"seedRequest":{"type":"truncate"}},"bounds":{"coords":{"double":[0,0,1,1]}}}}'):
        refused(httpd, 400, 'POST', '/rest/seed/roads.json', root)
    assert listed(httpd) == []
    number = number_of(ask(httpd, 'POST', '/rest/seed/roads.json?_=1&workspace=w&zmin=&1761',
                           '{"seedRequest":{"type":"truncate"}}}}'))
    assert ended(httpd, number)['type'] == 'truncate'


@one_mpm
def test_queries_of_lists_and_quota_are_ignored(httpd, upstream):
    """They change nothing, and are no reason to refuse."""
    serve(httpd, upstream)
    number = number_of(seed(httpd, 'roads'))
    assert listed(httpd, '/rest/seed.json?kill_all=all') == [number]
    assert ask(httpd, 'GET', '/rest/diskquota.xml?x=1').text == httpd.get(
        '/rest/diskquota.xml').text


@one_mpm
def test_queries_of_our_own_lists(httpd, upstream):
    """A list that ignored what it does not know would have more than was asked for."""
    serve(httpd, upstream)
    number = number_of(seed(httpd, 'roads'))
    lists = {f'tasks/{number}.json': (), 'layers.json': (), 'overview.json': (),
             'upstreams.json': (), 'hosts.json': (),
             'tasks.json': ('state', 'layer', 'limit', 'before'),
             f'tasks/{number}/failures.json': ('limit', 'after'),
             'diskquota/usage.json': ('tileset', 'limit', 'after'),
             'coverage/1/1.json': ('bbox', 'cells')}
    for path, keys in lists.items():
        possible = f'Possible here: {", ".join(keys)}' if keys else 'None is possible here'
        assert refused(httpd, 400, 'GET', f'/rest/{path}?limits_of=1') == (
            f"Unknown member: 'limits_of'. {possible}")
        for key in keys:
            assert refused(httpd, 400, 'GET', f'/rest/{path}?{key[:-1]}=1') == (
                f"Unknown member: '{key[:-1]}'. Is {key} meant?")
        if keys != ('bbox', 'cells'):       # there may be no such tile set yet
            ask(httpd, 'GET', f'/rest/{path}?_=1761&1761')
    assert refused(httpd, 400, 'PUT', '/rest/hosts/web1?state=active', '{"state":"draining"}') == (
        "Unknown member: 'state'. None is possible here")


@one_mpm
def test_queries_that_would_narrow_nothing(httpd, upstream):
    """What changes something and reads neither query nor body is refused with either."""
    serve(httpd, upstream)
    number = number_of(seed(httpd, 'roads'))
    for method, path in (('POST', f'/rest/tasks/{number}/retry?zoomStop=3'),
                         ('DELETE', f'/rest/tasks/{number}.json?state=pending'),
                         ('DELETE', '/rest/layers/roads/tilesets?TIME=1'),
                         ('POST', '/rest/diskquota/reconcile?layer=roads'),
                         ('POST', '/rest/diskquota/cleanup?layer=roads')):
        assert 'nothing can be said in the query' in refused(httpd, 400, method, path)
        for body in ('{"layer":"roads"}', '<retry><zoomStop>3</zoomStop></retry>', '{}x', '[]',
                     'layer=roads'):
            assert 'nothing can be said in the body' in refused(
                httpd, 400, method, path.split('?')[0], body)
    assert "'layer'" in refused(httpd, 400, 'DELETE', '/rest/diskquota/usage/1.json?layer=roads')
    for body in ('', ' {\n} '):
        assert httpd.post('/rest/diskquota/reconcile', body).status == 200


# Places

@one_mpm
def test_base_paths(httpd, upstream):
    """Several locations, deep ones, one with a slash at its end: one table behind them all."""
    bases = {'/rest': '/rest', '/geowebcache/rest': '/geowebcache/rest',
             '/geoserver/gwc/rest/': '/geoserver/gwc/rest', '/a b/rest': '/a%20b/rest',
             '/tiles': '/tiles'}
    serve(httpd, upstream, *[location(path) for path in bases if path != '/rest'])
    numbers = []
    for base in bases.values():
        answer = seed(httpd, 'roads', base=base)
        numbers.append(number_of(answer))
        assert answer.headers['Link'] == f'<{base}/tasks/{numbers[-1]}.json>; rel="monitor"'
        assert ask(httpd, 'GET', f'{base}/tasks/{numbers[-1]}.json').json()['id'] == numbers[-1]
    for base in bases.values():
        assert listed(httpd, f'{base}/seed.json') == numbers
        ask(httpd, 'GET', f'{base}/diskquota.xml')
    assert number_of(seed(httpd, 'roads', base='/tiles/../rest')) == numbers[-1] + 1


@one_mpm
def test_off_inside_on(httpd, upstream):
    """A location can be taken out again; the rest of the server is not ours."""
    serve(httpd, upstream, '<Location "/rest/seed">\nTileSeedRest off\n</Location>\n'
          '<Location "/elsewhere">\nRequire local\n</Location>\n')
    assert httpd.get('/rest/seed.json').status == 200
    assert httpd.post('/rest/seed', 'kill_all=all').status in (404, 405)
    assert httpd.get('/elsewhere/seed.json').status == 404
    assert not httpd.get('/elsewhere').headers['Cache-Control']


@one_mpm
def test_configured_layers_of_a_location(httpd, upstream):
    """Others are unknown there, in every way."""
    serve(httpd, upstream, location('/some/rest', 'Require local', 'TileSeedLayers roads'))
    states, roads = number_of(seed(httpd, 'topp:states')), number_of(seed(httpd, 'roads'))
    assert listed(httpd) == [states, roads]
    assert listed(httpd, '/some/rest/seed.json') == [roads]
    for method, address, body in (('POST', 'seed/topp:states.xml', LEAST['xml']),
                                  ('GET', 'seed/topp:states.json', None),
                                  ('POST', 'seed/topp:states', 'kill_all=all')):
        assert refused(httpd, 400, method, f'/some/rest/{address}',
                       body) == unknown('topp:states', base='/some/rest')
    assert refused(httpd, 404, 'GET', f'/some/rest/tasks/{states}.json') == (
        f'there is no task {states}')
    assert ask(httpd, 'GET', f'/some/rest/tasks/{roads}.json').json()['layer'] == 'roads'
    page = ask(httpd, 'POST', '/some/rest/seed', 'kill_all=all').text
    assert f'[{roads}: roads' in page and 'topp' not in page
    assert listed(httpd) == [states]


# Who

@one_mpm
def test_authentication_comes_first(httpd, upstream):
    """401 before 400, 403, 404, 405 and 413, and whoever asked is on the task's record."""
    httpd.users(ada='secret', bob='hidden')
    rest = 'TileSeedStateDir "@ROOT@/state"\n' + location('/rest', *BASIC, 'Require valid-user')
    serve(httpd, upstream, rest=rest)
    for method, address, body in (('GET', '/rest/seed.json', None), ('GET', '/rest/none', None),
                                  ('DELETE', '/rest/seed', None), ('BREW', '/rest/seed', None),
                                  ('OPTIONS', '/rest/seed', None),
                                  ('POST', '/rest/seed/nowhere.xml', '<'),
                                  ('POST', '/rest/seed', 'kill_all=all'),
                                  ('PUT', '/rest/diskquota.xml', 'x' * 70000)):
        answer = httpd.request(method, address, body, headers={'Origin': 'http://evil.example'})
        assert answer.status == 401, (method, address)
        assert answer.headers['WWW-Authenticate'] == 'Basic realm="tiles"'
    auth = {'auth': ('ada', 'secret')}
    assert listed(httpd, **auth) == []
    ask(httpd, 'DELETE', '/rest/seed', status=405, **auth)
    number = number_of(seed(httpd, 'roads', **auth))
    document = ask(httpd, 'GET', f'/rest/tasks/{number}.json', **auth).json()
    assert document['requestedBy'] == 'ada'
    ask(httpd, 'POST', '/rest/seed', 'kill_all=all', auth=('bob', 'hidden'))
    document = ask(httpd, 'GET', f'/rest/tasks/{number}.json', **auth).json()
    assert (document['state'], document['reason']) == ('ABORTED', 'terminated by bob')
    assert httpd.get('/rest/seed.json', auth=('ada', 'wrong')).status == 401
    httpd.expect('AH01617')     # the wrong password


@one_mpm
def test_readers_may_watch_alone(httpd, upstream):
    """httpd's own access control, as conf/tileseed.conf shows it."""
    httpd.users(reader='r', seeder='s')
    rest = 'TileSeedStateDir "@ROOT@/state"\n' + location(
        '/rest', *BASIC, '<RequireAny>', '<RequireAll>', 'Require method GET HEAD',
        'Require user reader', '</RequireAll>', 'Require user seeder', '</RequireAny>') + (
            '<Location "/rest/estimate">\nRequire user reader seeder\n</Location>\n')
    serve(httpd, upstream, rest=rest)
    reader, seeder = {'auth': ('reader', 'r')}, {'auth': ('seeder', 's')}
    number = number_of(seed(httpd, 'roads', **seeder))
    assert listed(httpd, **reader) == [number]
    ask(httpd, 'HEAD', '/rest/diskquota.xml', **reader)
    ask(httpd, 'POST', '/rest/estimate/roads.json', '{"seedRequest":{"zoomStop":3}}', **reader)
    for method, address in (('POST', '/rest/seed/roads.xml'), ('POST', '/rest/seed'),
                            ('PUT', '/rest/diskquota.xml'), ('DELETE', '/rest/tasks/1.json')):
        assert httpd.request(method, address, '', **reader).status == 401
    assert listed(httpd, **seeder) == [number]
    httpd.expect('AH01631')     # authorization failure


# Layers

NAMES = ('topp:states', 'a.b.xml', 'v1.2', '.hidden', 'New York', 'Köln', '東京', 'a+b', '50%',
         'x&y<z>', "it's", 'seed', 'kill_all', 'q?r#s', 'semi;colon')


@one_mpm
@pytest.mark.parametrize('quote', [
    urllib.parse.quote, lambda name: urllib.parse.quote(name, safe=':;+&'),
    lambda name: ''.join(f'%{byte:02x}' for byte in name.encode())],
    ids=['colon_encoded', 'colon_plain', 'all_encoded'])
def test_layer_names(httpd, upstream, quote):
    """Colons, dots, blanks, UTF-8, also percent-encoded; only the last suffix is cut."""
    serve(httpd, upstream, layers_of(upstream, *NAMES[1:]))
    for name in NAMES:
        path = '/rest/seed/' + quote(name)
        numbers = [number_of(ask(httpd, 'POST', f'{path}.{suffix}', LEAST[suffix]))
                   for suffix in ('xml', 'json')]
        assert listed(httpd, f'{path}.xml') == listed(httpd, f'{path}.json') == numbers
        document = ask(httpd, 'GET', f'/rest/tasks/{numbers[0]}.json').json()
        assert document['layer'] == name
        if name.endswith('.xml'):
            continue            # without a second suffix this is the layer a.b
        page = ask(httpd, 'POST', path, 'kill_all=all').text
        assert f': {name}, SEED, ' in html.unescape(page) and '<z>' not in page
    assert listed(httpd) == listed(httpd, '/rest/seed/a.b.xml.json') != []


@one_mpm
def test_unknown_layers(httpd, upstream):
    """400 with the name, as far as it is ASCII, and the name that is meant; the layers a.b and
    a.b.xml are two."""
    serve(httpd, upstream, layers_of(upstream, 'a.b.xml'))
    for encoded, name, meant in (
            ('nowhere', 'nowhere', None), ('TOPP:states', 'TOPP:states', 'topp:states'),
            ('Z%C3%BCrich', 'Z?rich', None), ('a%0d%0ab', 'a??b', None), ('x%ff', 'x?', None),
            ('topp:states.xml', 'topp:states.xml', None), ('a.b', 'a.b', None),
            ('topp:states ', 'topp:states', 'topp:states'), ('%3Cb%3E', '<b>', None),
            ('raods', 'raods', 'roads'), ('road', 'road', 'roads')):
        path = '/rest/seed/' + encoded.replace(' ', '%20')
        for method, suffix, body in (('GET', '.xml', None), ('GET', '.json', None),
                                     ('POST', '.xml', '<seedRequest/>'), ('POST', '.json', 'junk')):
            assert refused(httpd, 400, method, path + suffix, body) == unknown(name, meant)
        if not encoded.endswith('.xml'):
            assert refused(httpd, 400, 'POST', path, 'kill_all=all') == unknown(name, meant)


@one_mpm
def test_unknown_layers_of_a_location(httpd, upstream):
    """No name is told that the location does not see; the list is at the public address."""
    serve(httpd, upstream, location('/some/rest', 'Require local', 'TileSeedLayers topp:states'),
          location('/third', 'Require local', 'TileSeedPublicURL https://maps.example/cache'))
    assert refused(httpd, 400, 'GET', '/some/rest/seed/raods.json') == (
        unknown('raods', base='/some/rest'))
    assert refused(httpd, 400, 'GET', '/some/rest/seed/roads.json') == (
        unknown('roads', base='/some/rest'))
    assert refused(httpd, 400, 'GET', '/some/rest/seed/top:states.json') == (
        unknown('top:states', 'topp:states'))
    assert refused(httpd, 400, 'GET', '/third/seed/x.json') == (
        unknown('x', base='https://maps.example/cache'))


@one_mpm
def test_slashes_in_names(httpd, upstream):
    """No layer has one. httpd answers for an encoded one itself unless it is told to pass it."""
    serve(httpd, upstream)
    assert httpd.get('/rest/seed/a%2Fb.json').status == 404
    httpd.graceful(httpd.path('test.conf').read_text() + 'AllowEncodedSlashes NoDecode\n')
    wait_until(lambda: refused_slash(httpd) == 400)
    assert refused(httpd, 400, 'GET', '/rest/seed/a%2fb.json') == unknown('a/b')
    httpd.expect('AH00026')     # found %2f in the path


def refused_slash(httpd):
    """The status of a name with a slash."""
    return httpd.get('/rest/seed/a%2Fb.json').status


@one_mpm
def test_layer_taken_out_of_the_configuration(httpd, upstream):
    """While it has tasks it can be listed and terminated, but not seeded."""
    busy = 'TileSeedThreads 1\n'
    serve(httpd, upstream, busy, layers_of(upstream, 'old'))
    first = number_of(seed(httpd, 'roads'))
    old = number_of(seed(httpd, 'old'))
    httpd.stop()
    serve(httpd, upstream, busy)
    assert listed(httpd) == [first, old]
    assert listed(httpd, '/rest/seed/old.json') == [old]
    assert refused(httpd, 400, 'POST', '/rest/seed/old.json', LEAST['json']) == unknown('old')
    assert f'[{old}: old, SEED, PENDING]' in ask(httpd, 'POST', '/rest/seed/old',
                                                 'kill_all=all').text
    assert refused(httpd, 400, 'GET', '/rest/seed/old.json') == unknown('old')


# Accepting tasks

@one_mpm
def test_headers_of_an_accepted_task(httpd, upstream):
    """Empty body, id, link; a name that differs is said, and cannot smuggle in a header."""
    serve(httpd, upstream)
    answer = seed(httpd, 'roads', '{"seedRequest":{"zoomStop":9}}')
    assert answer.body == b'' and kind(answer) == PLAIN
    assert answer.headers['TileSeed-Task'] == '1'
    assert answer.headers['Link'] == '</rest/tasks/1.json>; rel="monitor"'
    assert 'TileSeed-Warning' not in answer.headers
    assert 'TileSeed-Warning' not in seed(
        httpd, 'roads', '{"seedRequest":{"name":"roads","zoomStop":9}}').headers
    for name, shown in (('topp:states', 'topp:states'), ('Zürich', 'Z?rich'),
                        (r'a\r\nX-Evil: 1', 'a??X-Evil: 1'), ('<b>', '<b>')):
        answer = seed(httpd, 'roads', f'{{"seedRequest":{{"name":"{name}","zoomStop":9}}}}')
        assert answer.headers['TileSeed-Warning'] == f'name {shown} ignored, layer is roads'
        assert 'X-Evil' not in answer.headers
        assert task(httpd, number_of(answer))['layer'] == 'roads'
    assert 'name Z?rich ignored' in httpd.error_log()


MISSPELT = {
    '{"seedRequest":{"zoomstop":3,"Type":"truncate"}}': 'zoomStop',
    '{"seedRequest":{"gridSetID":"EPSG:3857"}}': 'gridSetId',
    '{"seedRequest":{"thread_count":3}}': 'threadCount',
    '{"seedRequest":{"srs":{"nummer":4326}}}': 'srs.number',
    '<seedRequest><zoom-start>3</zoom-start></seedRequest>': 'zoomStart',
    '<seedRequest><parameter>1</parameter></seedRequest>': 'parameters',
    '<seedRequest><bounds><coord>1</coord></bounds></seedRequest>': 'bounds.coords',
    '{"seedRequest":{"type":"truncate","boundingBox":{"minx":1}}}': 'bounds.coords',
    '{"seedRequest":{"operation":"truncate"}}': 'type',
    'minX=&zoom_stop=3': 'zoomStop',
    'minX=&paramter_STYLES=3': 'parameter_STYLES',
}


@one_mpm
def test_list_of_layers(httpd, upstream):
    """What a request may name, of the layers that the location sees."""
    serve(httpd, upstream, location('/some/rest', 'Require local', 'TileSeedLayers roads'))
    states_, roads = ask(httpd, 'GET', '/rest/layers.json').json()['layers']
    assert (states_['name'], roads['name']) == ('topp:states', 'roads')
    grid = states_['gridSets'][0]['grid']
    assert (grid['corner'], grid['origin'], grid['extent']) == ('bottom-left', [-180, -90], WHOLE)
    assert grid['resolutions'] == [0.703125 / 2 ** z for z in range(22)]
    assert grid['columns'] == [2 ** (z + 1) for z in range(22)]
    assert grid['rows'] == [2 ** z for z in range(22)]
    assert abs(grid['metersPerUnit'] - 111319.49) < 0.01
    assert states_['metatile'] == {'width': 4, 'height': 4, 'gutter': 0}
    assert states_['gridSets'][0] == {
        'gridSetId': 'EPSG:4326', 'srs': 4326, 'zoomStart': 0, 'zoomStop': 21, 'bounds': WHOLE,
        'tileWidth': 256, 'tileHeight': 256, 'grid': grid}
    assert [states_['gridSets'][1][name] for name in ('gridSetId', 'zoomStart', 'zoomStop')] == [
        'EPSG:900913', 2, 20]
    assert [found['format'] for found in states_['formats']] == ['image/png', 'image/jpeg']
    assert states_['parameters'] == [{'name': 'STYLES', 'default': '',
                                      'values': ['population', 'outline'], 'regex': None}]
    assert roads['parameters'] == []
    assert [found['name'] for found in
            ask(httpd, 'GET', '/some/rest/layers.json').json()['layers']] == ['roads']


@one_mpm
def test_misspelt_members_are_refused(httpd, upstream):
    """By the name that is meant, and nothing is seeded."""
    serve(httpd, upstream)
    for body, meant in MISSPELT.items():
        suffix = {'{': '.json', '<': '.xml'}.get(body[0], '')
        for address in ('seed', 'estimate') if suffix else ('seed',):
            sentence = refused(httpd, 400, 'POST', f'/rest/{address}/topp:states{suffix}', body)
            assert sentence.endswith(f"Is {meant} meant?"), (body, sentence)
    for body, meant in (('{"cacheQuotaConfiguration":{"enabld":true}}', 'enabled'),
                        ('{"cacheQuotaConfiguration":{"globalQuota":{"Value":1,"units":"B"}}}',
                         'globalQuota.value'),
                        ('{"cacheQuotaConfiguration":{"layerQuotas":[{"layers":"roads"}]}}',
                         'layerQuotas.layer'),
                        ('{"cacheQuotaConfiguration":{"layerQuotas":{"layerquota":[]}}}',
                         'layerQuotas.LayerQuota')):
        sentence = refused(httpd, 400, 'PUT', '/rest/diskquota.json', body)
        assert sentence.endswith(f'Is {meant} meant?'), (body, sentence)


@one_mpm
def test_unknown_members_are_named(httpd, upstream):
    """In the answer, in the log, and in the task's document, also after a restart."""
    serve(httpd, upstream)
    body = '{"seedRequest":{"zoomStop":1,"priority":"LOW","größe":"XL"}}'
    answer = seed(httpd, 'roads', body)
    assert answer.headers['TileSeed-Warning'] == 'ignored: priority, gr??e'
    assert 'task 1: ignored: priority, gr??e' in httpd.error_log()
    assert seed(httpd, 'roads').headers['TileSeed-Warning'].startswith('1537228672809129301 tiles')
    estimate = ask(httpd, 'POST', '/rest/estimate/roads.json', body)
    assert estimate.headers['TileSeed-Warning'] == 'ignored: priority, gr??e'
    form = ask(httpd, 'POST', '/rest/seed/roads', 'minX=&zoomStop=1&submit=Submit')
    assert form.headers['TileSeed-Warning'] == 'ignored: submit'
    httpd.restart()
    assert [task(httpd, number)['ignored'] for number in (1, 2, 3)] == [
        ['priority', 'größe'], [], ['submit']]


@one_mpm
def test_bounds_outside(httpd, upstream):
    """No tile is there: a task that is done at once, and a warning that says where the box lies."""
    serve(httpd, upstream, 'TileSeedThreads 1\nTileSeedMaxTasks 1\n')
    number = number_of(seed(httpd, 'topp:states'))
    box = '{"seedRequest":{"zoomStop":9,"gridSetId":"%s","bounds":{"coords":{"double":[%s]}}}}'
    answer = seed(httpd, 'roads', box % ('EPSG:3857', '3e7,0,3.1e7,1'))
    assert listed(httpd) == [number]
    assert task(httpd, number_of(answer))['state'] == 'DONE'
    above = seed(httpd, 'roads', '{"seedRequest":{"type":"truncate","zoomStart":31}}')
    assert 'zoomStart 31 is above 30' in above.headers['TileSeed-Warning']
    assert (task(httpd, number_of(above))['state'], listed(httpd)) == ('DONE', [number])
    terminate(httpd)
    assert 'lie outside' in answer.headers['TileSeed-Warning']
    assert '-20037508.34,-20037508.34,20037508.34,20037508.34' in answer.headers['TileSeed-Warning']
    document = ended(httpd, number_of(answer))
    assert (document['state'], document['tilesTotal']) == ('DONE', 0)
    answer = seed(httpd, 'roads', box % ('EPSG:3857', '5.9,45.8,10.5,47.8'))
    assert 'look like degrees' in answer.headers['TileSeed-Warning']
    assert 'look like degrees' in httpd.error_log()


def test_every_child_lists_what_was_accepted(httpd, upstream, mpm):
    """Connections stay open, so that on prefork each has its own child: the very next list on
    any of them has the task, and the list after a termination has it no more."""
    serve(httpd, upstream, 'KeepAliveTimeout 30\nMaxKeepAliveRequests 0\n',
          'StartServers 6\n' if mpm == 'prefork' else 'StartServers 3\n',
          'LogFormat "%P" child\nCustomLog "@ROOT@/who.log" child\n')
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(httpd)) for _ in range(6)]
        for client in clients:
            assert client.listed() == []
        for number, client in enumerate(clients, 1):
            response, body = client.request('POST', '/rest/seed/roads.xml', LEAST['xml'])
            assert (response.status, body) == (200, b'')
            assert int(response.headers['TileSeed-Task']) == number
            for other in clients:
                assert other.listed() == list(range(1, number + 1))
        for number, client in enumerate(clients, 1):
            response, _ = client.request('POST', '/rest/seed?kill_all=all')
            assert response.status == 200
            assert all(other.listed() == [] for other in clients)
            response, body = client.request('GET', f'/rest/tasks/{number}.json')
            assert b'"state":"ABORTED"' in body
    if mpm == 'prefork':
        assert len(set(httpd.path('who.log').read_text().split())) == len(clients)


@one_mpm
def test_ids_ascend_for_ever(httpd, upstream):
    """Many clients at once get different ones; none comes again after a stop and a start."""
    serve(httpd, upstream)
    numbers = []

    def client():
        for _ in range(5):
            numbers.append(number_of(seed(httpd, 'roads')))

    threads = [threading.Thread(target=client) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 41))
    assert listed(httpd) == sorted(numbers)
    terminate(httpd)
    for again in range(2):
        httpd.stop()
        httpd.start()
        assert not listed(httpd)
        assert number_of(seed(httpd, 'topp:states')) == 41 + again
        terminate(httpd)
    httpd.graceful()
    assert number_of(seed(httpd, 'topp:states')) == 43


@one_mpm
def test_full_table(httpd, upstream):
    """503 with Retry-After, and nothing is lost; a place that is free again can be taken."""
    serve(httpd, upstream, 'TileSeedMaxTasks 3\nTileSeedThreads 1\n')
    numbers = [number_of(seed(httpd, 'roads')) for _ in range(3)]
    answer = seed(httpd, 'topp:states', status=503)
    assert int(answer.headers['Retry-After']) > 0
    assert answer.text.startswith('3 tasks are pending or running')
    assert 'TileSeedMaxTasks' in answer.text and 'TileSeed-Task' not in answer.headers
    assert listed(httpd) == numbers
    ask(httpd, 'POST', '/rest/seed', 'kill_all=running')
    assert number_of(seed(httpd, 'topp:states')) > numbers[-1]
    seed(httpd, 'topp:states', status=503)
    assert len(listed(httpd)) == 3


# Seed requests

@one_mpm
def test_list_rows(httpd, upstream):
    """Exact counts, also far beyond what could ever be made; ascending ids of both layers."""
    serve(httpd, upstream, 'TileSeedThreads 2\n')
    assert ask(httpd, 'GET', '/rest/seed.json').text == EMPTY_LIST
    seed(httpd, 'topp:states', '{"seedRequest":{"zoomStop":12}}')
    seed(httpd, 'roads', '{"seedRequest":{"gridSetId":"EPSG:3857","zoomStop":20}}')
    seed(httpd, 'topp:states', '{"seedRequest":{"zoomStart":3,"zoomStop":3,"threadCount":9}}')
    assert ask(httpd, 'GET', '/rest/seed.json').text == (
        '{"long-array-array":[[0,44739242,44739242,1,1],[0,1466015503701,1466015503701,2,1],'
        '[0,128,128,3,0]]}')
    assert ask(httpd, 'GET', '/rest/seed/topp:states.xml').text == (
        '{"long-array-array":[[0,44739242,44739242,1,1],[0,128,128,3,0]]}')
    assert ask(httpd, 'GET', '/rest/seed/roads.json').text == (
        '{"long-array-array":[[0,1466015503701,1466015503701,2,1]]}')


WHOLE = [-180, -90, 180, 90]
DEFAULTS = {'layer': 'topp:states', 'gridSetId': 'EPSG:4326', 'format': 'image/png', 'type': 'seed',
            'bounds': WHOLE, 'zoomStart': 0, 'zoomStop': 21, 'threadCount': 1,
            'parameters': {'STYLES': ''}}

# What is sent, and what the task differs in from the one of an empty request.
REQUESTS = {
    '<seedRequest/>': {},
    ' \n<seedRequest></seedRequest>\n': {},
    '<?xml version="1.0" encoding="UTF-8"?>\n<seedRequest/>': {},
    '<?xml version="1.0" encoding="ISO-8859-1"?><!-- \xe9 --><seedRequest/>': {},
    '<seedRequest xmlns="http://geowebcache.org/schema/1.2.0" a="b"><type>Reseed</type>'
    '<!-- type --><unknown><deep/></unknown></seedRequest>': {'type': 'reseed'},
    '<seedRequest><type><![CDATA[TRUNCATE]]></type><threadCount>8</threadCount></seedRequest>':
        {'type': 'truncate'},
    '<seedRequest><gridSetId/><bounds/><parameters/><format/><srs/><zoomStart/><zoomStop/>'
    '<threadCount/></seedRequest>': {},
    '<seedRequest><gridSetId>EPSG:900913</gridSetId><srs><number>4326</number></srs>'
    '<zoomStart>0</zoomStart><zoomStop>30</zoomStop></seedRequest>':
        {'gridSetId': 'EPSG:900913', 'zoomStart': 2, 'zoomStop': 20, 'bounds': None},
    '<seedRequest><srs><number>102113</number></srs><zoomStart>03</zoomStart><zoomStop>08'
    '</zoomStop></seedRequest>':
        {'gridSetId': 'EPSG:900913', 'zoomStart': 3, 'zoomStop': 8, 'bounds': None},
    '<seedRequest><bounds><coords><double>-200</double><double>-45.5</double><double> 1e1 </double>'
    '<double>1000</double></coords></bounds></seedRequest>': {'bounds': [-180, -45.5, 10, 90]},
    '<seedRequest><format>image/jpeg</format><threadCount>0</threadCount></seedRequest>':
        {'format': 'image/jpeg'},
    '<seedRequest><threadCount>-3</threadCount></seedRequest>': {},
    '<seedRequest><threadCount>5000000000</threadCount></seedRequest>':
        {'threadCount': 2147483647},
    '<seedRequest><parameters><entry><string>styles</string><string>population</string></entry>'
    '</parameters></seedRequest>': {'parameters': {'STYLES': 'population'}},
    '{"seedRequest":{}}': {},
    "{'seedRequest':{'type':'truncate','zoomStart':1,'zoomStop':'12','format':'image\\/png'}}}":
        {'type': 'truncate', 'zoomStart': 1, 'zoomStop': 12},
    '{seedRequest:{name:topp:states,type:reseed,zoomStart:00,zoomStop:08,}}':
        {'type': 'reseed', 'zoomStop': 8},
    '{"seedRequest":{"bounds":{"coords":{"double":["-10.5",-20,"30","4E1"]}}}} } }':
        {'bounds': [-10.5, -20, 30, 40]},
    '{"seedRequest":{"parameters":{"entry":{"string":["STYLES","outline"]}}}}':
        {'parameters': {'STYLES': 'outline'}},
    '{"seedRequest":{"parameters":{"entry":[{"string":["Styles","outline"]}]}}}':
        {'parameters': {'STYLES': 'outline'}},
    '{"seedRequest":{"gridSetId":null,"srs":{"number":"3857"},"unknown":[],"zoomStart":5,'
    '"zoomStop":5,"bounds":{"coords":{"double":[0,0,1,1]}}}}':
        {'gridSetId': 'EPSG:900913', 'zoomStart': 5, 'zoomStop': 5, 'bounds': [0, 0, 1, 1]},
}


@one_mpm
def test_requests_as_people_send_them(httpd, upstream):
    """Every one is accepted and becomes the task that was meant."""
    serve(httpd, upstream, 'TileSeedThreads 1\n')
    for body, differences in REQUESTS.items():
        suffix = 'xml' if '<' in body else 'json'
        sent = body.encode('iso-8859-1')
        answer = seed(httpd, 'topp:states', sent, suffix)
        document = task(httpd, number_of(answer))
        expected = {**DEFAULTS, **differences}
        if expected['bounds'] is None:
            del expected['bounds']
            assert document['bounds'] == pytest.approx(
                [-20037508.34, -20037508.34, 20037508.34, 20037508.34])
        assert {key: document[key] for key in expected} == expected, body
        terminate(httpd, 'running')


TASK = ('id', 'layer', 'gridSetId', 'format', 'type', 'bounds', 'zoomStart', 'zoomStop', 'derived',
        'threadCount', 'parameters', 'state', 'reason', 'reasonCode', 'tilesTotal',
        'tilesProcessed', 'tilesMade', 'tilesSkipped', 'tilesUnchanged', 'tilesRemoved',
        'tilesFailed', 'tilesPruned', 'prunedMetatiles', 'prunedChecked', 'prunedWrong',
        'prunedForgotten', 'bytes', 'upstreamRequests', 'sharedRequests', 'requestSize',
        'tilesPerSecond', 'secondsRemaining', 'requestedBy', 'ignored', 'created', 'started',
        'finished', 'retryOf', 'levels')
RFC_3339 = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z')


@one_mpm
def test_members_of_a_task(httpd, upstream):
    """While it waits, runs and after it was terminated."""
    serve(httpd, upstream, 'TileSeedThreads 1\n')
    seed(httpd, 'topp:states', '{"seedRequest":{"zoomStart":2,"zoomStop":4,"bounds":{"coords":'
         '{"double":[0,0,45,45]}},"threadCount":3}}')
    seed(httpd, 'roads')
    wait_until(lambda: task(httpd, 1)['state'] == 'RUNNING')
    running, pending = task(httpd, 1), task(httpd, 2)
    assert tuple(running) == tuple(pending) == TASK
    assert (running['id'], running['state'], pending['state']) == (1, 'RUNNING', 'PENDING')
    assert running['bounds'] == [0, 0, 45, 45] and running['threadCount'] == 3
    assert running['tilesTotal'] == len(GRIDS['EPSG:4326'].between(2, 4, (0, 0, 45, 45)))
    assert running['requestedBy'] is running['finished'] is None
    assert (running['reason'] or 'waiting for upstream').startswith('waiting for upstream')
    assert RFC_3339.fullmatch(running['created']) and RFC_3339.fullmatch(running['started'])
    assert pending['started'] is pending['tilesPerSecond'] is pending['secondsRemaining'] is None
    assert pending['parameters'] == {}
    terminate(httpd)
    for number in (1, 2):
        document = task(httpd, number)
        assert tuple(document) == TASK
        assert (document['state'], document['reason']) == ('ABORTED', 'terminated by anybody')
        assert document['created'] <= document['finished']
        assert document['tilesProcessed'] == 0


@one_mpm
@pytest.mark.parametrize('bounds', [
    '[200,0,300,10]', '[-300,0,-180,10]', '[0,90,10,100]', '[180,-90,180.5,90]'])
def test_bounds_outside_are_a_task_of_nothing(httpd, upstream, bounds):
    """Accepted, and done at once."""
    serve(httpd, upstream)
    number = number_of(seed(httpd, 'topp:states',
                            f'{{"seedRequest":{{"bounds":{{"coords":{{"double":{bounds}}}}}}}}}'))
    document = ended(httpd, number)
    assert (document['state'], document['tilesTotal']) == ('DONE', 0)
    wait_until(lambda: not listed(httpd))
    assert not upstream.requests


@one_mpm
def test_bounds_on_tile_edges_add_no_neighbours(httpd, upstream):
    """Zoom 3 of EPSG:4326 has tiles of 22.5 degrees."""
    serve(httpd, upstream)
    for bounds, tiles in (('[0,0,22.5,22.5]', 1), ('[0,0,22.6,22.5]', 2), ('[-22.5,-22.5,0,0]', 1),
                          ('[-0.1,-0.1,22.5,22.5]', 4), ('[-180,-90,180,90]', 128)):
        number = number_of(seed(
            httpd, 'topp:states', f'{{"seedRequest":{{"zoomStart":3,"zoomStop":3,"bounds":'
            f'{{"coords":{{"double":{bounds}}}}}}}}}'))
        assert task(httpd, number)['tilesTotal'] == tiles, bounds


@one_mpm
def test_encoded_bodies(httpd, upstream):
    """A body in a coding is 415, unless httpd decodes it."""
    serve(httpd, upstream, location('/plain/rest', 'Require local', 'SetInputFilter DEFLATE'),
          'LoadModule deflate_module "${MODULES}/mod_deflate.so"\n')
    body = gzip.compress(b'{"seedRequest":{}}')
    for coding in 'gzip', 'x-gzip', 'br', 'deflate, gzip':
        for method, address in (('POST', 'seed/roads.json'), ('POST', 'seed'),
                                ('PUT', 'diskquota.json'), ('POST', 'estimate/roads.xml')):
            text = refused(httpd, 415, method, f'/rest/{address}', body,
                           headers={'Content-Encoding': coding})
            assert coding in text
    seed(httpd, 'roads', body, base='/plain/rest', headers={'Content-Encoding': 'gzip'})
    seed(httpd, 'roads', headers={'Content-Encoding': 'identity'})


@one_mpm
def test_odd_headers(httpd, upstream):
    """Content-Type and Accept are never a reason to refuse; chunked bodies work."""
    serve(httpd, upstream)
    for headers in ({}, {'Content-Type': 'application/x-www-form-urlencoded'},
                    {'Content-Type': 'application/json'}, {'Content-Type': 'text/xml; charset=x'},
                    {'Content-Type': 'multipart/form-data; boundary=x'}, {'Content-Type': ''},
                    {'Accept': 'image/png'}, {'Content-Encoding': 'identity'},
                    {'Accept-Charset': 'UTF-16'}, {'If-None-Match': '*'}):
        for suffix, body in LEAST.items():
            seed(httpd, 'roads', body, suffix, headers=headers)
            seed(httpd, 'roads', iter([body[:5].encode(), body[5:].encode()]), suffix,
                 headers=headers)
        ask(httpd, 'GET', '/rest/seed.json', headers=headers)


@one_mpm
def test_connections_are_kept(httpd, upstream):
    """Request after request on one connection, also after 404 and 405, whose bodies are read."""
    serve(httpd, upstream)
    connection = http.client.HTTPConnection('127.0.0.1', httpd.port, timeout=10)
    connection.connect()
    socket = connection.sock
    for method, address, status in (('POST', '/rest/seed/roads.json', 200),
                                    ('PUT', '/rest/seed/roads.json', 405),
                                    ('POST', '/rest/nothing', 404), ('GET', '/rest/seed.json', 200),
                                    ('HEAD', '/rest/seed.json', 200),
                                    ('POST', '/rest/seed?kill_all=all', 200)):
        connection.request(method, address, LEAST['json'] if method != 'POST' or
                           address.endswith('.json') else '')
        response = connection.getresponse()
        body = response.read()
        assert response.status == status, body
        assert connection.sock is socket, (method, address)
    connection.close()
    assert checked(httpd.get('/rest/seed.json')).text == EMPTY_LIST


@one_mpm
def test_unused_module_is_silent(httpd):
    """Without a layer the module answers what it can, and makes nothing."""
    httpd.start(REST)
    assert httpd.get('/rest/seed.json').status in (200, 503)
    assert not httpd.path('state').exists()


@pytest.mark.sqlite
@one_mpm
def test_state_that_cannot_be_written(httpd, upstream):
    """503 with Retry-After, a sentence, and the reason in the log alone."""
    httpd.start('TileSeedStateDir "/dev/null/state"\n' + location('/rest')
                + layer('roads', f'TileSeedSource wms {upstream.url} layers=any'))
    answer = seed(httpd, 'roads', status=503)
    assert int(answer.headers['Retry-After']) > 0
    assert '/dev/null' not in answer.text
    httpd.expect('TS[0-9]{4}: ')
