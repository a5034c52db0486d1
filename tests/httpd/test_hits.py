# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Hits: what is read of the cache is known to its books, whoever delivers it."""
import http.client
import os
import threading
import time

from database import opened
from seeding import REST, done, geowebcache_path, stub
from test_tiles import COUNTED, TILES, fetch
from tileseed_httpd import wait_until

HALF_LIFE = 7 * 24 * 3600       # of a use
LANDMARK = 1_577_836_800        # 2020-01-01, where a use counts 1
STEPS = 2 ** 20                 # of the binary logarithm that is kept
TILE = '/tiles/stub/small/0/0/0.png'
PLAIN = '/plain/' + geowebcache_path('stub', 'small', 'png', (0, 0, 0))


def page(httpd, z=0):
    """(uses, last access) of the first page of a level, as the database has them."""
    with opened(httpd) as state:
        heat, accessed = state.execute(
            'SELECT heat, accessed FROM page WHERE z = ? AND x = 0 AND y = 0', (z,)).fetchone()
    return 2 ** (heat / STEPS - (time.time() - LANDMARK) / HALF_LIFE), accessed


def await_uses(httpd, uses):
    """Waits until the first page has been used so often. No use is counted late, or twice."""
    wait_until(lambda: round(page(httpd)[0]) >= uses, what=f'{uses} uses')
    assert round(page(httpd)[0]) == uses


def test_hits_reach_the_books(httpd, upstream):
    """Tiles that are sent, in part or whole, and those that the client has still. A tile that was
    made once has been used once."""
    httpd.start(REST + TILES + COUNTED + stub(upstream, 'TileSeedOnMiss 404'))
    done(httpd, 'stub', zoomStop=1)
    await_uses(httpd, 1)
    begun = int(time.time())
    uses = 1
    an_hour_ago = time.time() - 3600        # times of young files prove nothing
    os.utime(httpd.path('cache') / geowebcache_path('stub', 'small', 'png', (0, 0, 0)),
             (an_hour_ago, an_hour_ago))
    for path in (TILE, PLAIN):
        headers = fetch(httpd, path).headers
        for status, count, sent in ((200, 5, {}), (206, 2, {'Range': 'bytes=2-9'}),
                                    (304, 3, {'If-None-Match': headers['ETag']}),
                                    (304, 1, {'If-Modified-Since': headers['Last-Modified']})):
            for _ in range(count):
                fetch(httpd, path, status, headers=sent)
        fetch(httpd, path, 412, headers={'If-Match': '"other"'})        # no hit
        uses += 1 + 5 + 2 + 3 + 1
        await_uses(httpd, uses)
    assert page(httpd)[1] >= begun
    assert round(page(httpd, 1)[0]) == 1
    for _ in range(3):
        fetch(httpd, TILE + '?onmiss=404')                              # looks alone
    fetch(httpd, TILE)
    httpd.stop()                                                        # at once
    assert round(page(httpd)[0]) == uses + 1


def test_hits_outlive_a_graceful_restart(httpd, upstream):
    """Every hit is counted once while clients read and httpd is restarted."""
    httpd.start(REST + TILES + COUNTED + stub(upstream))
    done(httpd, 'stub', zoomStop=0)
    ended = threading.Event()
    read, cut = [0] * 4, [0] * 4

    def reader(number):
        while not ended.is_set():
            try:
                read[number] += httpd.get((TILE, PLAIN)[number % 2]).status == 200
            except (OSError, http.client.HTTPException):                # between generations
                cut[number] += 1

    readers = [threading.Thread(target=reader, args=(number,)) for number in range(4)]
    for thread in readers:
        thread.start()
    try:
        for _ in range(2):
            before = sum(read)
            httpd.graceful()
            wait_until(lambda before=before: sum(read) > before + 100)
    finally:
        ended.set()
        for thread in readers:
            thread.join()
    wait_until(lambda: round(page(httpd)[0]) > sum(read))
    assert 1 + sum(read) <= round(page(httpd)[0]) <= 1 + sum(read) + sum(cut)
