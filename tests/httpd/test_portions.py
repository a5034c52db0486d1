# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Portions: hosts that stand by fetch and cut for the host that works."""
import os
import pathlib
import signal

import pytest

from fleet import Fleet
from seeding import GRIDS, REST, begin, counts, done, ended, stub, task, terminate
from test_hosts import LOST, UNCLEAN
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

LAST = 5
TILES = GRIDS['small'].between(0, LAST)

pytestmark = one_mpm


@pytest.fixture
def fleet(mpm, postgres, upstream):
    """Hosts that ask the upstream over eight connections each, and have threads enough for that."""
    hosts = Fleet(mpm, postgres, upstream)
    plain = hosts.config
    hosts.config = lambda *names: plain(*names) + 'TileSeedThreads 64\n'
    yield hosts
    hosts.finish()


def add(hosts, count):
    """So many hosts: the first one works."""
    return [hosts.add() for _ in range(count)]


def bodies(hosts):
    """What the store holds: path -> bytes."""
    return {str(path.relative_to(hosts.store)): path.read_bytes()
            for path in pathlib.Path(hosts.store).rglob('*.png')}


def packs(hosts):
    """What lies there of tiles under way between hosts."""
    return list(pathlib.Path(hosts.store).glob('.tileseed/packs/*'))


def check(hosts, httpd, number):
    """All tiles are there, counted once each."""
    document = ended(httpd, number)
    assert document['state'] == 'DONE', document
    made, skipped, removed, failed = counts(document)
    assert (made + skipped, removed, failed) == (len(TILES), 0, 0), document
    assert len(bodies(hosts)) == len(TILES)


def test_three_hosts_make_what_one_makes(fleet, httpd, upstream):
    """Byte by byte, and more than one host asks the upstream."""
    upstream.always = Fault('delay', 0.1)
    one, other, third = add(fleet, 3)
    number = begin(other, 'stub', zoomStop=LAST, threadCount=24)
    wait_until(lambda: len(packs(fleet)) > 0 or task(one, number)['state'] == 'DONE',
               what='a pack', longest=0.01)
    check(fleet, third, number)
    assert max(upstream.busy) > 8
    upstream.always = None
    httpd.start(REST + stub(upstream, *fleet.lines))
    assert done(httpd, 'stub', zoomStop=LAST, threadCount=24)['state'] == 'DONE'
    alone = {str(path.relative_to(httpd.path('cache'))): path.read_bytes()
             for path in httpd.path('cache').rglob('*.png')}
    assert alone == bodies(fleet)
    wait_until(lambda: not packs(fleet), what='the end of all packs')


def fetching(httpd):
    """The hosts that fetch for the one that works, by hosts.json."""
    return [host['name'] for host in httpd.get('/rest/hosts.json').json()['hosts']
            if host['fetches']]


def test_hosts_that_fetch_are_told(fleet, upstream):
    """As long as they do."""
    upstream.always = Fault('delay', 0.1)
    one, other = add(fleet, 2)
    number = begin(one, 'stub', zoomStop=LAST, threadCount=24)
    wait_until(lambda: packs(fleet), what='a pack', longest=0.01)
    upstream.always = Fault('held')
    wait_until(lambda: fetching(one) == fetching(other) == ['web2'], what='a host that fetches')
    upstream.released.set()
    check(fleet, one, number)
    wait_until(lambda: fetching(one) == [], what='the end of that')


def test_helper_that_dies(fleet, upstream):
    """What it had is done by others."""
    upstream.always = Fault('delay', 0.1)
    one, other = add(fleet, 2)
    other.expect(UNCLEAN)
    number = begin(one, 'stub', zoomStop=LAST, threadCount=24)
    wait_until(lambda: packs(fleet), what='a pack', longest=0.01)
    fleet.kill(other)
    check(fleet, one, number)
    for words in ("TS0094: host 'web2' stands by", "TS0093: host 'web2' stands by no longer"):
        wait_until(lambda words=words: words in one.error_log(), what=words)


def test_helper_that_stands_still(fleet, upstream):
    """The same; when it goes on it changes nothing."""
    upstream.always = Fault('delay', 0.1)
    one, other = add(fleet, 2)
    other.expect(LOST)
    number = begin(one, 'stub', zoomStop=LAST, threadCount=24)
    wait_until(lambda: packs(fleet), what='a pack', longest=0.01)
    pid = fleet.pause(other)
    check(fleet, one, number)
    before = fleet.tiles()
    os.kill(pid, signal.SIGCONT)
    assert done(one, 'stub', zoomStop=LAST)['tilesSkipped'] == len(TILES)
    after = fleet.tiles()
    assert {path: after[path] for path in before if path.endswith('.png')} == \
        {path: found for path, found in before.items() if path.endswith('.png')}


def wait_for_line(httpd, words):
    """Waits for a line of a host's error log."""
    wait_until(lambda: words in httpd.error_log(), what=words)


def test_host_with_another_configuration(fleet, upstream):
    """It refuses and says so; all tiles are made by the configuration of the host that works."""
    upstream.always = Fault('delay', 0.1)
    one = fleet.add()
    fleet.lines = ('TileSeedFormat image/png level=9',)
    other = fleet.add()
    one.expect('TS0089')
    other.expect('TS0088')
    number = begin(one, 'stub', zoomStop=LAST, threadCount=24)
    wait_for_line(other, "TS0088: this host can't fetch for the host that works: layer 'stub' is "
                         "configured otherwise here")
    wait_for_line(one, "TS0089: host 'web2' gets no more requests of this host for 60 s: it says "
                       '"layer \'stub\' is configured otherwise here"')
    check(fleet, one, number)
    assert not packs(fleet)


def test_host_with_another_store(fleet, upstream):
    """What it writes can't be read by the host that works, which says so and does all itself."""
    upstream.always = Fault('delay', 0.1)
    one = fleet.add()
    store, fleet.store = fleet.store, one.folder('other')
    fleet.add()
    fleet.store = store
    one.expect('TS0089')
    number = begin(one, 'stub', zoomStop=LAST, threadCount=24)
    wait_for_line(one, 'have all hosts mount the store at the same path')
    check(fleet, one, number)


def test_host_that_reaches_no_upstream(fleet, upstream):
    """Its failures are not the task's, and it is left out."""
    upstream.always = Fault('delay', 0.1)
    one = fleet.add()
    plain = fleet.config
    fleet.config = lambda *names: plain(*names).replace('connections=8',
                                                        'connections=8 proxy=http://127.0.0.1:9')
    other = fleet.add()
    one.expect('TS0089')
    other.expect('TS0021')
    number = begin(one, 'stub', zoomStop=LAST, threadCount=24)
    wait_for_line(one, "TS0089: host 'web2' gets no more requests of this host for 60 s: its "
                       'requests fail (')
    check(fleet, one, number)


def test_upstream_that_asks_to_wait(fleet, upstream):
    """All hosts leave it in peace, and then go on."""
    upstream.always = Fault('delay', 0.1)
    one, other = add(fleet, 2)
    for host in (one, other):
        for code in ('TS0021', 'TS0023', 'TS0089'):
            host.expect(code)
    number = begin(one, 'stub', zoomStop=LAST, threadCount=48)
    wait_until(lambda: len(upstream.busy) > 8 and max(upstream.busy) > 8, what='two hosts at work')
    before = len(upstream.requests)
    upstream.always = Fault('later', 3)
    wait_until(lambda: one.get('/rest/overview.json').json()['upstreams'][0]['quietUntil'],
               what='a pause')
    wait_until(lambda: not upstream.under_way, what='silence')
    asked = len(upstream.requests) - before
    upstream.always = None
    check(fleet, one, number)
    assert asked <= 2 * 8 + 2 * 8     # what was under way, and what was sent before the answer came


@pytest.mark.parametrize('way', ['kill', 'pause'])
def test_host_that_works_dies(fleet, upstream, way):
    """One that has helped takes over, and makes each tile once. Its epoch is lower than that of the
    host that has worked."""
    upstream.always = Fault('delay', 0.1)
    one, other, third = add(fleet, 3)
    one.graceful()
    fleet.works(one)
    one.expect(LOST if way == 'pause' else UNCLEAN)
    number = begin(third, 'stub', zoomStop=LAST, threadCount=24)
    wait_until(lambda: packs(fleet), what='a pack', longest=0.01)
    pid = fleet.pause(one) if way == 'pause' else fleet.kill(one)
    wait_until(lambda: 'WORKING' in (fleet.state(other), fleet.state(third)), what='a takeover')
    if pid:
        os.kill(pid, signal.SIGCONT)
    check(fleet, third, number)
    wait_until(lambda: not packs(fleet), what='the end of all packs')


def test_task_that_is_terminated(fleet, upstream):
    """No host asks for it any more."""
    upstream.always = Fault('delay', 1)
    one, other = add(fleet, 2)
    number = begin(one, 'stub', zoomStop=LAST, threadCount=48)
    wait_until(lambda: len(upstream.busy) > 8 and max(upstream.busy) > 8, what='two hosts at work')
    terminate(other)
    wait_until(lambda: task(one, number)['state'] == 'ABORTED', what='its end')
    wait_until(lambda: not packs(fleet) and not upstream.under_way, what='silence')
    before = len(upstream.requests)
    upstream.always = None
    assert done(one, 'stub', zoomStop=0)['upstreamRequests'] <= 1
    assert len(upstream.requests) <= before + 1
