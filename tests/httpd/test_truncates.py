# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A truncate is complete and touches nothing else, whatever goes on and whoever dies."""
import os

from quota import agrees, disk, known, usage
from seeding import REST, begin, counts, done, ended, seeder_of, stub, task
from tileseed_httpd import wait_until


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
    old = seeder_of(httpd)
    number = begin(httpd, 'stub', type='truncate', zoomStart=3, zoomStop=5, format='image/png')
    deaths = 0
    while deaths < 3:
        wait_until(lambda: seeder_of(httpd) != old)  # pylint: disable=W0640
        deaths += 1
        mischief.slow(httpd.path('cache/.tileseed'), 0.01)
        if deaths == 3:
            mischief.kill_at_truncate(False)
        old = wait_until(lambda: seeder_of(httpd))
    assert counts(ended(httpd, number)) == (0, 0, 64 + 256 + 1024, 0)
    found = usage(httpd)
    size, names = disk(httpd)
    assert found['bytes'] >= size and found['files'] >= names, (found, size, names)
    assert found['bytes'] <= before['bytes'], (found, before)
    mischief.slow(httpd.path('cache/.tileseed'), 0)
    agrees(httpd)
    assert not os.path.exists(httpd.path('cache/.tileseed/removed'))


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
