# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Derived levels: tiles that are the mean of the four below them, and never the upstream's."""
import io
import json
import os
import signal

import pytest
from PIL import Image

from imagery import Imagery, draw, light, psnr
from imagery import signal as shade_of
from seeding import (GRIDS, REST, begin, coords, counts, done, ended, failures, files,
                     geowebcache_path, seeder_of, stub, task)
from test_tiles import TILES
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

GRID = GRIDS['small']
EXTENSIONS = {'image/png': 'png', 'image/jpeg': 'jpeg', 'image/webp': 'webp'}
MISSING = 'tile %d/%d/%d is missing below it: seed %s first'


@pytest.fixture
def imagery():
    """The upstream, which draws nothing at derived levels that anybody may see."""
    with Imagery() as server:
        yield server


def path(httpd, tile, extension='png'):
    """Where a tile lies."""
    return httpd.path('cache') / geowebcache_path('stub', 'small', extension, tile)


def picture(httpd, tile, extension='png'):
    """A tile, decoded."""
    with Image.open(path(httpd, tile, extension)) as found:
        return found.convert('RGBA' if 'A' in found.mode or found.info.get('transparency')
                             else 'RGB')


def levels_asked(imagery):
    """The resolutions that the upstream was asked for, as levels."""
    asked = [[float(number) for number in request['BBOX'].split(',')] + [int(request['WIDTH'])]
             for request in imagery.requests]
    return {round(1000 / 16 / ((box[2] - box[0]) / box[4])).bit_length() - 1 for box in asked}


def number_of(levels):
    """Tiles of some levels."""
    return sum(4 ** z for z in levels)


def mean_of(pixels):
    """Four opaque pixels, worked out in floating point."""
    return tuple(shade_of(sum(light(pixel[band]) for pixel in pixels) / 4) for band in range(3))


def halves(httpd, tile):
    """What a tile must be, made here of the four tiles below it."""
    z, x, y = tile
    four = Image.new('RGB', (32, 32))
    for right in (0, 1):
        for up in (0, 1):
            four.paste(picture(httpd, (z + 1, 2 * x + right, 2 * y + up)),
                       (16 * right, 16 - 16 * up))
    made = Image.new('RGB', (16, 16))
    made.putdata([mean_of([four.getpixel((2 * x + i, 2 * y + k)) for i in (0, 1) for k in (0, 1)])
                  for y in range(16) for x in range(16)])
    return made


def assert_near(one, other):
    """Equal, but for a step where a mean lies in the middle between two values."""
    for a, b in zip(one.convert('RGB').tobytes(), other.tobytes()):
        assert abs(a - b) <= 1


@pytest.mark.main_path
@one_mpm
def test_levels_are_made_of_the_tiles_below(httpd, imagery):
    """From the last level up; the upstream is asked for the other levels alone."""
    httpd.start(REST + stub(imagery, 'TileSeedDerive zoom=1-3'))
    document = done(httpd, 'stub', zoomStop=4, threadCount=4)
    assert counts(document) == (number_of(range(5)), 0, 0, 0)
    assert document['derived'] == {'zoomStart': 1, 'zoomStop': 3}
    assert [level['finished'] for level in document['levels']] == [1, 1, 4, 16, 64]
    assert levels_asked(imagery) == {0, 4}
    assert document['upstreamRequests'] == 65 == len(imagery.requests)
    for tile in sorted(GRID.between(1, 3)):
        assert_near(picture(httpd, tile), halves(httpd, tile))
    usage = httpd.get('/rest/layers.json').json()['layers'][0]
    assert usage['derived'] == {'zoomStart': 1, 'zoomStop': 3}


def encoded(tile, kind):
    """A tile, encoded and decoded once by another program."""
    if kind == 'PNG':
        return tile
    buffer = io.BytesIO()
    tile.save(buffer, kind, quality=90)
    return Image.open(io.BytesIO(buffer.getvalue())).convert('RGB')


def level(z, tile_of):
    """A picture of a whole level."""
    whole = Image.new('RGB', (16 << z, 16 << z))
    for tile in GRID.tiles(z):
        whole.paste(tile_of(tile), (16 * tile[1], (16 << z) - 16 * tile[2] - 16))
    return whole


@one_mpm
@pytest.mark.parametrize('kind, options, worse', [
    ('PNG', '', 0), ('JPEG', 'from=image/png quality=90', 2), ('WebP', 'quality=90', 2)])
def test_levels_are_near_to_the_upstreams_own(httpd, imagery, kind, options, worse):
    """Also four levels up. Without loss they are nearly the same; where each level is encoded with
    loss they are at most a little farther away than the upstream's, encoded once."""
    mime = f'image/{kind.lower()}'
    httpd.start(REST + stub(imagery, 'TileSeedDerive zoom=0-3', f'TileSeedFormat {mime} {options}'))
    done(httpd, 'stub', zoomStop=4, threadCount=4, format=mime)
    for z in range(4):
        truth = draw((0, 0, 1000, 1000), 16 << z, 16 << z)
        tiles = {(z, x, y): truth.crop((16 * x, (16 << z) - 16 * y - 16, 16 * x + 16,
                                        (16 << z) - 16 * y))
                 for _, x, y in GRID.tiles(z)}
        own = psnr(level(z, lambda tile, tiles=tiles: encoded(tiles[tile], kind)), truth)
        found = psnr(level(z, lambda tile: picture(httpd, tile, EXTENSIONS[mime])), truth)
        print(z, kind, found, own)
        assert found > min(own - worse, 55), (z, found, own)


@one_mpm
def test_a_reseed_derives_what_has_changed(httpd, imagery):
    """One metatile of the lowest level is another: the tiles above it are made again."""
    httpd.start(REST + stub(imagery, 'TileSeedDerive zoom=0-2', options='link-uniform=off'))
    done(httpd, 'stub', zoomStop=3)
    document = done(httpd, 'stub', zoomStop=3, type='reseed')
    everything = number_of(range(4))
    assert counts(document) == (0, everything, 0, 0) and document['tilesUnchanged'] == everything
    before = {name: os.stat(httpd.path('cache') / name).st_ino for name in files(httpd)}
    imagery.repainted = {(0, 0, 250, 250)}
    document = done(httpd, 'stub', zoomStop=3, type='reseed')
    assert counts(document) == (7, everything - 7, 0, 0)
    after = {name: os.stat(httpd.path('cache') / name).st_ino for name in files(httpd)}
    assert sum(after[name] != before[name] for name in before) == 7
    assert_near(picture(httpd, (0, 0, 0)), halves(httpd, (0, 0, 0)))
    path(httpd, (1, 1, 1)).unlink()         # a missing tile of unchanged ones is made again
    assert counts(done(httpd, 'stub', zoomStop=3, type='reseed'))[0] >= 1
    assert path(httpd, (1, 1, 1)).exists()


@one_mpm
def test_a_reseed_mends_a_broken_tile_below(httpd, imagery):
    """As the cause advises, though the upstream's answer is unchanged."""
    httpd.expect('TS0053')
    httpd.start(REST + stub(imagery, 'TileSeedDerive zoom=0-2'))
    done(httpd, 'stub', zoomStop=3)
    good = path(httpd, (3, 5, 6)).read_bytes()
    path(httpd, (3, 5, 6)).write_bytes(bytes(len(good)))
    path(httpd, (2, 2, 3)).unlink()
    number = begin(httpd, 'stub', zoomStart=2, zoomStop=2)
    assert ended(httpd, number)['tilesFailed'] == 1
    assert 'is broken, reseed level 3 first' in failures(httpd, number)[0][3]
    done(httpd, 'stub', type='reseed', zoomStart=3, zoomStop=3)
    assert path(httpd, (3, 5, 6)).read_bytes() == good
    done(httpd, 'stub', zoomStart=2, zoomStop=2)


@one_mpm
def test_a_missing_tile_below_is_a_failure(httpd, imagery):
    """Of the tiles above it alone; a retry after the level below was seeded makes them, bottom
    up."""
    httpd.start(REST + stub(imagery, 'TileSeedDerive zoom=0-2', 'TileSeedFailureLimit -1'))
    done(httpd, 'stub', zoomStart=3, zoomStop=3)
    path(httpd, (3, 5, 6)).unlink()
    number = begin(httpd, 'stub', zoomStop=2)
    document = ended(httpd, number)
    assert document['state'] == 'DONE'
    assert counts(document) == (21 - 3, 0, 0, 3)     # 2/2/3, 1/1/1 and 0/0/0 lack something
    assert [row[:4] for row in failures(httpd, number)] == [
        (0, 0, 0, MISSING % (1, 1, 1, 'levels 1 to 3')),
        (1, 0, 0, MISSING % (2, 2, 3, 'levels 2 to 3')),
        (2, 2, 2, MISSING % (3, 5, 6, 'level 3'))]
    done(httpd, 'stub', zoomStart=3, zoomStop=3)
    answer = httpd.post(f'/rest/tasks/{number}/retry', '')
    assert answer.status == 200, answer.body
    retried = ended(httpd, int(answer.headers['TileSeed-Task']))
    assert retried['state'] == 'DONE'
    assert sum(counts(retried)[:2]) == retried['tilesTotal'] and counts(retried)[3] == 0
    assert {f'{z}' for z in range(3)} == {str(level['z']) for level in retried['levels']}
    for tile in GRID.between(0, 2):
        assert_near(picture(httpd, tile), halves(httpd, tile))


@one_mpm
def test_what_lies_above_a_failure_has_failed(httpd, imagery):
    """A reseed makes no derived tile of tiles that it could not make anew, not behind a crash
    either, and the retry makes all of them."""
    httpd.expect('TS0023|TS0053|ended unexpectedly|AH00052')
    httpd.start(REST + stub(imagery, 'TileSeedDerive zoom=0-2', 'TileSeedRetries 0',
                            options='link-uniform=off'))
    done(httpd, 'stub', zoomStop=3)
    imagery.repainted = {(0, 0, 250, 250), (250, 0, 500, 250)}      # columns and rows 0 to 3
    imagery.decide = lambda asked: (Fault('status', 400) if asked['BBOX'].startswith('0,0,') else
                                    Fault('held') if asked['BBOX'].startswith('750,750') else None)
    number = begin(httpd, 'stub', type='reseed', zoomStop=3)
    wait_until(lambda: len(failures(httpd, number)) == 1, what='a failure')
    pid = seeder_of(httpd)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: seeder_of(httpd) not in (None, pid))
    imagery.released.set()
    document = ended(httpd, number)
    assert document['state'] == 'DONE' and document['tilesFailed'] == 4 + 4 + 4 + 1, document
    assert [row[:3] for row in failures(httpd, number)] == [(0, 0, 0), (1, 0, 0), (2, 0, 0),
                                                            (3, 0, 0)]
    assert failures(httpd, number)[0][3] == 'a metatile that it is derived from has failed'
    imagery.decide = lambda asked: None
    answer = httpd.post(f'/rest/tasks/{number}/retry', '')
    assert answer.status == 200, answer.body
    retried = ended(httpd, int(answer.headers['TileSeed-Task']))
    assert retried['state'] == 'DONE' and counts(retried) == (4 + 4 + 4 + 1, 0, 0, 0), retried
    for tile in GRID.between(0, 2):
        assert_near(picture(httpd, tile), halves(httpd, tile))


@one_mpm
def test_a_request_without_the_level_below_is_warned_of(httpd, imagery):
    """Whether a level or a part of it is left out; nobody is warned of what is complete."""
    httpd.start(REST + stub(imagery, 'TileSeedDerive zoom=0-2'))
    warning = 'level {} is made of tiles of level {} that the request does not seed'.format
    for members, expected in (
            ({'zoomStop': 2}, warning(2, 3)), ({'zoomStop': 1}, warning(1, 2)),
            ({'zoomStop': 3}, None), ({'zoomStart': 3, 'zoomStop': 4}, None),
            ({'zoomStop': 2, 'type': 'truncate'}, None),
            ({'zoomStop': 3, 'bounds': coords(0, 0, 100, 100)}, warning(2, 3))):
        answer = httpd.post('/rest/estimate/stub.json', json.dumps(
            {'seedRequest': members}))
        assert answer.status == 200, answer.body
        said = answer.headers.get('TileSeed-Warning')
        assert (expected is None and not said) or expected in said, (members, said)


@one_mpm
def test_what_lies_outside_of_the_layer_is_transparent(httpd, imagery):
    """Its extent ends in the middle of a tile of level 1."""
    httpd.start(REST + stub(imagery, 'TileSeedDerive zoom=1', name='part')
                .replace('TileSeedGrid small', 'TileSeedGrid small extent=0,0,700,1000'))
    done(httpd, 'part', zoomStop=2)
    tile = httpd.path('cache') / geowebcache_path('part', 'small', 'png', (1, 1, 0))
    with Image.open(tile) as found:
        alpha = found.convert('RGBA').getchannel('A')
    assert alpha.crop((0, 0, 8, 16)).getextrema() == (255, 255)
    assert alpha.crop((8, 0, 16, 16)).getextrema() == (0, 0)


@one_mpm
def test_requests_make_tiles_of_what_is_there(httpd, imagery):
    """And say what is missing where it is not; the upstream is never asked."""
    httpd.start(REST + TILES + stub(imagery, 'TileSeedDerive zoom=0-2'))
    done(httpd, 'stub', zoomStart=3, zoomStop=3, bounds=coords(0, 0, 500, 500))
    imagery.requests.clear()
    answer = httpd.get('/tiles/stub/small/2/1/1.png')
    assert answer.status == 404     # rows are counted from the top here
    assert MISSING % (3, 0, 4, 'level 3') in answer.text
    answer = httpd.get('/tiles/stub/small/2/1/3.png')
    assert answer.status == 200 and answer.headers['Cache-Status'].endswith('stored')
    answer = httpd.get('/tiles/stub/small/1/1/1.png')
    assert answer.status == 404
    assert MISSING % (2, 2, 0, 'levels 2 to 3') in answer.text
    assert httpd.get('/tiles/stub/small/2/0/2.png').status == 200
    assert httpd.get('/tiles/stub/small/1/0/1.png').status == 200
    assert imagery.requests == []
    assert_near(picture(httpd, (2, 1, 0)), halves(httpd, (2, 1, 0)))
    assert_near(picture(httpd, (1, 0, 0)), halves(httpd, (1, 0, 0)))


@one_mpm
def test_nothing_is_derived_amid_a_truncate(httpd, imagery):
    """The truncate stands still where the level below begins: no request and no task makes its
    derived tiles of what is left there, not by the next seeder either. Other tiles are made."""
    httpd.expect('TS0026|TS0053|ended unexpectedly|AH00052')
    mischief = httpd.make_mischief()
    httpd.start(REST + TILES + 'TileSeedThreads 1\n' + stub(imagery, 'TileSeedDerive zoom=0-2'))
    done(httpd, 'stub', zoomStop=3)
    path(httpd, (2, 3, 3)).unlink()
    imagery.decide = lambda asked: Fault('held') if asked['BBOX'].startswith('750,750') else None
    before = len(imagery.requests)
    reseed = begin(httpd, 'stub', type='reseed', zoomStop=3)
    wait_until(lambda: len(imagery.requests) > before and
               imagery.requests[-1]['BBOX'].startswith('750,750'), what='the last request')
    mischief.freeze(path(httpd, (3, 0, 0)).parent, 1)
    truncate = begin(httpd, 'stub', type='truncate', zoomStop=3, bounds=coords(0, 0, 500, 500))
    imagery.decide = lambda asked: None
    imagery.released.set()
    wait_until(lambda: 'paused' in (task(httpd, truncate)['reason'] or ''), what='a stop')
    for _ in range(2):
        answer = httpd.get('/tiles/stub/small/2/0/3.png')   # rows are counted from the top here
        assert answer.status == 503 and answer.headers['Retry-After']
        assert f'task {truncate}, a truncate, is removing' in answer.text
        assert not path(httpd, (2, 0, 0)).exists()
        pid = seeder_of(httpd)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: seeder_of(httpd) not in (None, pid))
    answer = httpd.get('/tiles/stub/small/2/3/0.png')
    assert answer.status == 200, answer.text
    wait_until(lambda: f'waits for task {truncate}' in (task(httpd, reseed)['reason'] or ''))
    mischief.freeze(httpd.path('cache'), 0)
    assert ended(httpd, truncate)['state'] == 'DONE'
    assert ended(httpd, reseed)['tilesFailed'] > 0
    assert httpd.get('/tiles/stub/small/2/0/3.png').status == 404


@one_mpm
def test_a_killed_seeder_goes_on_exactly(httpd, imagery):
    """Amid the derived levels: all counts add up, and every tile is what it must be."""
    httpd.start(REST + stub(imagery, 'TileSeedDerive zoom=0-4', options='link-uniform=off'))
    httpd.expect('seeder')
    done(httpd, 'stub', zoomStart=5, zoomStop=5, threadCount=8)
    number = begin(httpd, 'stub', zoomStop=5, threadCount=2)
    for least in (100, 1024 + 60, 1024 + 280):
        wait_until(lambda least=least: task(httpd, number)['tilesProcessed'] >= least)
        pid = seeder_of(httpd)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: seeder_of(httpd) not in (None, pid))
    document = ended(httpd, number)
    assert document['state'] == 'DONE'
    assert counts(document) == (number_of(range(5)), 4 ** 5, 0, 0)
    for tile in sorted(GRID.between(0, 4))[::7]:
        assert_near(picture(httpd, tile), halves(httpd, tile))
