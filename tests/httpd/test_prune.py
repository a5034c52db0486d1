# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""TileSeedPrune: what lies below metatiles of one colour is not fetched, and counted all the same.

The sea and its lands are drawn by the stub; a world of squares says here which metatiles a task
has to ask for.
"""
import io
import json
import os
import signal

import pytest
from PIL import Image

from quota import reconcile
from seeding import REST, begin, counts, done, ended, files, layer, seeder_of, stub, task
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

SEA = (190, 190, 190)
STOP = 6
SIDE = 1000             # of the map, in its units
LAND = (500, 500, 750, 750, SIDE)           # a sixteenth of the map, on the edges of level 2
TILES = '''
<Location "/tiles">
    TileSeedTiles on
    Require local
</Location>
'''


def wet(lands, level, column, row, side=1):
    """Whether a square of tiles has no land that is drawn at its level."""
    tile = SIDE / 2 ** level
    box = (column * tile, row * tile, (column + side) * tile, (row + side) * tile)
    return not any(land[0] < box[2] and land[2] > box[0] and land[1] < box[3] and land[3] > box[1]
                   and tile / 16 <= land[4] * 1.01 for land in lands)


def expected(lands, levels, stop=STOP, start=0):
    """(requests, tiles made, tiles pruned) of a first seed with metatiles of 2 x 2: of a metatile
    is asked unless one above it, and `levels` more above that one, are of one colour."""
    requests = made = pruned = 0
    depths, below = {}, set()
    for level in range(start, stop + 1):
        side = max(2 ** level // 2, 1)
        tiles = min(2 ** level, 2) ** 2
        now, dry = {}, set()
        for column in range(side):
            for row in range(side):
                above = (column // 2, row // 2) if level > 1 else (0, 0)
                if above in below:
                    dry.add((column, row))
                    pruned += tiles
                    continue
                requests += 1
                made += tiles
                if wet(lands, level, column * 2, row * 2, 2):
                    now[column, row] = depths.get(above, -1) + 1
        below = dry | {place for place, depth in now.items() if depth >= levels}
        depths = now
    return requests, made, pruned


def sea(upstream, *lines, prune='uniform=1 check=0', **more):
    """The configuration of a pruned layer over a sea with one land."""
    upstream.lands = [LAND]
    return REST + TILES + stub(upstream, f'TileSeedPrune {prune}', *lines, **more)


def tile(httpd, level, column, row, **more):
    """A tile by its address; rows count from the bottom."""
    return httpd.get(f'/tiles/tms/1.0.0/stub@small@png/{level}/{column}/{row}.png', **more)


def colours(answer):
    """The colours of a tile that was served."""
    assert answer.status == 200, answer.body
    return {colour for _, colour in
            Image.open(io.BytesIO(answer.body)).convert('RGB').getcolors()}


def resolution(asked):
    """Units of the map to a pixel."""
    left, _, right, _ = map(float, asked['BBOX'].split(','))
    return (right - left) / int(asked['WIDTH'])


def total(stop=STOP):
    """Tiles of the levels 0 to `stop`."""
    return sum(4 ** level for level in range(stop + 1))


def metatiles(stop=STOP):
    """Metatiles of the levels 0 to `stop`."""
    return 1 + total(stop - 1)


def estimate(httpd, **members):
    """(tiles there, pruned, to make) that an estimate tells."""
    answer = httpd.post('/rest/estimate/stub.json', json.dumps({'seedRequest': members}))
    assert answer.status == 200, answer.body
    told = answer.json()['estimate']
    assert told['presentBy'] == 'count'
    return told['tilesPresent'], told['tilesPruned'], told['tilesToMake']


@one_mpm
@pytest.mark.parametrize('levels', [0, 1, 2])
@pytest.mark.parametrize('sparse', ['on', 'off'])
def test_the_sea_is_counted_and_not_asked_for(httpd, upstream, levels, sparse):
    """Exactly what the rule says is asked for and made; the sum is the total."""
    httpd.start(sea(upstream, prune=f'uniform={levels} check=0 sparse={sparse}'))
    document = done(httpd, 'stub', zoomStop=STOP, threadCount=1)
    requests, made, pruned = expected([LAND], levels)
    assert pruned > 0
    assert (document['tilesMade'], document['tilesPruned']) == (made, pruned)
    assert counts(document) == (made, 0, 0, 0)
    assert document['upstreamRequests'] == len(upstream.requests) == requests
    assert made + pruned == document['tilesTotal'] == total()
    assert (document['prunedChecked'], document['prunedWrong']) == (0, 0)
    assert document['prunedMetatiles'] == metatiles() - requests
    assert (f'{pruned} pruned ({metatiles() - requests} metatiles not asked for, 0 looked at, '
            '0 wrong)') in httpd.error_log()
    assert len(list(httpd.path('cache').rglob('*.png'))) == made
    again = done(httpd, 'stub', zoomStop=STOP)
    assert counts(again) == (0, made, 0, 0)
    assert again['upstreamRequests'] == 0
    assert [again[member] for member in ('tilesPruned', 'prunedMetatiles')] == \
        [document[member] for member in ('tilesPruned', 'prunedMetatiles')]


@one_mpm
def test_an_estimate_knows_what_was_found(httpd, upstream):
    """Below it nothing is to be made; what the task itself will find it can't know."""
    httpd.start(sea(upstream))
    done(httpd, 'stub', zoomStop=STOP - 1, threadCount=1)
    told = estimate(httpd, zoomStop=STOP)
    deeper = done(httpd, 'stub', zoomStop=STOP, threadCount=1)
    assert told == tuple(deeper['tiles' + what] for what in ('Skipped', 'Pruned', 'Made'))
    assert estimate(httpd, zoomStop=STOP) == (expected([LAND], 1)[1], deeper['tilesPruned'], 0)
    told = estimate(httpd, zoomStop=STOP, type='reseed')
    again = done(httpd, 'stub', zoomStop=STOP, threadCount=1, type='reseed')
    assert told == (again['tilesUnchanged'], again['tilesPruned'], again['tilesUnchanged'])
    sunk = estimate(httpd, zoomStart=STOP, zoomStop=STOP, type='reseed')
    assert sunk[1:] == (0, 4 ** STOP)       # the metatiles above are not met again
    files_there = len(files(httpd))
    box = {'bounds': {'coords': {'double': [0, 0, 240, 240]}}, 'zoomStop': STOP}
    assert estimate(httpd, type='truncate', **box)[1] > 0
    assert estimate(httpd, type='truncate', zoomStop=STOP)[::2] == (files_there, 0)
    httpd.restart(REST + TILES + stub(upstream, 'TileSeedFormat image/png level=9',
                                      'TileSeedPrune uniform=1 check=0'))
    assert estimate(httpd, zoomStop=STOP)[1] == 0       # these would be other tiles


@one_mpm
def test_links_are_made_when_they_are_asked_for(httpd, upstream):
    """The first request links the tile's metatile, the second finds its file."""
    httpd.start(sea(upstream))
    made = done(httpd, 'stub', zoomStop=STOP, threadCount=1)['tilesMade']
    asked = len(upstream.requests)
    for _ in range(2):
        assert colours(tile(httpd, STOP, 1, 1)) == {SEA}
        assert len(list(httpd.path('cache').rglob('*.png'))) == made + 4
    assert len(upstream.requests) == asked
    inodes = {path.stat().st_ino for path in httpd.path('cache').rglob('*.png')
              if '_06' in str(path) and path.stat().st_nlink > 2}
    assert len(inodes) == 1
    assert colours(tile(httpd, STOP, 40, 40)) != {SEA}       # land, as it was made
    assert len(upstream.requests) == asked


@one_mpm
@pytest.mark.parametrize('on_miss', ['fetch', '404'])
def test_sparse_tiles_are_served_and_never_written(httpd, upstream, on_miss):
    """They have an entity tag, and the caching of other tiles; after a restart as well."""
    httpd.start(sea(upstream, f'TileSeedOnMiss {on_miss}', 'TileSeedExpires 1h',
                    prune='uniform=1 check=0 sparse=on'))
    made = done(httpd, 'stub', zoomStop=STOP, threadCount=1)['tilesMade']
    asked = len(upstream.requests)
    for restart in (False, True):
        if restart:
            httpd.stop()
            httpd.start()
        answer = tile(httpd, STOP, 1, 1)
        assert colours(answer) == {SEA}
        assert answer.headers['Cache-Control'] == 'max-age=3600'
        tag = answer.headers['ETag']
        assert tile(httpd, STOP, 1, 1, headers={'If-None-Match': tag}).status == 304
        assert len(list(httpd.path('cache').rglob('*.png'))) == made
        assert len(upstream.requests) == asked
    if on_miss == '404':
        assert tile(httpd, 7, 80, 80).status == 404     # land that was never made
        assert tile(httpd, 7, 1, 1).status == 200


@one_mpm
def test_a_reseed_looks_at_the_top_again(httpd, upstream):
    """Where it is of one colour still, nothing below is asked for; else all is made."""
    httpd.start(sea(upstream))
    first = done(httpd, 'stub', zoomStop=STOP, threadCount=1)
    again = done(httpd, 'stub', zoomStop=STOP, threadCount=1, type='reseed')
    assert (again['tilesPruned'], again['tilesUnchanged']) == \
        (first['tilesPruned'], first['tilesMade'])
    upstream.lands = [LAND, (0, 0, 250, 250, SIDE)]
    upstream.requests.clear()
    third = done(httpd, 'stub', zoomStop=STOP, threadCount=1, type='reseed')
    assert 0 < third['tilesPruned'] <= expected(upstream.lands, 1)[2]
    assert third['tilesMade'] + third['tilesSkipped'] + third['tilesPruned'] == total()
    assert colours(tile(httpd, STOP, 1, 1)) != {SEA}


@one_mpm
def test_land_that_sinks_is_made_anew(httpd, upstream):
    """A reseed leaves no old tile below a metatile that is of one colour now."""
    httpd.start(sea(upstream))
    done(httpd, 'stub', zoomStop=STOP, threadCount=1)
    upstream.lands = []
    done(httpd, 'stub', zoomStop=STOP, threadCount=1, type='reseed')
    for level in range(STOP + 1):
        middle = 2 ** level * 5 // 8
        assert colours(tile(httpd, level, middle, middle)) == {SEA}


@one_mpm
def test_a_finding_of_more_ground_looks_below_it_anew(httpd, upstream):
    """A task with bounds has found a part of a metatile to be sea; where the rest of it was land
    and sinks, a reseed makes the tiles below anew."""
    httpd.start(sea(upstream))
    found = done(httpd, 'stub', zoomStart=2, zoomStop=STOP, threadCount=1,
                 bounds={'coords': {'double': [130, 5, 245, 245]}})
    assert found['tilesPruned'] > 0
    upstream.lands = [(0, 0, 125, 250, SIDE)]       # the left half of a metatile of level 3
    done(httpd, 'stub', zoomStart=4, zoomStop=STOP, threadCount=1,
         bounds={'coords': {'double': [5, 5, 120, 245]}})
    assert colours(tile(httpd, STOP, 1, 1)) != {SEA}
    upstream.lands = []
    assert done(httpd, 'stub', zoomStop=STOP, type='reseed')['tilesPruned'] > 0
    for level in range(4, STOP + 1):
        assert colours(tile(httpd, level, 0, 0)) == {SEA}


def lose(httpd):
    """All tiles go, as if the quota had removed them."""
    for path in httpd.path('cache').rglob('*.png'):
        path.unlink()


@one_mpm
def test_what_is_reseeded_below_a_finding_is_newer(httpd, upstream):
    """A lost tile is as the last reseed has made it, not as a finding above was before, also where
    the reseed was of a part of a metatile, and others were of other parts."""
    httpd.start(sea(upstream, prune='uniform=0 check=0'))
    upstream.lands = []
    done(httpd, 'stub', zoomStop=2)
    upstream.lands = [(0, 0, SIDE, SIDE, SIDE)]
    done(httpd, 'stub', type='reseed', zoomStart=1, zoomStop=3,
         bounds={'coords': {'double': [505, 5, 995, 995]}})
    upstream.lands = []
    done(httpd, 'stub', type='reseed', zoomStart=1, zoomStop=1,
         bounds={'coords': {'double': [5, 5, 495, 495]}})
    upstream.lands = [(0, 0, SIDE, SIDE, SIDE)]
    lose(httpd)
    for level in (3, 2, 1):
        assert colours(tile(httpd, level, 2 ** level - 1, 0)) != {SEA}
    assert done(httpd, 'stub', zoomStart=1, zoomStop=1)['tilesPruned'] == 0


@one_mpm
def test_what_stays_below_a_finding_is_newer(httpd, upstream):
    """The same where the upstream's answer is that of before the finding."""
    httpd.start(sea(upstream, prune='uniform=0 check=0'))
    done(httpd, 'stub', zoomStart=1, zoomStop=1)
    upstream.lands = []
    done(httpd, 'stub', zoomStop=0)
    upstream.lands = [LAND]
    assert done(httpd, 'stub', type='reseed', zoomStart=1, zoomStop=1)['tilesUnchanged'] == 4
    lose(httpd)
    assert colours(tile(httpd, 1, 1, 1)) != {SEA}


@one_mpm
@pytest.mark.parametrize('kind', ['truncate', 'reseed'])
def test_what_was_known_before_a_reseed_does_not_come_back(httpd, upstream, kind):
    """A reseed takes everything to be as one metatile is. When that one is forgotten, nothing of
    what had been found below it before the reseed is relied on."""
    httpd.start(sea(upstream, prune='uniform=0 check=0'))
    upstream.shade = 50
    assert done(httpd, 'stub', zoomStart=3, zoomStop=STOP)['tilesPruned'] > 0
    lose(httpd)
    reconcile(httpd)
    upstream.shade = 90
    assert done(httpd, 'stub', type='reseed', zoomStop=STOP)['tilesPruned'] >= total() - 5
    upstream.shade = None
    done(httpd, 'stub', type=kind, zoomStop=1)
    upstream.shade = 90
    assert colours(tile(httpd, STOP, 1, 1)) == {(90, 90, 90)}


@one_mpm
@pytest.mark.parametrize('depth', [1, 2])
def test_an_upstream_that_was_blank(httpd, upstream, depth):
    """The task says how much it has pruned; the next seed asks again, and makes it."""
    httpd.start(sea(upstream, prune=f'uniform={depth}'))
    upstream.lands = []
    document = done(httpd, 'stub', zoomStop=5)
    assert document['reasonCode'] == 'PRUNED' and document['reason'].endswith(
        ' % of its tiles are taken to be of one colour: TileSeedPrune, a reseed asks again')
    assert document['prunedChecked'] >= (16 if depth == 2 else 1)
    upstream.lands = [(0, 0, SIDE, SIDE, SIDE)]
    again = done(httpd, 'stub', zoomStop=5)
    assert again['tilesPruned'] == 0 and again['tilesMade'] > total(5) - total(3), again
    assert not again['reason']
    assert colours(tile(httpd, 5, 0, 0)) != {SEA}


@one_mpm
def test_an_upstream_that_was_blank_and_nothing_is_looked_at(httpd, upstream):
    """The task says what asks again: a seed does not, a reseed makes all tiles."""
    httpd.start(sea(upstream, prune='uniform=2 check=0'))
    upstream.lands = []
    document = done(httpd, 'stub', zoomStop=5)
    assert document['reasonCode'] == 'PRUNED' and document['reason'].endswith(
        ': TileSeedPrune, a reseed asks again, and with check=0 no seed does')
    upstream.lands = [(0, 0, SIDE, SIDE, SIDE)]
    asked = len(upstream.requests)
    done(httpd, 'stub', zoomStop=5)
    assert len(upstream.requests) == asked and colours(tile(httpd, 0, 0, 0)) == {SEA}
    again = done(httpd, 'stub', zoomStop=5, type='reseed')
    assert again['tilesMade'] == total(5) and not again['reason'], again
    assert SEA not in colours(tile(httpd, 0, 0, 0)) | colours(tile(httpd, 5, 0, 0))


@one_mpm
def test_looks_find_an_island(httpd, upstream):
    """One that is too small for the levels above: it is made from where it was found."""
    finest = SIDE / 2 ** 4 / 16 * 1.01
    httpd.start(sea(upstream, prune='uniform=1 check=100'))
    upstream.lands = [LAND, (0, 0, 62.5, 62.5, finest)]
    document = done(httpd, 'stub', zoomStop=STOP, threadCount=1)
    assert document['prunedChecked'] >= document['prunedWrong'] > 0
    assert document['tilesMade'] + document['tilesPruned'] == total()
    assert document['upstreamRequests'] == len(upstream.requests)
    for level in range(4, STOP + 1):
        assert colours(tile(httpd, level, 0, 0)) != {SEA}
    assert colours(tile(httpd, STOP, 0, 63)) == {SEA}


@one_mpm
def test_an_island_that_was_found_is_reseeded(httpd, upstream):
    """A reseed makes the tiles of the island anew, also when it has sunk."""
    island = (0, 0, 62.5, 62.5, SIDE / 2 ** 4 / 16 * 1.01)
    httpd.start(sea(upstream, prune='uniform=1 check=100'))
    upstream.lands = [LAND, island]
    assert done(httpd, 'stub', zoomStop=STOP, threadCount=4)['prunedWrong'] > 0
    before = tile(httpd, STOP, 1, 1).body
    again = done(httpd, 'stub', zoomStop=STOP, threadCount=4, type='reseed')
    assert again['tilesProcessed'] == total()
    assert colours(tile(httpd, STOP, 1, 1)) != {SEA}
    upstream.lands = [LAND]
    done(httpd, 'stub', zoomStop=STOP, threadCount=4, type='reseed')
    for level in range(4, STOP + 1):
        assert colours(tile(httpd, level, 0, 0)) == {SEA}
    assert tile(httpd, STOP, 1, 1).body != before


@one_mpm
def test_a_truncate_forgets(httpd, upstream):
    """What it removes is asked of the upstream again."""
    httpd.start(sea(upstream))
    first = done(httpd, 'stub', zoomStop=STOP, threadCount=1)
    asked = len(upstream.requests)
    truncate = done(httpd, 'stub', type='truncate', zoomStart=STOP, zoomStop=STOP,
                    bounds={'coords': {'double': [0, 0, 10, 10]}})
    assert (truncate['tilesRemoved'], truncate['prunedForgotten']) == (0, 1)
    assert ', 1 metatile of one colour forgotten' in httpd.error_log()
    assert first['prunedForgotten'] == 0
    assert colours(tile(httpd, STOP, 0, 0)) == {SEA}
    assert len(upstream.requests) == asked + 1
    assert colours(tile(httpd, STOP, 0, 63)) == {SEA}       # below another metatile
    assert len(upstream.requests) == asked + 1


@one_mpm
def test_what_is_found_of_before_a_truncate_is_forgotten(httpd, upstream):
    """The map changes while a worker is storing the sea, and all is truncated: what the worker
    brings back prunes nothing."""
    mischief = httpd.make_mischief()
    httpd.start(sea(upstream, prune='uniform=0 check=0', options='link-uniform=off'))
    upstream.lands = []
    mischief.hang(httpd.path('cache'), True)
    seed = begin(httpd, 'stub', zoomStop=3, threadCount=1)
    wait_until(lambda: any(path.is_file() for path in httpd.path('cache').rglob('*')),
               what='a write')
    upstream.lands = [(0, 0, SIDE, SIDE, SIDE)]
    truncate = begin(httpd, 'stub', type='truncate', zoomStop=3)
    wait_until(lambda: task(httpd, truncate)['state'] == 'RUNNING')
    mischief.hang(httpd.path('cache'), False)
    assert ended(httpd, truncate)['state'] == ended(httpd, seed)['state'] == 'DONE'
    assert task(httpd, seed)['tilesPruned'] == 0
    for level in range(4):
        assert colours(tile(httpd, level, 0, 0)) != {SEA}


@one_mpm
def test_what_was_asked_for_before_is_made_anew(httpd, upstream):
    """The land sinks while a seed waits for its picture: a reseed, which finds sea above, does not
    pass the tiles that the seed is about to store."""
    httpd.start(sea(upstream, prune='uniform=0 check=0'))
    upstream.lands = [(0, 0, SIDE, SIDE, SIDE)]
    upstream.always = Fault('held_news')
    seed = begin(httpd, 'stub', zoomStart=3, zoomStop=3, threadCount=1,
                 bounds={'coords': {'double': [0, 0, 240, 240]}})
    wait_until(lambda: upstream.requests, what='the request of the seed')
    upstream.lands, upstream.always = [], None
    reseed = begin(httpd, 'stub', type='reseed', zoomStop=3, threadCount=1)
    wait_until(lambda: task(httpd, reseed)['tilesProcessed'] >= total(2), what='what lies above')
    upstream.released.set()
    assert ended(httpd, seed)['tilesMade'] == 4
    assert ended(httpd, reseed)['state'] == 'DONE'
    assert colours(tile(httpd, 3, 0, 0)) == {SEA}


@one_mpm
@pytest.mark.parametrize('lines', [['TileSeedMetatile 4x4'], ['TileSeedFormat image/png level=9'],
                                   ['TileSeedPrune off']])
def test_another_recipe_forgets(httpd, upstream, lines):
    """The next seed asks for what was pruned, as the new configuration has it."""
    httpd.start(sea(upstream))
    first = done(httpd, 'stub', zoomStop=5, threadCount=1)
    assert first['tilesPruned'] > 0
    meta = lines[0].split()[1] if 'Metatile' in lines[0] else '2x2'
    lines = [] if 'Metatile' in lines[0] else lines
    prune = [] if 'Prune' in ''.join(lines) else ['TileSeedPrune uniform=30']
    httpd.restart(REST + TILES + stub(upstream, *prune, *lines, meta=meta))
    again = done(httpd, 'stub', zoomStop=5, threadCount=8)
    assert counts(again) == (first['tilesPruned'], first['tilesMade'], 0, 0)
    assert again['tilesPruned'] == 0


@one_mpm
def test_a_part_of_the_map(httpd, upstream):
    """A task with bounds counts what it wants; what it found holds for the next."""
    httpd.start(sea(upstream))
    part = {'coords': {'double': [0, 0, 240, 240]}}
    first = done(httpd, 'stub', zoomStop=STOP, threadCount=1, bounds=part)
    assert first['tilesMade'] + first['tilesPruned'] == first['tilesTotal']
    assert first['tilesPruned'] > 0
    second = done(httpd, 'stub', zoomStop=STOP, threadCount=1)
    assert second['tilesMade'] + second['tilesSkipped'] + second['tilesPruned'] == total()
    assert second['tilesSkipped'] <= first['tilesMade']
    assert second['tilesPruned'] > first['tilesPruned']


@one_mpm
@pytest.mark.parametrize('threads', [1, 4])
def test_joined_requests_leave_out_what_is_pruned(httpd, upstream, threads):
    """Neighbours that nothing prunes are fetched by one request. Each tile is counted once, and is
    of the colour that the map has there."""
    httpd.start(sea(upstream, meta='auto max=16x16', prune='uniform=1 check=5'))
    upstream.decide = lambda asked: Fault('delay', .02)
    document = done(httpd, 'stub', zoomStop=STOP, threadCount=threads)
    assert document['tilesMade'] + document['tilesPruned'] == document['tilesTotal'] == total()
    assert document['tilesPruned'] > total() / 2 and document['prunedWrong'] == 0
    assert any(int(asked['WIDTH']) > 4 * 16 for asked in upstream.requests)
    assert len(upstream.requests) == document['upstreamRequests'] < document['tilesMade'] / 16
    assert len(list(httpd.path('cache').rglob('*.png'))) == document['tilesMade']
    asked = len(upstream.requests)
    for column in range(0, 64, 3):
        for row in range(0, 64, 3):
            is_wet = wet([LAND], STOP, column, row)
            assert (SEA in colours(tile(httpd, STOP, column, row))) == is_wet, (column, row)
    assert len(upstream.requests) == asked


@one_mpm
@pytest.mark.parametrize('prune, meta', [('uniform=1 check=0', '2x2'),
                                         ('uniform=1 check=20 sparse=on', '2x2'),
                                         ('uniform=1 check=20', 'auto max=16x16')])
def test_killed_in_the_middle(httpd, upstream, prune, meta):
    """The counts add up, whenever the seeder dies, and what was pruned is served."""
    httpd.expect('ended unexpectedly|AH00052')
    httpd.start(sea(upstream, prune=prune, meta=meta))
    upstream.always = Fault('delay', 0.02)
    number = begin(httpd, 'stub', zoomStop=STOP, threadCount=2)
    for least in (1, 300, 1500):
        wait_until(lambda least=least: task(httpd, number)['tilesProcessed'] >= least)
        old = seeder_of(httpd)
        if task(httpd, number)['state'] == 'RUNNING' and old:
            os.kill(old, signal.SIGKILL)
            wait_until(lambda old=old: seeder_of(httpd) not in (None, old))
    document = ended(httpd, number)
    assert document['state'] == 'DONE', document
    assert document['tilesMade'] + document['tilesSkipped'] + document['tilesPruned'] == total()
    assert document['tilesPruned'] > 0
    asked = len(upstream.requests)
    for place in ((0, 0), (5, 60), (62, 1), (63, 63), (20, 20)):
        assert colours(tile(httpd, STOP, *place)) == {SEA}
    assert len(upstream.requests) == asked
    assert files(httpd)


@one_mpm
def test_a_partner_with_larger_requests(httpd, upstream):
    """Another layer joins metatiles: no tile is counted both as pruned and as made."""
    upstream.lands = [(500, 500, 562.5, 562.5, SIDE)]
    more = layer('other', 'TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small',
                 'TileSeedMetatile auto max=16x16', 'TileSeedPrune uniform=0 check=0 sparse=on')
    httpd.start(REST + TILES + stub(upstream, meta='auto max=16x16') + more)
    upstream.decide = lambda asked: Fault('delay', .02)
    done(httpd, 'stub', zoomStop=STOP, threadCount=4)      # finds its size
    done(httpd, 'stub', zoomStop=STOP, type='truncate')
    upstream.decide = lambda asked: Fault('held') if resolution(asked) < 2.5 else None
    upstream.requests.clear()
    numbers = [begin(httpd, 'other', zoomStop=STOP, threadCount=1)]
    wait_until(lambda: any(resolution(asked) < 2.5 for asked in upstream.requests))
    numbers.append(begin(httpd, 'stub', zoomStart=5, zoomStop=STOP, threadCount=16))
    wait_until(lambda: any(int(asked['WIDTH']) > 64 for asked in upstream.requests))
    upstream.released.set()
    document = [ended(httpd, number) for number in numbers][0]
    assert document['tilesMade'] + document['tilesPruned'] == document['tilesProcessed'] == total()
    assert document['tilesPruned'] > 0
