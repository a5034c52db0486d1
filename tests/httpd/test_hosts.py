# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Several hosts with one database: one works, the others stand by and take over."""
import base64
import concurrent.futures
import json
import os
import signal

import pytest

from database import opened
from fleet import Cutter, Fleet, Proxy
from metrics import METRICS, scrape
from seeding import (FEW, GRIDS, REST, begin, counts, done, ended, layer, rows, seeder_of, stub,
                     task, terminate)
from test_tiles import TILES as TILES_LOCATION
from tileseed_httpd import Httpd, needs_fleet, one_mpm, wait_until
from upstream import Fault

SHORT = '6s'        # a lease that ends in time for a test, and not by itself on a busy machine
LAST = 5
TILES = GRIDS['small'].between(0, LAST)
LOST = r'TS0042|TS0043|TS0040|TS0057|TS0083|TS0084|TS0076'   # the database, or the lease
UNCLEAN = r'AH00098'                                        # the pid file of a host that died

pytestmark = one_mpm


@pytest.fixture
def slow(upstream):
    """A stub that takes its time, so that a task of TILES lasts some seconds."""
    upstream.always = Fault('delay', 0.05)
    return upstream


@pytest.fixture
def fleet(mpm, postgres, upstream):
    """Two hosts whose leases don't end by themselves: web1 works, web2 stands by."""
    hosts = Fleet(mpm, postgres, upstream)
    yield hosts
    hosts.finish()


@pytest.fixture
def quick(mpm, postgres, slow):
    """Hosts with a short lease and a slow upstream."""
    hosts = Fleet(mpm, postgres, slow, SHORT)
    yield hosts
    hosts.finish()


def two(hosts):
    """The first two hosts: one works, one stands by."""
    return hosts.add(), hosts.add()


def under_way(httpd, tenths=2, **members):
    """Begins a seed at a host, and waits until some of it is done."""
    number = begin(httpd, 'stub', zoomStop=LAST, threadCount=2, **members)
    wait_until(lambda: task(httpd, number)['tilesProcessed'] >= len(TILES) * tenths // 10,
               what='some tiles')
    return number


def check_seed(hosts, httpd, number):
    """All tiles are there, once each, and each was counted once."""
    document = ended(httpd, number)
    assert document['state'] == 'DONE', document
    made, skipped, removed, failed = counts(document)
    assert (made + skipped, removed, failed) == (len(TILES), 0, 0), document
    assert len(hosts.tiles()) == len(TILES)


def check_books(hosts, httpd):
    """What is booked is what the store holds."""
    def agree():
        usage = httpd.get('/rest/diskquota/usage.json').json()
        return usage['complete'] and usage['files'] == len(hosts.tiles())
    wait_until(agree, what='books that agree with the store')


def known(httpd):
    """hosts.json as {name: state}, and who works."""
    answer = httpd.get('/rest/hosts.json')
    assert answer.status == 200, answer.body
    document = answer.json()
    assert document['answeredBy'] == httpd.name
    return {one['name']: one['state'] for one in document['hosts']}, document['active']


def listed(number, *hosts):
    """Every host lists a task that has not ended, in each of its lists."""
    for httpd in hosts:
        for path in ('seed', 'seed/stub'):
            found = httpd.get(f'/rest/{path}.json').json()['long-array-array']
            assert number in [row[3] for row in found], (httpd.name, path, found)
        for path in ('overview', 'tasks', 'tasks.json?state=pending,running'):
            found = httpd.get(f'/rest/{path}' if '.' in path else f'/rest/{path}.json').json()
            assert number in [one['id'] for one in found['tasks']], (httpd.name, path, found)
        assert task(httpd, number)['state'] in ('PENDING', 'RUNNING')
    return True


def renewals(httpd):
    """How often a host has renewed its lease, once a second."""
    with opened(httpd) as state:
        return state.execute('SELECT renewals FROM host ORDER BY name').fetchone()[0]


def put_state(httpd, name, state):
    """Drains a host, or has it active again."""
    return httpd.put(f'/rest/hosts/{name}', json.dumps({'state': state}))


# ---- any host takes any request ----

def test_a_task_posted_to_the_standby(fleet):
    """The host that works does it; both tell of it."""
    one, other = two(fleet)
    assert (fleet.state(one), fleet.state(other)) == ('WORKING', 'STANDBY')
    number = begin(other, 'stub', zoomStop=LAST)
    check_seed(fleet, other, number)
    assert f'task {number} of layer' in one.error_log()
    assert f'task {number} of layer' not in other.error_log()
    assert task(one, number) == task(other, number)
    assert not rows(one) and not rows(other)
    failures = other.get(f'/rest/tasks/{number}/failures.json')
    assert failures.json()['failures'] == []
    number = begin(other, 'stub', zoomStop=LAST, type='reseed')
    assert rows(one)[0][3] == number, 'who works tells at once what another host has accepted'
    assert ended(one, number)['tilesMade'] + ended(one, number)['tilesSkipped'] == len(TILES)


def test_a_task_is_in_every_list(fleet, upstream):
    """From its acceptance on: at a host that has just come, at one that has not heard of that host,
    while the task is begun, and while one host takes the work over from another."""
    upstream.always = Fault('held')
    one = fleet.add()
    one.expect(LOST)
    pid = fleet.pause(one)
    other = fleet.add(name='web2')
    number = begin(other, 'stub', zoomStop=LAST)
    listed(number, one, other)
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: listed(number, one, other) and task(one, number)['state'] == 'RUNNING',
               what='the start of the task')
    put_state(one, 'web1', 'draining')
    wait_until(lambda: listed(number, one, other) and fleet.state(other) == 'WORKING' and
               task(other, number)['state'] == 'RUNNING', what='the start at the other host')
    upstream.always = None
    upstream.released.set()
    check_seed(fleet, other, number)


def test_terminated_at_the_standby(fleet, upstream):
    """The answer says that nothing is written any more."""
    upstream.always = Fault('delay', 0.1)
    one, other = two(fleet)
    number = under_way(other, 1)
    assert other.get('/rest/overview.json').json()['tasks'][0]['id'] == number
    page = terminate(other)
    assert str(number) in page and 'still' not in page, page
    document = task(one, number)
    assert document['state'] == 'ABORTED' and 'terminated' in document['reason']
    assert len(fleet.tiles()) == document['tilesMade']


def test_terminated_while_nobody_works(quick):
    """The termination stands, and the answer says that it is not confirmed yet."""
    one, other = two(quick)
    number = under_way(one, 1)
    quick.kill(one)
    page = terminate(other)
    assert str(number) in page, page
    assert task(other, number)['state'] == 'ABORTED'
    quick.works(other)
    with opened(other) as state:
        wait_until(lambda: state.execute('SELECT kill_pending FROM task WHERE id = ?',
                                         (number,)).fetchall() == [(0,)])


def test_quota_and_reconcile_at_the_standby(fleet):
    """The host that works adopts the one and does the other."""
    one, other = two(fleet)
    done(other, 'stub', zoomStop=2)
    answer = other.put('/rest/diskquota.json', json.dumps({'cacheQuotaConfiguration': {
        'enabled': True, 'globalQuota': {'value': 7, 'units': 'GiB'}}}))
    assert answer.status == 200, answer.body
    for host in (other, one):       # who works may not have heard yet that there is another host
        wait_until(lambda at=host: at.get('/rest/diskquota.json').json()
                   ['cacheQuotaConfiguration']['globalQuota']['value'] == '7', what='the quota')
    wait_until(lambda: (one.get('/rest/overview.json').json()['quota'] or {}).get('limit', {})
               .get('bytes') == 7 << 30, what='the quota in force')
    assert other.post('/rest/diskquota/reconcile').status == 200
    wait_until(lambda: (other.get('/rest/diskquota/usage.json').json().get('reconcile') or {})
               .get('finished'), what='the end of the reconcile')
    assert 'TS0072' in one.error_log() and 'TS0072' not in other.error_log()


def test_failures_retried_at_the_standby(fleet, upstream):
    """The list of what failed is the same everywhere."""
    one, other = two(fleet)
    upstream.always = Fault('status', 404)
    number = begin(other, 'stub', zoomStop=0)
    assert ended(other, number)['tilesFailed'] > 0
    upstream.always = None
    answer = other.post(f'/rest/tasks/{number}/retry')
    assert answer.status == 200, answer.body
    assert ended(other, int(answer.headers['TileSeed-Task']))['tilesMade'] > 0
    one.expect(r'task \d+ of layer|TS0053|stub')


# ---- what a host says that stands by ----

def test_the_standby_tells_who_works(fleet):
    """The documents, the metrics and mod_status do; the public learns no names of hosts."""
    more = TILES_LOCATION + METRICS + ('<Location /server-status>\nSetHandler server-status\n'
                                       'Require local\n</Location>\n')
    fleet.lines = ('TileSeedOnMiss fetch',)
    one, other = fleet.add(more=more), fleet.add(more=more)
    assert known(one) == known(other) == ({'web1': 'ACTIVE', 'web2': 'STANDBY'}, 'web1')
    overview = other.get('/rest/overview.json')
    seeder = overview.json()['seeder']
    assert (seeder['state'], seeder['host'], seeder['activeHost']) == ('STANDBY', 'web2', 'web1')
    assert seeder['responding'] and overview.headers['ETag'] is None
    assert 'standing by: host web1 works' in other.get('/server-status?auto').text
    path = '/tiles/stub/small/3/4/4.png'
    assert other.get(path).status == one.get(path).status == 200
    assert 'web' not in str(other.get(path).headers)
    for host, active in ((one, 1), (other, 0)):
        found = scrape(host)
        assert found.get('tileseed_seeder_up') == 1
        assert found.get('tileseed_seeder_active') == active
        assert found.get('tileseed_seeder_state', state=('standby', 'working')[active]) == 1


@needs_fleet
@pytest.mark.sqlite
def test_a_server_that_is_alone(httpd):
    """It has no lease and shows itself; nobody can take its work over."""
    httpd.name = 'alone'
    httpd.start(REST + FEW + 'TileSeedHost alone\n' + layer(
        'other', 'TileSeedSource wms http://127.0.0.1:9/wms layers=any'))
    wait_until(lambda: Fleet.seeder(httpd)['state'] == 'WORKING')
    assert known(httpd) == ({'alone': 'ACTIVE'}, 'alone')
    document = httpd.get('/rest/hosts.json').json()['hosts'][0]
    assert document['leaseLeft'] is None and document['version'] and document['since']
    assert put_state(httpd, 'alone', 'draining').status == 409
    assert httpd.put('/rest/hosts/alone', '{"state":"off"}').status == 400
    for answer in (httpd.get('/few/rest/hosts.json'),
                   httpd.put('/few/rest/hosts/alone', '{"state":"draining"}')):
        assert answer.status == 403 and 'TileSeedLayers' in answer.text
    assert httpd.post('/rest/hosts.json').status == 405


# ---- taking over ----

def test_the_host_that_works_dies(quick):
    """All of it at once: the other one takes over, and the task ends with exact sums."""
    one, other = two(quick)
    number = under_way(other)
    quick.kill(one)
    quick.works(other)
    check_seed(quick, other, number)
    check_books(quick, other)
    assert ('TS0080: host \'web2\' works on this cache from now on, because host \'web1\' was '
            'stopped or has not renewed its lease') in other.error_log()
    assert known(other) == ({'web1': 'DEAD', 'web2': 'ACTIVE'}, 'web2')
    one.expect(UNCLEAN)
    one.start()
    quick.stands_by(one)
    assert done(one, 'stub', zoomStop=LAST)['tilesSkipped'] == len(TILES)
    assert known(one) == ({'web1': 'STANDBY', 'web2': 'ACTIVE'}, 'web2')


def test_the_shortest_lease(quick):
    """Another host takes over, though it renews its own lease no more often than a third of it."""
    quick.lease = '3s'
    one, other = two(quick)
    for host in (one, other):
        host.expect(LOST)       # it may end by itself on a busy machine
    one.expect(UNCLEAN)
    wait_until(lambda: known(other)[1] == 'web1')
    quick.kill(one)
    quick.works(other)


def test_a_standby_that_holds_back(quick):
    """It stood still while the host that works died, so that it might have missed the renewals of a
    host that is alive: it says so, waits for them, and takes over."""
    quick.lease = '3s'
    one, other = two(quick)
    for host in (one, other):
        host.expect(LOST)
    pid = quick.pause(other)
    quick.kill(one)
    one.expect(UNCLEAN)
    with opened(other) as state:
        wait_until(lambda: state.execute(
            "SELECT until + 2000000 < EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 FROM host"
            " WHERE name = 'web1'").fetchone()[0], what='a lease that ended a while ago')
    os.kill(pid, signal.SIGCONT)
    quick.works(other)
    assert ("TS0095: host 'web2' holds back, although host 'web1' has not renewed its lease: the "
            "database was away for this host, so that host gets") in other.error_log()


def test_three_hosts_die_in_turn(quick):
    """Each amid a seed, and comes back: all tiles are there once, and counted once."""
    hosts = [*two(quick), quick.add()]
    numbers = [begin(hosts[0], 'stub', zoomStop=LAST, threadCount=2)]
    for turn in range(3):
        active, = [one for one in hosts if quick.state(one) == 'WORKING']
        number = under_way(active, 1, type='reseed') if turn else numbers[0]
        if turn:
            numbers.append(number)
        wait_until(lambda one=active, seed=number: task(one, seed)['tilesProcessed'] > 100,
                   what='some tiles')
        quick.kill(active)
        others = [one for one in hosts if one is not active]
        wait_until(lambda rest=others: 'WORKING' in map(quick.state, rest), what='a takeover')
        active.expect(UNCLEAN)
        active.start()
        quick.stands_by(active)
    for number in numbers:
        document = ended(hosts[0], number)
        made, skipped, removed, failed = counts(document)
        assert document['state'] == 'DONE', document
        assert (made + skipped, removed, failed) == (len(TILES), 0, 0), document
    assert len(quick.tiles()) == len(TILES)
    check_books(quick, hosts[0])


def test_a_truncate_while_nobody_works(quick, upstream):
    """It is accepted, and done by who takes over; the books of the dead host are right."""
    one, other = two(quick)
    upstream.always = None
    done(one, 'stub', zoomStop=LAST)
    quick.pause(one)
    number = begin(other, 'stub', zoomStop=LAST, type='truncate')
    quick.kill(one)
    quick.works(other)
    document = ended(other, number)
    assert counts(document) == (0, 0, len(TILES), 0), document
    wait_until(lambda: not quick.tiles(), what='an empty store')
    check_books(quick, other)


def test_a_seeder_that_stood_still_writes_nothing(quick):
    """It is continued after another host took over: it begins anew and stands by."""
    one, other = two(quick)
    one.expect(LOST)
    number = under_way(one)
    pid = quick.pause(one)
    quick.works(other)
    check_seed(quick, other, number)
    before = quick.tiles()
    os.kill(pid, signal.SIGCONT)
    quick.stands_by(one)
    assert quick.tiles() == before
    assert seeder_of(one) != pid
    assert 'TS0084: host \'web1\' has lost its lease' in one.error_log()
    assert 'TS0048' not in one.error_log(), 'that is no crash'
    assert done(one, 'stub', zoomStop=LAST)['tilesSkipped'] == len(TILES)


def test_a_connection_that_stalls(quick, postgres):
    """The host stops writing before another one begins, and ends though the database holds it."""
    proxy = Proxy(postgres)
    one = quick.add(proxy=proxy)
    other = quick.add()
    one.expect(LOST)
    number = under_way(other)
    pid = seeder_of(one)
    proxy.stall()
    quick.works(other)
    before = quick.tiles()
    wait_until(lambda: seeder_of(one) != pid, what='the end of the seeder')
    check_seed(quick, other, number)
    after = quick.tiles()
    assert {path: after[path] for path in before if '.tseed-' not in path} == \
        {path: found for path, found in before.items() if '.tseed-' not in path}
    proxy.go_on()
    quick.stands_by(one)
    assert quick.tiles() == after
    proxy.close()


def test_a_store_that_hangs(quick, postgres):
    """Threads that wait for the file server do not keep a host that has lost its lease from ending,
    and write nothing when the server is back."""
    proxy = Proxy(postgres)
    one = quick.add(proxy=proxy, prepare=Httpd.make_mischief)
    other = quick.add()
    one.expect(LOST)
    number = under_way(other)
    pid = seeder_of(one)
    one.mischief.hang(quick.store, True)
    wait_until(lambda: sum(found[2] == 0 for found in quick.tiles().values()) == 2,
               what='two threads that wait')
    proxy.stall()
    quick.works(other)
    wait_until(lambda: seeder_of(one) != pid, what='the end of the seeder')
    check_seed(quick, other, number)
    before = quick.tiles()
    one.mischief.hang(quick.store, False)
    proxy.go_on()
    quick.stands_by(one)
    assert quick.tiles() == before


@pytest.mark.parametrize('hours', [1, -1])
def test_a_clock_that_leaps(quick, slow, hours):
    """Leases go by the database's clock and by one that nobody sets: nobody takes over."""
    one, other = [quick.add(prepare=Httpd.make_mischief) for _ in range(2)]
    number = under_way(one)
    before = renewals(one)
    one.mischief.set_clock(hours * 3600)
    wait_until(lambda: task(one, number)['tilesProcessed'] >= len(TILES) / 2, what='half the tiles')
    slow.always = Fault('held')
    other.mischief.set_clock(hours * 3600)
    wait_until(lambda: renewals(one) > 2 * int(SHORT[:-1]) + before, what='two leases')
    slow.always = None
    slow.released.set()
    check_seed(quick, one, number)
    assert known(other)[1] == 'web1'
    assert 'TS0080: host \'web2\'' not in other.error_log()


def test_a_database_that_is_away_for_a_moment(quick, postgres):
    """Nothing is lost, and nobody takes over."""
    one, other = two(quick)
    for host in (one, other):
        host.expect(LOST)
    number = under_way(one)
    postgres.crash()
    postgres.start()
    check_seed(quick, one, number)
    assert known(one)[1] == 'web1'
    assert 'TS0080: host \'web2\'' not in other.error_log()


def test_a_database_that_is_away_for_long(quick, postgres):
    """All leases have ended when it comes back: the host that had the role gets it again."""
    one, other = two(quick)
    for host in (one, other):
        host.expect(LOST)
    number = under_way(one, 1)
    postgres.crash()
    wait_until(lambda: 'TS0084' in one.error_log(), what='the end of the lease')
    wait_until(lambda: quick.state(one) == 'NO_STATE', what='a seeder that waits')
    postgres.start()
    quick.works(one)
    check_seed(quick, one, number)
    assert 'TS0080: host \'web2\'' not in other.error_log()


def test_a_takeover_that_is_not_committed(quick, postgres):
    """It is none, whoever took over meanwhile: never do two hosts work."""
    cutter = Cutter(postgres)
    one, other, third = quick.add(), quick.add(proxy=cutter), quick.add()
    for httpd in quick.hosts:
        httpd.expect(LOST)
        httpd.expect(UNCLEAN)
    number = begin(third, 'stub', zoomStop=LAST, threadCount=1)
    late = quick.pause(third)
    cutter.armed.set()
    quick.kill(one)
    wait_until(cutter.happened.is_set, what='a takeover')
    os.kill(late, signal.SIGCONT)
    quick.works(third)
    cutter.go_on()
    wait_until(lambda: Fleet.seeder(other)['activeHost'] == 'web3', what='web2 to know who works')
    assert quick.state(other) == 'STANDBY'
    check_seed(quick, third, number)
    assert 'TS0080' not in other.error_log()
    cutter.close()


def test_draining(fleet, upstream):
    """The host ends what it is at, and another one goes on without waiting for the lease."""
    upstream.always = Fault('delay', 0.05)
    one, other = two(fleet)
    number = under_way(one)
    answer = put_state(other, 'web1', 'draining')
    assert answer.status == 200, answer.body
    fleet.works(other)
    fleet.stands_by(one)
    assert known(one) == ({'web1': 'DRAINING', 'web2': 'ACTIVE'}, 'web2')
    document = ended(other, number)
    assert counts(document) == (len(TILES), 0, 0, 0), 'what was recorded is not done again'
    assert 'TS0085' in one.error_log() and 'TS0048' not in one.error_log()
    assert put_state(one, 'web2', 'draining').status == 200
    fleet.stands_by(other)
    number = begin(one, 'stub', zoomStop=1)
    wait_until(lambda: Fleet.seeder(one)['activeHost'] is None, what='both drain: nobody works')
    assert fleet.state(one) == 'STANDBY'
    for shown in (task(other, number), *(one.get(f'/rest/{name}.json').json()['tasks'][0]
                                         for name in ('tasks', 'overview'))):
        assert shown['reason'] == 'waits for a host: none works on this cache just now', shown
    assert put_state(one, 'web1', 'active').status == 200
    fleet.works(one)
    assert ended(other, number).get('reason') is None
    assert put_state(one, 'nobody', 'active').status == 404
    assert 'TS0054' in one.error_log()


def test_stopped_and_restarted(fleet, upstream):
    """Restarts of either host move no role; a stop does, after the margin."""
    upstream.always = Fault('delay', 0.05)
    one, other = two(fleet)
    number = under_way(one)
    for host in (one, other):
        host.graceful()
        host.restart()
    fleet.works(one)
    fleet.stands_by(other)
    assert 'TS0080: host \'web2\'' not in other.error_log()
    one.stop()
    fleet.works(other)
    document = ended(other, number)
    assert document['state'] == 'DONE', document
    assert counts(document)[0] + counts(document)[1] == len(TILES)
    assert len(fleet.tiles()) == len(TILES)


# ---- what must not be ----

def test_two_hosts_with_one_name(fleet):
    """The second one is refused, with words that say what to do."""
    one = fleet.add()
    twin = fleet.add(name='web1')
    twin.expect('TS0040')
    wait_until(lambda: 'TS0040' in twin.error_log(), what='the refusal')
    assert "another httpd is alive as host 'web1'" in twin.error_log()
    assert 'TileSeedHost' in twin.error_log()
    assert fleet.state(one) == 'WORKING' and fleet.state(twin) == 'NO_STATE'


def test_a_tile_of_another_host_is_looked_at(fleet, upstream):
    """What another host has made is served if it begins as a tile of the format does, and is not
    larger than any; else the client is to ask again."""
    upstream.always = Fault('held')
    fleet.lines = ('TileSeedOnMiss fetch',)
    other = [fleet.add(more=TILES_LOCATION) for _ in range(2)][1]
    png = b'\x89PNG\r\n\x1a\n'
    made = [png + bytes(100), b'<html>', png[:6], b'\xff\xd8\xff\xe0' + bytes(100),
            png + bytes(256 * 256 * 16 + 65536)]
    answers = []
    with opened(other) as state, concurrent.futures.ThreadPoolExecutor(1) as pool:
        for data in made:
            answer = pool.submit(other.get, '/tiles/stub/small/3/4/4.png')
            change = (f"UPDATE miss SET outcome = 1, tile = '{base64.b64encode(data).decode()}'"
                      ' WHERE outcome < 0 RETURNING number')
            wait_until(lambda sql=change: state.execute(sql).fetchall(), what='the question')
            answers.append(answer.result())
    upstream.released.set()
    assert [one.status for one in answers] == [200, 503, 503, 503, 503]
    assert answers[0].body == made[0]
    assert all('no tile of this format' in one.text for one in answers[1:])
    assert f'no tile {fleet.store}' in other.error_log()


def test_a_newer_module_has_migrated_the_database(quick):
    """This one answers 503, has no lease and serves what is there; all is well when it has been
    replaced."""
    quick.lines = ('TileSeedOnMiss 404',)
    one = quick.add(more=TILES_LOCATION)
    one.expect(LOST)
    done(one, 'stub', zoomStop=1)
    with opened(one) as state:
        state.execute("UPDATE meta SET value = value + 1 WHERE name = 'schema_version'")
        wait_until(lambda: one.post('/rest/seed/stub.json', json.dumps(
            {'seedRequest': {'zoomStop': 0}})).status == 503, what='a refusal')
        wait_until(lambda: quick.state(one) == 'NO_STATE', what='the end of the lease')
        assert 'newer mod_tileseed' in one.error_log()
        assert one.get('/tiles/stub/small/1/0/0.png').status == 200
        state.execute("UPDATE meta SET value = value - 1 WHERE name = 'schema_version'")
    quick.works(one)
    done(one, 'stub', zoomStop=1)


def test_a_database_that_was_restored(quick):
    """The seeder begins anew, counts everything, and gives out ids above those it knows."""
    one, other = two(quick)
    for host in (one, other):
        host.expect(LOST + '|TS0081')
    number = done(one, 'stub', zoomStop=LAST)['id']
    pid = seeder_of(one)
    with opened(one) as state:          # as it was some renewals ago, without the tiles
        state.execute('UPDATE host SET renewals = 2')
        state.execute('DELETE FROM page')
        state.execute("UPDATE tileset SET pages = 0, names = 0, files = 0, bytes = 0,"
                      ' allocated = 0')
    wait_until(lambda: seeder_of(one) not in (None, pid), what='another seeder')
    wait_until(lambda: 'TS0081' in one.error_log(), what='the recognition')
    wait_until(lambda: 'WORKING' in (quick.state(one), quick.state(other)))

    def counted():
        usage = one.get('/rest/diskquota/usage.json').json()
        return usage['complete'] and usage['tiles'] == len(TILES)
    wait_until(counted, what='the count')
    assert begin(one, 'stub', zoomStop=0) > number + 1000
