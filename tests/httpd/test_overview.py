# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What goes on just now: overview.json and upstreams.json, and how little it costs to ask again."""
import os
import re
import signal
import time
from datetime import datetime, timedelta, timezone

import pytest

from ctl import run
from quota import agrees, put
from seeding import REST, SMALL_GRID, begin, done, ended, layer, seeder_of, stub, task, terminate
from test_status import STATUS, values
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

STATUS = '''
<Location "/server-status">
    SetHandler server-status
    Require local
</Location>
'''
# A second root, which sees one layer.
PART = '''
<Location "/part">
    TileSeedRest on
    TileSeedLayers stub
    Require local
</Location>
'''
TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z')


def overview(httpd, base='/rest'):
    """The document."""
    answer = httpd.get(base + '/overview.json')
    assert answer.status == 200, answer.body
    return answer.json()


def start(httpd, snippet):
    """Starts httpd and waits until the seeder works."""
    httpd.start(snippet)
    wait_until(lambda: overview(httpd)['seeder']['state'] == 'WORKING' and
               overview(httpd)['quota'])


def the_upstream(httpd):
    """The stub's entry of upstreams.json."""
    return [one for one in httpd.get('/rest/upstreams.json').json()['upstreams']
            if one['upstream'] == 'stub'][0]


def ask_again(httpd, answer, path='/rest/overview.json'):
    """Asks whether a document has changed since that answer."""
    return httpd.get(path, headers={'If-None-Match': answer.headers['ETag']})


@one_mpm
def test_an_idle_server(httpd, upstream):
    """Everything is there, and what is used is what usage.json says."""
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=2)
    taken = agrees(httpd)
    wait_until(lambda: overview(httpd)['quota']['used'] ==
               {'bytes': taken['bytes'], 'files': taken['files']})
    found = overview(httpd)
    seeder = found['seeder']
    assert seeder.pop('pid') == seeder_of(httpd) and TIME.fullmatch(seeder.pop('since'))
    assert seeder.pop('host') == seeder.pop('activeHost') == os.uname().nodename
    assert seeder == {'state': 'WORKING', 'responding': True, 'starts': 1, 'tilesPerSecond': 0}
    assert found['tasks'] == [] and found['tasksComplete']
    assert (found['tasksRunning'], found['tasksPending']) == (0, 0)
    quota = found['quota']
    assert not quota['enabled'] and quota['complete'] and quota['pagesInDoubt'] == 0
    assert quota['limit']['bytes'] == 500 << 20 and quota['limit']['files'] is None
    assert quota['free']['bytes'] == (500 << 20) - taken['bytes']
    assert wait_until(lambda: overview(httpd)['quota']['free']['disk']) > 0
    assert [one['upstream'] for one in found['upstreams']] == ['stub']


@one_mpm
def test_the_same_document_is_not_sent_twice(httpd, upstream):
    """Until something happens; whichever child is asked."""
    upstream.always = Fault('held')
    start(httpd, REST + stub(upstream))

    def settled():
        found = httpd.get('/rest/overview.json')
        return found if ask_again(httpd, found).status == 304 else None

    before = wait_until(settled)
    again = ask_again(httpd, before)
    assert again.body == b'' and again.headers['ETag'] == before.headers['ETag']
    assert before.headers['TileSeed-Pause'] == '2'      # so few clients may ask as often as that
    assert before.headers['Cache-Control'] == again.headers['Cache-Control'] == 'no-cache'
    assert 'Content-Type' not in again.headers
    number = begin(httpd, 'stub', zoomStop=2)
    wait_until(lambda: [one['id'] for one in overview(httpd)['tasks']] == [number])
    after = ask_again(httpd, before)
    assert after.status == 200 and after.headers['ETag'] != before.headers['ETag']
    upstream.released.set()
    ended(httpd, number)
    wait_until(lambda: overview(httpd)['tasks'] == [])
    assert ask_again(httpd, after).status == 200


@one_mpm
@pytest.mark.parametrize('fault', [Fault('status', 503), Fault('hang')], ids=['away', 'silent'])
def test_a_task_that_waits_changes_nothing_by_waiting(httpd, upstream, fault):
    """Its reason names times. Whoever asks again some seconds later hears of nothing new."""
    httpd.expect('failed answers?|is away|has not answered')
    httpd.start(REST + 'TileSeedRetries 0\n' + stub(upstream))
    upstream.faults = [None] * 3
    upstream.always = fault
    begin(httpd, 'stub', zoomStop=4)
    wait_until(lambda: [one for one in overview(httpd)['tasks']
                        if 'waiting for upstream stub' in (one['reason'] or '')])

    def stays():
        before = httpd.get('/rest/overview.json')
        time.sleep(2.5)  # the seeder looks at its runs each second
        return ask_again(httpd, before).status == 304
    wait_until(stays)
    terminate(httpd)


@one_mpm
def test_conditions(httpd, upstream):
    """Lists, any, others; a date says nothing; a filter that compresses marks the ETag."""
    httpd.start(REST + stub(upstream))

    def statuses():
        etag = httpd.get('/rest/overview.json').headers['ETag']
        assert re.fullmatch(r'W/"[0-9a-f.]+"', etag)
        marked = etag[:-1] + '-gzip"', etag[:-1] + '-br"'
        found = [httpd.get('/rest/overview.json', headers={'If-None-Match': value}).status
                 for value in (etag, f'"x", {etag}', '*', *marked, '"x"', etag[2:-2] + '"')]
        return found if etag == httpd.get('/rest/overview.json').headers['ETag'] else None

    assert wait_until(statuses) == [304, 304, 304, 304, 304, 200, 200]
    dated = {'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT'}
    assert httpd.get('/rest/overview.json', headers=dated).status == 200
    assert httpd.request('HEAD', '/rest/overview.json').headers['ETag']
    assert httpd.post('/rest/overview.json').status == 405


@one_mpm
def test_an_etag_is_of_one_start_of_httpd(httpd, upstream):
    """A new board counts anew, and its counts mean something else."""
    httpd.start(REST + stub(upstream))
    old = httpd.get('/rest/overview.json').headers['ETag']
    httpd.stop()
    httpd.start()
    new = httpd.get('/rest/overview.json').headers['ETag']
    assert old.split('.')[0] != new.split('.')[0]


@one_mpm
def test_a_new_configuration_is_a_new_document(httpd, upstream):
    """The limit of the files stands in the configuration alone."""
    httpd.start(REST + stub(upstream))
    before = httpd.get('/rest/overview.json')
    httpd.graceful('TileSeedDiskQuotaFiles 77\n' + REST + stub(upstream))
    assert ask_again(httpd, before).status == 200
    wait_until(lambda: (overview(httpd)['quota'] or {}).get('limit', {}).get('files') == 77)


@one_mpm
def test_a_quota_that_is_changed(httpd, upstream):
    """The next answer has it."""
    start(httpd, REST + stub(upstream))
    before = httpd.get('/rest/overview.json')
    put(httpd, enabled=True, globalQuota={'value': 3, 'units': 'MiB'})
    wait_until(lambda: overview(httpd)['quota']['enabled'])
    after = ask_again(httpd, before)
    assert after.status == 200 and after.json()['quota']['limit']['bytes'] == 3 << 20


@one_mpm
def test_a_quota_of_many_layers(httpd, upstream):
    """Its text has no room on the board. The overview says what it says of all layers."""
    names = [f'layer-{number:03}-{"x" * 40}' for number in range(150)]
    layers = ''.join(layer(name, 'TileSeedSource wms upstream:stub layers=any',
                           'TileSeedGrid small') for name in names)
    start(httpd, REST + stub(upstream) + layers)
    before = httpd.get('/rest/overview.json')
    put(httpd, enabled=True, globalExpirationPolicyName='LRU',
        globalQuota={'value': 4, 'units': 'MiB'},
        layerQuotas=[{'layer': name, 'expirationPolicyName': 'LFU',
                      'quota': {'value': 1, 'units': 'MiB'}} for name in names])
    assert len(httpd.get('/rest/diskquota.json').body) > 16384
    quota = wait_until(lambda: (found := overview(httpd)['quota'])['enabled'] and found)
    assert quota['policy'] == 'LRU' and quota['limit']['bytes'] == 4 << 20
    assert ask_again(httpd, before).status == 200


@one_mpm
def test_tasks_of_layers_that_may_be_seen(httpd, upstream):
    """A location that sees some layers is told of no other, and has ETags of its own."""
    upstream.always = Fault('held')
    other = stub(upstream, name='other').replace(SMALL_GRID, '').replace(
        'TileSeedUpstream stub', 'TileSeedUpstream secret', 1).replace('upstream:stub',
                                                                       'upstream:secret')
    httpd.start(REST + PART + stub(upstream) + other)
    seen = begin(httpd, 'stub', zoomStop=2)
    unseen = begin(httpd, 'other', zoomStop=2)
    wait_until(lambda: overview(httpd)['tasksRunning'] == 2)
    wait_until(lambda: len(overview(httpd)['upstreams']) == 2)
    assert [one['id'] for one in overview(httpd)['tasks']] == [seen, unseen]
    part = httpd.get('/part/overview.json')
    found = part.json()
    assert [one['id'] for one in found['tasks']] == [seen] and found['tasksRunning'] == 1
    assert found['quota']['used'] is None and found['quota']['free'] is None
    assert found['quota']['limit']['bytes'] == 500 << 20
    assert [one['upstream'] for one in found['upstreams']] == ['stub']
    for path in '/part/overview.json', '/part/upstreams.json':
        assert 'other' not in httpd.get(path).text and 'secret' not in httpd.get(path).text
    all_of_them = httpd.get('/rest/upstreams.json').json()['upstreams']
    assert {one['upstream']: one['layers'] for one in all_of_them} == {
        'stub': ['stub'], 'secret': ['other']}
    whole, part = (httpd.get(base + '/overview.json').headers['ETag'].split('.')[-1]
                   for base in ('/rest', '/part'))
    assert whole != part
    upstream.released.set()


@one_mpm
def test_more_tasks_than_are_shown(httpd, upstream):
    """All are counted; those that run come first, then those whose turn is next. A task whose
    upstream is silent lends its thread."""
    httpd.expect('TS0022|TS0023')
    upstream.always = Fault('held')
    start(httpd, 'TileSeedThreads 1\n' + REST + stub(upstream))
    numbers = [begin(httpd, 'stub', zoomStop=1) for _ in range(203)]
    wait_until(lambda: overview(httpd)['tasksRunning'] + overview(httpd)['tasksPending'] == 203)
    found = overview(httpd)
    assert found['tasksRunning'] >= 1 and not found['tasksComplete']
    assert [one['id'] for one in found['tasks']] == numbers[:200]
    terminate(httpd)
    upstream.released.set()
    wait_until(lambda: overview(httpd)['tasksComplete'])


@one_mpm
def test_an_upstream_that_goes_away_and_comes_back(httpd, upstream):
    """Its state, since when, why, and who waits for it: in both documents and in mod_status."""
    httpd.expect('TS0021|TS0023')
    httpd.start(REST + STATUS + stub(upstream, 'TileSeedRetries 3'))
    done(httpd, 'stub', zoomStop=1)
    wait_until(lambda: the_upstream(httpd)['state'] == 'WELL')
    found = the_upstream(httpd)
    assert found['cause'] is None and found['since'] is None and found['nextTry'] is None
    assert found['connections'] == 8 and found['rate'] is None and found['layers'] == ['stub']
    assert found['usualLatency'] is None or found['usualLatency'] > 0
    assert TIME.fullmatch(found['lastAnswer']) and found['requests'] > 0
    upstream.leave()
    number = begin(httpd, 'stub', zoomStop=4, type='reseed')
    wait_until(lambda: the_upstream(httpd)['state'] == 'AWAY')
    wait_until(lambda: the_upstream(httpd)['tasksWaiting'] == 1)
    found = the_upstream(httpd)
    assert TIME.fullmatch(found['since']) and TIME.fullmatch(found['nextTry'])
    assert 'refused' in found['cause'] and found['errors'] >= 3 and found['window'] == 1
    wait_until(lambda: [one['state'] for one in overview(httpd)['upstreams']] == ['AWAY'])
    page = httpd.get('/server-status').text
    assert '<td>stub</td><td>AWAY</td>' in page
    values = httpd.get('/server-status?auto').text
    assert 'TileSeedUpstream[0]Name: stub\n' in values
    assert 'TileSeedUpstream[0]State: AWAY\n' in values
    upstream.come_back()
    assert ended(httpd, number)['state'] == 'DONE'
    wait_until(lambda: the_upstream(httpd)['state'] == 'WELL')
    assert the_upstream(httpd)['tasksWaiting'] == 0


SECRET = layer('other', 'TileSeedSource wms upstream:stub layers=secret', 'TileSeedGrid small',
               'TileSeedMetatile 1x1')


@one_mpm
@pytest.mark.parametrize('state, words, others', [
    ('QUIET', '503 Service Unavailable: no secret now', '503 Service Unavailable since'),
    ('AWAY', 'connection refused by', 'connection refused by')], ids=['quiet', 'away'])
def test_a_location_hears_nothing_of_what_others_asked(httpd, upstream, state, words, others):
    """Whoever sees one layer is told that its upstream is away, and no word about another layer:
    neither of the upstream, nor of a task that waits."""
    httpd.expect('TS0021|TS0023|TS0053')
    httpd.start(REST + PART + stub(upstream, meta='1x1') + SECRET)
    upstream.always = Fault('busy', 250)
    if state == 'AWAY':
        upstream.leave()
    hidden = begin(httpd, 'other', zoomStop=4)
    wait_until(lambda: the_upstream(httpd)['state'] == state)
    assert words in the_upstream(httpd)['cause']
    wait_until(lambda: words in (task(httpd, hidden)['reason'] or ''))
    shown = begin(httpd, 'stub', zoomStop=4)
    wait_until(lambda: others in (task(httpd, shown)['reason'] or ''))
    if state == 'QUIET':        # where it is away, requests of both layers find that out
        (one,) = httpd.get('/part/upstreams.json').json()['upstreams']
        assert one['state'] == state and one['cause'] is None and one['layers'] == ['stub']
    paths = ['upstreams.json', 'overview.json', 'seed.json', 'tasks.json', f'tasks/{shown}.json',
             f'tasks/{shown}/failures.json', f'tasks/{hidden}.json', 'layers.json', 'hosts.json',
             'diskquota.json', 'diskquota/usage.json', 'seed/stub.json']
    found = {path: httpd.get('/part/' + path) for path in paths}
    for path, answer in found.items():
        assert answer.status in (200, 403, 404), (path, answer.status)
        assert 'secret' not in answer.text and '"other"' not in answer.text, (path, answer.text)
    assert {path for path in paths if found[path].status != 200} == {f'tasks/{hidden}.json',
                                                                     'hosts.json'}
    terminate(httpd)


@one_mpm
def test_a_location_hears_no_cause_of_others(httpd, upstream):
    """That of an upstream which is away is of another layer."""
    httpd.expect('TS0021|TS0023|TS0053')
    httpd.start(REST + PART + stub(upstream, meta='1x1') + SECRET)
    upstream.leave()
    begin(httpd, 'other', zoomStop=4)
    wait_until(lambda: the_upstream(httpd)['state'] == 'AWAY')
    assert 'connection refused' in the_upstream(httpd)['cause']
    for path in 'upstreams', 'overview':
        (one,) = httpd.get(f'/part/{path}.json').json()['upstreams']
        assert one['state'] == 'AWAY' and one['cause'] is None
    terminate(httpd)


FAILING = {
    'xml': (Fault('xml'), '200 with an XML exception: '),
    'page': (Fault('login'), '200 with an HTML page: Log in'),
    '401': (Fault('status', 401), '401 Unauthorized'),
    '500': (Fault('status', 500), '500 Internal Server Error'),
    'redirect': (Fault('redirect'), 'redirected to another port'),
    'broken': (Fault('truncated'), 'png is cut off'),
}


@one_mpm
@pytest.mark.main_path
def test_an_upstream_that_answers_in_vain(httpd, upstream):
    """Named with the first answers, in all that tells of upstreams; gone with the next good one.
    The answers of another layer and of the capabilities hide nothing."""
    httpd.expect('TS0023|TS0053')
    upstream.elsewhere = 'http://127.0.0.1:1/'
    httpd.start(REST + STATUS + PART + 'TileSeedRetries 0\n' + stub(upstream)
                + layer('good', 'TileSeedSource wms upstream:stub layers=good',
                        'TileSeedGrid small', 'TileSeedMetatile 1x1'))
    for fault, cause in FAILING.values():
        upstream.decide = lambda asked, fault=fault: None if asked['LAYERS'] == 'good' else fault
        number = begin(httpd, 'stub', zoomStop=2, type='reseed')
        wait_until(lambda number=number, cause=cause: task(httpd, number)['reasonCode'] == (
            'REFUSED' if cause.startswith('401') else 'NOTHING_MADE'))
        wait_until(lambda: the_upstream(httpd)['state'] == 'FAILING')
        done(httpd, 'good', zoomStop=2, type='reseed')
        found = wait_until(lambda: (lambda one: one['recentFailed'] < one['recentAnswers'] and one)(
            the_upstream(httpd)))
        assert found['state'] == 'FAILING' and cause in found['cause'], found
        assert found['failingLayer'] == 'stub'
        assert found['recentFailed'] > 0
        assert [one['state'] for one in overview(httpd)['upstreams']] == ['FAILING']
        check = run('check', url=httpd.url('/rest'))
        assert 'the upstream stub is FAILING for stub: ' in check.stdout, check
        assert '<td>stub</td><td>FAILING</td>' in httpd.get('/server-status').text
        terminate(httpd)
        upstream.decide = lambda asked: None
        done(httpd, 'stub', zoomStop=0, type='reseed')
        wait_until(lambda: the_upstream(httpd)['state'] == 'WELL')
        assert the_upstream(httpd)['cause'] is None


@one_mpm
def test_an_upstream_that_failed_is_asked_though_nobody_waits(httpd, upstream):
    """By one request for each layer that fails there, when somebody wants it: with the good answer
    it is well."""
    httpd.expect('TS0023|TS0053')
    httpd.start(REST + 'TileSeedRetries 0\n' + stub(upstream, meta='1x1')
                + layer('other', 'TileSeedSource wms upstream:stub layers=other',
                        'TileSeedGrid small', 'TileSeedMetatile 1x1')
                + layer('good', 'TileSeedSource wms upstream:stub layers=good',
                        'TileSeedGrid small', 'TileSeedMetatile 1x1'))
    upstream.always = Fault('status', 500)
    for name in 'stub', 'other':
        assert ended(httpd, begin(httpd, name, zoomStop=1))['state'] == 'ABORTED'
    wait_until(lambda: the_upstream(httpd)['state'] == 'FAILING')
    asked = len(upstream.times)
    assert httpd.post('/rest/upstreams/again/good').status == 200
    wait_until(lambda: the_upstream(httpd)['recentFailed'] == asked + 2)
    assert the_upstream(httpd)['state'] == 'FAILING'
    upstream.always = None
    assert httpd.post('/rest/upstreams/again/good').status == 200
    wait_until(lambda: the_upstream(httpd)['state'] == 'WELL')
    assert len(upstream.times) == asked + 4
    assert sorted(one['LAYERS'] for one in upstream.requests[asked:]) == ['any'] * 2 + ['other'] * 2


@one_mpm
@pytest.mark.parametrize('rate,number', [('30/min', 0.5), ('1/min', 0.0167), ('7/s', 7),
                                         ('1000/s', 1000)])
def test_a_rate_as_a_number(httpd, upstream, rate, number):
    """Of requests a second, also below one."""
    httpd.start(REST + stub(upstream, polite=f'rate={rate}'))
    assert the_upstream(httpd)['rate'] == number


@one_mpm
def test_an_upstream_that_asks_for_quiet(httpd, upstream):
    """Until when it is left in peace is a time, not a rest."""
    httpd.expect('TS0021|TS0023')
    upstream.always = Fault('later', 3000)
    httpd.start(REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=1)
    wait_until(lambda: the_upstream(httpd)['state'] == 'QUIET')
    found = the_upstream(httpd)
    assert TIME.fullmatch(found['quietUntil']) and found['nextTry'] >= found['quietUntil']
    assert task(httpd, number)['state'] == 'RUNNING'
    terminate(httpd)


@one_mpm
def test_upstreams_without_secrets(httpd, upstream):
    """Neither the address nor what is in it stands in any of the documents."""
    secret = 'dontshow'
    httpd.expect('TS0021|TS0023|TS0053')
    source = f'{upstream.url}?key={secret}'
    httpd.start(REST + STATUS + SMALL_GRID + layer(
        'a', f'TileSeedSource wms {source} layers=any', 'TileSeedGrid small', 'TileSeedRetries 0'))
    upstream.always = Fault('echo', 503)
    begin(httpd, 'a', zoomStop=3)
    wait_until(lambda: any(one['errors'] for one in overview(httpd)['upstreams']))
    for path in ('/rest/overview.json', '/rest/upstreams.json', '/server-status',
                 '/server-status?auto'):
        assert secret not in httpd.get(path).text
    terminate(httpd)


@one_mpm
def test_a_seeder_that_dies(httpd, upstream):
    """The next one is another start, and asks the upstreams anew."""
    httpd.expect('TS0048')
    start(httpd, REST + stub(upstream))
    before = httpd.get('/rest/overview.json')
    old = overview(httpd)['seeder']
    os.kill(old['pid'], signal.SIGKILL)
    wait_until(lambda: overview(httpd)['seeder']['starts'] == old['starts'] + 1 and
               overview(httpd)['seeder']['state'] == 'WORKING')
    assert overview(httpd)['seeder']['pid'] != old['pid']
    assert ask_again(httpd, before).status == 200


@one_mpm
def test_a_seeder_that_hangs(httpd, upstream, database):
    """It gives no sign of life: that alone makes the old document wrong."""
    if database:
        httpd.expect('TS0084')      # it loses its lease
    start(httpd, REST + stub(upstream))
    before = httpd.get('/rest/overview.json')
    pid = overview(httpd)['seeder']['pid']
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: not overview(httpd)['seeder']['responding'])
        assert ask_again(httpd, before).status == 200
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: overview(httpd)['seeder']['responding'])


@one_mpm
def test_a_parent_that_dies(httpd, upstream):
    """Children answer on without a seeder: tasks say what they wait for, and show no pace."""
    httpd.expect('AH00098')
    start(httpd, REST + STATUS + stub(upstream))
    upstream.always = Fault('delay', 0.1)
    number = begin(httpd, 'stub', zoomStop=6)
    wait_until(lambda: task(httpd, number)['tilesPerSecond'])
    httpd.process.kill()
    httpd.process.wait()
    wait_until(lambda: overview(httpd)['seeder']['state'] == 'STOPPED')
    found = task(httpd, number)
    assert (found['state'], found['reasonCode']) == ('RUNNING', 'HOST'), found
    assert found['tilesPerSecond'] is None and 'seeder has stopped' in found['reason'], found
    assert values(httpd)['TileSeedTask[0]Reason'] == found['reason']

    def silence():
        """How long ago the seeder is said to have lived."""
        host, = httpd.get('/rest/hosts.json').json()['hosts']
        assert host['state'] == 'DEAD', host
        return datetime.now(timezone.utc) - datetime.fromisoformat(host['lastSeen'])
    wait_until(lambda: silence() > timedelta(seconds=2))    # of the last sign of life
    httpd.kill_processes()
    wait_until(lambda: not httpd.processes())


@one_mpm
def test_the_database_is_not_asked(httpd, upstream):
    """The documents come although nobody can open it."""
    httpd.expect('TS0003|TS0040|TS0043')
    httpd.start('TileSeedStateDir "/dev/null/state"\n' + REST.replace('TileSeedStateDir', '#') +
                stub(upstream))
    wait_until(lambda: overview(httpd)['seeder']['state'] == 'NO_STATE')
    found = overview(httpd)
    assert found['quota'] is None
    assert httpd.get('/rest/upstreams.json').json()['upstreams'][0]['upstream'] == 'stub'


# What documents say by level and by cause

def levels(httpd, number):
    """(z, metatiles, finished, tiles) of a task's levels."""
    return [tuple(one[name] for name in ('z', 'metatiles', 'finished', 'tiles'))
            for one in task(httpd, number)['levels']]


@one_mpm
def test_levels_of_tasks(httpd, upstream):
    """While a task is under way, at its end, of a retry and of a truncate."""
    httpd.expect('TS0022|TS0023|TS0071')
    httpd.start(REST + stub(upstream, 'TileSeedRetries 0'))
    upstream.faults = [None, None, None, Fault('xml')]
    number = begin(httpd, 'stub', zoomStart=1, zoomStop=3, threadCount=1)
    ended(httpd, number)
    assert levels(httpd, number) == [(1, 1, 1, 4), (2, 4, 4, 16), (3, 16, 16, 64)]
    found = httpd.get(f'/rest/tasks/{number}/failures.json').json()
    assert found['total'] == found['causesOf'] == 1
    retry = int(httpd.post(f'/rest/tasks/{number}/retry').headers['TileSeed-Task'])
    ended(httpd, retry)
    z = found['failures'][0]['z']
    assert levels(httpd, retry) == [(level, int(level == z), int(level == z), None)
                                    for level in (1, 2, 3)]
    truncate = done(httpd, 'stub', type='truncate', zoomStart=2, zoomStop=3)['id']
    assert levels(httpd, truncate) == [(2, 1, 1, 16), (3, 1, 1, 64)]
    upstream.always = Fault('held')
    number = begin(httpd, 'stub', zoomStart=0, zoomStop=2)
    assert [found[:2] for found in levels(httpd, number)] == [(0, 1), (1, 1), (2, 4)]
    assert all('levels' not in one for one in httpd.get('/rest/tasks.json').json()['tasks'])
    terminate(httpd)
    upstream.released.set()


@one_mpm
def test_levels_of_usage(httpd, upstream):
    """Their sum is what the tile set has, of the tiles that it can have."""
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=2)
    agrees(httpd)

    def tileset():
        return httpd.get('/rest/diskquota/usage.json').json()['layers'][0]['tilesets'][0]

    wait_until(lambda: [(level['z'], level['tiles'], level['possible'])
                        for level in tileset()['levels']] == [(0, 1, 1), (1, 4, 4), (2, 16, 16)])
    one = tileset()
    for name in 'bytes', 'files', 'tiles':
        assert sum(level[name] for level in one['levels']) == one[name]
    of_one = httpd.get(f'/rest/diskquota/usage.json?tileset={one["id"]}').json()['tileset']
    assert of_one['levels'] == one['levels']
    done(httpd, 'stub', type='truncate', zoomStart=1, zoomStop=1)
    wait_until(lambda: [level['z'] for level in tileset()['levels'] if level['tiles']] == [0, 2])


@one_mpm
def test_causes(httpd, upstream):
    """Each with its number, times and an example; on the first page alone."""
    httpd.expect('TS0022|TS0023|TS0071')
    httpd.start(REST + stub(upstream, 'TileSeedRetries 0'))
    upstream.faults = [Fault('status', 404), Fault('xml'), Fault('xml'), Fault('xml')]
    number = begin(httpd, 'stub', zoomStart=3, zoomStop=3, threadCount=1)
    ended(httpd, number)
    found = httpd.get(f'/rest/tasks/{number}/failures.json').json()
    assert found['total'] == found['causesOf'] == 4
    assert [(one['count'], one['httpStatus']) for one in found['causes']] == [(3, 200), (1, 404)]
    for one in found['causes']:
        same = [failure for failure in found['failures'] if failure['cause'] == one['cause']]
        assert len(same) == one['count']
        assert one['first'] == min(failure['time'] for failure in same)
        assert one['last'] == max(failure['time'] for failure in same)
        assert one['example'] in [{key: failure[key] for key in 'zxy'} for failure in same]
    part = httpd.get(f'/rest/tasks/{number}/failures.json?limit=1').json()
    assert part['causes'] == found['causes']
    behind = httpd.get(part['next']).json()
    assert behind['causes'] is None and behind['causesOf'] is None


# What a client may do

USERS = '''
<Location "/rest">
    AuthType Basic
    AuthName tiles
    AuthUserFile "@ROOT@/users"
    AuthBasicProvider file
    <RequireAny>
        <RequireAll>
            Require method GET
            Require all granted
        </RequireAll>
        Require user boss
    </RequireAny>
</Location>
<Location "/rest/seed/stub.json">
    <RequireAny>
        Require method GET
        Require user boss clerk
    </RequireAny>
</Location>
<Location "/tiles">
    TileSeedTiles on
    Require local
</Location>
'''


def rights(httpd, auth=None):
    """What layers.json says that a user may do."""
    found = httpd.get('/rest/layers.json', auth=auth).json()
    return found['layers'][0]['may']['seed'], found['may']['terminate'], found['may']['quota']


@one_mpm
def test_rights_are_those_of_the_requests(httpd, upstream):
    """Each user is told what httpd then does, and asking for it is no attempt."""
    httpd.expect('AH01631.*/rest/seed/stub.json')     # its section is another: httpd is asked
    httpd.users(boss='1', clerk='2', guest='3')
    httpd.start(REST.replace('Require local', '') + USERS + stub(upstream))
    for auth, expected in ((None, (False, False, False)), (('boss', '1'), (True, True, True)),
                           (('clerk', '2'), (True, False, False)),
                           (('guest', '3'), (False, False, False))):
        assert rights(httpd, auth) == expected
    assert 'AH01630' not in httpd.error_log()
    assert len(re.findall('AH01631', httpd.error_log())) == 1
    httpd.expect('AH01630|AH01631|AH01617|AH01629')
    for auth, expected in ((('clerk', '2'), (200, 401, 401)), (('guest', '3'), (401, 401, 401))):
        assert tuple(answer.status for answer in (
            httpd.post('/rest/seed/stub.json', '{"seedRequest":{"zoomStop":0}}', auth=auth),
            httpd.post('/rest/seed', 'kill_all=all', auth=auth),
            httpd.put('/rest/diskquota.json', '{"cacheQuotaConfiguration":{}}', auth=auth),
        )) == expected


@one_mpm
def test_rights_of_a_location_that_sees_some_layers(httpd, upstream):
    """What is about all layers may not be asked for there."""
    httpd.start(REST + PART + stub(upstream))
    assert httpd.get('/part/layers.json').json()['may'] == {
        'terminate': True, 'quota': True, 'reconcile': False, 'cleanUp': False}
    assert set(httpd.get('/rest/layers.json').json()['may'].values()) == {True}
    assert httpd.get('/rest/layers.json').json()['layers'][0]['tiles'] is None


# Tiles that are not to be made

TILES = '''
<Location "/tiles">
    TileSeedTiles on
    Require local
</Location>
'''


@one_mpm
def test_tiles_that_are_not_made(httpd, upstream):
    """A miss is answered at once and asks nobody, by each address; a hit is as ever."""
    httpd.start(REST + TILES + stub(upstream, name='ä stub'))
    found = httpd.get('/rest/layers.json').json()['layers'][0]
    assert found['tiles'] == '/tiles/tms/%c3%a4%20stub/{gridSetId}/{z}/{x}/{y}.{extension}'
    tile = found['tiles'].replace('{gridSetId}', 'small').replace('{extension}', 'png')
    tile = tile.replace('{z}/{x}/{y}', '1/0/1')
    wmts = ('/tiles/wmts?SERVICE=WMTS&REQUEST=GetTile&VERSION=1.0.0&LAYER=%c3%a4%20stub&STYLE='
            '&TILEMATRIXSET=small&TILEMATRIX=small:1&TILEROW=0&TILECOL=0&FORMAT=image/png')
    before = len(upstream.requests)
    for path in tile + '?onmiss=404', wmts + '&onmiss=404', wmts + '&OnMiss=404':
        assert httpd.get(path).status == 404
    for path in tile + '?onmiss=200', wmts + '&onmiss=':
        answer = httpd.get(path)
        assert answer.status == 400 and b'onmiss can be 404 alone' in answer.body
    assert len(upstream.requests) == before
    made = httpd.get(tile)
    assert made.status == 200
    assert len(upstream.requests) > before
    for path in tile + '?onmiss=404', wmts + '&onmiss=404':
        assert httpd.get(path).body == made.body


@one_mpm
def test_blank_tiles_are_missing_too(httpd, upstream):
    """Where a layer has blank tiles, only the 404 tells which are there."""
    httpd.start(REST + TILES + stub(upstream, 'TileSeedOnMiss empty'))
    assert httpd.get('/tiles/stub/small/1/0/0.png').status == 200
    assert httpd.get('/tiles/stub/small/1/0/0.png?onmiss=404').status == 404
