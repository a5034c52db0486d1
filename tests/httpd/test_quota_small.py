# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Quotas smaller than what is at work: who waits for room holds none, and every task gets on."""
import os
import re
import signal

import pytest

from quota import Du, agrees, disk, put, size, usage
from seeding import begin, ended, layer, seeder_of, task
from test_misses import held
from test_quota_limit import MIB, OTHER, QUICK, reason, serve
from tileseed_httpd import one_mpm, wait_until

LEVELS = 4 ** 7 // 3                                        # tiles of the levels 0 to 6
BUSY = 'paused|the seeder|seeder .* died|unfinished tasks'


def finish(httpd, numbers, tiles=LEVELS):
    """Waits until these tasks are through, with nothing lost."""
    for number in numbers:
        document = ended(httpd, number, 300)
        assert document['state'] == 'DONE' and document['tilesFailed'] == 0, document
        assert document['tilesMade'] + document['tilesSkipped'] == tiles, document


@one_mpm
@pytest.mark.parametrize('policy', ['LRU', 'LFU'])
def test_twenty_tiles(httpd, upstream, policy):
    """Two layers at once, room for twenty tiles of both together."""
    serve(httpd, upstream, after=layer('other', *OTHER))
    httpd.expect(BUSY)
    put(httpd, enabled=True, globalExpirationPolicyName=policy, globalQuota=size(80), **QUICK)
    with Du(httpd) as du:
        numbers = [begin(httpd, name, zoomStop=6, threadCount=4) for name in ('stub', 'other')]
        finish(httpd, numbers)
    assert 0 < du.most()[0] <= 80 << 10
    for number in numbers:
        said = re.fullmatch(r'the disk quota removed at least (\d+) tiles of its pages '
                            r'while it ran', task(httpd, number)['reason'])
        assert LEVELS - 60 < int(said[1]) <= LEVELS, said[0]
        assert f': {said[0]}\n' in httpd.error_log()
    agrees(httpd)


@one_mpm
def test_twenty_tiles_with_kills_and_puts(httpd, upstream):
    """The same while the seeder is killed and the quota is changed: the limit is the higher of two
    then."""
    serve(httpd, upstream, before='TileSeedDiskQuotaGrace 0\n', after=layer('other', *OTHER))
    httpd.expect(BUSY)
    put(httpd, enabled=True, globalQuota=size(80), **QUICK)
    with Du(httpd) as du:
        numbers = [begin(httpd, name, zoomStop=6, threadCount=4) for name in ('stub', 'other')]
        for done in (600, 1500, 2500, 4000):
            wait_until(lambda done=done: sum(
                task(httpd, number)['tilesProcessed'] for number in numbers) >= done, 200)
            os.kill(seeder_of(httpd), signal.SIGKILL)
            put(httpd, globalQuota=size(120 if done % 1000 else 80),
                globalExpirationPolicyName='LRU' if done % 1000 else 'LFU')
        finish(httpd, numbers)
    assert 0 < du.most()[0] <= 120 << 10
    agrees(httpd)


@one_mpm
@pytest.mark.parametrize('kib', [3072, 256])
def test_many_threads(httpd, upstream, kib):
    """Sixteen metatiles at once, each half written, are no reason to stand still."""
    serve(httpd, upstream, after=layer('other', *OTHER))
    httpd.expect(BUSY)
    put(httpd, enabled=True, globalExpirationPolicyName='LRU', globalQuota=size(kib), **QUICK)
    with Du(httpd) as du:
        finish(httpd, [begin(httpd, name, zoomStop=6, threadCount=8)
                       for name in ('stub', 'other')])
    assert 0 < du.most()[0] <= kib << 10
    agrees(httpd)


@one_mpm
def test_lowered_below_what_is_at_work(httpd, upstream):
    """Four tasks wait for their upstream in pages of their own: what lies there goes all the same.
    They go on when the upstream does."""
    serve(httpd, upstream, before='TileSeedDiskQuotaGrace 0\n')
    httpd.expect(BUSY)
    put(httpd, enabled=True, globalQuota=size(16, 'MiB'), **QUICK)
    finish(httpd, [begin(httpd, 'stub', zoomStop=6, threadCount=4)])
    before = disk(httpd)[0]
    assert before > 8 * MIB
    released = held(upstream)
    numbers = [begin(httpd, 'stub', type='reseed', zoomStart=6, zoomStop=6, threadCount=1,
                     bounds={'coords': {'double': [x, y, x + 490, y + 490]}})
               for x in (5, 505) for y in (5, 505)]
    wait_until(lambda: all(task(httpd, number)['state'] == 'RUNNING' for number in numbers))
    put(httpd, globalQuota=size(4, 'MiB'))
    wait_until(lambda: disk(httpd)[0] <= 4 * MIB)
    released.set()
    with Du(httpd) as du:
        for number in numbers:
            assert ended(httpd, number)['state'] == 'DONE'
    assert du.most()[0] <= 4 * MIB
    agrees(httpd)


@one_mpm
def test_a_tile_larger_than_its_quota(httpd, upstream):
    """It is a failure that says so; nothing else goes for it. A quota of nothing is a pause."""
    serve(httpd, upstream, after=layer('other', *OTHER))
    httpd.expect(BUSY + '|failed')
    finish(httpd, [begin(httpd, 'other', zoomStop=2)], 21)
    put(httpd, enabled=True, globalQuota=size(1, 'GiB'), layerQuotas=[
        {'layer': 'stub', 'expirationPolicyName': 'LRU', 'quota': size(3)}])
    document = ended(httpd, begin(httpd, 'stub', zoomStop=1))
    assert document['tilesFailed'] == 5, document
    assert document['reason'].endswith('a tile needs 4.0 KiB, and the disk quota of layer stub is '
                                       '3.0 KiB'), document
    found = httpd.get(f'/rest/tasks/{document["id"]}/failures.json').json()
    assert all(failure['cause'] == 'a tile needs 4.0 KiB, and the disk quota of layer stub is '
               '3.0 KiB' for failure in found['failures']), found
    put(httpd, layerQuotas=[
        {'layer': 'stub', 'expirationPolicyName': 'LRU', 'quota': size(0)}])
    number = begin(httpd, 'stub', zoomStop=1)
    reason(httpd, number, 'for layer stub reached and nothing may be expired')
    put(httpd, layerQuotas=[])
    finish(httpd, [number], 5)
    assert usage(httpd)['layers'][0]['tiles'] == 21
