# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Hosts of one database whose configurations differ."""
import pytest

from fleet import Fleet
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
def hosts(mpm, postgres, upstream):
    """web1 works; only web2 has the layer `extra`."""
    fleet = Fleet(mpm, postgres, upstream)
    one = fleet.add()
    other = fleet.add(more=extra(fleet))
    one.expect('TS0092')
    yield fleet, one, other
    fleet.finish()


def waits(httpd, number, words):
    """Waits until a task says so."""
    return wait_until(lambda: words in (task(httpd, number)['reason'] or ''), what=words)


def hand_over(fleet, leaver, taker):
    """The second host works instead of the first one."""
    assert put_state(taker, leaver.name, 'draining').status == 200
    fleet.works(taker)
    fleet.stands_by(leaver)
    assert put_state(taker, leaver.name, 'active').status == 200


def test_task_of_a_layer_that_the_host_that_works_lacks(hosts):
    """The task waits, others go on meanwhile, and a host that has the layer does it."""
    fleet, one, other = hosts
    number = begin(other, 'extra', zoomStop=LAST)
    waits(one, number, 'waits for another configuration or another host: at web1 layer extra is '
                       'no longer configured')
    assert 'TS0092: tasks wait for another configuration of this host or for another host: 1 of ' \
        f'them, the first is task {number}: layer extra is no longer configured' in one.error_log()
    done(other, 'stub', zoomStop=LAST)
    assert task(one, number)['state'] == 'PENDING'
    hand_over(fleet, one, other)
    document = ended(other, number)
    assert document['state'] == 'DONE', document
    assert counts(document) == (len(TILES), 0, 0, 0)


def test_layer_that_gets_lost_under_way(hosts, upstream):
    """A takeover by a host without the layer loses nothing of the task."""
    fleet, one, other = hosts
    hand_over(fleet, one, other)
    upstream.always = Fault('delay', 0.3)
    number = begin(other, 'extra', zoomStop=LAST)
    wait_until(lambda: task(other, number)['tilesProcessed'] > 0, what='some tiles')
    hand_over(fleet, other, one)
    waits(one, number, 'at web1 layer extra is no longer configured')
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
