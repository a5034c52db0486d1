# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The client tileseedctl against stub servers: exit codes, what is sent, what is shown, and
GeoWebCache."""
import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import threading
import xml.etree.ElementTree

import pytest

from ctl import CTL, Handler, Stub, environment, private, run, task
from test_tls import fixture_certificate      # noqa: F401, pylint: disable=unused-import
from tileseed_httpd import free_port, wait_until

ACCEPTED = lambda handler: handler.say(200, b'', TileSeed_Task='7')     # noqa: E731
AT_QUOTA = task(state='RUNNING', reason='disk quota of 20 GiB reached',
               reasonCode='QUOTA', tilesProcessed=2)

# (code, words, script): one row for each meaning of a code
CODES = [
    (0, ['seed', 'world', '--wait'], {'POST seed/world.xml': ACCEPTED, 'GET tasks/7.json': task()}),
    (1, ['wait', '7'], {'GET tasks/7.json': task(tilesFailed=2, tilesMade=3),
                        'GET tasks/7/failures.json': {'failures': [], 'total': 0, 'next': None}}),
    (2, ['seed'], {}),
    (2, ['sed', 'world'], {}),
    (2, ['seed', 'world', '--zoom', '8-3'], {}),
    (2, ['seed', 'world'], {'POST seed/world.xml': (400, 'zoomStart 9 is more than zoomStop 3')}),
    (2, ['truncate', 'world'], {}),
    (3, ['wait', '7'], {'GET tasks/7.json': task(state='ABORTED', reason='terminated by me')}),
    (4, ['tasks'], {'GET tasks.json': (503, 'another httpd works on this server')}),
    (4, ['tasks'], {'GET tasks.json': Handler.hang_up}),
    (4, ['tasks'], {'GET tasks.json': b'<html>hello</html>'}),
    (4, ['tasks'], {'GET tasks.json': lambda handler: handler.say(302, Location='http://x/')}),
    (5, ['tasks'], {'GET tasks.json': (401, b'<html>no</html>')}),
    (5, ['tasks'], {'GET tasks.json': (403, 'a page of another site may not do this')}),
    (6, ['show', '9'], {'GET tasks/9.json': (404, 'there is no task 9')}),
    (6, ['seed', 'wrld'],
     {'POST seed/wrld.xml': (400, 'Unknown layer: wrld. Is world meant?')}),
    (6, ['metrics'], {}),
    (7, ['kill', '7'], {'DELETE tasks/7.json': (409, 'task 7 has ended already')}),
    (7, ['seed', 'world', '--key', 'k'],
     {'POST seed/world.xml': (422, 'this Idempotency-Key came with another request')}),
    (8, ['seed', 'world'], {'POST seed/world.xml': (507, 'no space is left to accept a task')}),
    (8, ['wait', '7', '--no-wait-quota'], {'GET tasks/7.json': AT_QUOTA}),
    (124, ['wait', '7', '--timeout', '300ms'], {'GET tasks/7.json': AT_QUOTA}),
]


@pytest.mark.parametrize('code,words,script', CODES,
                         ids=[f'{code}-{"-".join(words)}' for code, words, _ in CODES])
def test_exit_codes(code, words, script):
    """Each outcome has its own; a complaint is one line that begins with the program's name."""
    with Stub(script) as stub:
        done = run(*words, url=stub.url, stdin='')
    assert done.returncode == code, done
    if code not in (0, 1, 3):
        assert re.search(r'^tileseedctl: .+\n\Z', done.stderr, re.M), done


def test_nobody_listens():
    """No connection: 4, at once."""
    done = run('status', url=f'http://127.0.0.1:{free_port()}/rest')
    assert done.returncode == 4 and 'tasks.json: ' in done.stderr, done


WELL = {'state': 'WORKING', 'responding': True}
CHECKS = [
    (0, 'OK - 1 running, 1 pending', [task(state='RUNNING'), task(8, state='PENDING')], {}),
    (0, 'OK - 1 running, 0 pending', [task(state='RUNNING')], {'seeder': WELL, 'upstreams': []}),
    (1, 'WARNING - 1 running, 0 pending; task 7: disk quota', [AT_QUOTA], {}),
    (1, 'WARNING - 0 running, 1 pending; task 8: waits for another configuration or another host',
     [task(8, state='PENDING', reason='waits for another configuration or another host',
           reasonCode='CONFIGURATION')], {}),
    (1, 'WARNING - 0 running, 0 pending; the upstream x/y is AWAY', [],
     {'seeder': WELL, 'upstreams': [{'upstream': 'x|y', 'state': 'AWAY'}]}),
    (1, 'WARNING - 0 running, 0 pending; the seeder is not at work: STARTING', [],
     {'seeder': {'state': 'STARTING', 'responding': False}, 'upstreams': []}),
    (2, 'CRITICAL - 0 running, 1 pending; the seeder is not at work: DOWN',
     [task(8, state='PENDING')],
     {'seeder': {'state': 'DOWN', 'responding': False}, 'upstreams': []}),
    (2, 'CRITICAL - 0 running, 0 pending; the seeder is not at work: NO_STATE, the state directory '
     "or the state database can't be used, or another httpd has this host's name: the", [],
     {'seeder': {'state': 'NO_STATE', 'responding': True}, 'upstreams': []}),
    (2, 'CRITICAL - 0 running, 0 pending; the seeder is not at work: LOCKED_OUT, another httpd', [],
     {'seeder': {'state': 'LOCKED_OUT', 'responding': True}, 'upstreams': []}),
    (2, 'CRITICAL - 1 running, 0 pending; the seeder gives no sign of life',
     [task(state='RUNNING')],
     {'seeder': {'state': 'WORKING', 'responding': False}, 'upstreams': []}),
    (0, 'OK - 0 running, 0 pending; this host stands by, web1 works', [],
     {'seeder': {'state': 'STANDBY', 'responding': True, 'activeHost': 'web1'}, 'upstreams': []}),
    (2, 'CRITICAL - 0 running, 0 pending; this host stands by, and no host works', [],
     {'seeder': {'state': 'STANDBY', 'responding': True, 'activeHost': None}, 'upstreams': []}),
    (2, 'CRITICAL - 0 running, 0 pending; the seeder is not at work: STANDBY', [],
     {'seeder': {'state': 'STANDBY', 'responding': False, 'activeHost': 'web1'}, 'upstreams': []}),
]


@pytest.mark.parametrize('is_on', [True, False])
@pytest.mark.parametrize('code,words,tasks,overview', CHECKS)
def test_check(code, words, tasks, overview, is_on):
    """Nagios reads one line, figures behind the bar, and the code."""
    script = {'GET tasks.json': {'tasks': tasks}}
    if overview:
        script['GET overview.json'] = {**overview, 'quota': {
            'enabled': is_on, 'used': {'bytes': 5, 'files': 1},
            'limit': {'bytes': 9, 'files': None, 'minFree': 0}}}
    with Stub(script) as stub:
        done = run('check', url=stub.url)
    assert done.returncode == code and done.stdout.startswith(f'TILESEED {words}'), done
    assert done.stdout.count('\n') == 1 and done.stdout.count('|') == 1, done
    assert ('used=5B' in done.stdout) == bool(overview), done
    assert ('used=5B;;;0;9' in done.stdout) == bool(overview and is_on), done


def test_check_of_a_host_that_drains():
    """Somebody may have forgotten it. The other hosts are well."""
    hosts = [{'name': 'web1', 'state': 'ACTIVE'}, {'name': 'web2', 'state': 'DRAINING'},
             {'name': 'web3', 'state': 'STANDBY'}]
    for name, code in (('web2', 1), ('web3', 0)):
        seeder = {'state': 'STANDBY', 'responding': True, 'host': name, 'activeHost': 'web1'}
        with Stub({'GET overview.json': {'seeder': seeder}, 'GET tasks.json': {'tasks': []},
                   'GET hosts.json': {'answeredBy': name, 'hosts': hosts}}) as stub:
            done = run('check', url=stub.url)
        assert done.returncode == code and 'this host stands by, web1 works' in done.stdout, done
        assert ('this host drains, tileseedctl undrain web2 ends that' in done.stdout) == code, done


def test_check_of_what_needs_somebody():
    """A dead host, an announced removal, and tasks that were aborted, until they are made up for:
    retried, or done again. What somebody has terminated is no problem."""
    def aborted(number, **more):
        return task(number, state='ABORTED', reason=f'why {number}', bounds=[1, 1, 2, 2],
                    reasonCode='FAILURE_LIMIT', **more)
    tasks = [{**aborted(10, layer='fourth'), 'state': 'DONE', 'tilesFailed': 7},
             task(9, zoomStop=9, bounds=[0, 0, 3, 3]), task(8, state='RUNNING', retryOf=7,
                                                            finished=None),
             aborted(7), aborted(6), aborted(5, layer='other'),
             {**aborted(4, layer='third'), 'reasonCode': 'TERMINATED'},
             aborted(3, type='truncate'), aborted(2, zoomStop=10), aborted(1, format='x')]
    overview = {'seeder': WELL, 'upstreams': [],
                'quota': {'enabled': True, 'used': {'bytes': 5}, 'grace': '2026-11-22T07:46:19Z'}}
    hosts = [{'name': 'web1', 'state': 'ACTIVE'}, {'name': 'web2', 'state': 'DEAD',
                                                   'lastSeen': '2026-11-22T07:46:19Z'}]
    with Stub({'GET overview.json': overview, 'GET tasks.json': {'tasks': tasks},
               'GET hosts.json': {'answeredBy': 'web1', 'hosts': hosts}}) as stub:
        done = run('check', url=stub.url)
    assert done.returncode == 1, done
    for words in ('the host web2 is dead', 'removes a large part of the cache from 2026-11-22T07',
                  '7 tiles of task 10 failed; task 5 was aborted: why 5; task 3 was aborted: why 3',
                  '2 more tasks were aborted or have failed tiles'):
        assert words in done.stdout, (words, done)
    assert not re.search('task [4679] was', done.stdout), done


def test_answers_without_end():
    """Neither bytes nor values of a document fill the memory, also of one that does not tell its
    length."""
    many = b'{"tasks":[' + b','.join([b'{}'] * 1200000) + b']}'
    for body in (many, b'{"tasks":[]' + b' ' * (33 << 20) + b'}'):
        with Stub({'GET tasks.json': (200, body)}) as stub:
            done = run('tasks', url=stub.url)
        assert done.returncode == 4 and len(done.stderr) < 300, done

    def answer(handler):
        handler.close_connection = True
        handler.wfile.write(b'HTTP/1.1 200 OK\r\n\r\n{"tasks":[]')
        with contextlib.suppress(OSError):
            for _ in range(200):
                handler.wfile.write(b' ' * (1 << 20))
                sent.append(1)
    sent = []
    with Stub({'GET tasks.json': answer}) as stub:
        done = run('tasks', url=stub.url)
    assert done.returncode == 4 and 30 < len(sent) < 60, (done, len(sent))


@pytest.mark.parametrize('head, line', [
    (b'HTTP/1.1 200 OK\r\n', b'X-Word: ' + b'x' * 1000 + b'\r\n'),
    (b'HTTP/1.1 200 OK\r\nX-Word: ', b'x' * 1000),
    (b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
     b'c\r\n{"tasks":[]}\r\n0\r\n', b'X-Word: ' + b'x' * 1000 + b'\r\n'),
    (b'', b'HTTP/1.1 103 Early Hints\r\nLink: <' + b'x' * 1000 + b'>\r\n\r\n'),
], ids=['headers', 'header', 'trailers', 'hints'])
def test_headers_without_end(head, line):
    """No header, no trailer, and no number of either fills the memory: the client goes away."""
    sent = []

    def answer(handler):
        handler.close_connection = True
        handler.wfile.write(head)
        with contextlib.suppress(OSError):
            while len(sent) < 100000:
                handler.wfile.write(line)
                sent.append(len(line))
    with Stub({'GET tasks.json': answer}) as stub:
        done = run('tasks', url=stub.url)
    assert done.returncode == 4 and len(done.stderr) < 300, done
    assert sum(sent) < (16 << 20), len(sent)


def test_check_knows_nothing():
    """No server is critical; a refusal and a wrong command line are unknown. So are the tasks."""
    away = run('check', url=f'http://127.0.0.1:{free_port()}/rest')
    assert away.returncode == 2 and away.stdout.startswith('TILESEED CRITICAL - tasks unknown; ')
    assert ' | running=U pending=U waiting=U failed_tiles=U\n' in away.stdout
    assert run('check', '--nonsense').returncode == 3
    assert run('check', url='ftp://x').returncode == 3
    with Stub({'GET overview.json': (401, '')}) as stub:
        done = run('check', url=stub.url)
    assert done.returncode == 3 and done.stdout.startswith('TILESEED UNKNOWN'), done


def test_check_with_a_database_that_is_away():
    """What the overview knows is said; the tasks, which only the database knows, are not."""
    with Stub({'GET tasks.json': (503, 'the state database is away'),
               'GET overview.json': {'seeder': WELL, 'upstreams': [], 'quota': {
                   'enabled': False, 'used': {'bytes': 5, 'files': 1}, 'limit': None}}}) as stub:
        done = run('check', url=stub.url)
    assert done.returncode == 2, done
    assert re.match(r'TILESEED CRITICAL - tasks unknown; .*the state database is away', done.stdout)
    assert done.stdout.endswith(' failed_tiles=U used=5B\n'), done


# What is sent

def test_the_request():
    """Every option of a seed has its member."""
    with Stub({'POST seed/a%2Fb%20c.xml': ACCEPTED}) as stub:
        done = run('reseed', 'a/b c', '-g', 'EPSG:4326', '-z', '2-5', '-b', '-10,45.5,11,48', '-f',
                   'image/png', '-p', 'STYLES=a=<b>', '-pX=', '-t4', '--max-failures', '3',
                   '--lenient', '--key', 'k', url=stub.url)
    assert (done.returncode, done.stdout) == (0, 'task 7\n'), done
    _, _, _, body, headers = stub.requests[0]
    root = xml.etree.ElementTree.fromstring(body)
    assert [(one.tag, one.text) for one in root if not len(one)] == [
        ('name', 'a/b c'), ('gridSetId', 'EPSG:4326'), ('zoomStart', '2'), ('zoomStop', '5'),
        ('format', 'image/png'), ('type', 'reseed'), ('threadCount', '4'),
        ('totalFailuresBeforeAborting', '3')]
    assert [one.text for one in root.iter('double')] == ['-10', '45.5', '11', '48']
    assert [one.text for one in root.iter('string')] == ['STYLES', 'a=<b>', 'X', None]
    assert (headers['Idempotency-Key'], headers['Prefer']) == ('k', 'handling=lenient')


def test_the_estimate():
    """A dry run asks with a query, as those may who may only read."""
    document = {'estimate': {'tiles': 15, 'metatiles': 8, 'tilesPresent': 5, 'tilesPruned': 3,
                             'tilesToMake': 7, 'seconds': None, 'free': 1536, 'freeIn': 'disk',
                             'bytes': {'expected': 2048, 'low': 1024, 'high': 4096}}}
    with Stub({'GET estimate/w%26.json': document}) as stub:
        done = run('truncate', 'w&', '-n', '-z3', '-p', 'A&=b&c', '--lonlat', '-90,-45,90,45',
                   '-g', 'EPSG:3857', url=stub.url)
        raw = run('estimate', 'w&', '--json', url=stub.url)
    assert done.returncode == 0, done
    query = re.fullmatch('type=truncate&gridSetId=EPSG:3857&zoomStart=3&zoomStop=3&bbox=(.*)'
                         '&parameter_A%26=b%26c', stub.requests[0][2])
    assert [float(number) for number in query[1].split(',')] == pytest.approx(
        [-10018754.171394622, -5621521.486192067, 10018754.171394622, 5621521.486192067])
    assert '7 of 15 in 8 metatiles, 5 there already, 3 pruned\n' in done.stdout
    assert 'about 2.0 KiB (1.0 KiB to 4.0 KiB)' in done.stdout and 'not known' in done.stdout
    assert '\nfree     1.5 KiB in the file system\n' in done.stdout
    assert raw.stdout == json.dumps(document, separators=(',', ':'))


def test_an_estimate_without_end():
    """More bytes than any integer holds are told in the largest unit."""
    document = {'estimate': {'tiles': 1537228672809129301, 'metatiles': 96076792050570581,
                             'tilesPresent': 0, 'tilesPruned': 0, 'tilesToMake': 15372286728091,
                             'seconds': {'expected': 1e18, 'low': 9e17, 'high': 2e18},
                             'bytes': {'expected': 2.5e22, 'low': 1e22, 'high': 9e22}}}
    with Stub({'GET estimate/world.json': document}) as stub:
        done = run('estimate', 'world', url=stub.url)
    assert done.returncode == 0 and '-' not in done.stdout, done
    assert 'about 22204460.5 PiB' in done.stdout


def test_degrees_need_a_system():
    """The first grid set decides what degrees become; not every system can be told."""
    layers = {'layers': [{'name': 'world', 'gridSets': [{'gridSetId': 'swiss', 'srs': 2056}]}]}
    with Stub({'GET layers.json': layers}) as stub:
        done = run('seed', 'world', '--lonlat', '6,45,11,48', url=stub.url)
    assert done.returncode == 2 and 'EPSG:2056' in done.stderr, done


def test_a_lost_answer():
    """The same request with the same key again, once the server has shown that it keeps tasks."""
    with Stub({'POST seed/world.xml': [Handler.hang_up, Handler.hang_up, ACCEPTED],
               'GET tasks.json': {'tasks': []}}) as stub:
        done = run('seed', 'world', url=stub.url)
    assert (done.returncode, done.stdout) == (0, 'task 7\n'), done
    posts = stub.asked('POST seed/world.xml')
    keys = {headers['Idempotency-Key'] for *_, headers in posts}
    assert len(posts) == 3 and len(keys) == 1 and len({body for *_, body, _ in posts}) == 1
    assert re.fullmatch('[0-9a-f]{32}', keys.pop())


def test_keys_differ():
    """Each invocation has a key of its own."""
    with Stub({'POST seed/world.xml': ACCEPTED}) as stub:
        for _ in range(3):
            run('seed', 'world', url=stub.url)
    assert len({headers['Idempotency-Key'] for *_, headers in stub.requests}) == 3


def test_a_lost_answer_of_geowebcache():
    """It would seed twice: it is not asked again."""
    with Stub({'POST seed/world.xml': Handler.hang_up}) as stub:
        done = run('seed', 'world', url=stub.url)
    assert done.returncode == 4 and 'may have got the request' in done.stderr, done
    assert len(stub.asked('POST seed/world.xml')) == 1


# What is shown

def test_documents_pass_unchanged():
    """--json is the server's document, byte for byte, whatever is in it."""
    odd = b'{ "tasks" : [ ],\n\t"\\u00e4":1e400, "new":{"a":[[1]]}}\n\n'
    with Stub({'GET tasks.json': odd, 'GET layers.json': odd, 'GET diskquota.json': odd,
               'GET tasks/7.json': odd, 'GET tasks/7/failures.json': odd,
               'GET diskquota/usage.json': odd}) as stub:
        for words in (['tasks'], ['status'], ['layers'], ['quota', 'get'], ['show', '7'],
                      ['failures', '7'], ['quota', 'usage']):
            done = run(*words, '--json', url=stub.url)
            assert (done.returncode, done.stdout.encode()) == (0, odd), (words, done)


def test_hostile_words():
    """Names, reasons and causes can't command a terminal."""
    evil = '\x1b]0;owned\x07\x9b2J\u202eabc\r\nend'
    document = {'tasks': [task(layer=evil, reason=evil, state='RUNNING')]}
    with Stub({'GET tasks.json': document,
               'GET tasks/7.json': task(layer=evil, reason=evil, state='ABORTED'),
               'POST seed/world.xml': (400, evil)}) as stub:
        shown = [run(*words, url=stub.url) for words in
                 (['tasks'], ['status'], ['show', '7'], ['wait', '7'], ['seed', 'world'],
                  ['check'])]
    for done in shown:
        assert not re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]', done.stdout + done.stderr), done
    assert '?]0;owned??2J?abc' in shown[0].stdout


def test_the_table():
    """Columns are set, numbers to the right, names as wide as they look."""
    tasks = [task(12, layer='ärztehäuser', state='RUNNING', tilesTotal=2240000, secondsRemaining=99,
                  tilesProcessed=1370000, finished=None, tilesFailed=12345), task(7)]
    with Stub({'GET tasks.json': {'tasks': tasks}}) as stub:
        done = run('tasks', '--state', 'running,done', '-n', '5', '--layer', 'ä', url=stub.url)
        empty = run('tasks', url=stub.url)
    assert stub.requests[0][2] == 'limit=5&state=running,done&layer=%C3%A4'
    assert [re.sub(r' {2,}', '|', line.strip()) for line in done.stdout.splitlines()] == [
        'ID|LAYER|GRIDSET|LEVELS|TYPE|STATE|DONE|TILES|FAILED|RATE|ETA|REASON',
        '12|ärztehäuser|EPSG:3857|0-1|seed|RUNNING|61.1 %|2.24M|12.3k|13/s|2 min',
        '7|world|EPSG:3857|0-1|seed|DONE|100.0 %|5|0|13/s|-'], done.stdout
    assert '\x1b' not in done.stdout and empty.returncode == 0


def test_no_tasks():
    """An empty list is told."""
    with Stub({'GET tasks.json': {'tasks': []}}) as stub:
        assert run('status', url=stub.url).stdout == 'no tasks under way\n'


FAILURES = [{'z': 0, 'x': 0, 'y': 0, 'cause': 'HTTP 500, "odd"', 'httpStatus': 500, 'attempts': 3,
             'time': '2026-11-22T07:46:19.120Z'},
            {'z': 1, 'x': 1, 'y': 0, 'cause': 'no answer', 'httpStatus': None, 'attempts': 1,
             'time': '2026-11-22T07:46:19.130Z'}]
PAGES = [{'failures': FAILURES[:1], 'total': 2, 'next': '/rest/tasks/7/failures.json?after=0/0/0',
          'causes': [{'cause': 'HTTP 500', 'httpStatus': 500, 'count': 12}]},
         {'failures': FAILURES[1:], 'total': 2, 'next': None}]


def failures(*words):
    """The verb over two pages."""
    gridset = {'gridSetId': 'EPSG:3857', 'srs': 3857, 'tileWidth': 256, 'tileHeight': 256}
    with Stub({'GET tasks/7/failures.json': list(PAGES), 'GET tasks/7.json': task(),
               'GET layers.json': {'layers': [{'name': 'world', 'gridSets': [gridset]}]}}) as stub:
        done = run('failures', '7', *words, url=stub.url)
    assert done.returncode == 0, done
    assert stub.asked('GET tasks/7/failures.json')[1][2] == 'limit=1000&after=0/0/0'
    return done.stdout


def test_failures():
    """All pages, the causes before them."""
    lines = [line.split() for line in failures().splitlines()]
    assert lines[:3] == [['COUNT', 'HTTP', 'CAUSE'], ['12', '500', 'HTTP', '500'], []]
    assert lines[-1] == ['1', '1', '0', '-', '1', '2026-11-22T07:46:19.130Z', 'no', 'answer']


def test_failures_that_do_not_go_on():
    """A server that repeats its page is not asked for ever."""
    with Stub({'GET tasks/7/failures.json': PAGES[0]}) as stub:
        done = run('failures', '7', '--csv', url=stub.url)
    assert done.returncode == 0 and len(stub.requests) == 2, done


def test_failures_as_values():
    """RFC 4180; what is not known is empty."""
    assert failures('--csv').splitlines() == [
        'z,x,y,cause,httpStatus,attempts,time',
        '0,0,0,"HTTP 500, ""odd""",500,3,2026-11-22T07:46:19.120Z',
        '1,1,0,no answer,,1,2026-11-22T07:46:19.130Z']


def test_failures_as_geojson():
    """The ground of each metatile's first tile, in degrees."""
    features = json.loads(failures('--geojson'))['features']
    assert [one['properties']['cause'] for one in features] == ['HTTP 500, "odd"', 'no answer']
    corners = features[1]['geometry']['coordinates'][0]
    assert corners[0] == corners[-1] and len(corners) == 5
    assert corners[0] == pytest.approx([0, -85.0511287], abs=1e-6)
    assert corners[2] == pytest.approx([180, 0], abs=1e-6)


LEVELS = {'layers': [{'layer': 'world', 'tilesets': [
    {'id': 3, 'layer': 'world', 'gridSetId': 'EPSG:3857', 'format': 'image/png',
     'parameters': {'STYLES': 'night'}, 'bytes': 4096, 'files': 1, 'tiles': 1,
     'levels': [{'z': 0, 'bytes': 4096, 'files': 1, 'tiles': 1, 'possible': 4}]}]}],
    'bytes': 4096, 'limit': {'bytes': 8192}, 'enabled': True, 'complete': True}


def test_usage():
    """By tile set, and by zoom where the server tells it; what is configured no more is marked."""
    tileset = LEVELS['layers'][0]['tilesets'][0]
    lapsed = {**LEVELS, 'diskFree': 3 << 20, 'layers': [
        {**LEVELS['layers'][0], 'tilesets': [{**tileset, 'configured': False}]}]}
    with Stub({'GET diskquota/usage.json': lapsed}) as stub:
        marked = run('quota', 'usage', url=stub.url).stdout
    assert f"{tileset['layer']} (not configured)" in marked and '3.0 MiB free on the disk' in marked
    flat = json.loads(json.dumps(LEVELS))
    del flat['layers'][0]['tilesets'][0]['levels']
    with Stub({'GET diskquota/usage.json': [LEVELS, LEVELS, flat]}) as stub:
        plain, zoom, old = (run('quota', 'usage', *more, url=stub.url)
                            for more in ([], ['--by', 'zoom'], ['--by', 'zoom']))
    assert '(not configured)' not in plain.stdout and 'free on' not in plain.stdout
    assert 'used 4.0 KiB of 8.0 KiB (50.0 %)' in plain.stdout and 'STYLES=night' in plain.stdout
    assert '25.0 %' in zoom.stdout
    assert old.returncode == 6 and 'does not tell the usage by zoom' in old.stderr, old


def test_removing_a_tile_set():
    """What is configured no more is forgotten or removed by its number, and removed only when the
    user says so."""
    with Stub({'DELETE diskquota/usage/3.json': '', 'DELETE diskquota/usage/3.json?tiles=remove': ''
               }) as stub:
        forgotten, removed = (run('quota', *words, '3', url=stub.url)
                              for words in (['forget'], ['remove', '--yes']))
        asked = run('quota', 'remove', '3', url=stub.url)
        wrong = [run('quota', 'remove', '--yes', *words, url=stub.url)
                 for words in ([], ['x'], ['0'])]
    assert 'its tiles stay' in forgotten.stdout and 'are being removed' in removed.stdout
    assert asked.returncode == 2 and 'needs --yes' in asked.stderr, asked
    assert all(one.returncode == 2 and 'the ID of a tile set' in one.stderr for one in wrong), wrong


def test_drain_without_another_host():
    """The user learns that nobody takes the work: a host that is dead or drains does not."""
    for state in ('DEAD', 'DRAINING'):
        hosts = [{'name': 'web1', 'state': 'DRAINING'}, {'name': 'web2', 'state': state}]
        document = {'answeredBy': 'web1', 'active': None, 'hosts': hosts}
        with Stub({'PUT hosts/web1': document}) as stub:
            drained = run('drain', 'web1', url=stub.url)
        assert drained.returncode == 0 and drained.stdout.endswith(
            'nothing is seeded until one is, or until tileseedctl undrain web1\n'), drained


def test_drain_a_standby():
    """The user learns that another host works, and that this one helps no more."""
    document = {'answeredBy': 'web1', 'active': 'web1', 'hosts': [
        {'name': 'web1', 'state': 'ACTIVE'}, {'name': 'web2', 'state': 'DRAINING'}]}
    with Stub({'PUT hosts/web2': document}) as stub:
        drained = run('drain', 'web2', url=stub.url)
    assert drained.returncode == 0 and drained.stdout == (
        'host web2 takes no work until tileseedctl undrain web2; web1 works\n'), drained


HOSTS = {'answeredBy': 'web2', 'active': 'web1', 'hosts': [
    {'name': 'web1', 'state': 'ACTIVE', 'since': '2026-11-22T07:46:11.020Z',
     'lastSeen': '2026-11-22T09:12:30.412Z', 'leaseLeft': 14.8, 'fetches': False,
     'machine': 'm1', 'version': '1.2'},
    {'name': 'web2', 'state': 'STANDBY', 'since': None, 'lastSeen': None, 'leaseLeft': None,
     'machine': None, 'version': None}]}


def test_hosts():
    """A row for each; a drain is a PUT, and so is its end."""
    with Stub({'GET hosts.json': HOSTS, 'PUT hosts/web1': HOSTS,
               'PUT hosts/web9': (404, "there is no host 'web9'")}) as stub:
        listed, drained, back, unknown = (
            run(*words, url=stub.url) for words in
            (['hosts'], ['drain', 'web1'], ['undrain', 'web1'], ['drain', 'web9']))
        bodies = [asked[3] for asked in stub.asked('PUT hosts/web1')]
    assert [line.split() for line in listed.stdout.splitlines()][1:] == [
        ['web1', 'ACTIVE', '2026-11-22T07:46:11.020Z', '2026-11-22T09:12:30.412Z', '14.8', 's',
         'false', 'm1', '1.2'], ['web2', 'STANDBY', '-', '-', '-', '-', '-', '-']], listed
    assert 'gives its work away' in drained.stdout and 'takes work again' in back.stdout
    assert [json.loads(body) for body in bodies] == [{'state': 'draining'}, {'state': 'active'}]
    assert unknown.returncode == 6 and "there is no host 'web9'" in unknown.stderr, unknown
    assert run('drain', url=stub.url).returncode == 2


def test_coverage():
    """North is above; a server without the address says so."""
    coverage = {'tileSet': 3, 'z': 6, 'cell': {'tiles': 32, 'x': 0, 'y': 0, 'columns': 2,
                                               'rows': 2}, 'share': [0, 1, 500, 1000]}
    with Stub({'GET diskquota/usage.json': LEVELS, 'GET coverage/3/6.json': coverage}) as stub:
        done = run('coverage', 'world', '-z', '6', '-p', 'STYLES=night', url=stub.url)
        other = run('coverage', 'world', '-z', '6', '-p', 'STYLES=day', url=stub.url)
        old = run('coverage', 'world', '-z', '7', url=stub.url)
    assert done.stdout.splitlines()[1:3] == ['o#', '.:'] and '37.5 %' in done.stdout, done
    assert (other.returncode, old.returncode) == (6, 6), (other, old)
    assert 'coverage/3/7.json: HTTP 404' in old.stderr


# Waiting

def test_progress_without_a_terminal():
    """Lines, no control characters; the level where the server tells it; the cause."""
    half = task(state='RUNNING', finished=None, tilesProcessed=3, tilesFailed=2,
                secondsRemaining=2100, levels=[{'z': 0, 'metatiles': 1, 'finished': 1, 'tiles': 1},
                                               {'z': 1, 'metatiles': 4, 'finished': 2, 'tiles': 4}])
    with Stub({'GET tasks/7.json': [half, task(tilesFailed=2, tilesMade=3)],
               'GET tasks/7/failures.json': PAGES[0]}) as stub:
        done = run('wait', '7', url=stub.url)
    assert done.returncode == 1 and done.stdout == '', done
    assert done.stderr.splitlines() == [
        'task 7  z01  60.0 %  3/5 tiles  13/s  ETA 35 min  failed 2 (HTTP 500)',
        'task 7 done: 5 of 5 tiles, 3 made, 2 failed']


def test_quiet():
    """Nothing is said about what went well, and everything about what did not."""
    with Stub({'GET tasks/7.json': [task(state='PENDING'), task()],
               'GET tasks/8.json': task(8, state='ABORTED', reason='terminated by me'),
               'POST seed/world.xml': ACCEPTED}) as stub:
        good = run('-q', 'seed', 'world', '-w', url=stub.url)
        bad = run('-q', 'wait', '7', '8', url=stub.url)
    assert (good.returncode, good.stdout, good.stderr) == (0, '', ''), good
    assert bad.returncode == 3 and 'task 8 aborted: ' in bad.stderr, bad


def test_waiting_as_a_document():
    """--json with --wait: the last document, on standard output alone."""
    with Stub({'GET tasks/7.json': [task(state='RUNNING'), task()],
               'POST seed/world.xml': ACCEPTED}) as stub:
        done = run('seed', 'world', '--wait', '--json', url=stub.url)
    assert json.loads(done.stdout) == task(), done


def test_a_server_that_is_away():
    """503, no answer: asked again; the timeout still holds."""
    with Stub({'GET tasks/7.json': [(503, 'away'), Handler.hang_up, task()],
               'GET tasks/8.json': (503, 'away')}) as stub:
        done = run('wait', '7', url=stub.url)
        late = run('wait', '8', '--timeout', '1s', url=stub.url)
    assert done.returncode == 0 and 'asking again: HTTP 503: away' in done.stderr, done
    assert late.returncode == 124, late


def interrupted(stub, *words):
    """A wait that gets Ctrl-C once it is under way: the process, and what it has said to that."""
    stub.requests.clear()
    process = subprocess.Popen([CTL, 'wait', '7', *words], env=environment(stub.url), text=True,
                               stderr=subprocess.PIPE)
    wait_until(lambda: stub.asked('GET tasks/7.json'))
    process.send_signal(signal.SIGINT)
    said = process.stderr.readline()
    while said and 'Ctrl-C' not in said and 'goes on' not in said:
        said = process.stderr.readline()
    return process, said


def twice(stub):
    """The code of a wait that gets Ctrl-C again: too late, if this machine does other work."""
    process, _ = interrupted(stub, '--kill-on-interrupt')
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    return process.returncode


def test_ctrl_c():
    """The task goes on, unless the user wants otherwise twice."""
    running = task(state='RUNNING')
    with Stub({'GET tasks/7.json': running, 'DELETE tasks/7.json': running}) as stub:
        process, said = interrupted(stub)
        process.communicate(timeout=60)
        assert process.returncode == 130 and 'task 7 goes on: tileseedctl wait 7' in said
        process, said = interrupted(stub, '--kill-on-interrupt')
        assert 'Ctrl-C again' in said and 'goes on' in process.communicate(timeout=60)[1]
        assert process.returncode == 130 and not stub.asked('DELETE tasks/7.json')
        wait_until(lambda: twice(stub) == 3)
        assert stub.asked('DELETE tasks/7.json')


def test_ctrl_c_within_a_request():
    """It ends the watch, which is no failure; the server has not answered yet."""
    release = threading.Event()
    with Stub({'GET tasks.json': lambda handler: release.wait(60)}) as stub:
        process = subprocess.Popen([CTL, 'status', '--watch'], env=environment(stub.url))
        wait_until(lambda: stub.asked('GET tasks.json'))
        process.send_signal(signal.SIGINT)
        code = process.wait(60)
        release.set()
    assert code == 0


# Credentials and settings

BASIC = 'Basic bWU6c2VjcmV0'    # me:secret


def guarded(handler):
    """Wants Basic."""
    if handler.headers.get('Authorization') == BASIC:
        handler.say(200, {'tasks': []})
    else:
        handler.say(401, b'', WWW_Authenticate='Basic realm="x"')


def test_credentials_of_a_file(tmp_path):
    """~/.netrc, another netrc, a file with the password; files that others can read are refused."""
    netrc = 'machine 127.0.0.1 login me password secret\n'
    home = private(tmp_path / '.netrc', netrc).parent
    other = private(tmp_path / 'other', netrc)
    word = private(tmp_path / 'word', 'secret\n')
    with Stub({'GET tasks.json': guarded}) as stub:
        def code(*words, **more):
            return run('status', *words, url=stub.url, **more).returncode
        assert code(home=home) == 0
        assert code('--netrc-file', other) == 0
        assert code('-u', 'me', TILESEED_PASSWORD_FILE=str(word)) == 0
        assert code('-u', 'you', TILESEED_PASSWORD_FILE=str(word)) == 5
        assert code() == 5
        word.chmod(0o644)
        assert code('-u', 'me', TILESEED_PASSWORD_FILE=str(word)) == 2
        other.chmod(0o644)
        assert code('--netrc-file', other) == 2
        (home / '.netrc').chmod(0o640)
        assert code(home=home) == 5


def test_no_password_on_the_command_line():
    """Neither behind the user nor in the address."""
    for words in (['-u', 'me:secret'], ['-s', 'http://me:secret@localhost/rest']):
        done = run('status', *words)
        assert done.returncode == 2 and 'secret' not in done.stderr, done


def test_settings(tmp_path):
    """The command line, the environment, and the user's file, in this order."""
    (tmp_path / '.config').mkdir()
    with Stub({'GET tasks.json': {'tasks': []}}) as stub:
        (tmp_path / '.config/tileseed.conf').write_text(f'# ours\n\n  server  {stub.url}/ \n')
        assert run('status', home=tmp_path).returncode == 0
        assert run('status', home=tmp_path, url='http://127.0.0.1:1/rest').returncode == 4
        assert run('status', '-s', stub.url, url='http://127.0.0.1:1/rest').returncode == 0
        (tmp_path / '.config/tileseed.conf').write_text('sever http://localhost/rest\n')
        assert run('status', home=tmp_path).returncode == 2


def test_a_unix_socket(tmp_path):
    """It takes the place of the address' host."""
    path = str(tmp_path / 'socket')
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        process = subprocess.Popen([CTL, 'status', '--unix-socket', path], env=environment(),
                                   stdout=subprocess.PIPE, text=True)
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(4096).startswith(b'GET /rest/tasks.json?')
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"tasks":[]}')
            assert process.communicate(timeout=60)[0] == 'no tasks under way\n'


@pytest.mark.skipif(not shutil.which('openssl'), reason='openssl makes certificates')
def test_tls(certificate):
    """A server that nobody vouches for is not talked to."""
    with Stub({'GET tasks.json': {'tasks': []}}, certificate) as stub:
        done = run('status', url=stub.url)
        trusting = run('status', '--cacert', certificate, url=stub.url)
    assert done.returncode == 4 and 'certificate' in done.stderr, done
    assert trusting.returncode == 0, trusting


def test_full_disk():
    """What could not be written was not said."""
    with Stub({'GET tasks.json': {'tasks': []}}) as stub, open('/dev/full', 'w') as full:
        done = subprocess.run([CTL, 'status'], env=environment(stub.url), check=False, stdout=full,
                              stderr=subprocess.PIPE, text=True)
    assert done.returncode == 4 and "can't be written" in done.stderr


# GeoWebCache

GWC_QUOTA = b'''<gwcQuotaConfiguration>
  <enabled>true</enabled>
  <globalQuota><value>100</value><units>MiB</units></globalQuota>
  <layerQuotas><LayerQuota><layer>topp:states</layer>
    <expirationPolicyName>LRU</expirationPolicyName>
    <quota><value>10</value><units>MiB</units></quota></LayerQuota></layerQuotas>
</gwcQuotaConfiguration>'''
GWC = {
    'GET layers.xml': b'<layers><layer><name>img states</name><atom:link xmlns:atom='
                      b'"http://www.w3.org/2005/Atom" rel="alternate" href="x" type="text/xml"/>'
                      b'</layer><layer><name>topp:states</name></layer></layers>',
    'GET seed.json': {'long-array-array': [[17888, 44739250, 18319, 1, 1], [0, 9, -1, 2, 0]]},
    'GET seed/topp:states.json': [{'long-array-array': [[5, 10, 3, 1, 1], [5, 10, 3, 2, 1]]},
                                  {'long-array-array': []}],
    'POST seed/topp:states.xml': b'',
    'POST seed': b'<html>killed</html>',
    'GET diskquota.xml': GWC_QUOTA,
    'PUT diskquota.xml': GWC_QUOTA,
}


@pytest.fixture
def gwc():
    """A server that has GeoWebCache's addresses and no others."""
    with Stub({what: list(said) if isinstance(said, list) else said
               for what, said in GWC.items()}) as stub:
        yield stub


def test_geowebcache_lists(gwc):  # pylint: disable=redefined-outer-name
    """Layers and tasks."""
    assert run('layers', url=gwc.url).stdout == 'img states\ntopp:states\n'
    status = run('status', url=gwc.url).stdout.split('\n')
    assert [line.split() for line in status[1:3]] == [
        ['1', 'RUNNING', '0.0', '%', '44.7M'], ['2', 'PENDING', '0.0', '%', '9']]
    assert json.loads(run('status', '--json', url=gwc.url).stdout) == GWC['GET seed.json']
    done = run('check', url=gwc.url)
    assert done.returncode == 0 and '1 running, 1 pending' in done.stdout, done


def test_geowebcache_seeds(gwc):  # pylint: disable=redefined-outer-name
    """The wait ends when its list is empty."""
    done = run('seed', 'topp:states', '-z', '1-4', '-g', 'EPSG:4326', '--wait', url=gwc.url)
    assert done.returncode == 0 and '50.0 %  10/20 tiles' in done.stderr, done
    assert 'does not say how its tasks ended' in done.stderr
    assert len(gwc.asked('GET seed/topp:states.json')) == 2


def test_geowebcache_ends_tasks(gwc):  # pylint: disable=redefined-outer-name
    """All, by its form; one task has no address there."""
    assert run('kill', '--all', '--yes', url=gwc.url).returncode == 0
    assert gwc.asked('POST seed')[0][3] == 'kill_all=all'
    assert run('kill', '--all', url=gwc.url, stdin='').returncode == 2
    assert run('kill', '1', url=gwc.url).returncode == 6


def test_geowebcache_quota(gwc):  # pylint: disable=redefined-outer-name
    """What is sent has the server's root; quotas of other layers stay."""
    assert run('quota', url=gwc.url).stdout.splitlines() == [
        'enabled=true', 'globalQuota=100 MiB', 'layer:topp:states=10 MiB,LRU']
    done = run('quota', 'set', 'enabled=false', 'globalQuota=2.5GiB', 'layer:a=b=7 KiB,LFU',
               url=gwc.url)
    assert done.returncode == 0, done
    root = xml.etree.ElementTree.fromstring(gwc.asked('PUT diskquota.xml')[0][3])
    assert root.tag == 'gwcQuotaConfiguration'
    assert [one.tag for one in root] == ['enabled', 'globalQuota', 'layerQuotas']
    assert [[part.text for part in one.iter() if not len(part)] for one in root.iter('LayerQuota')
            ] == [['topp:states', 'LRU', '10', 'MiB'], ['a=b', 'LFU', '7', 'KiB']]
    run('quota', 'set', 'layer:topp:states=none', url=gwc.url)
    assert '<layerQuotas></layerQuotas>' in gwc.asked('PUT diskquota.xml')[1][3]


def test_geowebcache_lacks_the_rest(gwc):  # pylint: disable=redefined-outer-name
    """What only this server has is said to be missing."""
    for words in (['tasks'], ['show', '1'], ['failures', '1'], ['retry', '1'], ['metrics'],
                  ['reconcile'], ['quota', 'usage'], ['coverage', 'a', '-z1'], ['estimate', 'a'],
                  ['hosts'], ['drain', 'a']):
        done = run(*words, url=gwc.url)
        assert done.returncode == 6 and 'HTTP 404' in done.stderr, done
