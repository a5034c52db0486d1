# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The limit: whatever is written, du never shows more; and what happens when there is no room."""
import io
import json
import os
import random
import signal
import time

import pytest
from PIL import Image

from quota import Du, agrees, disk, known, put, size, usage
from rest import ask, refused
from seeding import (GRIDS, REST, begin, done, ended, files, geowebcache_path, layer, seeder_of,
                     stub, task)
from test_tiles import TILES
from tileseed_httpd import one_mpm, wait_until

QUICK = {'cacheCleanUpFrequency': 1, 'cacheCleanUpUnits': 'SECONDS'}
OTHER = ('TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small',
         'TileSeedMetatile 4x4')
MIB = 1 << 20


def serve(httpd, upstream, *lines, before='', after=''):
    """A server with the layer stub, tiles too, all of its cache known."""
    httpd.start(before + REST + TILES + stub(upstream, *lines, meta='4x4') + after)
    known(httpd)
    return httpd


def reason(httpd, number, words):
    """Waits until a running task gives that reason."""
    def document():
        found = task(httpd, number)
        return found if words in (found['reason'] or '') else None
    return wait_until(document, what=f'a reason with "{words}" in {task(httpd, number)}')


@pytest.mark.pgsql
@pytest.mark.main_path
@one_mpm
def test_seed_larger_than_the_quota(httpd, upstream):
    """It ends, the limit holds with tasks and misses at once, what is there is what came last."""
    serve(httpd, upstream, after=layer('other', *OTHER))
    put(httpd, enabled=True, globalExpirationPolicyName='LRU', globalQuota=size(8, 'MiB'))
    with Du(httpd) as du:
        tasks = [begin(httpd, name, zoomStop=6, threadCount=4) for name in ('stub', 'other')]
        for x in range(16):
            assert httpd.get(f'/tiles/stub/small/7/{8 * x}/{8 * x}.png').status == 200
        for number in tasks:
            document = ended(httpd, number)
            assert document['state'] == 'DONE', document
            assert 'the disk quota removed at least ' in document['reason'], document
            assert document['tilesMade'] + document['tilesSkipped'] == 5461, document
        again = ended(httpd, begin(httpd, 'stub', zoomStart=6, zoomStop=6, type='reseed',
                                   threadCount=4))
        assert again['state'] == 'DONE' and again['tilesMade'] == 4096, again
    found = agrees(httpd)
    assert 4 * MIB < du.most()[0] <= 8 * MIB
    assert found['lastCleanUp']['pages'] > 4
    assert found['lastCleanUp']['bytes'] > 8 * MIB
    kept = files(httpd)
    assert all('/small_06/' in name or '/.tileseed/' in name or 'small_07' in name
               for name in kept if name.startswith('stub')), sorted(kept)[:5]
    assert 0 < httpd.error_log().count('removed for the disk quota') <= 4


@one_mpm
def test_removals_that_hang_keep_no_other_store_from_making_room(httpd, upstream):
    """They are of the oldest pages, and all that may go on at once. The room comes from the pages
    of another store."""
    mischief = httpd.make_mischief()
    httpd.expect('TS0103')
    ill = httpd.folder('ill')
    serve(httpd, upstream, after=layer('ill', *OTHER).replace('@ROOT@/cache', str(ill)))
    put(httpd, enabled=True, globalExpirationPolicyName='LRU', globalQuota=size(8, 'MiB'))
    done(httpd, 'ill', zoomStart=5, zoomStop=5, threadCount=4)
    mischief.hang(ill, True)
    assert done(httpd, 'stub', zoomStop=6, threadCount=4)['tilesFailed'] == 0
    assert f'TS0103: the store {ill} has not answered' in httpd.error_log()
    mischief.hang(ill, False)


@one_mpm
def test_usage_while_pages_go_slowly(httpd, upstream):
    """Who asks meanwhile is never told of more than the limit."""
    mischief = httpd.make_mischief()
    serve(httpd, upstream)
    put(httpd, enabled=True, globalExpirationPolicyName='LRU', globalQuota=size(6, 'MiB'))
    mischief.slow(httpd.path('cache'), 0.001)
    number = begin(httpd, 'stub', zoomStart=6, zoomStop=6, threadCount=8)
    told = []

    def is_done():
        told.append(usage(httpd)['bytes'])
        return task(httpd, number)['state'] == 'DONE'
    wait_until(is_done, what='the end of the seed')
    assert 4 * MIB < max(told) <= 6 * MIB


@pytest.mark.main_path
@one_mpm
def test_layer_quotas(httpd, upstream):
    """Each layer keeps to its own; the one without has the rest."""
    serve(httpd, upstream, after=layer('other', *OTHER))
    put(httpd, enabled=True, globalQuota=size(12, 'MiB'), layerQuotas=[
        {'layer': name, 'expirationPolicyName': policy, 'quota': size(number, 'MiB')}
        for name, policy, number in (('stub', 'LRU', 5), ('other', 'LFU', 6))])
    with Du(httpd, 'stub') as first, Du(httpd, 'other') as second:
        for number in [begin(httpd, name, zoomStop=6, threadCount=4)
                       for name in ('stub', 'other')]:
            assert ended(httpd, number)['state'] == 'DONE'
    assert MIB < first.most()[0] <= 5 * MIB and MIB < second.most()[0] <= 6 * MIB
    other, main = agrees(httpd)['layers']
    assert (other['limit'], other['policy']) == (6 * MIB, 'LFU')
    assert (main['limit'], main['policy']) == (5 * MIB, 'LRU')


@one_mpm
def test_halved_under_load(httpd, upstream):
    """A PUT that lowers is followed by clean-ups that finish while tiles are written."""
    serve(httpd, upstream, before='TileSeedDiskQuotaGrace 0\n')
    put(httpd, enabled=True, globalQuota=size(12, 'MiB'), **QUICK)
    number = begin(httpd, 'stub', zoomStop=6, threadCount=4)
    wait_until(lambda: disk(httpd)[0] > 8 * MIB)
    put(httpd, globalQuota=size(6, 'MiB'))
    wait_until(lambda: disk(httpd)[0] <= 6 * MIB)
    with Du(httpd) as du:
        assert ended(httpd, number, 240)['state'] == 'DONE'
    assert du.most()[0] <= 6 * MIB
    agrees(httpd)


@one_mpm
def test_off_and_on(httpd, upstream):
    """Off: nothing is limited, all is booked. On again: a large clean-up waits, and says so."""
    serve(httpd, upstream, before='TileSeedDiskQuotaGrace 4s\n')
    httpd.expect('the disk quota is on and would remove a large part of the cache: it has')
    httpd.expect('is paused: disk quota of 8.0 MiB reached')
    done(httpd, 'stub', zoomStop=6, threadCount=4)
    before = agrees(httpd)
    put(httpd, enabled=True, globalQuota=size(8, 'MiB'), **QUICK)
    found = wait_until(lambda: (lambda now: now if now['grace'] else None)(usage(httpd)))
    assert disk(httpd) == (before['bytes'], before['files'])
    assert 'would remove a large part of the cache' in httpd.error_log()
    number = begin(httpd, 'stub', zoomStart=7, zoomStop=7, bounds={'coords': {'double': [
        0, 0, 100, 100]}})
    assert 'nothing is removed before ' + found['grace'] in \
        reason(httpd, number, 'paused: disk quota of 8.0 MiB reached')['reason']
    wait_until(lambda: disk(httpd)[0] <= 8 * MIB)
    assert ended(httpd, number)['reason'] is None
    wait_until(lambda: usage(httpd)['grace'] is None)
    put(httpd, enabled=False)
    done(httpd, 'stub', zoomStop=6, threadCount=4)
    assert agrees(httpd)['bytes'] > 16 * MIB
    assert not usage(httpd)['enforced']


@one_mpm
@pytest.mark.parametrize('how', ['request', 'directive'])
def test_end_of_grace(httpd, upstream, how):
    """A time of grace ends when somebody wants the clean-up, or when the directive says less."""
    serve(httpd, upstream, before='TileSeedDiskQuotaGrace 1h\n')
    httpd.expect('the disk quota is on and would remove a large part of the cache')
    done(httpd, 'stub', zoomStop=5, threadCount=4)
    refused(httpd, 409, 'POST', '/rest/diskquota/cleanup')
    put(httpd, enabled=True, globalQuota=size(2, 'MiB'), cacheCleanUpFrequency=0)
    put(httpd, cacheCleanUpFrequency=1)
    wait_until(lambda: usage(httpd)['grace'])
    put(httpd, cacheCleanUpFrequency=0)
    if how == 'request':
        assert ask(httpd, 'POST', '/rest/diskquota/cleanup').body == b''
    else:
        put(httpd, cacheCleanUpFrequency=1)
        httpd.graceful('TileSeedDiskQuotaGrace 0\n' + REST + TILES + stub(upstream, meta='4x4'))
    wait_until(lambda: disk(httpd)[0] <= 2 * MIB)
    wait_until(lambda: usage(httpd)['grace'] is None)


@one_mpm
def test_clean_up_beside_a_truncate(httpd, upstream):
    """Both remove tiles of the same pages, file by file on a slow disk: each is booked once."""
    mischief = httpd.make_mischief()
    serve(httpd, upstream, before='TileSeedDiskQuotaGrace 0\n')
    done(httpd, 'stub', zoomStart=6, zoomStop=6, threadCount=4)
    mischief.slow(httpd.path('cache'), 0.001)
    number = begin(httpd, 'stub', type='truncate', zoomStart=6, zoomStop=6, bounds={
        'coords': {'double': [20, 20, 980, 980]}})
    wait_until(lambda: task(httpd, number)['tilesRemoved'])
    put(httpd, enabled=True, globalQuota=size(256, 'KiB'), **QUICK)
    document = ended(httpd, number)
    wait_until(lambda: disk(httpd)[0] <= MIB // 4)
    mischief.slow(httpd.path('cache'), 0)
    assert document['state'] == 'DONE', document
    wait_until(lambda: usage(httpd)['lastCleanUp'])
    agrees(httpd)


@one_mpm
def test_files(httpd, upstream):
    """TileSeedDiskQuotaFiles is a limit like the other."""
    serve(httpd, upstream, before='TileSeedDiskQuotaFiles 3000\n')
    put(httpd, enabled=True, globalQuota=size(1, 'GiB'))
    with Du(httpd) as du:
        done(httpd, 'stub', zoomStop=6, threadCount=4)
    assert 1000 < du.most()[1] <= 3000
    agrees(httpd)


@one_mpm
def test_kept_levels(httpd, upstream):
    """TileSeedKeep: these never go; a task over nothing else waits, and goes on by itself."""
    serve(httpd, upstream, 'TileSeedKeep zoom=0-5\nTileSeedReseed all')
    put(httpd, enabled=True, globalExpirationPolicyName='LRU', globalQuota=size(16, 'MiB'))
    done(httpd, 'stub', zoomStop=6, threadCount=4)
    names = files(httpd)
    for tile in GRIDS['small'].between(0, 5):
        assert geowebcache_path('stub', 'small', 'png', tile) in names
    put(httpd, globalQuota=size(32))
    httpd.expect('paused|would remove a large part')
    number = begin(httpd, 'stub', type='reseed', zoomStart=4, zoomStop=4)
    wait_until(lambda: (task(httpd, number)['reason'] or '').startswith('paused: disk quota'))
    put(httpd, globalQuota=size(100, 'MiB'))
    assert ended(httpd, number)['reason'] is None


@one_mpm
def test_floor_of_free_space(httpd, upstream):
    """TileSeedMinFree holds with the quota off: tasks pause, misses are sent and not stored."""
    info = os.statvfs(httpd.root)
    floor = info.f_bavail * info.f_frsize + (64 << 30)
    serve(httpd, upstream, before=f'TileSeedMinFree {floor}\n')
    httpd.expect('paused: TileSeedMinFree keeps')
    number = begin(httpd, 'stub', zoomStop=1)
    reason(httpd, number, 'in the layer\'s store')
    answer = httpd.get('/tiles/stub/small/3/1/1.png')
    assert answer.status == 200 and Image.open(io.BytesIO(answer.body)).size == (16, 16)
    assert disk(httpd) == (0, 0)
    httpd.restart(REST + stub(upstream, meta='4x4'))
    assert ended(httpd, number)['state'] == 'DONE'


@one_mpm
def test_books_after_kills(httpd, upstream):
    """Tasks of all kinds, misses and a small quota, with the seeder killed at random: the limit
    holds throughout, and the books equal the disk in the end."""
    dice = random.Random(4)
    serve(httpd, upstream, after=layer('other', *OTHER))
    httpd.expect('seeder|paused')
    put(httpd, enabled=True, globalQuota=size(6, 'MiB'), **QUICK)
    until = time.monotonic() + 40
    with Du(httpd) as du:
        while time.monotonic() < until:
            act(httpd, dice)
        httpd.post('/rest/seed', 'kill_all=all')
        agrees(httpd, 60)
    assert MIB < du.most()[0] <= 6 * MIB


def act(httpd, dice):
    """One thing that happens."""
    kind = dice.choice(('seed', 'reseed', 'truncate', 'miss', 'miss', 'kill'))
    name = dice.choice(('stub', 'other'))
    if kind == 'miss':
        for _ in range(8):
            x, y = dice.randrange(128), dice.randrange(128)
            assert httpd.get(f'/tiles/{name}/small/7/{x}/{y}.png').status in (200, 503)
    elif kind == 'kill':
        pid = seeder_of(httpd)
        if pid:
            os.kill(pid, signal.SIGKILL)
    else:
        first = dice.randrange(7)
        httpd.post(f'/rest/seed/{name}.json', json.dumps({'seedRequest': {
            'type': kind, 'zoomStart': first, 'zoomStop': min(6, first + dice.randrange(2)),
            'threadCount': dice.randrange(1, 5)}}))
        time.sleep(dice.random())
