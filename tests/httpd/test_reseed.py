# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A reseed leaves alone what did not change, and nothing else."""
import os
import signal

import pytest

from seeding import REST, begin, counts, done, ended, seeder_of, stub, task
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

ALL = sum(4 ** z for z in range(4))     # tiles of the small grid's levels 0 to 3
META = 2


def stamps(httpd):
    """The inode and the time of every tile."""
    return {path.relative_to(httpd.path('cache')): (path.stat().st_ino, path.stat().st_mtime_ns)
            for path in httpd.path('cache').rglob('*.png')}


def reseed(httpd, stop=3, **more):
    """Runs a reseed; returns (made, skipped, unchanged)."""
    document = done(httpd, 'stub', type='reseed', zoomStop=stop, **more)
    made, skipped, removed, failed = counts(document)
    assert (removed, failed) == (0, 0)
    return made, skipped, document['tilesUnchanged']


def seeded(httpd, upstream, *lines, **more):
    """Starts with a cache that has been seeded; returns its stamps."""
    httpd.start(REST + stub(upstream, *lines, options='link-uniform=off', **more))
    done(httpd, 'stub', zoomStop=3)
    assert len(stamps(httpd)) == ALL
    return stamps(httpd)


def bbox_of(asked):
    """The bounds that were asked for."""
    return tuple(float(number) for number in asked['BBOX'].split(','))


@one_mpm
@pytest.mark.parametrize('offer', ['', 'etag', 'modified'])
def test_unchanged_answers_leave_the_files_alone(httpd, upstream, offer):
    """Whether the upstream says so or sends the same again; also after a restart."""
    upstream.offer = offer
    before = seeded(httpd, upstream)
    for restart in (False, True):
        if restart:
            httpd.stop()
            httpd.start()
        upstream.statuses.clear()
        assert reseed(httpd) == (0, ALL, ALL)
        assert stamps(httpd) == before
        assert set(upstream.statuses) == {304 if offer else 200}


@one_mpm
@pytest.mark.parametrize('offer', ['', 'etag', 'modified'])
def test_only_what_changed_is_made_again(httpd, upstream, offer):
    """One metatile shows something else: its tiles are new, all others as they were."""
    upstream.offer = offer
    before = seeded(httpd, upstream)
    upstream.repainted = {(0, 0, 250, 250)}     # of level 3: columns and rows 0 and 1
    assert reseed(httpd) == (META ** 2, ALL - META ** 2, ALL - META ** 2)
    after = stamps(httpd)
    assert sum(after[tile] != before[tile] for tile in before) == META ** 2
    assert reseed(httpd) == (0, ALL, ALL)
    assert stamps(httpd) == after


@one_mpm
@pytest.mark.parametrize('offer', ['', 'etag'])
def test_missing_tiles_are_made(httpd, upstream, offer):
    """One that somebody removed, and all of a level that was truncated."""
    upstream.offer = offer
    before = seeded(httpd, upstream)
    lost = next(iter(before))
    (httpd.path('cache') / lost).unlink()
    made, skipped, unchanged = reseed(httpd)
    assert (made, skipped, unchanged) == (1, ALL - 1, ALL - 1)
    done(httpd, 'stub', type='truncate', zoomStart=3, zoomStop=3)
    assert reseed(httpd) == (64, ALL - 64, ALL - 64)
    assert set(stamps(httpd)) == set(before)


@one_mpm
def test_a_mixed_metatile_is_made_again(httpd, upstream):
    """Seeds fill a metatile from two answers: neither stands for all of its tiles."""
    before = seeded(httpd, upstream)
    tile = next(path for path in before if '_03' in str(path))
    (httpd.path('cache') / tile).unlink()
    upstream.repaint_all = True
    assert counts(done(httpd, 'stub', zoomStop=3))[0] == 1
    for repaint in (True, False):
        upstream.repaint_all = repaint
        assert reseed(httpd)[0] == ALL


@one_mpm
@pytest.mark.parametrize('line', ['TileSeedFormat image/png level=9',
                                  'TileSeedFormat image/png palette=none',
                                  'TileSeedMetatile 4x4',
                                  'TileSeedMetatile 2x2 gutter=4',
                                  'TileSeedReseed all'])
def test_other_options_make_everything_again(httpd, upstream, line):
    """The same answers would become other tiles; or the administrator wants them all."""
    upstream.offer = 'etag'
    before = seeded(httpd, upstream)
    meta = line.split(' ', 1)[1] if 'Metatile' in line else '2x2'
    lines = [] if 'Metatile' in line else [line]
    httpd.graceful(REST + stub(upstream, *lines, meta=meta, options='link-uniform=off'))
    assert reseed(httpd) == (ALL, 0, 0)
    after = stamps(httpd)
    assert not any(after[tile] == before[tile] for tile in before)
    assert reseed(httpd) == ((ALL, 0, 0) if 'all' in line else (0, ALL, ALL))


@one_mpm
def test_killed_in_the_middle(httpd, upstream):
    """Nothing is believed of what was being written; the cache ends up as the upstream is."""
    httpd.expect('ended unexpectedly|AH00052')
    before = seeded(httpd, upstream)
    upstream.repaint_all = True
    upstream.always = Fault('delay', 0.1)
    number = begin(httpd, 'stub', type='reseed', zoomStop=3, threadCount=2)
    wait_until(lambda: task(httpd, number)['tilesMade'] > 8)
    old = seeder_of(httpd)
    os.kill(old, signal.SIGKILL)
    upstream.repaint_all = False        # as it was before: what is new in the cache is wrong
    upstream.always = None
    wait_until(lambda: seeder_of(httpd) not in (None, old))
    assert ended(httpd, number)['state'] == 'DONE'
    reseed(httpd)
    changed = {tile for tile in before if stamps(httpd)[tile] != before[tile]}
    truth = {tile: (httpd.path('cache') / tile).read_bytes() for tile in before}
    done(httpd, 'stub', type='truncate', zoomStop=3)
    done(httpd, 'stub', zoomStop=3)
    assert truth == {tile: (httpd.path('cache') / tile).read_bytes() for tile in before}, changed


@one_mpm
def test_a_part_says_nothing_of_the_whole(httpd, upstream):
    """A task over a part of a metatile renews what is known of that part only."""
    seeded(httpd, upstream)
    upstream.repaint_all = True
    part = {'coords': {'double': [0, 0, 125, 125]}}     # one tile of level 3
    assert reseed(httpd, zoomStart=3, bounds=part) == (1, 0, 0)
    upstream.repaint_all = False
    assert reseed(httpd, zoomStart=3) == (1, 63, 63)
    assert reseed(httpd) == (0, ALL, ALL)
