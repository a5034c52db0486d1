# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What is old stays away once a reseed that was accepted after the change is done: answers that
were asked for before it, findings of before, tiles of a task that did not end well, and copies that
clients have kept."""
import io
import os
import signal
import threading

import pytest
from PIL import Image

import upstream as stubs
from seeding import REST, begin, coords, done, ended, geowebcache_path, seeder_of, stub, task
from test_prune import SEA, SIDE, TILES, colours, lose, tile
from test_sync import FAILS, WORKS
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

OLD, NEW = 50, 90           # shades of grey
FORMATS = ('TileSeedFormat image/png', 'TileSeedFormat image/webp lossless=on from=image/png')
LEVEL = {'zoomStart': 3, 'zoomStop': 3}
BLOCK = [(3, x, y) for x in (0, 1) for y in (0, 1)]     # the first metatile of level 3


def pruned(upstream, prune='uniform=0 check=0', **more):
    """The configuration of a pruned layer."""
    return REST + TILES + stub(upstream, f'TileSeedPrune {prune}', **more)


def shade(answer):
    """The grey of a tile."""
    return max(map(max, colours(answer)))


def of_another_shade(httpd, wanted, levels, side=1):
    """The tiles of a part of the map, from the lower left corner, that are not of a shade."""
    places = [(z, x, y) for z in levels for x in range(int(2 ** z * side))
              for y in range(int(2 ** z * side))]
    return [place for place in places if shade(tile(httpd, *place)) != wanted]


# ---- answers of before ----

@one_mpm
@pytest.mark.parametrize('sparse', ['on', 'off'])
@pytest.mark.parametrize('part', [1, 0.5])
def test_an_answer_of_an_upper_level(httpd, upstream, sparse, part):
    """A seed has asked for level 1 before the data changed, and gets its answer when a reseed of
    the levels below is done: what it says of these is out of date."""
    end = SIDE * part - 5
    httpd.start(pruned(upstream, f'uniform=0 check=0 sparse={sparse}'))
    upstream.shade, upstream.always = OLD, Fault('held_news')
    seed = begin(httpd, 'stub', zoomStart=1, zoomStop=1)
    wait_until(lambda: upstream.under_way == 1, what='the request of the seed')
    upstream.shade, upstream.always = NEW, None
    done(httpd, 'stub', type='reseed', zoomStart=2, zoomStop=4, bounds=coords(5, 5, end, end))
    upstream.released.set()
    assert ended(httpd, seed)['state'] == 'DONE'
    assert not of_another_shade(httpd, NEW, (2, 3, 4), part)


@one_mpm
@pytest.mark.parametrize('waits', [False, True])
def test_an_answer_of_a_partner(httpd, upstream, monkeypatch, waits):
    """A slow task and its partner have begun before the data changed. A younger reseed makes some
    tiles anew that the slow one would take of its partner's answers, kept or still to come."""
    late, partners = threading.Event(), threading.Event()

    def answer_late(handler, asked, _):
        gate = late if asked['BBOX'].startswith('0,0,') else partners
        handler.answer_well(asked, lambda: gate.wait(60))
    monkeypatch.setitem(stubs.Handler.FAULTS, 'late', answer_late)
    httpd.start(REST + TILES + stub(upstream, *FORMATS, connections=40))
    for mime in ('image/png', 'image/webp'):
        done(httpd, 'stub', format=mime, **LEVEL)
    upstream.requests.clear()
    upstream.shade, upstream.always = OLD, Fault('late')
    slow = begin(httpd, 'stub', type='reseed', format='image/png', threadCount=1, **LEVEL)
    wait_until(lambda: upstream.under_way == 1, what='the first request')
    partner = begin(httpd, 'stub', type='reseed', format='image/webp', threadCount=30, **LEVEL)
    wait_until(lambda: len(upstream.requests) == 16, what='all requests')
    if not waits:
        partners.set()
        wait_until(lambda: task(httpd, partner)['tilesProcessed'] >= 52, what='their answers')
    upstream.shade, upstream.always = NEW, None
    done(httpd, 'stub', type='reseed', format='image/png', threadCount=8,
         bounds=coords(255, 255, 995, 995), **LEVEL)
    late.set()
    partners.set()
    assert ended(httpd, slow)['state'] == ended(httpd, partner)['state'] == 'DONE'
    assert not [(x, y) for x in range(2, 8) for y in range(2, 8)
                if shade(httpd.get(f'/tiles/tms/stub/small/3/{x}/{y}.png')) != NEW]


# ---- tasks that do not end well ----

def end_amid_metatile(httpd, number, paths, end):
    """Ends a task when some of a metatile's tiles are stored."""
    wait_until(lambda: any(path.is_file() for path in paths), longest=.01)
    pid = seeder_of(httpd)
    if end == 'killed':
        os.kill(pid, signal.SIGSTOP)
    httpd.request('DELETE', f'/rest/tasks/{number}.json')
    if end == 'killed':
        os.kill(pid, signal.SIGKILL)


@one_mpm
@pytest.mark.parametrize('end', ['terminated', 'killed', 'obstacle'])
def test_a_part_of_a_metatile_is_stored(httpd, upstream, end):
    """A reseed below a finding stores some tiles of another colour and ends. Then all is as before,
    and the next reseed finds the top as it was."""
    httpd.expect('.*')
    mischief = httpd.make_mischief()
    httpd.start(pruned(upstream, options='link-uniform=off'))
    upstream.shade = OLD
    assert done(httpd, 'stub', zoomStop=3)['tilesPruned'] > 0
    upstream.shade = NEW
    part = {**LEVEL, 'bounds': coords(5, 5, 245, 245)}
    paths = [httpd.path('cache') / geowebcache_path('stub', 'small', 'png', place)
             for place in BLOCK]
    if end == 'obstacle':
        done(httpd, 'stub', type='reseed', **LEVEL, bounds=coords(255, 5, 495, 245))
        paths[-1].mkdir()
        done_not_well = ended(httpd, begin(httpd, 'stub', type='reseed', **part))
        assert done_not_well['tilesFailed'] > 0
        paths[-1].rmdir()
    else:
        mischief.name_slowly(httpd.path('cache'), 1)
        number = begin(httpd, 'stub', type='reseed', **part)
        end_amid_metatile(httpd, number, paths, end)
        mischief.name_slowly(httpd.path('cache'), 0)
        assert ended(httpd, number)['state'] == 'ABORTED'
    assert any(path.is_file() for path in paths)
    upstream.shade = OLD
    done(httpd, 'stub', type='reseed', zoomStop=3)
    assert not of_another_shade(httpd, OLD, (3,), 0.25)


@one_mpm
def test_a_reseed_whose_disk_has_failed(httpd, upstream):
    """The task's reason advises a reseed, which finds the top as it was."""
    httpd.expect('.*')
    mischief = httpd.make_mischief()
    httpd.start(pruned(upstream))
    upstream.shade = OLD
    assert done(httpd, 'stub', zoomStop=4)['tilesPruned'] > 0
    upstream.shade, upstream.always = NEW, Fault('delay', .1)
    number = begin(httpd, 'stub', type='reseed', zoomStart=4, zoomStop=4)
    wait_until(lambda: task(httpd, number)['tilesProcessed'] >= 8)
    mischief.hold_syncs(httpd.path('cache'), FAILS)
    wait_until(lambda: "can't be synced" in httpd.error_log(), what='a failure')
    mischief.hold_syncs(httpd.path('cache'), WORKS)
    assert 'a reseed makes them again' in ended(httpd, number)['reason']
    upstream.shade, upstream.always = OLD, None
    done(httpd, 'stub', type='reseed', zoomStop=4)
    assert not of_another_shade(httpd, OLD, (4,))


# ---- findings of before ----

@one_mpm
@pytest.mark.parametrize('few', [0, 1])
@pytest.mark.parametrize('how', ['graceful', 'restart'])
def test_fewer_levels(httpd, upstream, few, how):
    """A finding that was too little to rely on is older than a reseed of what lies below."""
    httpd.start(pruned(upstream, 'uniform=2 check=0'))
    upstream.shade = OLD
    done(httpd, 'stub', zoomStop=1)
    upstream.shade = NEW
    assert done(httpd, 'stub', type='reseed', zoomStart=2, zoomStop=5)['tilesPruned'] > 0
    getattr(httpd, how)(pruned(upstream, f'uniform={few} check=0'))
    assert not of_another_shade(httpd, NEW, (2, 3, 5))


@one_mpm
@pytest.mark.parametrize('then', ['lost', 'sinks'])
def test_a_hole_of_the_last_level(httpd, upstream, then):
    """A tile of a metatile is land. Another tile of it is reseeded, which is sea as all above."""
    upstream.lands = []
    config = pruned(upstream).replace('TileSeedGrid small', 'TileSeedGrid small zoom=0-4')
    httpd.start(config)
    assert done(httpd, 'stub', zoomStop=4)['tilesPruned'] > 0
    island = (62.5, 62.5, 125, 125, SIDE / 2 ** 4 / 16 * 1.01)
    upstream.lands = [island]
    last = {'type': 'reseed', 'zoomStart': 4, 'zoomStop': 4}
    done(httpd, 'stub', bounds=coords(65, 65, 120, 120), **last)
    done(httpd, 'stub', bounds=coords(5, 5, 60, 60), **last)
    assert colours(tile(httpd, 4, 1, 1)) != {SEA}
    if then == 'lost':
        lose(httpd)
        assert colours(tile(httpd, 4, 1, 1)) != {SEA}
    else:
        upstream.lands = []
        done(httpd, 'stub', type='reseed', zoomStop=4)
        assert colours(tile(httpd, 4, 1, 1)) == {SEA}


@one_mpm
def test_a_part_does_not_speak_for_all(httpd, upstream):
    """Levels 2 and then 1 are found to be sea, so level 2 does not prune. The right half of its
    metatile becomes land below; then the left half is found to be sea once more."""
    upstream.lands = []
    httpd.start(pruned(upstream, 'uniform=1 check=0'))
    for level in (2, 1):
        done(httpd, 'stub', zoomStart=level, zoomStop=level)
    upstream.lands = [(250, 250, 500, 500, SIDE)]
    done(httpd, 'stub', type='reseed', zoomStart=3, zoomStop=6, bounds=coords(255, 255, 495, 495))
    done(httpd, 'stub', type='reseed', zoomStart=2, zoomStop=2, bounds=coords(5, 5, 245, 245))
    places = [(z, x, y) for z in (3, 4, 5, 6) for x in range(2 ** z // 4, 2 ** z // 2)
              for y in range(2 ** z // 4, 2 ** z // 2)]
    assert not [place for place in places if colours(tile(httpd, *place)) == {SEA}]


# ---- copies of clients ----

COLOURS = [(200, 0, 0), (0, 200, 0), (0, 0, 200), (200, 200, 0)]
PLACES = [(0, 0), (1, 0), (0, 1), (1, 1)]


@one_mpm
def test_colours_that_change_places(httpd, upstream, monkeypatch):
    """Files of one colour that were made in one tick of the file system's clock have one size and
    one time. A client that has kept a tile is not told that it is good when its colour is gone."""
    turned = 0

    def image(_, asked, smaller=0):
        side = (int(asked['WIDTH']) - smaller) // 2
        whole = Image.new('RGB', (2 * side, 2 * side))
        for i, (x, y) in enumerate(PLACES):
            whole.paste(COLOURS[(i + turned) % 4],
                        (x * side, y * side, (x + 1) * side, (y + 1) * side))
        buffer = io.BytesIO()
        whole.save(buffer, 'PNG')
        return buffer.getvalue()

    def look(place, **headers):
        return httpd.get('/tiles/stub/small/1/{}/{}.png'.format(*place), headers=headers)
    monkeypatch.setattr(stubs.Handler, 'image', image)
    httpd.start(REST + TILES + stub(upstream))
    done(httpd, 'stub', zoomStart=1, zoomStop=1)
    for master in httpd.path('cache/.tileseed/links').rglob('*'):
        if master.is_file():
            os.utime(master, (1800000000, 1800000000))
    kept = {place: look(place) for place in PLACES}
    for turned in (1, 2, 3):
        done(httpd, 'stub', type='reseed', zoomStart=1, zoomStop=1)
        for i, place in enumerate(PLACES):
            assert colours(look(place)) == {COLOURS[(i + turned) % 4]}
            again = look(place, **{'If-None-Match': kept[place].headers['ETag']})
            assert again.status == 200, place
