# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The coverage of a level over REST is what is on the disk, cell by cell."""
import contextlib
import datetime
import email.utils
import os
import pathlib
import signal

import pytest

from database import opened
from quota import known, put, reconcile, size, usage
from rest import JSON, ask, kind
from seeding import (FEW, REST, begin, coords, done, ended, files, geowebcache_path, layer,
                     seeder_of, stub, task)
from tileseed_httpd import one_mpm, wait_until

LEVEL = 7               # of the small grid: 128 x 128 tiles of 1000 / 128 units
TILES = 1 << LEVEL
UNIT = 1000 / TILES
DAY = 86400
NO_LINKS = {'options': 'link-uniform=off', 'meta': '8x8'}


def bounds(minx, miny, maxx, maxy):
    """The ground of the tiles minx..maxx and miny..maxy of the level."""
    return {'coords': {'double': [minx * UNIT, miny * UNIT, (maxx + 1) * UNIT, (maxy + 1) * UNIT]}}


def path_of(httpd, x, y, name='stub'):
    """Where a tile of the level lies."""
    return httpd.path('cache') / geowebcache_path(name, 'small', 'png', (LEVEL, x, y))


def tileset_of(httpd, name='stub'):
    """The number of a layer's tile set."""
    (found,) = [row for row in usage(httpd)['layers'] if row['layer'] == name]
    return found['tilesets'][0]['id']


def coverage(httpd, query='', level=LEVEL, base='/rest', **more):
    """The document of a level."""
    answer = ask(httpd, 'GET', f'{base}/coverage/{tileset_of(httpd)}/{level}.json{query}', **more)
    assert kind(answer) == JSON
    return answer.json()


def on_disk(httpd, cell, column, row):
    """(share, bytes, tiles) of a cell, by the files."""
    block = os.statvfs(httpd.root).f_bsize
    width = cell['tiles']
    tiles, taken, possible = 0, 0, 0
    for x in range(cell['x'] + column * width, cell['x'] + (column + 1) * width):
        for y in range(cell['y'] + row * width, cell['y'] + (row + 1) * width):
            possible += x < TILES and y < TILES
            with contextlib.suppress(FileNotFoundError):
                taken += -(-path_of(httpd, x, y).stat().st_size // block) * block
                tiles += 1
    share = 1000 * tiles // possible
    return (share if tiles in (0, possible) else min(max(share, 1), 999)), taken, tiles


def agrees(httpd, query=''):
    """Waits until the coverage is what the disk has, and returns it."""
    def document():
        found = coverage(httpd, query)
        cell = found['cell']
        places = [(column, row) for row in range(cell['rows']) for column in range(cell['columns'])]
        there = [on_disk(httpd, cell, *place) for place in places]
        for name in ('share', 'bytes', 'heat', 'age'):
            assert len(found[name]) == len(places)
        good = (found['counted'] and found['share'] == [share for share, _, _ in there]
                and found['bytes'] == [taken for _, taken, _ in there]
                and all((age is None) == (tiles == 0)
                        for age, (_, _, tiles) in zip(found['age'], there)))
        return found if good else None
    return wait_until(document, what=f'agreement of {coverage(httpd, query)} with the disk')


def all_agree(httpd):
    """The same of cells of each size, and of a part of the level."""
    for query in ('?cells=256', '?cells=3', '?cells=1',
                  f'?cells=2&bbox={40 * UNIT},{70 * UNIT},{90 * UNIT},{71 * UNIT}'):
        found = agrees(httpd, query)
    assert found['cell'] == {'tiles': 32, 'x': 32, 'y': 64, 'columns': 2, 'rows': 1}
    return coverage(httpd, '?cells=256')


def kill_seeder(httpd):
    """Kills it, and waits for the next one."""
    httpd.expect('ended unexpectedly|AH00052')
    old = seeder_of(httpd)
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: seeder_of(httpd) not in (None, old), what='the next seeder')


@pytest.mark.main_path
@one_mpm
def test_cells_are_what_the_disk_has(httpd, upstream):
    """After a seed, a truncate, a kill, a start, an eviction and the end of all."""
    httpd.expect('TS0066: the disk quota is on and would remove a large part')
    httpd.start(REST + stub(upstream, **NO_LINKS))
    done(httpd, 'stub', zoomStart=LEVEL, zoomStop=LEVEL, bounds=bounds(20, 10, 75, 50),
         threadCount=4)
    assert all_agree(httpd)['share'][:8] == [257, 687, 257, 0, 222, 593, 222, 0]
    done(httpd, 'stub', type='truncate', zoomStart=LEVEL, zoomStop=LEVEL,
         bounds=bounds(30, 20, 40, 90))
    before = all_agree(httpd)
    kill_seeder(httpd)
    assert all_agree(httpd)['share'] == before['share']
    httpd.stop()
    httpd.start()
    assert all_agree(httpd)['share'] == before['share']
    put(httpd, enabled=True, globalExpirationPolicyName='LRU',
        globalQuota=size(sum(before['bytes']) // 2, 'B'))
    ask(httpd, 'POST', '/rest/diskquota/cleanup')       # without grace
    wait_until(lambda: 0 < sum(coverage(httpd)['bytes']) <= sum(before['bytes']) // 2)
    all_agree(httpd)
    put(httpd, enabled=False)
    done(httpd, 'stub', type='truncate', zoomStart=LEVEL, zoomStop=LEVEL)
    assert all_agree(httpd)['share'] == 16 * [0]


@one_mpm
def test_killed_amid_a_seed(httpd, upstream):
    """The pages that were in work are counted on the disk: tiles that nobody booked, and tiles that
    somebody removed meanwhile."""
    httpd.start(REST + stub(upstream, **NO_LINKS))
    number = begin(httpd, 'stub', zoomStart=LEVEL, zoomStop=LEVEL, threadCount=4)
    wait_until(lambda: task(httpd, number)['tilesMade'] > 2000)
    kill_seeder(httpd)
    ended(httpd, number)
    assert all_agree(httpd)['share'] == 16 * [1000]


def age_by_files(httpd, found, column, row):
    """The age of a cell's oldest file at the time of a document."""
    cell = found['cell']
    dates = [path_of(httpd, x, y).stat().st_mtime
             for x in range(cell['x'] + column * 32, cell['x'] + column * 32 + 32)
             for y in range(cell['y'] + row * 32, cell['y'] + row * 32 + 32)]
    then = datetime.datetime.fromisoformat(found['time'].replace('Z', '+00:00')).timestamp()
    return -(-(int(then) - int(min(dates))) // 60)


@one_mpm
def test_age(httpd, upstream):
    """Of files that are older by their dates, then of tiles that are made again: of all of a page,
    of a part of a page, of a page from which tiles were removed meanwhile."""
    httpd.start(REST + stub(upstream, 'TileSeedReseed all', **NO_LINKS))
    done(httpd, 'stub', zoomStart=LEVEL, zoomStop=LEVEL, bounds=bounds(0, 0, 95, 31),
         threadCount=4)
    for x, y, days in ((3, 4, 30), (40, 5, 20), (70, 9, 10)):
        path = path_of(httpd, x, y)
        date = path.stat().st_mtime - days * DAY
        os.utime(path, (date, date))
    assert max(coverage(httpd)['age'][:3]) < DAY // 60      # by what the seeder has seen
    reconcile(httpd)
    found = coverage(httpd)
    assert found['age'][:3] == [age_by_files(httpd, found, column, 0) for column in range(3)]
    assert found['age'][3:] == 13 * [None]
    assert [age // 1440 for age in found['age'][:3]] == [30, 20, 10]
    done(httpd, 'stub', type='reseed', zoomStart=LEVEL, zoomStop=LEVEL,
         bounds=bounds(0, 0, 55, 31), threadCount=4)
    assert [age // 1440 for age in coverage(httpd)['age'][:3]] == [0, 20, 10]
    reconcile(httpd)
    found = coverage(httpd)
    assert found['age'][:3] == [age_by_files(httpd, found, column, 0) for column in range(3)]
    assert found['age'][2] // 1440 == 10
    httpd.stop()
    httpd.start()
    assert coverage(httpd)['age'][2] // 1440 == 10
    done(httpd, 'stub', type='truncate', zoomStart=LEVEL, zoomStop=LEVEL,
         bounds=bounds(64, 0, 95, 31))
    done(httpd, 'stub', zoomStart=LEVEL, zoomStop=LEVEL, bounds=bounds(64, 0, 71, 7))
    assert coverage(httpd)['age'][2] < 1440


@one_mpm
def test_heat(httpd, upstream):
    """The page that was read most often stands for its cell."""
    httpd.start(REST + stub(upstream, **NO_LINKS) +
                '<Location "/tiles">\nTileSeedTiles on\nRequire local\n</Location>\n')
    done(httpd, 'stub', zoomStart=LEVEL, zoomStop=LEVEL, bounds=bounds(0, 0, 95, 7))
    for x, reads in ((3, 30), (40, 50)):
        for _ in range(reads):
            assert httpd.get(f'/tiles/tms/stub/small/{LEVEL}/{x}/1.png').status == 200
    wait_until(lambda: [round(heat) for heat in coverage(httpd)['heat'][:4]] == [31, 51, 1, 0])
    assert round(coverage(httpd, '?cells=1')['heat'][0]) == 51


@one_mpm
def test_refusals(httpd, upstream):
    """What can't be, what is not there, and who may not see it."""
    httpd.start(REST + FEW + stub(upstream, **NO_LINKS) + layer(
        'other', 'TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small zoom=2-4'))
    done(httpd, 'stub', zoomStop=1)
    done(httpd, 'other', zoomStop=2)
    number, other = tileset_of(httpd), tileset_of(httpd, 'other')
    address = f'/rest/coverage/{number}/{LEVEL}.json'
    for query in ('cells=0', 'cells=257', 'cells=x', 'bbox=', 'bbox=1,2,3', 'bbox=2,0,1,3',
                  'bbox=nan,0,1,1', 'bbox=1,2,3,4,5'):
        assert query.split('=')[0] in ask(httpd, 'GET', f'{address}?{query}', status=400).text
    for method in ('POST', 'PUT', 'DELETE'):
        assert ask(httpd, method, address, status=405).headers['Allow'] == 'GET, HEAD'
    ask(httpd, 'HEAD', address)
    assert 'levels 2 to 4' in ask(httpd, 'GET', f'/rest/coverage/{other}/1.json', status=404).text
    assert 'levels 0 to 7' in ask(httpd, 'GET', f'/rest/coverage/{number}/8.json', status=404).text
    missing = ask(httpd, 'GET', '/rest/coverage/4711/1.json', status=404).text
    hidden = ask(httpd, 'GET', f'/few{address}', status=404).text
    assert hidden == missing.replace('4711', str(number))
    hidden = ask(httpd, 'GET', f'/few/rest/coverage/{number}/99.json', status=404).text
    assert hidden == missing.replace('4711', str(number))
    ask(httpd, 'GET', f'/few/rest/coverage/{other}/2.json')
    nothing = coverage(httpd, '?bbox=-500,-500,-1,-1')
    assert nothing['cell']['columns'] == 0 and nothing['share'] == []


@one_mpm
def test_tags(httpd, upstream):
    """Nobody is sent cells that he has."""
    httpd.start(REST + stub(upstream, **NO_LINKS))
    done(httpd, 'stub', zoomStop=3)
    address = f'/rest/coverage/{tileset_of(httpd)}/3.json'
    wait_until(lambda: httpd.get(address).json()['counted'])
    tag = httpd.get(address).headers['ETag']
    same = httpd.get(address, headers={'If-None-Match': tag})
    assert (same.status, same.headers['ETag'], same.body) == (304, tag, b'')
    assert same.headers['Cache-Control'] == 'no-cache'
    marked = httpd.get(address, headers={'If-None-Match': tag[:-1] + '-gzip"'})     # by mod_deflate
    assert marked.status == 304
    since = email.utils.formatdate(usegmt=True)
    assert httpd.get(address, headers={'If-Modified-Since': since}).status == 200
    done(httpd, 'stub', type='truncate', zoomStart=3, zoomStop=3, bounds=bounds(0, 0, 31, 31))
    after = httpd.get(address, headers={'If-None-Match': tag})
    assert after.status == 200 and after.headers['ETag'] != tag
    assert 0 < after.json()['share'][0] < 1000


@one_mpm
def test_seeder_away(httpd, upstream):
    """A request that comes when the seeder has died is answered by the next one."""
    httpd.start(REST + stub(upstream, **NO_LINKS))
    done(httpd, 'stub', zoomStop=3)
    number = tileset_of(httpd)
    httpd.expect('ended unexpectedly|AH00052')
    os.kill(seeder_of(httpd), signal.SIGKILL)
    found = ask(httpd, 'GET', f'/rest/coverage/{number}/3.json').json()
    assert found['share'] == [1000] or not found['counted']
    wait_until(lambda: ask(httpd, 'GET', f'/rest/coverage/{number}/3.json').json()['share']
               == [1000], what='the count of the pages')


@one_mpm
def test_seeder_that_hangs(httpd, upstream, database):
    """A request does not wait for a seeder that gives no sign of life."""
    if database:
        httpd.expect('TS0084')      # it loses its lease
    httpd.start(REST + stub(upstream, **NO_LINKS))
    done(httpd, 'stub', zoomStop=3)
    number = tileset_of(httpd)
    seeder = seeder_of(httpd)
    os.kill(seeder, signal.SIGSTOP)
    try:
        answer = ask(httpd, 'GET', f'/rest/coverage/{number}/3.json', status=503)
    finally:
        os.kill(seeder, signal.SIGCONT)
    assert 'the seeder gives no sign of life' in answer.text
    assert answer.headers['Retry-After'] == '1'
    wait_until(lambda: httpd.get(f'/rest/coverage/{number}/3.json').status == 200)


def old_state(httpd):
    """Gives the database what version 8 of the schema has written for the layer `stub`, as if for
    this server's store. The file stays: another one would be taken for a backup. So would the
    database, if this host remembered it."""
    httpd.path('state/tileseed.host').unlink(missing_ok=True)
    dump = (pathlib.Path(__file__).parents[1] / 'data/state-8.sql').read_text('utf-8')
    with opened(httpd) as state:
        ((print_, root),) = state.execute('SELECT print, root FROM tileset')
        for table in state.tables():
            state.execute(f'DROP TABLE {table}')
        state.commit()
        state.script(dump.replace('@ROOT@', root).replace('@PRINT@', str(print_)))


@pytest.mark.pgsql
@one_mpm
def test_state_of_an_earlier_version(httpd, upstream):
    """Its pages are there, and nobody knows how old their tiles are until they are counted."""
    httpd.start(REST + stub(upstream, **NO_LINKS))
    done(httpd, 'stub', zoomStop=4)
    httpd.stop()
    old_state(httpd)
    httpd.start()
    wait_until(lambda: coverage(httpd, level=6)['counted'], what='the books')
    for level, share in ((2, [1000]), (3, [0]), (5, [1000]), (6, 4 * [1000])):
        found = coverage(httpd, level=level)
        assert (found['share'], found['age']) == (share, len(share) * [None])
    assert coverage(httpd, level=6)['bytes'] == 4 * [4194304]
    reconcile(httpd)
    for level, share in ((2, [1000]), (3, [1000]), (4, [1000]), (5, [0]), (6, 4 * [0])):
        found = coverage(httpd, level=level)
        assert found['share'] == share
        assert [age is None for age in found['age']] == [part == 0 for part in share]
