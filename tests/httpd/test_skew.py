# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Hosts of one database whose configurations differ."""
import pytest

from fleet import Fleet
from metrics import METRICS, await_metric
from seeding import GRIDS, begin, counts, done, ended, layer, task, terminate
from test_hosts import put_state
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

LAST = 4
TILES = GRIDS['small'].between(0, LAST)

pytestmark = one_mpm


def extra(fleet):
    """The configuration of one more layer."""
    text = layer('extra', 'TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small')
    return text.replace('@ROOT@/cache', str(fleet.store))


@pytest.fixture
def fleet(mpm, postgres, upstream):
    """Hosts whose leases don't end by themselves."""
    hosts = Fleet(mpm, postgres, upstream)
    yield hosts
    hosts.finish()


@pytest.fixture
def hosts(fleet):
    """web1 works; only web2 has the layer `extra`."""
    one = fleet.add(more=METRICS)
    other = fleet.add(more=extra(fleet))
    one.expect('TS0092')
    return fleet, one, other


def waits(httpd, number, words):
    """Waits until a task says so."""
    return wait_until(lambda: words in (task(httpd, number)['reason'] or ''), what=words)


def hand_over(fleet, leaver, taker):
    """The second host works instead of the first one, and none of the others does."""
    others = [host for host in fleet.hosts if host not in (leaver, taker)] + [leaver]
    for host in others:
        assert put_state(taker, host.name, 'draining').status == 200
    fleet.works(taker)
    fleet.stands_by(leaver)
    for host in others:
        assert put_state(taker, host.name, 'active').status == 200


def test_task_of_a_layer_that_the_host_that_works_lacks(hosts):
    """The task waits, others go on meanwhile, and a host that has the layer does it."""
    fleet, one, other = hosts
    number = begin(other, 'extra', zoomStop=LAST)
    for httpd in (one, other):
        waits(httpd, number, 'waits for another configuration or another host: at web1 layer extra '
                             'is not configured')
    assert 'TS0092: tasks do not fit the configuration of this host and wait for another one or ' \
        f'for another host: 1 of them, from task {number} on' in one.error_log()
    await_metric(one, 'tileseed_tasks_waiting', 1, cause='configuration')
    done(other, 'stub', zoomStop=LAST)
    assert task(one, number)['state'] == 'PENDING'
    hand_over(fleet, one, other)
    document = ended(other, number)
    assert (document['state'], document['reason']) == ('DONE', None), document
    assert counts(document) == (len(TILES), 0, 0, 0)


def test_reason_that_is_over(hosts, upstream):
    """The task waits for a thread in the end: no host says any more that it waits for another."""
    fleet, one, other = hosts
    upstream.always = Fault('held')
    begin(other, 'stub', zoomStop=LAST)
    number = begin(other, 'extra', zoomStop=LAST)
    waits(other, number, 'another host')
    one.graceful(fleet.config('web1') + extra(fleet) + 'TileSeedThreads 1\n')
    waits(one, number, 'thread')
    assert not task(other, number)['reason']
    upstream.released.set()
    assert ended(other, number)['state'] == 'DONE'


def test_layer_that_gets_lost_under_way(hosts, upstream):
    """A takeover by a host without the layer loses nothing of the task."""
    fleet, one, other = hosts
    hand_over(fleet, one, other)
    upstream.always = Fault('delay', 0.3)
    number = begin(other, 'extra', zoomStop=LAST)
    wait_until(lambda: task(other, number)['tilesProcessed'] > 0, what='some tiles')
    hand_over(fleet, other, one)
    waits(one, number, 'at web1 layer extra is not configured')
    assert counts(task(one, number))[0] > 0
    upstream.always = None
    hand_over(fleet, one, other)
    document = ended(other, number)
    assert document['state'] == 'DONE', document
    assert counts(document) == (len(TILES), 0, 0, 0)


def test_host_that_learns_the_layer(hosts):
    """The host that works begins the task when it has been given the configuration."""
    fleet, one, other = hosts
    number = begin(other, 'extra', zoomStop=LAST)
    waits(one, number, 'at web1')
    one.graceful(fleet.config('web1') + extra(fleet))
    document = ended(other, number)
    assert document['state'] == 'DONE', document
    assert len(TILES) == counts(document)[0]


def test_task_that_waits_is_terminated(hosts):
    """At any host."""
    _, one, other = hosts
    numbers = [begin(other, 'extra', zoomStop=LAST) for _ in range(3)]
    waits(one, numbers[-1], 'at web1')
    terminate(other, 'all')
    for number in numbers:
        assert ended(one, number)['state'] == 'ABORTED'


def test_truncate_that_waits(hosts):
    """It removes tiles when a host does it; a seed that was posted behind it need not wait."""
    fleet, one, other = hosts
    hand_over(fleet, one, other)
    done(other, 'extra', zoomStop=LAST)
    hand_over(fleet, other, one)
    number = begin(other, 'extra', type='truncate', zoomStart=LAST, zoomStop=LAST)
    waits(other, number, 'at web1 layer extra is not configured')
    done(other, 'stub', zoomStop=0)
    hand_over(fleet, one, other)
    document = ended(other, number)
    assert document['state'] == 'DONE', document
    assert counts(document)[2] == 4 ** LAST


def test_host_that_is_alone(fleet, upstream):
    """Nobody else could do the task: it ends."""
    upstream.always = Fault('delay', 0.3)
    one = fleet.add(more=extra(fleet))
    one.expect('TS0053')
    number = begin(one, 'extra', zoomStop=LAST)
    wait_until(lambda: task(one, number)['tilesProcessed'] > 0, what='some tiles')
    one.graceful(fleet.config('web1'))
    document = ended(one, number)
    assert (document['state'], document['reason']) == \
        ('ABORTED', 'layer extra is not configured'), document
