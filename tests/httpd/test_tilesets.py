# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Tile sets that requests make, one for each value of a parameter that is open."""
import concurrent.futures
import hashlib
import json
import pathlib

import ctl
from database import opened
from quota import Du, agrees, disk, put, size, usage
from rest import refused
from test_quota_limit import MIB, OTHER, QUICK, serve
from seeding import REST, begin, done, ended, layer, parameter_hash, seeder_of, stub
from test_tiles import TILES
from tileseed_httpd import MODULES, one_mpm, wait_until
from upstream import Fault

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


ADDRESS = '/tiles/stub/small/3/{0}/0.png?TIME={1}'
PROXIED = f'LoadModule remoteip_module {MODULES}/mod_remoteip.so\nRemoteIPHeader X-Client\n'


def times(httpd):
    """The values of TIME whose tile sets have tiles, by the books."""
    return {found['parameters']['TIME'] for entry in usage(httpd)['layers']
            for found in entry['tilesets']
            if found['parameters'].get('TIME') and found['tiles']}


def settled(httpd, *values):
    """Waits until just these tile sets have tiles, and all others are out of the books."""
    wait_until(lambda: times(httpd) == set(values) and rows(httpd) == 1 + len(values), 120,
               f'just the tile sets {values}')
    agrees(httpd)


def read(httpd, value, status=200, x=0, client='198.51.100.1'):
    """A request for a tile of a value, sent by some client."""
    answer = httpd.get(ADDRESS.format(x, value), headers={'X-Client': client})
    assert answer.status == status, (value, answer.status, answer.body)
    return answer


@one_mpm
def test_no_more_than_allowed(httpd, upstream):
    """TileSeedMaxTileSets: the tile set that is used least gives way to a new one. What was seeded
    stays, and is no obstacle before it has all places."""
    lines = ('TileSeedParameter TIME "regex=[0-9]+" value=77', 'TileSeedMaxTileSets 3')
    serve(httpd, upstream, *lines)
    httpd.expect('TileSeedParameter TIME takes values that are not listed.*MaxTileSets 3')
    for value in (1, 2, 3):
        read(httpd, value)
    read(httpd, 77)
    read(httpd, 4)
    wait_until(lambda: rows(httpd) == 5 and len(times(httpd)) == 4, 120)
    assert times(httpd) >= {'4', '77'}
    agrees(httpd)
    for number, value in enumerate(('5', '6', '7')):
        assert ended(httpd, begin(httpd, 'stub', zoomStop=0, parameters={
            'entry': {'string': ['TIME', value]}}))['tilesMade'] == 1
        if number < 2:
            read(httpd, 8 + number)
    assert times(httpd) >= {'5', '6', '7'}
    answer = read(httpd, 10, 404)
    assert b'TileSeedMaxTileSets' in answer.body, answer.body
    read(httpd, 5)                                  # what is there goes on being made
    assert httpd.get('/tiles/stub/small/3/0/0.png').status == 200


@one_mpm
def test_a_place_is_taken_by_tiles(httpd, upstream):
    """Values of which nothing is stored take no place, and their rows go. Nor does a tile set that
    has lost all its tiles: a rolling time goes on for ever."""
    serve(httpd, upstream, OPEN, 'TileSeedMaxTileSets 3')
    httpd.expect('takes values that are not listed|no tile|upstream|failed')
    read(httpd, 1)
    upstream.decide = lambda asked: Fault('status', 404) if int(asked['TIME']) >= 1000 else None
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = set(pool.map(lambda value: httpd.get(ADDRESS.format(0, value)).status,
                                range(1000, 1100)))
    assert statuses <= {502, 503} and 502 in statuses, statuses
    wait_until(lambda: httpd.get(ADDRESS.format(0, 2)).status == 200)
    for value in range(2, 20):
        read(httpd, value)
        done(httpd, 'stub', type='truncate', parameters={
            'entry': {'string': ['TIME', str(value)]}})
    settled(httpd, '1')


@one_mpm
def test_who_makes_many_gives_way(httpd, upstream):
    """A client with many values loses its own tile sets, not those of others; addresses of one
    IPv6 network are one client."""
    httpd.expect('takes values that are not listed')
    httpd.start(PROXIED + REST + TILES.replace('Require local', 'Require all granted') +
                stub(upstream, OPEN, 'TileSeedMaxTileSets 8', meta='4x4'))
    for value in (1, 2):
        read(httpd, value, client=f'198.51.100.{value}')
    for value in range(100, 130):
        read(httpd, value, client=f'2001:db8::{value:x}')
    wait_until(lambda: len(times(httpd)) <= 8, 120)
    assert times(httpd) >= {'1', '2'}
    read(httpd, 3, client='198.51.100.3')
    wait_until(lambda: '3' in times(httpd) and len(times(httpd)) <= 8, 120)
    assert times(httpd) >= {'1', '2', '3'}
    agrees(httpd)


@one_mpm
def test_drop_what_reading_has_made(httpd, upstream):
    """One request takes all tile sets of a layer away that requests have made; a seeded one and
    the default stay. So it is after a restart."""
    httpd.expect('takes values that are not listed')
    lines = (OPEN, 'TileSeedMaxTileSets 8')
    serve(httpd, upstream, *lines)
    done(httpd, 'stub', zoomStop=0)
    done(httpd, 'stub', zoomStop=0, parameters={'entry': {'string': ['TIME', '9']}})
    for value in (1, 2, 9):
        read(httpd, value)
    httpd.restart(REST + TILES + stub(upstream, *lines, meta='4x4'))
    assert times(httpd) == {'1', '2', '9'}
    address = '/rest/layers/stub/tilesets'
    assert httpd.get(address).headers['Allow'] == 'DELETE'
    assert 'Is stub meant' in refused(httpd, 400, 'DELETE', '/rest/layers/stup/tilesets')
    assert httpd.request('DELETE', address).status == 200
    settled(httpd, '9')
    read(httpd, 2)
    said = ctl.run('drop-unlisted', 'stub', url=httpd.url('/rest'))
    assert said.stdout.startswith('the tile sets of stub with values that are not listed'), said
    settled(httpd, '9')
    assert httpd.get('/tiles/stub/small/0/0/0.png?onmiss=404').status == 200
    read(httpd, 1)
    settled(httpd, '1', '9')


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
