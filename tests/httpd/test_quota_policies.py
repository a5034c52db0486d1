# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The policies against a reader whose taste is known: how often he finds his tile, compared with
the same policy played on paper, which knows each read at once and forgets none."""
import random

import pytest

from quota import known, put, usage
from seeding import REST, geowebcache_path, layer
from test_tiles import TILES
from tileseed_httpd import one_mpm, wait_until

# One tile a page: what is read lies on every 32nd column and row.
SPARSE_GRID = '''
<TileSeedGridSet "sparse">
    TileSeedSRS 32632
    TileSeedExtent 0 0 1000 1000
    TileSeedLevels 11
    TileSeedTileSize 16x16
</TileSeedGridSet>
'''
PAGES = 150
ROOM = 40
READS = 1200


def trace():
    """Pages as a Zipf-distributed reader wants them, always the same ones."""
    dice = random.Random(9)
    weights = [1 / (rank + 1) for rank in range(PAGES)]
    return dice.choices(dice.sample(range(1024), PAGES), weights, k=READS)


def hits_on_paper(policy, reads, room):
    """Perfect LRU or LFU; LFU remembers what has gone, and lets the least recent of equals go."""
    there, last, count, hits = set(), {}, {}, 0
    for now, page in enumerate(reads):
        hits += page in there
        last[page] = now
        count[page] = count.get(page, 0) + 1
        if page not in there and len(there) == room:
            there.remove(min(there, key=lambda other: (count[other] if policy == 'LFU' else 0,
                                                       last[other])))
        there.add(page)
    return hits


def read(httpd, page):
    """Reads the one tile of a page; returns whether it was there."""
    tile = 10, page % 32 * 32, page // 32 * 32
    name = geowebcache_path('sparse', 'sparse', 'png', tile)
    there = (httpd.path('cache') / name).exists()
    answer = httpd.get('/tiles/tms/sparse/sparse/{}/{}/{}.png'.format(*tile))
    assert answer.status == 200, answer.body
    return there


@one_mpm
@pytest.mark.parametrize('policy', ['LFU', 'LRU'])
def test_hit_ratio(httpd, upstream, policy):
    """No more than three points of a hundred below paper."""
    httpd.start(REST + TILES + SPARSE_GRID + layer(
        'sparse', f'TileSeedSource wms {upstream.url} layers=any', 'TileSeedGrid sparse',
        'TileSeedMetatile 1x1'))
    block = known(httpd)['diskBlockSize']
    put(httpd, enabled=True, globalExpirationPolicyName=policy,
        globalQuota={'value': ROOM * block, 'units': 'B'})
    reads = trace()
    hits = sum(read(httpd, page) for page in reads)
    assert hits / READS >= hits_on_paper(policy, reads, ROOM) / READS - 0.03
    wait_until(lambda: 0 < usage(httpd)['bytes'] <= ROOM * block)
