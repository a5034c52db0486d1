# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Tile sets that requests make, one for each value of a parameter that is open."""
import concurrent.futures
import hashlib
import json
import pathlib

from database import opened
from quota import Du, agrees, disk, put, size, usage
from test_quota_limit import MIB, OTHER, QUICK, serve
from seeding import REST, begin, ended, layer, parameter_hash, seeder_of, stub
from test_tiles import TILES
from tileseed_httpd import one_mpm, wait_until

OPEN = 'TileSeedParameter TIME "regex=[0-9]+"'


@one_mpm
def test_new_tile_sets_lift_no_limit(httpd, upstream):
    """Whoever asks for values that nobody has asked for switches nothing off."""
    serve(httpd, upstream, OPEN, before='TileSeedDiskQuotaGrace 0\n')
    httpd.expect('paused|takes values that are not listed')
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


def rows(httpd):
    """Tile sets in the books. Their file is not looked at: whoever opens it first makes files that
    httpd's User must be able to write."""
    return sum(len(found['tilesets']) for found in usage(httpd)['layers'])


@one_mpm
def test_no_more_than_allowed(httpd, upstream):
    """TileSeedMaxTileSets: values beyond it are 404 until they are listed or seeded; what is there
    goes on being made. A row of which nothing was stored goes at the next start."""
    lines = ('TileSeedParameter TIME "regex=[0-9]+" value=77', 'TileSeedMaxTileSets 3')
    serve(httpd, upstream, *lines)
    httpd.expect('TileSeedParameter TIME takes values that are not listed.*MaxTileSets 3')
    address = '/tiles/stub/small/3/{0}/0.png?TIME={1}'
    for value in (1, 2, 3):
        assert httpd.get(address.format(0, value)).status == 200
    answer = httpd.get(address.format(0, 4))
    assert answer.status == 404 and b'TileSeedMaxTileSets' in answer.body, answer.body
    assert httpd.get(address.format(5, 3)).status == 200
    assert httpd.get(address.format(0, 77)).status == 200
    assert httpd.get('/tiles/stub/small/3/0/0.png').status == 200
    assert ended(httpd, begin(httpd, 'stub', zoomStop=0, parameters={
        'entry': {'string': ['TIME', '5']}}))['tilesMade'] == 1
    assert httpd.get(address.format(0, 5)).status == 200
    wait_until(lambda: rows(httpd) == 6)
    assert 'TIME takes values that are not listed' in httpd.error_log()
    ended(httpd, begin(httpd, 'stub', type='truncate', parameters={
        'entry': {'string': ['TIME', '5']}}))
    wait_until(lambda: not any(found['bytes'] for found in
                               usage(httpd)['layers'][0]['tilesets']
                               if found['parameters'].get('TIME') == '5'), 30)
    httpd.restart(REST + TILES + stub(upstream, *lines, meta='4x4'))
    wait_until(lambda: rows(httpd) == 5)


def multiply(books, count):
    """Makes as many tile sets of the one of TIME=1, with a page and a shared file each."""
    one = dict(zip(books.columns('tileset'), books.execute(
        "SELECT * FROM tileset WHERE name NOT LIKE '%default'").fetchone()))
    page = dict(zip(books.columns('page'), books.execute(
        'SELECT * FROM page WHERE tileset=?', (one['id'],)).fetchone()))
    prefix = one['name'].rsplit('/', 1)[0]
    shared = {'shared_names': 0, 'shared_files': 1, 'shared_bytes': 100, 'shared_allocated': 4096}

    def insert(table, row):
        books.execute(f'INSERT INTO {table} ({",".join(row)}) VALUES ({",".join("?" * len(row))})',
                      tuple(row.values()))

    for value in range(1, count):
        name = f'{prefix}/{parameter_hash({"TIME": str(value)})}'
        store = hashlib.sha1(f'0\n{one["root"]}\n'.encode()).hexdigest()
        print_ = int.from_bytes(hashlib.sha1(f'{store}\n{name}'.encode()).digest()[:8], 'big',
                                signed=True)
        if value == 1:
            assert (name, print_) == (one['name'], one['print'])
            continue
        insert('tileset', one | shared | {'id': one['id'] + 1000 + value, 'print': print_,
                                          'name': name,
                                          'parameters': json.dumps({'TIME': str(value)})})
        insert('page', page | {'tileset': one['id'] + 1000 + value, 'dirty': 0})


@one_mpm
def test_ten_thousand(httpd, upstream):
    """So many tile sets in the books are no burden to others: their first miss is answered soon,
    the seeder has few files open and little memory."""
    httpd.expect('takes values that are not listed')
    before, after = 'TileSeedWorkers 2\n', layer('other', *OTHER)
    serve(httpd, upstream, OPEN, 'TileSeedMaxTileSets 20000', before=before, after=after)
    assert httpd.get('/tiles/stub/small/3/0/0.png?TIME=1').status == 200
    wait_until(lambda: rows(httpd) == 3)
    httpd.stop()
    with opened(httpd) as books:
        multiply(books, 10_000)
        books.commit()
    httpd.start()
    wait_until(lambda: httpd.get('/tiles/other/small/3/0/0.png').status == 200)
    seeder = pathlib.Path(f'/proc/{seeder_of(httpd)}')
    assert len(list((seeder / 'fd').iterdir())) < 300
    status = (seeder / 'status').read_text(encoding='ascii')
    assert int(status.split('VmRSS:')[1].split()[0]) < 100_000
