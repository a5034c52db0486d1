# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Tile sets that requests make, one for each value of a parameter that is open."""
import concurrent.futures

from quota import Du, agrees, disk, put, size, usage
from test_quota_limit import MIB, QUICK, serve
from tileseed_httpd import one_mpm

OPEN = 'TileSeedParameter TIME "regex=[0-9]+"'


@one_mpm
def test_new_tile_sets_lift_no_limit(httpd, upstream):
    """Whoever asks for values that nobody has asked for switches nothing off."""
    serve(httpd, upstream, OPEN, before='TileSeedDiskQuotaGrace 0\n')
    httpd.expect('paused')
    put(httpd, enabled=True, globalQuota=size(1, 'MiB'), **QUICK)
    seen = []

    def look(value):
        answer = httpd.get(f'/tiles/stub/small/3/{value % 8}/{value // 8 % 8}.png?TIME={value}')
        if value % 4 == 0:
            found = usage(httpd)
            seen.append((found['enforced'], found['complete']))
        return answer.status

    with Du(httpd) as du, concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = set(pool.map(look, range(200)))
    assert statuses <= {200, 404, 503} and 200 in statuses, statuses
    assert set(seen) == {(True, True)}, seen
    assert 0 < du.most()[0] <= MIB
    agrees(httpd)
    assert disk(httpd)[0] <= MIB
