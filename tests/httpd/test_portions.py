# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Portions: hosts that stand by fetch and cut for the host that works."""
import os
import pathlib
import signal

import pytest

from fleet import Fleet
from seeding import GRIDS, REST, begin, counts, done, ended, stub, task
from test_hosts import LOST, UNCLEAN
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

LAST = 5
TILES = GRIDS['small'].between(0, LAST)

pytestmark = one_mpm


@pytest.fixture
def fleet(mpm, postgres, upstream):
    """Hosts that ask the upstream over eight connections each."""
    hosts = Fleet(mpm, postgres, upstream)
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
    upstream.always = None
    httpd.start(REST + stub(upstream, *fleet.lines))
    assert done(httpd, 'stub', zoomStop=LAST, threadCount=24)['state'] == 'DONE'
    alone = {str(path.relative_to(httpd.path('cache'))): path.read_bytes()
             for path in httpd.path('cache').rglob('*.png')}
    assert alone == bodies(fleet)
    wait_until(lambda: not packs(fleet), what='the end of all packs')


def test_helper_that_dies(fleet, upstream):
    """What it had is done by others."""
    upstream.always = Fault('delay', 0.1)
    one, other = add(fleet, 2)
    other.expect(UNCLEAN)
    number = begin(one, 'stub', zoomStop=LAST, threadCount=24)
    wait_until(lambda: packs(fleet), what='a pack', longest=0.01)
    fleet.kill(other)
    check(fleet, one, number)


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
