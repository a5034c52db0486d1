# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The disk quota configuration over REST: both formats, each member, changes that meet, and how
long they stand."""
import contextlib
import itertools
import json
import os
import re
import signal
import threading

import pytest

from database import NOT_THERE, opened
from rest import JSON, XML, Client, ask, begun, kind, location, refused, serve
from seeding import layer, seeder_of
from tileseed_httpd import one_mpm, wait_until

ROOTS = ('cacheQuotaConfiguration', 'gwcQuotaConfiguration',
         'org.geowebcache.diskquota.DiskQuotaConfig')

DEFAULT_XML = '''\
<cacheQuotaConfiguration>
  <enabled>false</enabled>
  <diskBlockSize>{block}</diskBlockSize>
  <cacheCleanUpFrequency>10</cacheCleanUpFrequency>
  <cacheCleanUpUnits>SECONDS</cacheCleanUpUnits>
  <maxConcurrentCleanUps>2</maxConcurrentCleanUps>
  <globalExpirationPolicyName>LFU</globalExpirationPolicyName>
  <globalQuota>
    <value>500</value>
    <units>MiB</units>
  </globalQuota>
  <layerQuotas/>
</cacheQuotaConfiguration>
'''
DEFAULT_JSON = ('{{"cacheQuotaConfiguration":{{"enabled":false,"diskBlockSize":{block},'
                '"cacheCleanUpFrequency":10,"cacheCleanUpUnits":"SECONDS",'
                '"maxConcurrentCleanUps":2,"globalExpirationPolicyName":"LFU",'
                '"globalQuota":{{"value":"500","units":"MiB"}}}}}}')


def get(httpd, path='/rest/diskquota.json'):
    """The configuration, as a dictionary without its root."""
    (found,) = ask(httpd, 'GET', path).json().values()
    return found


def put(httpd, document, suffix='json', root=ROOTS[0], **more):
    """Changes it; a document is a dictionary or the text within the root."""
    if isinstance(document, dict):
        body = json.dumps({root: document})
    else:
        body = f'<{root}>{document}</{root}>' if suffix == 'xml' else document
    return ask(httpd, 'PUT', f'/rest/diskquota.{suffix}', body, **more)


# Reading

@one_mpm
def test_defaults(httpd, upstream):
    """Byte for byte, but for the block size, which is the file system's."""
    serve(httpd, upstream)
    block = os.statvfs(httpd.root).f_bsize
    answer = ask(httpd, 'GET', '/rest/diskquota.xml')
    assert kind(answer) == XML
    assert answer.text == DEFAULT_XML.format(block=block)
    answer = ask(httpd, 'GET', '/rest/diskquota.json')
    assert kind(answer) == JSON
    assert answer.text == DEFAULT_JSON.format(block=block)


@one_mpm
def test_directive(httpd, upstream):
    """Every option of TileSeedDiskQuota is shown."""
    serve(httpd, upstream, 'TileSeedDiskQuota on 1.5GiB policy=LRU every=30m cleanups=5 '
          'blocksize=8192\n')
    assert get(httpd) == {
        'enabled': True, 'diskBlockSize': 8192, 'cacheCleanUpFrequency': 30,
        'cacheCleanUpUnits': 'MINUTES', 'maxConcurrentCleanUps': 5,
        'globalExpirationPolicyName': 'LRU', 'globalQuota': {'value': '1.5', 'units': 'GiB'}}


@one_mpm
def test_roots(httpd, upstream):
    """A PUT is answered with the root it used, a GET with that of the location's dialect."""
    serve(httpd, upstream, '<Location "/other/rest">\nTileSeedRest on\nRequire local\n'
          'TileSeedDialect geowebcache\n</Location>\n')
    for base, expected in (('/rest', ROOTS[0]), ('/other/rest', ROOTS[1])):
        assert list(ask(httpd, 'GET', f'{base}/diskquota.json').json()) == [expected]
        assert ask(httpd, 'GET', f'{base}/diskquota.xml').text.startswith(f'<{expected}>\n')
        for root in ROOTS:
            answer = ask(httpd, 'PUT', f'{base}/diskquota.json', json.dumps({root: {}}))
            assert list(answer.json()) == [root]
            text = ask(httpd, 'PUT', f'{base}/diskquota.xml', f'<{root}/>').text
            assert text.startswith(f'<{root}>\n') and text.endswith(f'</{root}>\n')


# Changing

CHANGES = [
    ('enabled', 'true', True), ('enabled', ' false ', False), ('diskBlockSize', '512', 512),
    ('cacheCleanUpFrequency', '0', 0), ('cacheCleanUpFrequency', '2147483647', 2147483647),
    *[('cacheCleanUpUnits', unit, unit) for unit in (
        'NANOSECONDS', 'MICROSECONDS', 'MILLISECONDS', 'SECONDS', 'MINUTES', 'HOURS', 'DAYS')],
    ('maxConcurrentCleanUps', '1', 1), ('maxConcurrentCleanUps', '2147483647', 2147483647),
    ('globalExpirationPolicyName', 'LRU', 'LRU'), ('globalExpirationPolicyName', 'LFU', 'LFU'),
]


@one_mpm
def test_members_one_by_one(httpd, upstream):
    """Only what is present changes; XML, JSON with a text and JSON with a value are the same."""
    serve(httpd, upstream)
    expected = get(httpd)
    for member, text, value in CHANGES:
        expected[member] = value
        with_empty_list = {**expected, 'layerQuotas': []}
        assert put(httpd, {member: text.strip()}).json()[ROOTS[0]] == with_empty_list
        assert put(httpd, {member: value}).json()[ROOTS[0]] == with_empty_list
        assert f'<{member}>{text.strip()}</{member}>' in put(
            httpd, f'<{member}>{text}</{member}>', 'xml').text
        assert get(httpd) == expected
        assert list(get(httpd)) == list(expected)       # the order as well


@one_mpm
def test_sizes(httpd, upstream):
    """Kept as they were given, in every unit; numbers come as numbers or texts, go as texts."""
    serve(httpd, upstream)
    for value, shown in ((100, '100'), ('100', '100'), (0, '0'), ('1.5', '1.5'), (0.25, '0.25'),
                         ('0100', '0100'), ('1e3', '1e3')):
        for units in ('B', 'KiB', 'MiB', 'GiB', 'TiB'):
            answer = put(httpd, {'globalQuota': {'units': units, 'value': value}})
            quota = {'value': shown, 'units': units}
            assert answer.json()[ROOTS[0]]['globalQuota'] == quota == get(httpd)['globalQuota']
    text = put(httpd, '<globalQuota><value> 7 </value><units>GiB</units></globalQuota>', 'xml').text
    assert ('  <globalQuota>\n    <value>7</value>\n    <units>GiB</units>\n  </globalQuota>\n'
            in text)
    put(httpd, {'globalQuota': {'value': '9223372036854775807', 'units': 'B'}})
    assert get(httpd)['globalQuota'] == {'value': '9223372036854775807', 'units': 'B'}


ROADS = {'layer': 'roads', 'expirationPolicyName': 'LRU', 'quota': {'value': '1', 'units': 'GiB'}}
STATES = {'layer': 'topp:states', 'quota': {'value': '2.5', 'units': 'MiB'}}
ROADS_XML = ('<LayerQuota><layer>roads</layer><expirationPolicyName>LRU</expirationPolicyName>'
             '<quota><value>1</value><units>GiB</units></quota></LayerQuota>')
STATES_XML = ('<LayerQuota><layer>topp:states</layer>'
              '<quota><value>2.5</value><units>MiB</units></quota></LayerQuota>')


@one_mpm
@pytest.mark.parametrize('suffix, document, expected', [
    ('json', {'layerQuotas': [ROADS, STATES]}, [ROADS, STATES]),
    ('json', {'layerQuotas': {'LayerQuota': [STATES, ROADS]}}, [STATES, ROADS]),
    ('json', {'layerQuotas': {'LayerQuota': STATES}}, [STATES]),
    ('json', {'layerQuotas': ROADS}, [ROADS]),
    ('json', {'layerQuotas': [ROADS]}, [ROADS]),
    ('xml', f'<layerQuotas>{ROADS_XML}{STATES_XML}</layerQuotas>', [ROADS, STATES]),
    ('xml', f'<layerQuotas>\n  {STATES_XML}\n</layerQuotas>', [STATES])])
def test_layer_quotas(httpd, upstream, suffix, document, expected):
    """In every form, replaced as a whole, left alone by other changes, and emptied."""
    serve(httpd, upstream)
    put(httpd, document, suffix)
    assert get(httpd)['layerQuotas'] == expected
    put(httpd, {'enabled': True})
    assert get(httpd)['layerQuotas'] == expected
    text = re.sub(r'\n *', '', ask(httpd, 'GET', '/rest/diskquota.xml').text)
    inside = ''.join(ROADS_XML if entry == ROADS else STATES_XML for entry in expected)
    assert f'<layerQuotas>{inside}</layerQuotas>' in text
    for empty in ('json', 'xml'):
        put(httpd, document, suffix)
        answer = put(httpd, {'layerQuotas': []} if empty == 'json' else '<layerQuotas/>', empty)
        if empty == 'json':
            assert answer.json()[ROOTS[0]]['layerQuotas'] == []
        assert '<layerQuotas/>' in ask(httpd, 'GET', '/rest/diskquota.xml').text
        assert 'layerQuotas' not in get(httpd)


@one_mpm
def test_more_layer_quotas_than_the_board_holds(httpd, upstream):
    """The database answers then: at once, after other changes, and after a restart."""
    names = [f'{"quota" * 20}{number}' for number in range(300)]
    serve(httpd, upstream, *(layer(name, 'TileSeedSource wms upstream:stub layers=any',
                                   'TileSeedGrid EPSG:900913') for name in names))
    quotas = [{'layer': name, 'quota': {'value': '1', 'units': 'GiB'}} for name in names]
    put(httpd, {'layerQuotas': quotas})
    assert get(httpd)['layerQuotas'] == quotas
    put(httpd, {'maxConcurrentCleanUps': 7})
    assert get(httpd)['layerQuotas'] == quotas
    httpd.stop()
    httpd.start()
    assert get(httpd)['layerQuotas'] == quotas
    put(httpd, {'layerQuotas': [ROADS]})        # fits again
    assert get(httpd)['layerQuotas'] == [ROADS]
    assert get(httpd)['maxConcurrentCleanUps'] == 7


@one_mpm
def test_empty_changes(httpd, upstream):
    """An empty root changes nothing; unknown members are ignored, and named."""
    serve(httpd, upstream)
    before = get(httpd)
    for suffix, body in (('json', '{"cacheQuotaConfiguration":{}}'),
                         ('xml', '<cacheQuotaConfiguration/>'),
                         ('xml', '<gwcQuotaConfiguration>\n</gwcQuotaConfiguration>')):
        answer = ask(httpd, 'PUT', f'/rest/diskquota.{suffix}', body)
        assert 'TileSeed-Warning' not in answer.headers
    answer = put(httpd, {'quotaStore': 'H2', 'cacheDir': {'a': 1}})
    assert answer.headers['TileSeed-Warning'] == 'ignored: quotaStore, cacheDir'
    answer = put(httpd, '<größe>1</größe><b/>', 'xml')
    assert answer.headers['TileSeed-Warning'] == 'ignored: gr??e, b'
    answer = put(httpd, {'x' * 90 + str(number): number for number in range(50)})
    assert len(answer.headers['TileSeed-Warning']) < 1000
    assert get(httpd) == before


@one_mpm
def test_refused_as_a_whole(httpd, upstream):
    """One wrong member among right ones, and none of them is taken."""
    serve(httpd, upstream)
    put(httpd, {'layerQuotas': [ROADS]})
    for wrong in ('"maxConcurrentCleanUps":0', '"globalQuota":{"value":1}',
                  '"layerQuotas":[{"layer":"nowhere","quota":{"value":1,"units":"B"}}]'):
        refused(httpd, 400, 'PUT', '/rest/diskquota.json',
                f'{{"cacheQuotaConfiguration":{{"enabled":true,"diskBlockSize":1,{wrong},'
                '"cacheCleanUpFrequency":7}}')


# Everywhere, together, for ever

def test_every_child_shows_a_change(httpd, upstream, mpm):
    """The very next GET on any connection, and so in any child."""
    serve(httpd, upstream, 'KeepAliveTimeout 30\nMaxKeepAliveRequests 0\n',
          'StartServers 6\n' if mpm == 'prefork' else 'StartServers 3\n')
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(httpd)) for _ in range(6)]
        for number, client in enumerate(clients, 1):
            body = json.dumps({ROOTS[0]: {'maxConcurrentCleanUps': number}})
            response, _ = client.request('PUT', '/rest/diskquota.json', body)
            assert response.status == 200
            for other in clients:
                _, body = other.request('GET', '/rest/diskquota.json')
                assert f'"maxConcurrentCleanUps":{number},'.encode() in body


@pytest.mark.pgsql
def test_changes_at_the_same_time(httpd, upstream):
    """Clients that change different members do not undo each other's work."""
    serve(httpd, upstream)
    members = ('diskBlockSize', 'cacheCleanUpFrequency', 'maxConcurrentCleanUps')
    problems = []

    def client(member):
        for number in range(1, 13):
            answer = put(httpd, {member: number})
            if answer.json()[ROOTS[0]][member] != number:
                problems.append((member, number, answer.text))

    threads = [threading.Thread(target=client, args=[member]) for member in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    found = get(httpd)
    assert [found[member] for member in members] == [12, 12, 12]


@pytest.mark.pgsql
@pytest.mark.parametrize('how', ['stop', 'kill', 'graceful', 'seeder'])
@one_mpm
def test_changes_are_durable(httpd, upstream, how):
    """Once a PUT is answered it stands, whatever ends."""
    serve(httpd, upstream, 'TileSeedDiskQuota off 500MiB\n')
    put(httpd, {'enabled': True, 'globalQuota': {'value': 3, 'units': 'TiB'},
                'layerQuotas': [ROADS]})
    expected = ask(httpd, 'GET', '/rest/diskquota.xml').text
    if how == 'seeder':
        httpd.expect('TS0048: the seeder ended unexpectedly')
        old = seeder_of(httpd)
        os.kill(old, signal.SIGKILL)
        assert ask(httpd, 'GET', '/rest/diskquota.xml').text == expected
        wait_until(lambda: seeder_of(httpd) not in (None, old))
    elif how == 'graceful':
        httpd.graceful()
    else:
        if how == 'kill':
            httpd.expect('AH00098')         # the pid file of the server that was killed
            httpd.process.kill()            # first, or it would start more children
            httpd.process.wait()
            httpd.kill_processes()
        httpd.stop()
        httpd.start()
    assert ask(httpd, 'GET', '/rest/diskquota.xml').text == expected


@one_mpm
def test_directive_that_changes(httpd, upstream):
    """A PUT stands until the directive has another value, which is said with old and new."""
    first, second = 'TileSeedDiskQuota on 1GiB\n', 'TileSeedDiskQuota on 2GiB policy=LRU\n'
    serve(httpd, upstream, first)
    put(httpd, {'globalQuota': {'value': 7, 'units': 'GiB'}, 'maxConcurrentCleanUps': 9})
    for directive, value, cleanups in ((first, '7', 9), (second, '2', 2), (second, '2', 2)):
        httpd.stop()
        serve(httpd, upstream, directive)
        found = get(httpd)
        assert found['globalQuota'] == {'value': value, 'units': 'GiB'}
        assert found['maxConcurrentCleanUps'] == cleanups
    lines = [line for line in httpd.error_log().splitlines() if 'TileSeedDiskQuota' in line]
    assert len(lines) == 1
    assert "'on 1GiB'" in lines[0] and "'on 2GiB policy=LRU'" in lines[0]
    put(httpd, {'globalQuota': {'value': 5, 'units': 'GiB'}})
    httpd.graceful()
    assert get(httpd)['globalQuota']['value'] == '5'
    assert get(httpd)['globalExpirationPolicyName'] == 'LRU'


def directive(httpd):
    """The directive that the saved configuration comes from; "" before anything is saved."""
    try:
        with opened(httpd) as state:
            return ''.join(row[0] for row in state.execute('SELECT directive FROM quota'))
    except NOT_THERE:       # no database yet, or no table
        return ''


@one_mpm
def test_change_through_a_child_of_yesterday(httpd, upstream):
    """A PUT that a child of the old configuration takes after the directive has changed stands, on
    top of the new directive."""
    serve(httpd, upstream, 'TileSeedDiskQuota on 1GiB\n')
    wait_until(lambda: '1GiB' in directive(httpd))      # the seeder has it
    source = httpd.path('test.conf').read_text()
    body = '{"cacheQuotaConfiguration":{"maxConcurrentCleanUps":9}}'
    with begun(httpd, 'PUT', '/rest/diskquota.json', body) as end:
        httpd.graceful(source.replace('on 1GiB', 'on 2GiB policy=LRU'))
        wait_until(lambda: 'TileSeedDiskQuota was changed' in httpd.error_log())
        assert get(httpd)['globalQuota']['value'] == '2'
        assert end().status == 200
    wait_until(lambda: get(httpd)['maxConcurrentCleanUps'] == 9)
    httpd.graceful()
    ask(httpd, 'GET', '/rest/seed.json')
    found = get(httpd)
    assert found['maxConcurrentCleanUps'] == 9 and found['globalExpirationPolicyName'] == 'LRU'
    assert found['globalQuota'] == {'value': '2', 'units': 'GiB'}


@one_mpm
def test_documents_go_back_as_they_came(httpd, upstream):
    """What a GET shows can be PUT again, in either format and under either root."""
    serve(httpd, upstream)
    put(httpd, {'enabled': True, 'layerQuotas': [ROADS, STATES]})
    for suffix, root in itertools.product(('xml', 'json'), ROOTS):
        before = ask(httpd, 'GET', f'/rest/diskquota.{suffix}').text
        sent = before.replace(ROOTS[0], root)
        answer = ask(httpd, 'PUT', f'/rest/diskquota.{suffix}', sent)
        assert answer.text == sent and 'TileSeed-Warning' not in answer.headers
        assert ask(httpd, 'GET', f'/rest/diskquota.{suffix}').text == before


@one_mpm
def test_a_part_of_the_layers(httpd, upstream):
    """A location with TileSeedLayers shows and changes quotas of its layers alone."""
    serve(httpd, upstream, location('/some/rest', 'Require local', 'TileSeedLayers roads'))
    some = '/some/rest/diskquota.json'
    put(httpd, {'enabled': True, 'layerQuotas': [STATES, ROADS]})
    whole = ask(httpd, 'GET', some).text
    assert get(httpd, some)['layerQuotas'] == [ROADS]
    for members in ({'enabled': False}, {'globalExpirationPolicyName': 'LRU'},
                    {'globalQuota': {'value': 0, 'units': 'B'}, 'layerQuotas': []},
                    {'layerQuotas': [ROADS], 'cacheCleanUpFrequency': 1}):
        text = refused(httpd, 403, 'PUT', some, json.dumps({ROOTS[0]: members}))
        assert 'TileSeedLayers' in text and 'is about all layers' in text
    assert refused(httpd, 400, 'PUT', some, json.dumps({ROOTS[0]: {'layerQuotas': [STATES]}})
                   ) == 'Unknown layer: topp:states'
    assert 'TileSeedLayers' in refused(httpd, 403, 'POST', '/some/rest/diskquota/reconcile')
    assert 'TileSeedLayers' in refused(httpd, 403, 'POST', '/some/rest/diskquota/cleanup')
    assert ask(httpd, 'PUT', some, whole).text == whole      # as it came
    changed = {**ROADS, 'quota': {'value': '7', 'units': 'MiB'}}
    answer = ask(httpd, 'PUT', some, json.dumps({ROOTS[0]: {'layerQuotas': [changed]}}))
    assert answer.json()[ROOTS[0]]['layerQuotas'] == [changed]
    assert get(httpd)['layerQuotas'] == [STATES, changed]
    body = f'<{ROOTS[0]}><layerQuotas/></{ROOTS[0]}>'
    assert 'states' not in ask(httpd, 'PUT', some.replace('json', 'xml'), body).text
    assert get(httpd)['layerQuotas'] == [STATES]
    found = ask(httpd, 'GET', '/some/rest/diskquota/usage.json').json()
    assert {row['layer'] for row in found['layers']} <= {'roads'}
    assert [found[name] for name in ('pagesInDoubt', 'recount', 'lastCleanUp', 'reconcile')] == \
        4 * [None]
