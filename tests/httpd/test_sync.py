# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What the state database calls made is on the disk before."""
import errno
import os
import shutil

import pytest

from database import opened
from seeding import REST, begin, done, ended, layer, stub, task
from tileseed_httpd import folder_elsewhere, one_mpm, wait_until
from upstream import Fault

WAITS, FAILS, WORKS = 1, 2, 0
DONE = 2                                        # as the database says it


@pytest.fixture
def elsewhere(httpd):
    """A directory of another file system."""
    path = folder_elsewhere()
    if httpd.user:
        os.chown(path, httpd.user[1], httpd.user[2])
    yield path
    shutil.rmtree(path)


def row(httpd, number):
    """State, tiles made, lowest unfinished position: what the database has of a task."""
    with opened(httpd) as state:
        return state.execute('SELECT state, made, low FROM task WHERE id = ?',
                             (number,)).fetchone()


def marked(httpd):
    """How many pages are marked in the database."""
    with opened(httpd) as state:
        return state.execute('SELECT COUNT(*) FROM page WHERE dirty <> 0').fetchone()[0]


def start(httpd, upstream, more=''):
    """Starts httpd with syncs of its cache held up, and a task; waits until all tiles are made."""
    mischief = httpd.make_mischief()
    mischief.hold_syncs(httpd.path('cache'), WAITS)
    httpd.start(REST + stub(upstream) + more)
    number = begin(httpd, 'stub', zoomStop=3)
    wait_until(lambda: made(httpd, number), what='all tiles')
    return mischief, number


def made(httpd, number):
    """Whether all tiles of a task are there."""
    document = task(httpd, number)
    return document['tilesProcessed'] == document['tilesTotal']


@one_mpm
def test_a_task_is_done_when_its_tiles_are_safe(httpd, upstream, elsewhere):
    """A file system that does not come back keeps its own tasks only; they say so, and the board
    shows what is made. The database knows nothing of it, whatever is recorded meanwhile."""
    httpd.expect('has been writing for more than 10 s')
    other = layer('other', 'TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small')
    mischief, number = start(httpd, upstream, other.replace('@ROOT@/cache', str(elsewhere)))
    done(httpd, 'other', zoomStop=3)
    wait_until(lambda: 'has been writing' in (task(httpd, number)['reason'] or ''), what='a reason')
    assert task(httpd, number)['state'] == 'RUNNING'
    state, tiles, low = row(httpd, number)
    assert state != DONE and (tiles, low) == (0, 0)
    assert marked(httpd)
    mischief.hold_syncs(httpd.path('cache'), WORKS)
    document = ended(httpd, number)
    assert document['state'] == 'DONE' and not document['reason'], document
    assert row(httpd, number)[1] == document['tilesTotal']


@one_mpm
def test_a_sync_that_fails_is_tried_again(httpd, upstream):
    """Nothing is done before one has succeeded; and what the first one was about may be lost all
    the same, which its task says, and the next one does not."""
    httpd.expect("can't be synced")
    mischief, number = start(httpd, upstream)
    mischief.hold_syncs(httpd.path('cache'), FAILS)
    wait_until(lambda: "can't be synced" in (task(httpd, number)['reason'] or ''))
    assert row(httpd, number)[1:] == (0, 0)
    mischief.hold_syncs(httpd.path('cache'), WORKS)
    document = ended(httpd, number)
    assert document['state'] == 'DONE' and 'has failed to write, tiles may be' in document['reason']
    document = done(httpd, 'stub', type='reseed', zoomStop=3)
    assert not document['reason'], document


@one_mpm
@pytest.mark.parametrize('shade', [None, 190])
def test_a_reseed_mends_what_was_lost(httpd, upstream, shade):
    """Tiles of zeros, as a file system leaves them that could not write: those of one colour are
    one file. The reseed that the reason advises makes them again, by the next seeder too."""
    httpd.expect("can't be synced")
    upstream.shade = shade
    mischief, number = start(httpd, upstream)
    mischief.hold_syncs(httpd.path('cache'), FAILS)
    wait_until(lambda: "can't be synced" in (task(httpd, number)['reason'] or ''))
    mischief.hold_syncs(httpd.path('cache'), WORKS)
    assert 'a reseed makes them again' in ended(httpd, number)['reason']
    found = sorted(httpd.path('cache').rglob('*.png'))
    good = [path.read_bytes() for path in found]
    for path, before in zip(found, good):
        with open(path, 'r+b') as file:
            file.write(bytes(len(before)))
    httpd.restart()
    done(httpd, 'stub', type='reseed', zoomStop=3)
    assert [path.read_bytes() for path in found] == good


@one_mpm
def test_a_sync_that_fails_on_the_way(httpd, upstream):
    """The end of a task knows of a failure of long before."""
    httpd.expect("can't be synced")
    mischief = httpd.make_mischief()
    upstream.always = Fault('delay', 0.1)
    httpd.start(REST + stub(upstream))
    mischief.hold_syncs(httpd.path('cache'), FAILS)
    number = begin(httpd, 'stub', zoomStop=4)
    wait_until(lambda: "can't be synced" in httpd.error_log(), what='a failure')
    mischief.hold_syncs(httpd.path('cache'), WORKS)
    wait_until(lambda: 'is synced again' in httpd.error_log(), what='a success')
    upstream.always = None
    document = ended(httpd, number)
    assert document['state'] == 'DONE' and 'has failed to write, tiles may be' in document['reason']


def shut(path):
    """A directory that nobody may enter."""
    path.mkdir()
    path.chmod(0)


def spoil(path):
    """A file where the directory should be."""
    path.write_text('')


@one_mpm
@pytest.mark.parametrize('ruin', [shut, spoil])
def test_a_store_that_cannot_be_reached(httpd, upstream, ruin):
    """It lies in the file system of the other store, whose tasks are done all the same. Its own
    wait, and nobody is told to do without syncs."""
    httpd.expect("can't be reached|can't be used|can't be written by User|can't look|can't be read|"
                 "can't remove what was truncated")
    ruin(httpd.path('ill'))
    ill = layer('ill', 'TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small')
    httpd.start(REST + stub(upstream) + ill.replace('@ROOT@/cache', '@ROOT@/ill'))
    number = begin(httpd, 'ill', zoomStop=1)
    done(httpd, 'stub', zoomStop=3)
    done(httpd, 'stub', type='truncate', zoomStop=3)
    wait_until(lambda: "can't be reached" in httpd.error_log(), what='a complaint')
    assert 'TileSeedSync' not in httpd.error_log()
    assert task(httpd, number)['state'] == 'RUNNING'


@one_mpm
def test_a_full_disk_is_told_once(httpd, upstream):
    """Many tasks meet it, again and again: the log has one line, and one when they go on."""
    httpd.expect('is paused: .* can.t be used')
    mischief = httpd.make_mischief()
    httpd.start(REST + stub(upstream))
    mischief.fill(httpd.path('cache'), errno.ENOSPC)
    numbers = [begin(httpd, 'stub', zoomStart=zoom, zoomStop=zoom) for zoom in (1, 2, 3)]
    for number in numbers:
        wait_until(lambda number=number: 'No space left' in (task(httpd, number)['reason'] or ''))
    assert httpd.error_log().count('TS0026') == 1 and 'TS0096' not in httpd.error_log()
    mischief.fill(httpd.path('cache'), 0)
    assert {ended(httpd, number)['state'] for number in numbers} == {'DONE'}
    wait_until(lambda: 'TS0096: no task is paused any more' in httpd.error_log(), what='the end')


def test_a_stop_does_not_wait_for_ever(httpd, upstream):
    """httpd stops while a sync hangs; the task is not done, nor are its marks taken away, and the
    next start ends it."""
    mischief, number = start(httpd, upstream)
    httpd.stop()
    assert row(httpd, number)[1:] == (0, 0)
    assert marked(httpd)
    mischief.hold_syncs(httpd.path('cache'), WORKS)
    httpd.start()
    document = ended(httpd, number)
    assert document['state'] == 'DONE' and document['tilesSkipped'] == document['tilesTotal']


@one_mpm
def test_sync_off_waits_for_nothing(httpd, upstream):
    """TileSeedSync off: no file system is asked."""
    httpd.make_mischief().hold_syncs(httpd.path('cache'), WAITS)
    httpd.start(REST + stub(upstream) + 'TileSeedSync off\n')
    done(httpd, 'stub', zoomStop=3)
    httpd.stop()
    assert not marked(httpd)
