# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Neighbours: a layer that can't go on stops no other, and who waits says for what."""
import errno

import pytest

from seeding import REST, begin, counts, done, ended, files, layer, stub, task, terminate
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault, Upstream

THREADS = 4
LAST = 3            # level: 85 tiles
pytestmark = one_mpm


@pytest.fixture
def well():
    """Another upstream, with which all is well."""
    with Upstream() as other:
        yield other


def healthy(well):
    """A layer of that upstream, in a store of its own."""
    return (f'TileSeedUpstream well {well.url}\n'
            + layer('well', 'TileSeedSource wms upstream:well layers=any', 'TileSeedGrid small',
                    'TileSeedMetatile 2x2').replace('@ROOT@/cache', '@ROOT@/other'))


def says(httpd, number, words):
    """Waits until a task's reason has these words; returns its document."""
    def document():
        found = task(httpd, number)
        return found if words in (found['reason'] or '') else None
    return wait_until(document, what=f'task {number} to say "{words}"')


def of_different_tiles(httpd, count):
    """Tasks of the layer "stub", each in a quarter of its area, none behind another."""
    return [begin(httpd, 'stub', zoomStart=LAST, zoomStop=LAST, threadCount=THREADS,
                  bounds={'coords': {'double': [x, y, x + 490, y + 490]}})
            for x, y in ((0, 0), (505, 0), (0, 505), (505, 505))[:count]]


def check_beside(httpd, troubled):
    """The healthy layer's task ends while the others still wait."""
    document = done(httpd, 'well', zoomStop=LAST, type='reseed', threadCount=THREADS)
    assert sum(counts(document)) == 85
    assert {task(httpd, number)['state'] for number in troubled} == {'RUNNING'}


def test_a_hanging_upstream_keeps_no_thread(httpd, upstream, well):
    """Before anything of it has failed: tasks that have all threads lend them when its upstream
    has been silent for some seconds. Until then PENDING says what it waits for."""
    httpd.expect('has not answered for')
    httpd.start(REST + f'TileSeedThreads {THREADS}\n' + stub(upstream, timeout='600s')
                + healthy(well))
    upstream.always = Fault('hang')
    troubled = of_different_tiles(httpd, THREADS)
    wait_until(lambda: len(upstream.requests) >= THREADS)
    number = begin(httpd, 'well', zoomStop=LAST)
    found = []

    def over():
        """Notes what the task says until it has begun."""
        found.append(task(httpd, number))
        return found[-1]['state'] != 'PENDING'
    wait_until(over, what='the healthy task to begin')
    assert {document['reason'] for document in found[:-1]} <= {
        None, f'waits for a thread: other tasks have all {THREADS} of TileSeedThreads'}
    assert ended(httpd, number)['state'] == 'DONE'
    for other in troubled:
        says(httpd, other, 'no answer since')
    check_beside(httpd, troubled)
    terminate(httpd)


def test_who_is_behind_says_so(httpd, upstream):
    """A running task whose next metatile another one is at, which waits itself."""
    httpd.expect('has not answered for|failed answers? of the upstream')
    httpd.start(REST + stub(upstream, timeout='600s'))
    upstream.always = Fault('hang')
    first = begin(httpd, 'stub', zoomStop=LAST)
    wait_until(lambda: upstream.requests)
    second = begin(httpd, 'stub', zoomStop=LAST)
    document = says(httpd, second, f'waits for the metatile that task {first} is at')
    assert document['state'] == 'RUNNING'
    assert document['tilesPerSecond'] is document['secondsRemaining'] is None
    upstream.always = None
    upstream.ended.set()
    for number in (first, second):
        document = ended(httpd, number)
        assert (document['state'], document['reason']) == ('DONE', None)
    assert len(files(httpd)) == 85


@pytest.mark.parametrize('error', [errno.ENOSPC, errno.EROFS], ids=['full', 'read-only'])
def test_a_store_that_takes_nothing_keeps_no_thread(httpd, upstream, well, error):
    """More tasks of it than there are threads wait, say why, and go on when it takes tiles."""
    httpd.expect('is paused|No space left|Read-only|can\'t be')
    mischief = httpd.make_mischief()
    httpd.start(REST + f'TileSeedThreads {THREADS}\n' + stub(upstream) + healthy(well))
    done(httpd, 'stub', zoomStop=0)
    mischief.fill(httpd.path('cache'), error)
    troubled = of_different_tiles(httpd, THREADS)
    for number in troubled:
        says(httpd, number, "paused: the store of layer stub can't be used")
    check_beside(httpd, troubled)
    mischief.fill(httpd.path('cache'), 0)
    for number in troubled:
        document = ended(httpd, number)
        assert (document['state'], document['reason']) == ('DONE', None)


@pytest.mark.parametrize('how, left', [(1, 0), (2, 1)], ids=['emptied', 'kept'])
def test_unfinished_files_that_cannot_be_removed(httpd, upstream, how, left):
    """A directory becomes read-only while a tile is written there: the tile's hidden file takes no
    space, or it is said that it does."""
    httpd.expect('is paused|TS0087')
    mischief = httpd.make_mischief()
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=0)
    mischief.freeze(httpd.path('cache'), how)
    number = begin(httpd, 'stub', zoomStart=1, zoomStop=3)
    says(httpd, number, "paused: the store of layer stub can't be used")
    unfinished = list(httpd.path('cache').rglob('.tseed-*.tmp'))
    assert unfinished and all(bool(file.stat().st_size) == left for file in unfinished)
    assert bool([line for line in httpd.error_log().splitlines() if 'TS0087: ' in line]) == left
    mischief.freeze(httpd.path('cache'), 0)
    document = ended(httpd, number)
    assert (document['state'], document['reason']) == ('DONE', None)
    assert len(files(httpd)) == 85
