# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""How long a coverage takes in a large book: coverage.py [PAGES [REQUESTS]]

Fills the state database with PAGES pages (10,000,000) of one level, starts a private httpd, waits
until the books are read, and asks REQUESTS times (50) for windows of 256 x 256 cells at random
places, with cells of 1, 4 x 4 and 16 x 16 pages. Prints the median and the greatest wall time, the
CPU time of all processes a request, and what the seeder holds. Needs 2 GB of memory and disk for
each 10 million pages. TILESEED_MODULE names the module that is measured.
"""
import http.client
import math
import os
import pathlib
import random
import sqlite3
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'httpd'))

# pylint: disable=wrong-import-position
from quota import usage                                                             # noqa: E402
from seeding import REST, layer, seeder_of                                          # noqa: E402
from tileseed_httpd import Httpd, wait_until                                        # noqa: E402

LEVEL = 17                  # 4096 x 4096 pages
UNIT = 1000 / 4096          # of a page
CONFIG = REST + f'''
<TileSeedGridSet "large">
    TileSeedSRS 32632
    TileSeedExtent 0 0 1000 1000
    TileSeedLevels {LEVEL + 1}
    TileSeedTileSize 16x16
</TileSeedGridSet>
''' + layer('large', 'TileSeedSource wms http://127.0.0.1:9/ layers=any', 'TileSeedGrid large')
FILL = '''
WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :pages)
INSERT INTO page (tileset, z, x, y, names, files, bytes, allocated, accessed, heat, written, dirty)
SELECT :tileset, :z, n / :side, n % :side, 1 + n * 7919 % 1024, 1 + n * 7919 % 1024,
       n * 104729 % 9999991, n * 104729 % 9999991, 1790000000 + n % 100000,
       300000000 + n * 7 % 50000000, 1780000000 + n * 31 % 9000000, 0 FROM numbers'''


def fill(httpd, pages, side):
    """Puts the pages into the database of a server that is stopped."""
    database = sqlite3.connect(httpd.path('state/tileseed.db'))
    ((tileset,),) = database.execute('SELECT id FROM tileset')
    database.execute(FILL, {'pages': pages, 'tileset': tileset, 'z': LEVEL, 'side': side})
    database.execute('UPDATE tileset SET complete = 1, (pages, names, files, bytes, allocated) = '
                     '(SELECT count(*), sum(names), sum(files), sum(bytes), sum(allocated)'
                     ' FROM page)')
    database.commit()
    database.close()


def cpu(pids):
    """Seconds of CPU that processes have used."""
    ticks = 0
    for pid in pids:
        fields = pathlib.Path(f'/proc/{pid}/stat').read_text('utf-8').rsplit(')', 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf('SC_CLK_TCK')


def held(pid):
    """MB that a process holds."""
    lines = pathlib.Path(f'/proc/{pid}/status').read_text('utf-8').splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith('VmRSS')) // 1024


def ask(connection, address):
    """One document, and its length."""
    connection.request('GET', address)
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, body
    return body


def measure(httpd, address, side, width, requests):
    """Windows of cells that are `width` pages wide."""
    connection = http.client.HTTPConnection('127.0.0.1', httpd.port)
    reach, times, sizes = min(256 * width, 4096), [], []
    pids = httpd.processes()
    before = cpu(pids)
    for _ in range(requests):
        x, y = (random.randrange(0, max(side - reach, 0) + 1, width) * UNIT for _ in range(2))
        box = ','.join(str(round(number, 9)) for number in
                       (x, y, x + reach * UNIT, y + reach * UNIT))
        began = time.perf_counter()
        body = ask(connection, f'{address}?cells=256&bbox={box}')
        times.append(1000 * (time.perf_counter() - began))
        sizes.append(len(body))
        assert f'"tiles":{32 * width},'.encode() in body, body[:300]
    used = 1000 * (cpu(pids) - before) / requests
    print(f'{width:3} x {width:<3} pages a cell: median {statistics.median(times):.1f} ms, '
          f'greatest {max(times):.1f} ms, CPU {used:.1f} ms a request, '
          f'{statistics.median(sizes) / 1024:.0f} KiB')


def main():
    """All of it."""
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    requests = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    side = math.isqrt(pages - 1) + 1
    random.seed(1)
    httpd = Httpd('event')
    try:
        httpd.start(CONFIG)
        wait_until(lambda: usage(httpd)['layers'], what='the tile set')
        httpd.stop()
        fill(httpd, pages, side)
        began = time.monotonic()
        httpd.start()
        address = f'/rest/coverage/{usage(httpd)["layers"][0]["tilesets"][0]["id"]}/{LEVEL}.json'
        wait_until(lambda: b'"counted":true' in ask(
            http.client.HTTPConnection('127.0.0.1', httpd.port), address), timeout=3600)
        print(f'{pages} pages, {side} to a column: read in {time.monotonic() - began:.0f} s, '
              f'the seeder holds {held(seeder_of(httpd))} MB')
        for width in (1, 4, 16):
            measure(httpd, address, side, width, requests)
    finally:
        httpd.stop()
        httpd.finish()


if __name__ == '__main__':
    main()
