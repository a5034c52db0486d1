# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""National grid sets: their boxes in documents, as GDAL and OWSLib read them."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from PIL import Image

from seeding import REST, done, layer
from test_services import NAMES, WMTS_SCHEMA, judge, needs_gdal, needs_schemas, tree  # noqa: F401
from test_tiles import SOURCE, fetch, put, serve
from tileseed_httpd import PATIENCE, one_mpm

GRIDS = '''
<TileSeedGridSet swiss>
    TileSeedSRS 2056
    TileSeedExtent 2420000 1030000 2900000 1350000
    TileSeedOrigin top-left
    TileSeedResolutions 4000 2000 1000 500
</TileSeedGridSet>
<TileSeedGridSet europe>
    TileSeedSRS 3035
    TileSeedAxisOrder ne
    TileSeedExtent 2500000 1400000 7500000 5500000
    TileSeedLevels 3
</TileSeedGridSet>
<TileSeedGridSet remote>
    TileSeedSRS 2056
    TileSeedExtent 2600000 1100000 2700000 1200000
    TileSeedOrigin top-left 2420000 1350000
    TileSeedResolutions 500 100
</TileSeedGridSet>
<TileSeedGridSet own>
    TileSeedSRS 990001
    TileSeedMetersPerUnit 1
    TileSeedExtent 0 0 1000 1000
    TileSeedLevels 2
    TileSeedWGS84Box 7 46 8 47.5
</TileSeedGridSet>
<TileSeedGridSet lost>
    TileSeedSRS 990001
    TileSeedMetersPerUnit 1
    TileSeedExtent 0 0 1000 1000
    TileSeedLevels 2
</TileSeedGridSet>
'''
SWISS = [2420000, 1030000, 2900000, 1350000]


def national(httpd):
    """Layers in national systems, alone and beside the world's."""
    serve(httpd, GRIDS,
          layer('both', SOURCE, 'TileSeedGrid EPSG:3857', 'TileSeedGrid swiss'),
          layer('swiss', SOURCE, 'TileSeedGrid swiss'),
          layer('europe', SOURCE, 'TileSeedGrid europe'),
          layer('remote', SOURCE, 'TileSeedGrid remote'),
          layer('own', SOURCE, 'TileSeedGrid own'),
          layer('said', SOURCE, 'TileSeedGrid lost', 'TileSeedWGS84Box 1 2 3 4'))
    return httpd.url('/tiles/wmts?REQUEST=GetCapabilities')


def numbers(box):
    """The four numbers of a bounding box of OWS."""
    return [float(number) for corner in box for number in corner.text.split()]


@one_mpm
def test_boxes_of_wmts(httpd):
    """Each system's own box, its axes in its own order, and degrees worked out or stated."""
    national(httpd)
    root = tree(fetch(httpd, '/tiles/wmts?REQUEST=GetCapabilities'))
    layers = {found.find('o:Identifier', NAMES).text: found
              for found in root.findall('w:Contents/w:Layer', NAMES)}
    own = {name: {box.get('crs'): numbers(box) for box in found.findall('o:BoundingBox', NAMES)}
           for name, found in layers.items()}
    world = [-20037508.34, -20037508.34, 20037508.34, 20037508.34]
    assert own['both'] == {'urn:ogc:def:crs:EPSG::3857': world,
                           'urn:ogc:def:crs:EPSG::2056': SWISS}
    assert own['europe'] == {'urn:ogc:def:crs:EPSG::3035': [1400000, 2500000, 5500000, 7500000]}
    degrees = {name: numbers(found.find('o:WGS84BoundingBox', NAMES))
               for name, found in layers.items()}
    assert degrees['swiss'] == pytest.approx([5.014, 45.356, 11.477, 48.300], abs=1e-3)
    assert degrees['both'] == pytest.approx([-180, -85.0511, 180, 85.0511], abs=1e-3)
    assert (degrees['own'], degrees['said']) == ([7, 46, 8, 47.5], [1, 2, 3, 4])
    sets = {found.find('o:Identifier', NAMES).text: found
            for found in root.findall('w:Contents/w:TileMatrixSet', NAMES)}
    assert numbers(sets['swiss'].find('o:BoundingBox', NAMES)) == SWISS
    # only the origin is the reason for the tiles in the north and west: 180 km / 128 km, 25.6 km
    limits = layers['remote'].findall('.//w:TileMatrixLimits', NAMES)
    assert [[found.text for found in limit] for limit in limits] == [
        ['remote:0', '1', '1', '1', '2'], ['remote:1', '5', '9', '7', '10']]
    assert layers['swiss'].find('.//w:TileMatrixLimits', NAMES) is None


@one_mpm
def test_boxes_of_wms(httpd):
    """The same of WMS, in the order of axes of its version."""
    national(httpd)
    keys = ('minx', 'miny', 'maxx', 'maxy')
    for version, path, key, expected in (
            ('1.3.0', 'm:Capability/m:Layer/m:Layer', 'CRS', [1400000, 2500000, 5500000, 7500000]),
            ('1.1.1', 'Capability/Layer/Layer', 'SRS', [2500000, 1400000, 7500000, 5500000])):
        front = 'm:' if version == '1.3.0' else ''
        root = tree(fetch(httpd, f'/tiles/wms?REQUEST=GetCapabilities&VERSION={version}'))
        layers = {found.find(f'{front}Name', NAMES).text: found
                  for found in root.findall(path, NAMES)}
        boxes = {name: {box.get(key): [float(box.get(side)) for side in keys]
                        for box in found.findall(f'{front}BoundingBox', NAMES)}
                 for name, found in layers.items()}
        assert boxes['both'].keys() == {'EPSG:3857', 'EPSG:2056'}
        assert boxes['swiss'] == {'EPSG:2056': SWISS}
        assert boxes['europe'] == {'EPSG:3035': expected}
    west = layers['swiss'].find('LatLonBoundingBox').get('minx')
    assert float(west) == pytest.approx(5.014, abs=1e-3)


@one_mpm
@needs_schemas
def test_boxes_against_schemas(httpd, judge):  # noqa: F811  pylint: disable=redefined-outer-name
    """The documents are valid, those of layers in one national system too."""
    serve(httpd, GRIDS, layer('swiss', SOURCE, 'TileSeedGrid swiss'),
          layer('europe', SOURCE, 'TileSeedGrid europe'),
          tiles='<Location "/geowebcache">\nTileSeedTiles on\nRequire local\n</Location>\n')
    assert judge('/wmts?REQUEST=GetCapabilities', WMTS_SCHEMA) == []
    assert judge('/wms?REQUEST=GetCapabilities', 'wms/1.3.0/capabilities_1_3_0.xsd') == []


@one_mpm
@needs_gdal
def test_gdal_draws_all_of_a_country(httpd, tmp_path):
    """GDAL sees the country's extent, whatever other grid sets the layer has, and every pixel."""
    url = national(httpd)
    colours = {(0, 0): 'red', (1, 0): 'green', (0, 1): 'blue', (1, 1): 'yellow'}
    expected = Image.new('RGB', (512, 512))
    for (x, y), colour in colours.items():
        file = put(httpd, f'cache/both/swiss_02/0_0/0{x}_0{y}.png', b'')
        Image.new('RGB', (256, 256), colour).save(file)
        expected.paste(colour, (256 * x, 256 * (1 - y), 256 * x + 256, 256 * (1 - y) + 256))
    target = tmp_path / 'out.png'
    subprocess.run(['gdal_translate', '-q', '-b', '1', '-b', '2', '-b', '3', '-of', 'PNG',
                    f'WMTS:{url},layer=both,tilematrixset=swiss,tilematrix=swiss:2', target],
                   check=True, timeout=PATIENCE, cwd=tmp_path)
    found = Image.open(target).convert('RGB')
    assert found.size == (480, 320)
    assert found.tobytes() == expected.crop((0, 0, 480, 320)).tobytes()


@one_mpm
def test_owslib_reads_a_country(httpd):
    """OWSLib has a box in degrees of a layer that is in no system of the whole world."""
    wmts = pytest.importorskip('owslib.wmts', reason='python3-owslib is missing')
    wms = pytest.importorskip('owslib.wms')
    layers = [wmts.WebMapTileService(national(httpd)).contents['swiss']]
    layers += [wms.WebMapService(httpd.url('/tiles/wms'), version=version).contents['swiss']
               for version in ('1.1.1', '1.3.0')]
    for found in layers:
        assert found.boundingBoxWGS84 == pytest.approx((5.014, 45.356, 11.477, 48.300), abs=1e-3)


@one_mpm
def test_levels_of_a_layer(httpd, tmp_path):
    """A layer with fewer levels than another has a tile matrix set of its own, whose name every
    address takes; GDAL opens the layer at its finest level."""
    serve(httpd, layer('less', SOURCE, 'TileSeedGrid small zoom=1-3'),
          layer('more', SOURCE, 'TileSeedGrid small'))
    root = tree(fetch(httpd, '/tiles/wmts?REQUEST=GetCapabilities'))
    links = [[link.find('w:TileMatrixSet', NAMES).text
              for link in found.findall('w:TileMatrixSetLink', NAMES)]
             for found in root.findall('w:Contents/w:Layer', NAMES)]
    assert links == [['small@1-3', 'small'], ['small']]
    sets = {found.find('o:Identifier', NAMES).text:
            [one.text for one in found.findall('w:TileMatrix/o:Identifier', NAMES)]
            for found in root.findall('w:Contents/w:TileMatrixSet', NAMES)}
    assert sets == {'small': [f'small:{z}' for z in range(8)],
                    'small@1-3': [f'small:{z}' for z in range(1, 4)]}
    put(httpd, 'cache/less/small_01/0_0/00_00.png', b'tile')
    for path in ('/wmts?SERVICE=WMTS&VERSION=1.0.0&REQUEST=GetTile&LAYER=less&STYLE=&FORMAT='
                 'image/png&TILEMATRIXSET=small@1-3&TILEROW=1&TILECOL=0&TILEMATRIX=small:1',
                 '/wmts?SERVICE=WMTS&VERSION=1.0.0&REQUEST=GetTile&LAYER=less&STYLE=&FORMAT='
                 'image/png&TILEMATRIXSET=small@1-3&TILEROW=1&TILECOL=0&TILEMATRIX=small@1-3:1',
                 '/wmts/less/default/small@1-3/small:1/1/0.png',
                 '/wmts/less/small@1-3/1/1/0?format=image/png', '/less/small@1-3/1/0/1.png'):
        assert fetch(httpd, '/tiles' + path).body == b'tile', path
    fetch(httpd, '/tiles/less/small@1-4/1/0/1.png', 404)
    if shutil.which('gdalinfo'):
        url = httpd.url('/tiles/wmts?REQUEST=GetCapabilities')
        said = subprocess.run(['gdalinfo', f'WMTS:{url},layer=less'], check=True, timeout=PATIENCE,
                              cwd=tmp_path, capture_output=True, text=True).stdout
        assert 'Size is 128, 128\n' in said


@one_mpm
def test_no_process_keeps_the_database_of_systems(httpd):
    """What httpd looked up when it started, and when it was reloaded, is closed again."""
    national(httpd)
    httpd.graceful()
    opened = set()
    for pid in httpd.processes():
        with contextlib.suppress(OSError):              # a child of before may just be leaving
            for file in pathlib.Path(f'/proc/{pid}/fd').iterdir():
                opened.add(os.readlink(file))
    assert any('error.log' in path for path in opened)
    assert not any('proj' in pathlib.Path(path).name for path in opened)


@one_mpm
def test_grid_sets_that_clients_misread(httpd):
    """The log names a system that nobody knows, and axes that others expect the other way."""
    serve(httpd, GRIDS.replace('TileSeedAxisOrder ne', ''),
          layer('europe', SOURCE, 'TileSeedGrid europe'),
          layer('a', SOURCE, 'TileSeedGrid lost'), layer('b', SOURCE, 'TileSeedGrid lost'))
    log = httpd.error_log()
    assert log.count('grid set lost: PROJ does not know EPSG:990001') == 1
    assert log.count('grid set europe: the first axis of EPSG:3035 goes north') == 1
    assert 'WGS84BoundingBox' in fetch(httpd, '/tiles/wmts?REQUEST=GetCapabilities').text
    httpd.expect('TileSeedWGS84Box|TileSeedAxisOrder')


ODD_GRID = '''
<TileSeedGridSet %s>
    TileSeedSRS %s
    TileSeedExtent %s
    TileSeedLevels 3
    TileSeedAxisOrder %s
    %s
</TileSeedGridSet>
'''


@one_mpm
def test_units_are_those_of_the_system(httpd):
    """Scales follow from what PROJ knows of the unit: a degree, a foot, a foot of the US. A number
    that contradicts is warned about, and so is a unit that nobody knows."""
    rows = (('etrs', 4258, '-30 30 60 75', 'ne', '', 111319.49079327358),
            ('foot', 2222, '400000 0 800000 400000', 'en', '', 0.3048),
            ('survey', 2225, '5500000 800000 7000000 3000000', 'en', '', 1200 / 3937),
            ('stated', 2226, '5500000 800000 7000000 3000000', 'en', 'TileSeedMetersPerUnit 0.3048',
             0.3048),
            ('wrong', 4269, '-170 20 -60 70', 'ne', 'TileSeedMetersPerUnit 1', 1),
            ('lost', 990001, '0 0 1000 1000', 'en', '', 1))
    serve(httpd, ''.join(ODD_GRID % row[:5] for row in rows),
          *(layer(row[0], SOURCE, f'TileSeedGrid {row[0]}') for row in rows))
    sets = {found.find('o:Identifier', NAMES).text: found for found in tree(fetch(
        httpd, '/tiles/wmts?REQUEST=GetCapabilities')).findall('w:Contents/w:TileMatrixSet', NAMES)}
    for name, _, extent, _, _, meters in rows:
        west, south, east, north = map(float, extent.split())
        scale = float(sets[name].find('w:TileMatrix/w:ScaleDenominator', NAMES).text)
        side = min(east - west, north - south) / 256
        assert scale == pytest.approx(side * meters / 0.00028, rel=1e-9), name
    log = httpd.error_log()
    assert re.findall(r'grid set (\w+): a unit of EPSG:(\d+) is (\S+) metres', log) == [
        ('wrong', '4269', '111319.49079327358')]
    assert re.findall(r'grid set (\w+): PROJ does not know a unit', log) == ['lost']
    httpd.expect('TileSeedMetersPerUnit|TileSeedWGS84Box')


@one_mpm
def test_axes_that_go_one_way(httpd):
    """Around a pole both axes go north, or both go south: which is the easting is in their names,
    and no warning has them swapped."""
    polar = '-3000000 -3000000 3000000 3000000'
    rows = [(f'polar{srs}', srs, polar, order, '') for srs, order in
            ((3031, 'en'), (3413, 'en'), (3995, 'en'), (5042, 'en'), (32661, 'ne'), (32761, 'en'))]
    serve(httpd, ''.join(ODD_GRID % row for row in rows),
          *(layer(row[0], SOURCE, f'TileSeedGrid {row[0]}') for row in rows))
    assert re.findall(r'grid set (\w+): the first axis of EPSG:\d+ goes (\w+)',
                      httpd.error_log()) == [('polar32761', 'north')]
    httpd.expect('TileSeedAxisOrder')


@one_mpm
def test_extents_that_lie_elsewhere(httpd):
    """Northing first, degrees, or coordinates of before: PROJ knows where the system is used."""
    rows = (('swapped', 31467, '5230000 3280000 6110000 3920000', 'ne', ''),
            ('right', 31467, '3280000 5230000 3920000 6110000', 'ne', ''),
            ('neighbour', 25832, '800000 5600000 950000 5900000', 'en', ''),
            ('degrees', 25832, '6 47 15 55', 'en', ''),
            ('before', 2056, '480000 70000 850000 300000', 'en', ''),
            ('north', 4258, '45 5 48 11', 'ne', ''))
    serve(httpd, ''.join(ODD_GRID % row for row in rows),
          *(layer(row[0], SOURCE, f'TileSeedGrid {row[0]}') for row in rows))
    assert re.findall(r'grid set (\w+): its TileSeedExtent lies at', httpd.error_log()) == [
        'swapped', 'degrees', 'before', 'north']
    httpd.expect('TileSeedExtent lies at')


@one_mpm
@pytest.mark.parametrize('srs, name, first', [
    (31467, 'EPSG:5677', 'east'), (31467, 'EPSG:31467', 'north'),
    (31467, 'urn:ogc:def:crs:EPSG::5677', 'east'), (5677, 'EPSG:31467', 'north'),
    (4326, 'OGC:CRS84', 'east'), (4326, 'urn:ogc:def:crs:OGC:1.3:CRS84', 'east'),
    (4326, 'CRS:84', 'east'), (4326, 'EPSG:4258', 'north')])
def test_the_order_is_that_of_the_system_asked_for(httpd, upstream, srs, name, first):
    """srs= of TileSeedGrid may name a system with another order of axes."""
    extent = '3280000 5230000 3920000 6110000' if srs != 4326 else '5 45 12 48'
    order = 'en' if srs == 5677 else 'ne'
    httpd.start(REST + ODD_GRID % ('g', srs, extent, order, '') + layer(
        'a', f'TileSeedSource wms {upstream.url} layers=any version=1.3.0',
        f'TileSeedGrid g srs={name}', 'TileSeedMetatile 1x1'))
    done(httpd, 'a', zoomStart=0, zoomStop=0)
    west, south = extent.split()[:2]
    corner = [west, south] if first == 'east' else [south, west]
    assert {asked['CRS'] for asked in upstream.requests} == {name}
    assert corner in [asked['BBOX'].split(',')[:2] for asked in upstream.requests]


@one_mpm
def test_extent_in_degrees(httpd):
    """A country's box in degrees is a few metres in the middle of the ocean."""
    serve(httpd, '', layer('degrees', SOURCE, 'TileSeedGrid EPSG:3857 extent=5.9,45.8,10.5,47.8'),
          layer('right', SOURCE, 'TileSeedGrid EPSG:4326 extent=5.9,45.8,10.5,47.8'))
    log = httpd.error_log()
    assert log.count('layer degrees: extent= of TileSeedGrid EPSG:3857 looks like degrees') == 1
    assert 'layer right: extent=' not in log
    httpd.expect('looks like degrees')


@one_mpm
def test_tiles_at_the_border_by_wms(httpd):
    """Every tile of a grid set whose border tiles hang out is had by its box, as by its numbers."""
    national(httpd)
    for z, resolution in enumerate((4000, 2000, 1000, 500)):
        side = 256 * resolution
        columns, rows = -(-480000 // side), -(-320000 // side)
        for x in range(columns):
            for y in range(rows):
                body = f'{z} {x} {y}'.encode()
                put(httpd, f'cache/swiss/swiss_{z:02}/0_0/{x:02}_{rows - 1 - y:02}.png', body)
                west, north = 2420000 + x * side, 1350000 - y * side
                for path in (f'/swiss/swiss/{z}/{x}/{y}.png',
                             '/wms?SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=swiss&STYLES=&'
                             'SRS=EPSG:2056&FORMAT=image/png&WIDTH=256&HEIGHT=256&BBOX='
                             f'{west},{north - side},{west + side},{north}'):
                    assert fetch(httpd, '/tiles' + path).body == body, path


@one_mpm
def test_tile_maps_need_one_origin(httpd):
    """A grid set whose levels end in different places has no tile map and no tile set of WMS-C, and
    the module says so; one that begins in the top left corner and ends in one place has both."""
    even = GRIDS.replace('4000 2000 1000 500', '1250 625')         # 320 km are one tile, and two
    serve(httpd, even, layer('even', SOURCE, 'TileSeedGrid swiss'))
    maps = tree(fetch(httpd, '/tiles/tms/1.0.0')).findall('TileMaps/TileMap')
    assert [found.get('srs') for found in maps] == ['EPSG:2056']
    origin = tree(fetch(httpd, '/tiles/tms/1.0.0/even@swiss@png')).find('Origin')
    assert origin.attrib == {'x': '2420000', 'y': '1030000'}
    httpd.restart(httpd.path('test.conf').read_text().replace('1250 625', '4000 2000 1000 500'))
    assert tree(fetch(httpd, '/tiles/tms/1.0.0')).findall('TileMaps/TileMap') == []
    assert 'one origin' in fetch(httpd, '/tiles/tms/1.0.0/even@swiss@png', 404).text
    tiled = fetch(httpd, '/tiles/wms?REQUEST=GetCapabilities&VERSION=1.1.1&TILED=true')
    assert '<TileSet>' not in tiled.text
