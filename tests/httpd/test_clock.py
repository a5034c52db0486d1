# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A wall clock that is set by a day under running tasks, and processes that stand still: what waits
goes by another clock, and what is recorded stays in order."""
import datetime
import errno
import os
import re
import signal
import time

import pytest

from quota import disk, put, size, usage
from rest import seed
from seeding import REST, Watch, begin, counts, done, ended, seeder_of, stub, task, terminate
from test_hits import page
from test_quota_limit import QUICK, serve
from test_tiles import TILES as SERVED, fetch
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

HOUR = 3600
DAY = 24 * HOUR
TILES = 4 ** 6 // 3         # of the levels 0 to 5
STANDSTILL = 22             # seconds: longer than twice the ten between two looks at the seeder
LOOK_ONCE = 6               # seconds in which httpd looks once, or not at all


def check_times(document):
    """No time is before an earlier one, and nothing is negative."""
    times = [document[key] for key in ('created', 'started', 'finished') if document[key]]
    assert document['finished'] and times == sorted(times), document
    for key in ('tilesPerSecond', 'secondsRemaining', 'tilesProcessed'):
        assert (document[key] or 0) >= 0, document


@one_mpm
@pytest.mark.parametrize('days', [1, -1])
def test_clock_is_set_under_tasks(httpd, upstream, days):
    """Tasks run, wait, are paused, terminated and end as if nothing had happened."""
    httpd.expect('is paused|failed answers? of the upstream')
    mischief = httpd.make_mischief()
    upstream.always = Fault('delay', 0.05)
    httpd.start(REST + stub(upstream) + 'TileSeedThreads 2\n')
    with Watch(httpd) as watch:
        running = [begin(httpd, 'stub', zoomStop=5, type='reseed') for _ in range(2)]
        pending = [begin(httpd, 'stub', zoomStop=0, type='reseed') for _ in range(2)]
        wait_until(lambda: all(task(httpd, number)['tilesProcessed'] for number in running))
        seeder = seeder_of(httpd)
        upstream.faults = [Fault('status', 500)] * 2
        wait_until(lambda: not upstream.faults)
        mischief.set_clock(days * DAY)              # both wait to ask again
        terminate(httpd, 'pending')
        pending.append(begin(httpd, 'stub', zoomStop=0, type='reseed'))
        before = [task(httpd, number)['tilesProcessed'] for number in running]
        wait_until(lambda: all(task(httpd, number)['tilesProcessed'] > count
                               for number, count in zip(running, before)), what='progress')
        mischief.fill(httpd.path('cache'), errno.EDQUOT)
        wait_until(lambda: any('Disk quota exceeded' in (task(httpd, number)['reason'] or '')
                               for number in running), 20, 'a pause')  # the other may wait for it
        mischief.set_clock(0)
        mischief.fill(httpd.path('cache'), 0)
        upstream.always = None
        documents = [ended(httpd, number) for number in running + pending]
    assert [document['state'] for document in documents] == [
        'DONE', 'DONE', 'ABORTED', 'ABORTED', 'DONE']
    for document in documents:
        check_times(document)
    for number, document in zip(running, documents):
        made, skipped, removed, failed = counts(document)
        assert (made + skipped, removed, failed) == (TILES, 0, 0), document
        watch.check(number, TILES)
    assert seeder_of(httpd) == seeder


@one_mpm
def test_clock_is_set_between_two_lives(httpd, upstream):
    """A task goes on in an httpd that was started a day earlier than the one that accepted it."""
    mischief = httpd.make_mischief()
    mischief.set_clock(DAY)
    upstream.always = Fault('delay', 0.05)
    httpd.start(REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=4)
    wait_until(lambda: task(httpd, number)['tilesProcessed'])
    httpd.stop()
    mischief.set_clock(0)
    upstream.always = None
    httpd.start()
    document = ended(httpd, number)
    assert document['state'] == 'DONE'
    check_times(document)


@one_mpm
@pytest.mark.parametrize('days', [1, -1])
def test_clock_is_set_in_a_time_of_grace(httpd, upstream, days):
    """A time of grace neither ends nor lasts longer: what is shown of its end moves with the clock,
    and a restart goes on with what is left."""
    httpd.expect('the disk quota is on and would remove a large part of the cache')
    mischief = httpd.make_mischief()
    serve(httpd, upstream, before='TileSeedDiskQuotaGrace 1h\n')
    done(httpd, 'stub', zoomStop=5, threadCount=4)
    before = disk(httpd)
    put(httpd, enabled=True, globalQuota=size(2, 'MiB'), **QUICK)

    def left():
        """Seconds of the time of grace by the true clock; None: none is running."""
        end = usage(httpd)['grace']
        return end and datetime.datetime.fromisoformat(end).timestamp() - time.time()

    wait_until(left)
    assert 0 < left() <= HOUR
    mischief.set_clock(days * DAY)
    wait_until(lambda: 0 < (left() or 0) - days * DAY <= HOUR, what='the new end')
    httpd.restart()
    wait_until(lambda: 0 < (left() or 0) - days * DAY <= HOUR, what='the end after a restart')
    mischief.set_clock(0)
    wait_until(lambda: 0 < (left() or 0) <= HOUR, what='the old end')
    assert disk(httpd) == before
    assert httpd.error_log().count('would remove a large part of the cache') == 1


@one_mpm
def test_clock_is_set_between_two_uses(httpd, upstream):
    """The order of uses, and what a use is worth, do not go by a clock that is set meanwhile."""
    mischief = httpd.make_mischief()
    httpd.start(REST + SERVED + stub(upstream))
    done(httpd, 'stub', zoomStop=1)
    for z, days in enumerate((28, -28)):        # in which a use loses much of its worth
        mischief.set_clock(days * DAY)
        fetch(httpd, f'/tiles/stub/small/{z}/0/0.png')
        wait_until(lambda z=z: round(page(httpd, z)[0]) > 1, what=f'a use at level {z}')
    (first_uses, first), (second_uses, second) = page(httpd, 0), page(httpd, 1)
    assert (round(first_uses), round(second_uses)) == (2, 2)
    assert time.time() - HOUR < first <= second < time.time() + HOUR


@one_mpm
def test_hanging_seeder_is_replaced_in_time(httpd, upstream):
    """The time until httpd looks again belongs to the timeout."""
    httpd.expect('no sign of life|ended unexpectedly|AH00052')
    upstream.always = Fault('delay', 0.05)
    timeout = 20
    httpd.start(REST + stub(upstream) + f'TileSeedHangTimeout {timeout}s\n')
    number = begin(httpd, 'stub', zoomStop=4)
    wait_until(lambda: task(httpd, number)['tilesProcessed'])
    old = seeder_of(httpd)
    os.kill(old, signal.SIGSTOP)
    wait_until(lambda: seeder_of(httpd) not in (None, old), what='a new seeder')
    silence = re.search(r'no sign of life for (\d+) s', httpd.error_log())[1]
    assert timeout / 2 <= int(silence) <= timeout + 2
    upstream.always = None
    assert ended(httpd, number)['state'] == 'DONE'


@pytest.mark.sqlite         # with others its lease would be over
@one_mpm
def test_standstill_of_all_is_no_hang(httpd, upstream):
    """Who was stopped together with httpd is not killed for it, nor anybody blamed."""
    upstream.always = Fault('hang')
    httpd.start(REST + stub(upstream) + 'TileSeedHangTimeout 5s\n')
    begin(httpd, 'stub', zoomStop=0)
    seeder = wait_until(lambda: seeder_of(httpd))
    for pid in (httpd.process.pid, seeder):
        os.kill(pid, signal.SIGSTOP)
    time.sleep(STANDSTILL)
    os.kill(httpd.process.pid, signal.SIGCONT)
    time.sleep(LOOK_ONCE)       # nothing says that httpd has looked
    os.kill(seeder, signal.SIGCONT)
    seed(httpd, 'stub')
    assert seeder_of(httpd) == seeder
