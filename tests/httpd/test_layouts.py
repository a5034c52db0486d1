# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A seed and a truncate in each layout; the names are worked out here by the peers' formulas."""
import pytest

from quota import usage
from seeding import (GRIDS, REST, begin, coords, counts, done, empty_folders, ended, files,
                     geowebcache_path, stub)
from tileseed_httpd import one_mpm, wait_until

TILES = '<Location "/tiles">\n    TileSeedTiles on\n    Require local\n</Location>\n'
NAME = 'topp:my states'
SAFE = 'topp_my_states'


def split(number):
    """A number in three groups of three digits, as TileCache and MapCache write it."""
    return f'{number // 10 ** 6:03d}/{number // 1000 % 1000:03d}/{number % 1000:03d}'


def from_top(tile):
    """The row, counted from the top in a level of 2^z rows."""
    z, _, y = tile
    return 2 ** z - 1 - y


def xyz(tile):
    """GeoWebCache's SLIPPY."""
    z, x, _ = tile
    return f'{SAFE}/small/{z}/{x}/{from_top(tile)}.png'


def tms(tile):
    """GeoWebCache's TMS."""
    z, x, y = tile
    return f'{SAFE}/small/{z}/{x}/{y}.png'


def tilecache(tile):
    """MapCache's tilecache."""
    z, x, y = tile
    return f'{SAFE}/small/{z:02d}/{split(x)}/{split(y)}.png'


def arcgis(tile):
    """Esri's exploded cache, rows from the top."""
    z, x, _ = tile
    return f'{SAFE}/small/L{z:02d}/R{from_top(tile):08x}/C{x:08x}.png'


def quadkey(tile):
    """One digit a level: 1 for the right half, 2 for the lower."""
    z, x, _ = tile
    y = from_top(tile)
    digits = ((x >> bit & 1) + 2 * (y >> bit & 1) for bit in reversed(range(z)))
    return f'{SAFE}/small/' + ''.join(map(str, digits)) + '.png'


def template(tile):
    """The template below."""
    z, x, y = tile
    return f't/{SAFE}-small/{z}/{x}_{y}_{from_top(tile)}.png'


LAYOUTS = {
    'geowebcache': lambda tile: geowebcache_path(NAME, 'small', 'png', tile),
    'xyz': xyz,
    'tms': tms,
    'tilecache': tilecache,
    'arcgis': arcgis,
    'quadkey': quadkey,
    't/{layer}-{gridset}/{z}/{x}_{-y}_{y}.{ext}': template,
}


@one_mpm
@pytest.mark.parametrize('layout', LAYOUTS)
def test_names_of_files(httpd, upstream, layout):
    """Each tile lies where the layout says, and truncate finds it there again."""
    first = 1 if layout == 'quadkey' else 0     # level 0 has no digit
    path = LAYOUTS[layout]
    httpd.start(REST + stub(upstream, name=NAME, store=layout, meta='4x4'))
    tiles = GRIDS['small'].between(first, 4)
    document = done(httpd, NAME, zoomStart=first, zoomStop=4, threadCount=2)
    assert counts(document) == (len(tiles), 0, 0, 0)
    assert files(httpd) == {path(tile) for tile in tiles}

    bounds = (300, 510, 620, 930)
    gone = GRIDS['small'].between(2, 4, bounds)
    document = done(httpd, NAME, type='truncate', bounds=coords(*bounds), zoomStart=2)
    assert document['tilesRemoved'] == len(gone)
    assert files(httpd) == {path(tile) for tile in tiles - gone}
    assert done(httpd, NAME, type='truncate')['tilesRemoved'] == len(tiles - gone)
    assert not files(httpd)
    assert not empty_folders(httpd)


@one_mpm
@pytest.mark.parametrize('layout', ['geowebcache', 'tilecache'])
def test_cache_that_is_copied(httpd, upstream, layout):
    """The files of GeoWebCache or MapCache are served as they are, and counted."""
    tiles = GRIDS['small'].between(0, 3)
    cache = httpd.folder('cache')
    for z, x, y in tiles:
        file = cache / LAYOUTS[layout]((z, x, y))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(f'{z} {x} {y}'.encode())
    httpd.start(REST + TILES + stub(upstream, name=NAME, store=layout))
    for z, x, y in sorted(tiles):
        row = 2 ** z - 1 - y
        answer = httpd.get(f'/tiles/topp:my%20states/small/{z}/{x}/{row}.png')
        assert (answer.status, answer.body) == (200, f'{z} {x} {y}'.encode())
    wait_until(lambda: usage(httpd)['complete'])
    assert usage(httpd)['tiles'] == len(tiles)
    assert not upstream.requests


@one_mpm
def test_what_is_no_tile_stays(httpd, upstream):
    """Truncate leaves files alone that others put there, and does not follow links."""
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=2)
    cache = httpd.path('cache')
    elsewhere = httpd.folder('elsewhere')
    foreign = ['stub/metadata.properties', 'stub/small_02/0_0/00_00.txt',
               'stub/small_02/0_0/0_0.png', 'stub/other_02/0_0/00_00.png']
    for path in foreign:
        cache.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        cache.joinpath(path).write_text('not ours')
    tile = elsewhere / '05_05.png'
    tile.write_text('not ours')
    cache.joinpath('stub/small_03').mkdir(exist_ok=True)
    cache.joinpath('stub/small_03/0_0').symlink_to(elsewhere)
    document = ended(httpd, begin(httpd, 'stub', type='truncate'))
    assert document['state'] == 'DONE'
    assert document['tilesRemoved'] == 1 + 4 + 16
    assert set(foreign) <= files(httpd)
    assert tile.exists()
