# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Commands of the kind that people copy from GeoWebCache's manual, run by a shell with real curl.

They have its quirks: single quotes, an escaped slash and a closing brace too many in JSON, a
form's Content-Type with everything, and double quotes within double quotes, which the shell eats.
"""
import json
import shutil
import subprocess

import pytest

from rest import ask, listed, location, number_of, seed, serve
from seeding import task
from tileseed_httpd import one_mpm

pytestmark = pytest.mark.skipif(not shutil.which('curl'), reason='curl is not installed')

CURL = 'curl -sS -w "\\n%{http_code} %{content_type}" -u geowebcache:secured '
PLAIN = '200 text/plain;charset=ISO-8859-1'
BASE = '/geowebcache/rest'
BASIC = ('AuthType Basic', 'AuthName tiles', 'AuthBasicProvider file',
         'AuthUserFile "@ROOT@/users"', 'Require valid-user')


@pytest.fixture
def server(httpd, upstream):
    """A server with Basic authentication whose upstream never answers."""
    httpd.users(geowebcache='secured')
    serve(httpd, upstream, location(BASE, *BASIC, 'TileSeedDialect geowebcache'))
    return httpd


def run(server, arguments):
    """Runs a command; returns the body, and status with type."""
    command = CURL + arguments.replace('BASE', server.url(BASE))
    done = subprocess.run(['sh', '-c', command], capture_output=True, text=True, check=False,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    body, _, status = done.stdout.rpartition('\n')
    return body, status


@one_mpm
@pytest.mark.parametrize('label', ['-H "Content-type: text/xml"', '', '-H "Content-Type:"',
                                   '-H "Content-Type: application/json"',
                                   '-H "Transfer-Encoding: chunked"'])
def test_seed_xml(server, label):
    """One line of XML in single quotes."""
    assert run(server, f"-XPOST {label} -d '<seedRequest><name>topp:states</name>"
               '<srs><number>4326</number></srs><zoomStart>1</zoomStart><zoomStop>12</zoomStop>'
               '<format>image/png</format><type>truncate</type><threadCount>2</threadCount>'
               "</seedRequest>' \"BASE/seed/topp:states.xml\"") == ('', PLAIN)
    document = task(server, 1)
    assert (document['gridSetId'], document['type'], document['format']) == (
        'EPSG:4326', 'truncate', 'image/png')
    assert (document['zoomStart'], document['zoomStop'], document['threadCount']) == (1, 12, 1)
    assert document['requestedBy'] == 'geowebcache'


@one_mpm
@pytest.mark.parametrize('label', ['-H "Content-type: application/json"', '', '-H "Content-Type:"',
                                   '-H "Content-Type: text/xml"'])
@pytest.mark.parametrize('braces', ['}}', '}}}'])
def test_seed_json(server, label, braces):
    """Single quotes within double quotes, numbers as texts, and a brace too many."""
    assert run(server, f"-XPOST {label} -d \"{{'seedRequest':{{'name':'topp:states','bounds':"
               "{'coords':{ 'double':['-124.0','22.0','66.0','72.0']}},'srs':{'number':4326},"
               "'zoomStart':1,'zoomStop':12,'format':'image\\/png','type':'reseed','threadCount':4"
               f"{braces}\" \"BASE/seed/topp:states.json\"") == ('', PLAIN)
    document = task(server, 1)
    assert document['bounds'] == [-124, 22, 66, 72]
    assert (document['gridSetId'], document['type'], document['format']) == (
        'EPSG:4326', 'reseed', 'image/png')
    assert (document['zoomStart'], document['zoomStop'], document['threadCount']) == (1, 12, 4)


@one_mpm
def test_seed_with_parameters(server):
    """From a file, with parameter filters."""
    server.path('seed.xml').write_text('''<?xml version="1.0" encoding="UTF-8"?>
<seedRequest>
  <name>topp:states</name>
  <bounds><coords><double>-2495667.977678598</double><double>-2223677.196231552</double>
  <double>3291070.6104286816</double><double>959189.3312465074</double></coords></bounds>
  <gridSetId>EPSG:900913</gridSetId>
  <zoomStart>2</zoomStart><zoomStop>5</zoomStop>
  <format>image/png</format><type>seed</type><threadCount>1</threadCount>
  <parameters><entry><string>STYLES</string><string>population</string></entry></parameters>
</seedRequest>
''')
    assert run(server, '-XPOST -H "Content-type: text/xml" '
               f'-d @{server.root}/seed.xml "BASE/seed/topp:states.xml"') == ('', PLAIN)
    document = task(server, 1)
    assert document['bounds'] == [-2495667.977678598, -2223677.196231552, 3291070.6104286816,
                                  959189.3312465074]
    assert document['parameters'] == {'STYLES': 'population'}


@one_mpm
def test_lists(server):
    """Of a layer and of all."""
    json_type = 'application/json;charset=ISO-8859-1'
    assert run(server, '-XGET BASE/seed.json') == ('{"long-array-array":[]}', f'200 {json_type}')
    seed(server, 'topp:states', '{"seedRequest":{"zoomStop":12}}')
    seed(server, 'roads', '{"seedRequest":{"zoomStop":0}}')
    for address, numbers in (('seed.json', [1, 2]), ('seed/topp:states.json', [1]),
                             ('seed/roads.xml', [2])):
        body, status = run(server, f'-XGET BASE/{address}')
        assert [row[3] for row in json.loads(body)['long-array-array']] == numbers
        assert status == f'200 {json_type}'


@one_mpm
@pytest.mark.parametrize('address, left', [('seed', []), ('seed/topp:states', [2])])
def test_terminate(server, address, left):
    """-d makes it a POST of a form."""
    seed(server, 'topp:states')
    assert number_of(seed(server, 'roads')) == 2
    body, status = run(server, f'-d "kill_all=all" "BASE/{address}"')
    assert status == '200 text/html;charset=ISO-8859-1'
    assert body.startswith('<html>') and '[1: topp:states, SEED, ' in body
    assert listed(server) == left
    assert run(server, f'-d "kill_all=nobody" "BASE/{address}"') == (
        "Unknown kill_all code: 'nobody'. One of all|running|pending is expected.",
        '400 text/plain;charset=ISO-8859-1')


@one_mpm
def test_read_quota(server):
    """In both formats, under the name that clients of today know."""
    body, status = run(server, '-XGET BASE/diskquota.xml')
    assert status == '200 text/xml;charset=ISO-8859-1'
    assert body.startswith('<gwcQuotaConfiguration>\n  <enabled>false</enabled>\n')
    body, status = run(server, '-XGET BASE/diskquota.json')
    assert status == '200 application/json;charset=ISO-8859-1'
    assert list(json.loads(body)) == ['gwcQuotaConfiguration']


@one_mpm
def test_change_quota(server):
    """The whole configuration comes back, in the format and under the root of the change."""
    body, status = run(server, '"BASE/diskquota.xml" -X PUT -d "<gwcQuotaConfiguration>'
                       '<enabled>true</enabled><globalQuota><value>100</value><units>GiB</units>'
                       '</globalQuota></gwcQuotaConfiguration>"')
    assert status == '200 text/xml;charset=ISO-8859-1'
    assert '  <enabled>true</enabled>\n' in body and '    <units>GiB</units>\n' in body
    body, status = run(server, '"BASE/diskquota.json" -X PUT -d "{"gwcQuotaConfiguration":'
                       '{"globalQuota":{"value":"100","units":"MiB"},'
                       '"globalExpirationPolicyName":"LRU"}}"')
    assert status == '200 application/json;charset=ISO-8859-1'
    changed = json.loads(body)['gwcQuotaConfiguration']
    assert changed['globalQuota'] == {'value': '100', 'units': 'MiB'}
    assert (changed['enabled'], changed['globalExpirationPolicyName']) == (True, 'LRU')
    assert changed['layerQuotas'] == []


@one_mpm
def test_refused_quota(server):
    """The messages that clients compare with, and nothing changed."""
    before = ask(server, 'GET', '/rest/diskquota.xml').text
    assert run(server, '"BASE/diskquota.xml" -X PUT -d "<gwcQuotaConfiguration>'
               '<maxConcurrentCleanUps>-1</maxConcurrentCleanUps></gwcQuotaConfiguration>"') == (
                   'maxConcurrentCleanUps shall be a positive integer: -1',
                   '400 text/plain;charset=ISO-8859-1')
    body, status = run(server, '"BASE/diskquota.json" -X PUT -d "{"gwcQuotaConfiguration":'
                       '{"globalQuota":{"value":"100","units":"ZZiB"}}}"')
    lines = body.splitlines()
    assert status == '400 text/plain;charset=ISO-8859-1'
    assert 'ZZiB' in lines[0] and lines[1] == '---- Debugging information ----'
    assert [line.split(':')[0] for line in lines[2:-1]] == [
        name.ljust(20) for name in ('message', 'cause-exception', 'cause-message', 'class',
                                    'required-type', 'line number')]
    assert lines[-1] == '-' * 31
    assert ask(server, 'GET', '/rest/diskquota.xml').text == before


@one_mpm
def test_wrong_password(server):
    """Is refused by httpd before anything is read."""
    assert run(server, '-u geowebcache:guessed -d "kill_all=all" "BASE/seed"')[1].startswith('401 ')
    server.expect('AH01617')


@one_mpm
def test_upload_with_expect(server):
    """A large body, which curl announces and holds back until it is asked for it."""
    server.path('big.xml').write_text('<seedRequest>' + ' ' * 60000 + '</seedRequest>')
    options = '-H "Expect: 100-continue" --expect100-timeout 20'
    assert run(server, f'{options} --data-binary @{server.root}/big.xml '
               '"BASE/seed/roads.xml"') == ('', PLAIN)
    assert run(server, f'{options} -T {server.root}/big.xml -X POST "BASE/seed/roads.xml"') == (
        '', PLAIN)
    assert listed(server) == [1, 2]
