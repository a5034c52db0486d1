# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A truncate is complete and touches nothing else, whatever goes on and whoever dies."""
import os
import signal

import pytest
from PIL import Image

from quota import agrees, disk, known, usage
from seeding import REST, begin, counts, done, ended, files, halt, layer, seeder_of, stub, task
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

OLD, NEW = 40, 200          # shades


def deaths(httpd):
    """How many seeders have died."""
    return httpd.error_log().count('ended unexpectedly')


@one_mpm
def test_death_behind_a_rename(httpd, upstream):
    """A level is renamed away, and the seeder dies before the database has that: the next one
    knows whose it was, counts it once, and charges it until it is gone."""
    httpd.expect('ended unexpectedly|AH00052')
    mischief = httpd.make_mischief()
    httpd.start(REST + stub(upstream) + 'TileSeedDiskQuota on 1GiB\n')
    done(httpd, 'stub', zoomStop=5, threadCount=8)
    known(httpd)
    before = agrees(httpd)
    mischief.kill_at_truncate(True)
    number = begin(httpd, 'stub', type='truncate', zoomStart=3, zoomStop=5, format='image/png')
    for count in (1, 2, 3):         # which the log tells: a seeder may have gone before we look
        wait_until(lambda: deaths(httpd) >= count)  # pylint: disable=W0640
        mischief.slow(httpd.path('cache/.tileseed'), 0.01)
    mischief.kill_at_truncate(False)
    assert counts(ended(httpd, number)) == (0, 0, 64 + 256 + 1024, 0)
    found = usage(httpd)
    size, names = disk(httpd)
    assert found['bytes'] >= size and found['files'] >= names, (found, size, names)
    assert found['bytes'] <= before['bytes'], (found, before)
    mischief.slow(httpd.path('cache/.tileseed'), 0)
    agrees(httpd)
    assert not os.path.exists(httpd.path('cache/.tileseed/removed'))


@one_mpm
def test_link_below_the_root(httpd, upstream):
    """What no truncate would remove is not written: the task waits and says which directory it is.
    The root itself may be a link."""
    httpd.expect("is paused: .* can.t be used")
    real = httpd.folder('disk')
    httpd.path('cache').symlink_to(real)
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=2)
    level = real / 'stub/small_02'
    level.rename(httpd.path('away'))
    level.symlink_to(httpd.path('away'))
    number = begin(httpd, 'stub', zoomStop=3)
    wait_until(lambda: 'cache/stub/small_02 is a symbolic link' in (task(httpd, number)['reason']
                                                                    or ''))
    level.unlink()
    assert counts(ended(httpd, number)) == (16 + 64, 5, 0, 0)
    assert len(list(httpd.path('away').rglob('*.png'))) == 16


@one_mpm
def test_store_that_nobody_may_enter(httpd, upstream):
    """A store that User can't read is complained of as such, not as one that keeps what was
    truncated: nothing was."""
    httpd.expect("is paused: .* can't be used|can't be written by User|can't be synced|can't look|"
                 "can't be read")
    httpd.folder('cache').chmod(0)
    httpd.start(REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=0)
    wait_until(lambda: "can't be used" in (task(httpd, number)['reason'] or ''))
    assert "can't remove what was truncated" not in httpd.error_log()
    httpd.path('cache').chmod(0o755)
    assert counts(ended(httpd, number)) == (1, 0, 0, 0)


def shades(httpd):
    """What the tiles of the cache show."""
    found = set()
    for file in files(httpd):
        with Image.open(httpd.path('cache') / file) as picture:
            found.add(picture.convert('L').getpixel((7, 7)))
    return found


@one_mpm
def test_beside_a_store_that_hangs(httpd, upstream):
    """All seeding threads and all workers are at seeds of a store that does not answer. Truncates
    of another layer are done, whatever their number; one of the ill store waits, and is done when
    the store answers."""
    mischief = httpd.make_mischief()
    httpd.start(REST + 'TileSeedThreads 4\nTileSeedWorkers 2\n' + stub(upstream)
                + layer('ill', 'TileSeedSource wms upstream:stub layers=ill', 'TileSeedGrid small',
                        'TileSeedMetatile 2x2'))
    done(httpd, 'stub', zoomStop=4)
    done(httpd, 'ill', zoomStop=1)
    mischief.hang(httpd.path('cache/ill'), True)
    seeds = [begin(httpd, 'ill', zoomStart=zoom, zoomStop=zoom) for zoom in (2, 3, 4, 5)]
    wait_until(lambda: len(list(httpd.path('cache/ill').rglob('.tseed-*'))) >= 2)
    ill = begin(httpd, 'ill', type='truncate', zoomStop=2)
    numbers = [begin(httpd, 'stub', type='truncate', zoomStart=zoom, zoomStop=zoom)
               for zoom in range(5)]
    assert [ended(httpd, number)['tilesRemoved'] for number in numbers] == [1, 4, 16, 64, 256]
    assert {task(httpd, number)['state'] for number in seeds} == {'RUNNING'}
    assert task(httpd, ill)['tilesRemoved'] == 0
    mischief.hang(httpd.path('cache/ill'), False)
    assert {ended(httpd, number)['state'] for number in [*seeds, ill]} == {'DONE'}


@one_mpm
def test_a_reseed_says_that_it_waits_for_a_truncate(httpd, upstream):
    """The truncate can't remove its tiles and is paused: the reseed has fetched what it may, and
    stores nothing there until the truncate is done."""
    httpd.expect('is paused|TS0021')
    mischief = httpd.make_mischief()
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=3)
    upstream.always = Fault('held')
    reseed = begin(httpd, 'stub', zoomStart=3, zoomStop=3, type='reseed')
    wait_until(lambda: task(httpd, reseed)['state'] == 'RUNNING')
    mischief.freeze(httpd.path('cache'), 1)
    truncate = begin(httpd, 'stub', zoomStart=3, zoomStop=3, type='truncate')
    wait_until(lambda: task(httpd, truncate)['reasonCode'] == 'STORE')
    upstream.always = None
    upstream.released.set()
    wait_until(lambda: task(httpd, reseed)['reason'] == (
        f'waits for task {truncate}, a truncate, which is removing the tiles there or is paused'))
    assert task(httpd, reseed)['reasonCode'] == 'TASK'
    mischief.freeze(httpd.path('cache'), 0)
    assert ended(httpd, truncate)['tilesRemoved'] == 64
    document = ended(httpd, reseed)
    assert (document['state'], document['tilesMade'], document['reason']) == ('DONE', 64, None)


@one_mpm
def test_purge_beside_a_slow_store(httpd, upstream):
    """What was truncated in one store goes from the disk while another store takes its time."""
    mischief = httpd.make_mischief()
    other = layer('other', 'TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small')
    httpd.start(REST + stub(upstream) + other.replace('@ROOT@/cache', '@ROOT@/other'))
    for name, zoom in (('stub', 5), ('other', 2)):
        done(httpd, name, zoomStop=zoom, threadCount=4)
    mischief.slow(httpd.path('cache/.tileseed'), 0.5)       # for each of 1365 tiles
    for name in ('stub', 'other'):
        done(httpd, name, type='truncate')
    wait_until(lambda: usage(httpd)['layers'][0]['tilesets'][0]['detached']['files'] == 0
               and not httpd.path('other/.tileseed').exists(), what='the purge of other')
    assert httpd.path('cache/.tileseed/removed').exists()
    mischief.slow(httpd.path('cache/.tileseed'), 0)


def die_before_it_hears(httpd, _mischief):
    """The seeder is killed before it has heard of a truncate that was accepted."""
    old = seeder_of(httpd)
    halt(httpd, old)
    number = begin(httpd, 'stub', type='truncate', zoomStart=0, zoomStop=5)
    os.kill(old, signal.SIGKILL)
    return number


def die_in_the_middle(httpd, mischief):
    """The seeder dies each time that it has renamed a level away or, beside the seed, is killed
    among the tiles that it removes one by one."""
    mischief.kill_at_truncate(True)
    mischief.slow(httpd.path('cache'), 0.01)
    old = seeder_of(httpd)
    number = begin(httpd, 'stub', type='truncate', zoomStart=0, zoomStop=5)
    wait_until(lambda: seeder_of(httpd) != old or task(httpd, number)['tilesRemoved'] > 20)
    if seeder_of(httpd) == old:
        os.kill(old, signal.SIGKILL)
    wait_until(lambda: seeder_of(httpd) not in (None, old))
    mischief.kill_at_truncate(False)
    mischief.slow(httpd.path('cache'), 0)
    return number


@pytest.mark.parametrize('die', [die_before_it_hears, die_in_the_middle])
@one_mpm
def test_death_beside_answers_of_before(httpd, upstream, die):
    """The data changes, a truncate is accepted and its seeder dies in the middle of fetches and of
    a seed: when the truncate is done no tile shows what was there before."""
    httpd.expect('ended unexpectedly|AH00052')
    mischief = httpd.make_mischief()
    upstream.shade = OLD
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=4, threadCount=8)
    upstream.always = Fault('delay', 0.02)
    seed = begin(httpd, 'stub', type='reseed', zoomStart=5, zoomStop=5, threadCount=8)
    wait_until(lambda: task(httpd, seed)['tilesMade'] > 100)
    assert OLD in shades(httpd)
    upstream.shade = NEW
    truncate = die(httpd, mischief)
    for number in (truncate, seed):
        assert ended(httpd, number)['state'] == 'DONE'
    assert OLD not in shades(httpd)
    done(httpd, 'stub', zoomStop=5, threadCount=8)
    assert shades(httpd) == {NEW}
