# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A real map, seeded by the module, compared with what MapServer draws for the test itself."""
import io
import os
import threading

import pytest
from PIL import Image, ImageChops, ImageStat

from seeding import (GRIDS, REST, Watch, begin, coords, counts, cut, done, empty_folders, ended,
                     files, geowebcache_path, layer, rows, stub, task, terminate, world)
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

EUROPE = {'EPSG:4326': (-12.5, 35, 31, 59.5),
          'EPSG:900913': (-1500000, 4100000, 3600000, 8300000),
          'EPSG:3857': (-1500000, 4100000, 3600000, 8300000)}

# Formats that the demo's MapServer lacks: a palette, and colours beside transparency.
MORE_FORMATS = '''
  OUTPUTFORMAT
    NAME "palette"
    DRIVER "AGG/PNG"
    MIMETYPE "image/png; mode=8bit"
    IMAGEMODE RGB
    EXTENSION "png"
    FORMATOPTION "QUANTIZE_FORCE=on"
    FORMATOPTION "QUANTIZE_COLORS=64"
  END
  OUTPUTFORMAT
    NAME "alpha"
    DRIVER "AGG/PNG"
    MIMETYPE "image/png; mode=32bit"
    IMAGEMODE RGBA
    EXTENSION "png"
  END
  WEB
'''


def stored(httpd, path):
    """A tile as a picture."""
    return Image.open(io.BytesIO(httpd.path('cache').joinpath(path).read_bytes()))


def alpha(picture):
    """How opaque each pixel is."""
    return picture.convert('RGBA').getchannel('A')


def difference(tile, expected):
    """How much the colours differ."""
    return ImageChops.difference(*(picture.convert('RGBA').convert('RGB')
                                   for picture in (tile, expected)))


def same(tile, expected):
    """Whether two pictures show the same; what lies under full transparency cannot be seen."""
    if tile.size != expected.size or ImageChops.difference(alpha(tile), alpha(expected)).getbbox():
        return False
    seen = alpha(tile).point(lambda value: 255 if value else 0)
    unseen = Image.new('RGB', tile.size)
    return not Image.composite(difference(tile, expected), unseen, seen).getbbox()


def mean_error(tile, expected):
    """Mean difference of a colour channel, of 255."""
    return sum(ImageStat.Stat(difference(tile, expected)).mean) / 3


def paths_of(name, gridset, tiles, extension='png', parameters=None):
    """{path: tile} of a tile set in GeoWebCache's layout."""
    return {geowebcache_path(name, gridset, extension, tile, parameters): tile for tile in tiles}


def compare(httpd, paths, gridset, **how):
    """Every tile shows what MapServer draws."""
    for path, tile in paths.items():
        assert same(stored(httpd, path), cut(httpd, GRIDS[gridset], tile, **how)), path


@pytest.mark.main_path
@one_mpm
def test_every_tile_is_the_map(httpd):
    """In each built-in grid set: all tiles of the range, pixel for pixel, and no other file."""
    lines = [f'TileSeedGrid {gridset} zoom=0-9' for gridset in EUROPE]
    httpd.start(REST + world(*lines, 'TileSeedMetatile 4x4 gutter=8'))
    expected = set()
    for gridset, bounds in EUROPE.items():
        tiles = GRIDS[gridset].between(3, 4, bounds)
        ranges = dict(gridSetId=gridset, bounds=coords(*bounds), zoomStart=3, zoomStop=4)
        document = done(httpd, 'world', threadCount=2, **ranges)
        assert counts(document) == (len(tiles), 0, 0, 0)
        assert document['upstreamRequests'] == len(GRIDS[gridset].metatiles(tiles, (4, 4)))
        paths = paths_of('world', gridset, tiles)
        compare(httpd, paths, gridset, gutter=8)
        expected |= set(paths)
        assert files(httpd) == expected


@one_mpm
@pytest.mark.parametrize('meta, gutter, last', [((1, 1), 0, 1), ((3, 2), 5, 2), ((8, 8), 16, 2)])
def test_any_shape_of_metatile(httpd, meta, gutter, last):
    """Odd shapes and single tiles show the same map; the gutter never does."""
    httpd.start(REST + world('TileSeedGrid EPSG:4326 zoom=0-9',
                             f'TileSeedMetatile {meta[0]}x{meta[1]} gutter={gutter}'))
    tiles = GRIDS['EPSG:4326'].between(0, last)
    assert done(httpd, 'world', zoomStop=last)['tilesMade'] == len(tiles)
    paths = paths_of('world', 'EPSG:4326', tiles)
    compare(httpd, paths, 'EPSG:4326', meta=meta, gutter=gutter)
    assert files(httpd) == set(paths)


@one_mpm
def test_bounds_on_tile_edges(httpd):
    """A bound exactly on an edge does not add the neighbour; one just over it does."""
    httpd.start(REST + world('TileSeedGrid EPSG:4326 zoom=0-9'))
    assert done(httpd, 'world', bounds=coords(0, 0, 45, 45), zoomStart=2,
                zoomStop=2)['tilesTotal'] == 1
    assert files(httpd) == set(paths_of('world', 'EPSG:4326', [(2, 4, 2)]))
    assert done(httpd, 'world', bounds=coords(-0.001, 0, 45, 45.001), zoomStart=2,
                zoomStop=2)['tilesTotal'] == 4
    assert files(httpd) == set(paths_of('world', 'EPSG:4326',
                                        [(2, x, y) for x in (3, 4) for y in (2, 3)]))


@one_mpm
def test_both_versions_of_wms_draw_the_same(httpd):
    """1.3.0 has the axes of EPSG:4326 the other way round; the tiles have not."""
    lines = ('TileSeedGrid EPSG:4326 zoom=0-9', 'TileSeedMetatile 2x2')
    httpd.start(REST + world(*lines, name='old', source='version=1.1.1')
                + world(*lines, name='new', source='version=1.3.0'))
    tiles = GRIDS['EPSG:4326'].between(1, 2)
    for name in ('old', 'new'):
        done(httpd, name, zoomStart=1, zoomStop=2)
        compare(httpd, paths_of(name, 'EPSG:4326', tiles), 'EPSG:4326', meta=(2, 2))
    log = httpd.path('access.log').read_text()
    assert 'CRS=EPSG:4326' in log and 'SRS=EPSG:4326' in log


def formats(httpd, *lines, layers='world', source='', **snippet):
    """A server whose MapServer has more formats, and a layer with the lines."""
    map_file = httpd.path('demo/world.map')
    map_file.write_text(map_file.read_text().replace('\n  WEB\n', MORE_FORMATS, 1))
    httpd.start(REST + layer('world', f'TileSeedSource wms @WMS@ layers={layers} {source}',
                             'TileSeedGrid EPSG:3857 zoom=0-9', *lines, **snippet))
    return sorted(GRIDS['EPSG:3857'].between(0, 2))


@one_mpm
@pytest.mark.parametrize('palette, mode', [('keep', 'RGB'), ('auto', 'P'), ('none', 'RGB')])
def test_true_colour(httpd, palette, mode):
    """True colour stays so, unless few colours may become a palette; no pixel changes."""
    tiles = formats(httpd, f'TileSeedFormat image/png palette={palette}')
    done(httpd, 'world', zoomStop=2)
    compare(httpd, paths_of('world', 'EPSG:3857', tiles), 'EPSG:3857')
    sea = stored(httpd, geowebcache_path('world', 'EPSG:3857', 'png', (2, 0, 1)))
    assert sea.mode == mode


@one_mpm
@pytest.mark.parametrize('palette, mode', [('keep', 'P'), ('auto', 'P'), ('none', 'RGB')])
def test_palette(httpd, palette, mode):
    """A palette stays one, unless that was not wanted; no pixel changes."""
    tiles = formats(httpd,
                    f'TileSeedFormat image/png "from=image/png; mode=8bit" palette={palette}')
    done(httpd, 'world', zoomStop=2)
    compare(httpd, paths_of('world', 'EPSG:3857', tiles), 'EPSG:3857',
            format='image/png; mode=8bit')
    assert {stored(httpd, path).mode for path in files(httpd)} == {mode}


@one_mpm
@pytest.mark.parametrize('mime', ['image/png', 'image/png; mode=32bit', 'image/png; mode=8bit'])
def test_transparency(httpd, mime):
    """The sea is left out: where nothing is drawn the tiles are transparent, edges half so."""
    tiles = formats(httpd, f'TileSeedFormat image/png "from={mime}"', layers='countries',
                    source='transparent=true styles=night')
    done(httpd, 'world', zoomStop=2)
    compare(httpd, paths_of('world', 'EPSG:3857', tiles), 'EPSG:3857', layers='countries',
            transparent='true', styles='night', format=mime)
    africa = stored(httpd, geowebcache_path('world', 'EPSG:3857', 'png', (2, 2, 2)))
    assert {0, 255} < {value for _, value in alpha(africa).getcolors()}


@one_mpm
def test_png8(httpd):
    """Made here from true colour: always a palette; exact where 256 colours are enough."""
    tiles = formats(httpd, 'TileSeedFormat image/png8 from=image/png')
    done(httpd, 'world', zoomStop=2)
    paths = paths_of('world', 'EPSG:3857', tiles, 'png8')
    assert files(httpd) == set(paths)
    for path, tile in paths.items():
        ours, theirs = stored(httpd, path), cut(httpd, GRIDS['EPSG:3857'], tile)
        assert ours.mode == 'P', path
        if len(theirs.convert('RGB').getcolors(65536)) <= 256:
            assert same(ours, theirs), path
        else:
            assert mean_error(ours, theirs) < 2, path


def encoded(picture):
    """The picture after Pillow has made a JPEG of quality 85 of it."""
    buffer = io.BytesIO()
    picture.convert('RGB').save(buffer, 'JPEG', quality=85, subsampling='4:2:0')
    return Image.open(buffer)


@one_mpm
@pytest.mark.parametrize('source', ['image/png', 'image/jpeg'])
def test_jpeg(httpd, source):
    """JPEG of quality 85: a mean error below 4 of 255 a channel, and hardly more than Pillow's."""
    tiles = formats(httpd, f'TileSeedFormat image/jpeg from={source} quality=85')
    done(httpd, 'world', zoomStop=2)
    paths = paths_of('world', 'EPSG:3857', tiles, 'jpeg')
    assert files(httpd) == set(paths)
    for path, tile in paths.items():
        ours, theirs = stored(httpd, path), cut(httpd, GRIDS['EPSG:3857'], tile, format=source)
        assert (ours.format, ours.mode, ours.size) == ('JPEG', 'RGB', (256, 256))
        error = mean_error(ours, theirs)
        assert error < 4 and error < mean_error(encoded(theirs), theirs) * 1.1 + 0.1, path


@one_mpm
def test_lossless_webp(httpd):
    """Made of the upstream's PNG, and equal to it."""
    tiles = formats(httpd, 'TileSeedFormat image/webp lossless=on')
    done(httpd, 'world', zoomStop=2)
    paths = paths_of('world', 'EPSG:3857', tiles, 'webp')
    compare(httpd, paths, 'EPSG:3857')
    assert {stored(httpd, path).format for path in paths} == {'WEBP'}


@one_mpm
def test_lossy_webp(httpd):
    """WebP of quality 85: a mean error below 4 of 255 a channel."""
    tiles = formats(httpd, 'TileSeedFormat image/webp quality=85')
    done(httpd, 'world', zoomStop=2)
    for path, tile in paths_of('world', 'EPSG:3857', tiles, 'webp').items():
        ours = stored(httpd, path)
        assert (ours.format, ours.size) == ('WEBP', (256, 256))
        assert mean_error(ours, cut(httpd, GRIDS['EPSG:3857'], tile)) < 4, path


@one_mpm
@pytest.mark.parametrize('mime, palette, mode', [('jpeg-png', ' palette=keep', 'RGBA'),
                                                 ('jpeg-png8', '', 'P')])
def test_mixed(httpd, mime, palette, mode):
    """Australia: a tile inland is a JPEG, one at the coast a PNG; all have the same extension."""
    formats(httpd, f'TileSeedFormat image/vnd.{mime}{palette}', layers='countries',
            source='transparent=true')
    done(httpd, 'world', bounds=coords(12.6e6, -5.0e6, 16.2e6, -1.3e6), zoomStart=5, zoomStop=5)
    paths = paths_of('world', 'EPSG:3857', [(5, x, y) for x in (26, 27, 28) for y in (12, 13, 14)],
                     mime)
    kinds = set()
    assert files(httpd) == set(paths)
    for path, tile in paths.items():
        ours = stored(httpd, path)
        theirs = cut(httpd, GRIDS['EPSG:3857'], tile, layers='countries', transparent='true')
        opaque = alpha(theirs).getextrema() == (255, 255)
        assert (ours.format, ours.mode) == (('JPEG', 'RGB') if opaque else ('PNG', mode)), path
        kinds.add(ours.format)
    assert kinds == {'JPEG', 'PNG'}


@one_mpm
def test_parameters_have_their_own_tile_set(httpd):
    """STYLES goes to MapServer, and its tiles to a directory with the hash."""
    httpd.start(REST + world('TileSeedGrid EPSG:4326 zoom=0-9',
                             'TileSeedParameter STYLES default=political value=night'))
    tiles = GRIDS['EPSG:4326'].between(0, 1)
    done(httpd, 'world', zoomStop=1)
    night = {'entry': {'string': ['STYLES', 'night']}}
    document = done(httpd, 'world', zoomStop=1, parameters=night)
    assert document['parameters'] == {'STYLES': 'night'}
    day = paths_of('world', 'EPSG:4326', tiles)
    dark = paths_of('world', 'EPSG:4326', tiles, parameters={'STYLES': 'night'})
    assert files(httpd) == set(day) | set(dark)
    compare(httpd, day, 'EPSG:4326', styles='political')
    compare(httpd, dark, 'EPSG:4326', styles='night')


@pytest.mark.pgsql
@pytest.mark.main_path
@one_mpm
def test_seed_fills_gaps_and_reseed_replaces(httpd, upstream):
    """A seed leaves what is there alone, a tile without bytes excepted; a reseed of all
    makes all anew."""
    httpd.start(REST + stub(upstream, 'TileSeedReseed all', options='link-uniform=off'))
    tiles = GRIDS['small'].between(0, 2)
    paths = paths_of('stub', 'small', tiles)
    place = {tile: httpd.path('cache') / path for path, tile in paths.items()}
    assert counts(done(httpd, 'stub', zoomStop=2)) == (21, 0, 0, 0)
    original = {tile: path.read_bytes() for tile, path in place.items()}
    again = done(httpd, 'stub', zoomStop=2)
    assert counts(again) == (0, 21, 0, 0)
    assert again['upstreamRequests'] == 0

    place[2, 1, 1].unlink()
    place[2, 3, 2].write_bytes(b'')
    place[1, 0, 0].write_bytes(b'spoilt')
    inodes = {tile: path.stat().st_ino for tile, path in place.items() if path.exists()}
    filled = done(httpd, 'stub', zoomStop=2)
    assert counts(filled) == (2, 19, 0, 0)
    assert filled['upstreamRequests'] == 2
    assert place[1, 0, 0].read_bytes() == b'spoilt'
    changed = {tile for tile in inodes if place[tile].stat().st_ino != inodes[tile]}
    assert changed == {(2, 3, 2)}

    inodes = {tile: path.stat().st_ino for tile, path in place.items()}
    assert counts(done(httpd, 'stub', zoomStop=2, type='reseed')) == (21, 0, 0, 0)
    assert all(path.stat().st_ino != inodes[tile] for tile, path in place.items())
    assert {tile: path.read_bytes() for tile, path in place.items()} == original
    assert files(httpd) == set(paths)


@pytest.mark.pgsql
@pytest.mark.main_path
@one_mpm
def test_truncate_removes_its_range_alone(httpd, upstream):
    """Neither another zoom, grid set, format or style, nor a tile beyond the bounds; no empty
    directory stays."""
    httpd.start(REST + stub(upstream, 'TileSeedGrid EPSG:4326 zoom=1-1',
                            'TileSeedFormat image/png', 'TileSeedFormat image/jpeg',
                            'TileSeedParameter STYLES default=day value=night'))
    night = {'entry': {'string': ['STYLES', 'night']}}
    grid = GRIDS['small']
    for more in ({}, {'format': 'image/jpeg'}, {'parameters': night}):
        done(httpd, 'stub', zoomStart=1, zoomStop=4, threadCount=4, **more)
    done(httpd, 'stub', gridSetId='EPSG:4326')
    before = files(httpd)
    assert len(before) == 3 * len(grid.between(1, 4)) + 8
    bounds = (0, 250, 510, 700)
    gone = grid.between(2, 3, bounds)
    document = done(httpd, 'stub', type='truncate', bounds=coords(*bounds), zoomStart=2,
                    zoomStop=3)
    assert counts(document) == (0, 0, len(gone), 0)
    left = before - set(paths_of('stub', 'small', gone))
    assert files(httpd) == left
    assert not empty_folders(httpd)

    whole = grid.between(1, 4)
    assert done(httpd, 'stub', type='truncate')['tilesRemoved'] == len(whole - gone)
    left -= set(paths_of('stub', 'small', whole))
    assert files(httpd) == left
    assert not empty_folders(httpd)

    assert done(httpd, 'stub', type='truncate', parameters=night)['tilesRemoved'] == len(whole)
    left -= set(paths_of('stub', 'small', whole, parameters={'STYLES': 'night'}))
    assert files(httpd) == left
    assert not empty_folders(httpd)
    assert not list(httpd.path('cache/stub').glob('small_*_*'))


@one_mpm
def test_whole_levels_are_gone_at_once_and_from_the_disk_by_and_by(httpd, upstream):
    """A seed that follows at once makes all tiles again, none of which goes with the old ones."""
    httpd.start(REST + stub(upstream))
    whole = GRIDS['small'].between(0, 4)
    done(httpd, 'stub', zoomStop=4, threadCount=4)
    before = files(httpd)
    document = done(httpd, 'stub', zoomStop=4, type='truncate')
    assert counts(document) == (0, 0, len(whole), 0)
    assert not files(httpd)
    assert counts(done(httpd, 'stub', zoomStop=4, threadCount=4)) == (len(whole), 0, 0, 0)
    wait_until(lambda: not httpd.path('cache/.tileseed').exists(), what='the end of the purge')
    assert files(httpd) == before


@one_mpm
def test_truncate_of_nothing(httpd):
    """Neither a cache that was never made nor one long empty is a failure, however deep."""
    httpd.start(REST + world('TileSeedGrid EPSG:4326'))
    for _ in range(2):
        document = done(httpd, 'world', type='truncate')
        assert document['tilesRemoved'] == document['tilesFailed'] == 0
    done(httpd, 'world', zoomStop=0)
    assert done(httpd, 'world', type='truncate')['tilesRemoved'] == 2
    assert not files(httpd)


def test_counts_are_exact_for_eight_readers(httpd, upstream):
    """While a slow map is seeded every reader sees exact sums that grow and reach the total."""
    upstream.always = Fault('delay', 0.03)
    httpd.start(REST + stub(upstream))
    tiles = GRIDS['small'].between(0, 4)
    with Watch(httpd, clients=8, name='stub') as watch:
        wait_until(lambda: watch.readings)
        number = begin(httpd, 'stub', zoomStop=4, threadCount=3)
        wait_until(lambda: not rows(httpd, 'stub'))
    shown = watch.check(number, len(tiles))
    assert len({row[0] for row in shown}) > 5, 'the watch saw no progress'
    document = ended(httpd, number)
    assert document['state'] == 'DONE'
    assert counts(document) == (len(tiles), 0, 0, 0)
    assert len(upstream.requests) == len(GRIDS['small'].metatiles(tiles, (2, 2)))


CHILDREN = {
    'event': 'StartServers 4\nServerLimit 4\nThreadsPerChild 2\nMaxRequestWorkers 8\n'
             'MinSpareThreads 8\nMaxSpareThreads 8\n',
    'worker': 'StartServers 4\nServerLimit 4\nThreadsPerChild 2\nMaxRequestWorkers 8\n'
              'MinSpareThreads 8\nMaxSpareThreads 8\n',
    'prefork': 'StartServers 4\nServerLimit 8\nMaxRequestWorkers 8\nMinSpareServers 4\n',
}


def test_every_child_sees_what_one_accepted(httpd, upstream, mpm):
    """The very next GET, whoever answers it."""
    upstream.always = Fault('hang')
    httpd.start(REST + stub(upstream) + CHILDREN[mpm]
                + 'LogFormat "%P %m" child\nCustomLog "@ROOT@/children.log" child\n')
    accepted = []
    for _ in range(6):
        accepted.append(begin(httpd, 'stub', zoomStop=1))
        seen = []
        readers = [threading.Thread(target=lambda: seen.append([row[3] for row in rows(httpd)]))
                   for _ in range(8)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert seen == [accepted] * 8
    asked = [line.split() for line in httpd.path('children.log').read_text().splitlines()]
    assert len({child for child, method in asked if method == 'GET'}) > 1, 'one child did it all'
    assert terminate(httpd).startswith('<html>')
    assert not rows(httpd)
    assert [task(httpd, number)['state'] for number in accepted] == ['ABORTED'] * 6


@one_mpm
@pytest.mark.parametrize('options, mode, folder_mode', [
    ('', 0o644, 0o755), ('mode=0640 dirmode=02750', 0o640, 0o2750),
    ('mode=0666 dirmode=0777', 0o666, 0o777)])
def test_permissions(httpd, options, mode, folder_mode):
    """As TileSeedStore says whatever the umask, and everything is User's."""
    old = os.umask(0o027)
    try:
        httpd.start(REST + world('TileSeedGrid EPSG:4326 zoom=0-9', options=options))
    finally:
        os.umask(old)
    done(httpd, 'world', zoomStop=1)
    top = httpd.path('cache')
    assert len(files(httpd)) == 10
    owner = httpd.user[1:] if httpd.user else (os.geteuid(), os.getegid())
    found = [path.stat() for path in [top, *top.rglob('*')]]
    assert {(status.st_uid, status.st_gid) for status in found} == {owner}
    assert {path.stat().st_mode & 0o7777 for path in top.rglob('*.png')} == {mode}
    folders = [path for path in top.rglob('*') if path.is_dir()]
    assert {path.stat().st_mode & 0o7777 for path in folders} == {folder_mode}
