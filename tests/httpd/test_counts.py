# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Whatever happens to the seeder, each tile counts as what became of it: made or skipped, removed
or skipped."""
import os
import random
import signal

import pytest

from seeding import (GRIDS, REST, begin, coords, counts, done, ended, files, geowebcache_path,
                     seeder_of, stub)
from tileseed_httpd import one_mpm, wait_until

META = 16, 16
LEVEL = 6
BOX = 100, 30, 700, 440
OTHER_BOX = 50, 200, 900, 800
GRID = GRIDS['small']
STUB = {'meta': '16x16'}


def halves(tiles):
    """Of each metatile the files that a task makes there."""
    found = {}
    for tile in tiles:
        found.setdefault(GRID.metatile(tile, META), set()).add(
            geowebcache_path('stub', 'small', 'png', tile))
    return list(found.values())


def stand(seeder):
    """Stops a seeder at whatever it does."""
    os.kill(seeder, signal.SIGSTOP)
    with open(f'/proc/{seeder}/stat', encoding='ascii') as file:
        return ') T ' in file.read()


def catch(httpd, is_between):
    """Waits until the seeder is in the middle of something; returns it, standing still."""
    seeder = wait_until(lambda: seeder_of(httpd))

    def is_caught():
        wait_until(lambda: stand(seeder))
        if is_between():
            return True
        os.kill(seeder, signal.SIGCONT)
        return False
    wait_until(is_caught, what='the seeder in the middle', longest=0.02)
    return seeder


def die(_httpd, seeder):
    """As it stands."""
    os.kill(seeder, signal.SIGKILL)


def leave(httpd, seeder):
    """It has no time for the whole metatile."""
    os.kill(seeder, signal.SIGCONT)
    httpd.graceful()


def interrupt(httpd, end, is_between):
    """The seeder ends when it is in the middle, and the next one goes on."""
    old = catch(httpd, is_between)
    end(httpd, old)
    wait_until(lambda: seeder_of(httpd) not in (None, old))


@one_mpm
@pytest.mark.parametrize('end', [die, leave])
def test_parts_of_a_seed(httpd, upstream, end):
    """What lay there before is skipped, and nothing else is, though the seeder ends again and again
    in the middle of metatiles."""
    httpd.expect('ended unexpectedly|AH00052')
    mischief = httpd.make_mischief()
    httpd.start(REST + stub(upstream, **STUB) + 'TileSeedStopTimeout 100ms\n')
    done(httpd, 'stub', zoomStart=LEVEL, zoomStop=LEVEL, bounds=coords(*BOX))
    tiles, before = GRID.tiles(LEVEL), GRID.tiles(LEVEL, BOX)
    metatiles = halves(tiles - before)

    def is_between():
        there = files(httpd)
        return any(0 < len(metatile & there) < len(metatile) for metatile in metatiles)
    mischief.slow(httpd.path('cache'), 0.001)
    number = begin(httpd, 'stub', zoomStart=LEVEL, zoomStop=LEVEL, threadCount=2)
    for _ in range(3):
        interrupt(httpd, end, is_between)
    mischief.slow(httpd.path('cache'), 0)
    assert counts(ended(httpd, number)) == (len(tiles - before), len(before), 0, 0)


@one_mpm
@pytest.mark.parametrize('end', [die, leave])
def test_parts_of_a_truncate(httpd, upstream, end):
    """What was there is removed and the rest skipped, though the seeder ends again and again among
    tiles that it removes one by one."""
    httpd.expect('ended unexpectedly|AH00052')
    mischief = httpd.make_mischief()
    httpd.start(REST + stub(upstream, **STUB) + 'TileSeedStopTimeout 100ms\n')
    done(httpd, 'stub', zoomStart=LEVEL, zoomStop=LEVEL, bounds=coords(*BOX))
    all_tiles = GRID.tiles(LEVEL, OTHER_BOX)
    gone = GRID.tiles(LEVEL, BOX) & all_tiles
    left = len(files(httpd)) - len(gone)
    mischief.slow(httpd.path('cache'), 0.004)
    number = begin(httpd, 'stub', type='truncate', zoomStart=LEVEL, zoomStop=LEVEL,
                   format='image/png', bounds=coords(*OTHER_BOX))
    for tenths in (8, 5, 2):
        most = left + len(gone) * tenths // 10 + random.randrange(20)
        interrupt(httpd, end, lambda: left < len(files(httpd)) <= most)  # pylint: disable=W0640
    mischief.slow(httpd.path('cache'), 0)
    assert counts(ended(httpd, number)) == (0, len(all_tiles - gone), len(gone), 0)


@one_mpm
def test_parts_of_a_truncate_of_both_kinds(httpd, upstream):
    """One level is removed tile by tile, because somebody else's file is in it, the next is renamed
    away, and the seeder dies before the database has either: both count, once."""
    httpd.expect('ended unexpectedly|AH00052')
    mischief = httpd.make_mischief()
    httpd.start(REST + stub(upstream, **STUB))
    done(httpd, 'stub', zoomStart=3, zoomStop=5)
    httpd.path('cache/stub/small_03/notes').write_text('not ours')
    mischief.kill_at_truncate(True)
    old = seeder_of(httpd)
    number = begin(httpd, 'stub', type='truncate', zoomStart=2, zoomStop=5, format='image/png')
    wait_until(lambda: seeder_of(httpd) != old)
    mischief.kill_at_truncate(False)
    assert counts(ended(httpd, number)) == (0, 16, 64 + 256 + 1024, 0)
    assert files(httpd) == {'stub/small_03/notes'}
