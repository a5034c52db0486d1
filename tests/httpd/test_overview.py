# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What goes on just now: overview.json and upstreams.json, and how little it costs to ask again."""
import os
import re
import signal

from quota import agrees, put
from seeding import REST, SMALL_GRID, begin, done, ended, layer, seeder_of, stub, task, terminate
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


def the_upstream(httpd):
    """The stub's entry of upstreams.json."""
    return [one for one in httpd.get('/rest/upstreams.json').json()['upstreams']
            if one['upstream'] == 'stub'][0]


def ask_again(httpd, answer, path='/rest/overview.json'):
    """Asks whether a document has changed since that answer."""
    return httpd.get(path, headers={'If-None-Match': answer.headers['ETag']})


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
    assert seeder == {'state': 'WORKING', 'responding': True, 'starts': 1, 'tilesPerSecond': 0}
    assert found['tasks'] == [] and found['tasksComplete']
    assert (found['tasksRunning'], found['tasksPending']) == (0, 0)
    quota = found['quota']
    assert not quota['enabled'] and quota['complete'] and quota['pagesInDoubt'] == 0
    assert quota['limit']['bytes'] == 500 << 20 and quota['limit']['files'] is None
    assert quota['free']['bytes'] == (500 << 20) - taken['bytes']
    assert [one['upstream'] for one in found['upstreams']] == ['stub']


def test_the_same_document_is_not_sent_twice(httpd, upstream):
    """Until something happens; whichever child is asked."""
    upstream.always = Fault('held')
    httpd.start(REST + stub(upstream))
    before = wait_until(lambda: (lambda found: found if ask_again(httpd, found).status == 304
                                 else None)(httpd.get('/rest/overview.json')))
    again = ask_again(httpd, before)
    assert again.body == b'' and again.headers['ETag'] == before.headers['ETag']
    assert before.headers['Cache-Control'] == again.headers['Cache-Control'] == 'no-cache'
    assert 'Content-Type' not in again.headers
    number = begin(httpd, 'stub', zoomStop=2)
    after = ask_again(httpd, before)
    assert after.status == 200 and after.headers['ETag'] != before.headers['ETag']
    assert [one['id'] for one in after.json()['tasks']] == [number]
    upstream.released.set()
    ended(httpd, number)
    wait_until(lambda: overview(httpd)['tasks'] == [])
    assert ask_again(httpd, after).status == 200


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
    after = ask_again(httpd, before)
    assert after.status == 200 and after.json()['quota']['limit']['files'] == 77


@one_mpm
def test_a_quota_that_is_changed(httpd, upstream):
    """The next answer has it."""
    httpd.start(REST + stub(upstream))
    before = httpd.get('/rest/overview.json')
    put(httpd, enabled=True, globalQuota={'value': 3, 'units': 'MiB'})
    after = ask_again(httpd, before)
    assert after.status == 200
    assert after.json()['quota']['enabled'] and after.json()['quota']['limit']['bytes'] == 3 << 20


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
    """All are counted; those that run come first, then those whose turn is next."""
    upstream.always = Fault('held')
    httpd.start('TileSeedThreads 1\n' + REST + stub(upstream))
    numbers = [begin(httpd, 'stub', zoomStop=1) for _ in range(203)]
    wait_until(lambda: overview(httpd)['tasksRunning'] == 1)
    found = overview(httpd)
    assert found['tasksPending'] == 202 and not found['tasksComplete']
    assert [one['id'] for one in found['tasks']] == numbers[:200]
    terminate(httpd)
    upstream.released.set()
    wait_until(lambda: overview(httpd)['tasksComplete'])


@one_mpm
def test_an_upstream_that_goes_away_and_comes_back(httpd, upstream):
    """Its state, since when, why, and who waits for it: in both documents and in mod_status."""
    httpd.expect('TS0021')
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


@one_mpm
def test_an_upstream_that_asks_for_quiet(httpd, upstream):
    """Until when it is left in peace is a time, not a rest."""
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
    httpd.expect('TS0021')
    source = upstream.url.replace('http://', f'http://user:{secret}@') + f'?key={secret}'
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
    httpd.start(REST + stub(upstream))
    before = httpd.get('/rest/overview.json')
    old = overview(httpd)['seeder']
    os.kill(old['pid'], signal.SIGKILL)
    wait_until(lambda: overview(httpd)['seeder']['starts'] == old['starts'] + 1 and
               overview(httpd)['seeder']['state'] == 'WORKING')
    assert overview(httpd)['seeder']['pid'] != old['pid']
    assert ask_again(httpd, before).status == 200


@one_mpm
def test_a_seeder_that_hangs(httpd, upstream):
    """It gives no sign of life: that alone makes the old document wrong."""
    httpd.start(REST + stub(upstream))
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
def test_the_database_is_not_asked(httpd, upstream):
    """The documents come although nobody can open it."""
    httpd.expect('TS0003|TS0040|TS0043')
    httpd.start('TileSeedStateDir "/dev/null/state"\n' + REST.replace('TileSeedStateDir', '#') +
                stub(upstream))
    wait_until(lambda: overview(httpd)['seeder']['state'] == 'NO_STATE')
    found = overview(httpd)
    assert found['quota'] is None
    assert httpd.get('/rest/upstreams.json').json()['upstreams'][0]['upstream'] == 'stub'
