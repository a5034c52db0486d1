# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The addresses and documents of WMTS, TMS and WMS-C, for GeoWebCache's clients and GDAL."""
import pathlib
import re
import shutil
import subprocess
import urllib.parse
import xml.etree.ElementTree

import pytest
from PIL import Image

from seeding import GRIDS, REST, SMALL_GRID, done, geowebcache_path, layer, world
from test_tiles import SOURCE, TILES, fetch, put, quiet, serve
from tileseed_httpd import PATIENCE, one_mpm

GWC = TILES.replace('/tiles', '/geowebcache')
SCHEMAS = pathlib.Path('/usr/share/python3-mapproxy/test/schemas')
NAMES = {'w': 'http://www.opengis.net/wmts/1.0', 'o': 'http://www.opengis.net/ows/1.1',
         'm': 'http://www.opengis.net/wms'}
CATALOG = '''<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
<rewriteSystem systemIdStartString="http://schemas.opengis.net/" rewritePrefix="file://{0}/"/>
<rewriteURI uriStartString="http://schemas.opengis.net/" rewritePrefix="file://{0}/"/>
<uri name="http://www.w3.org/2001/xml.xsd" uri="file://{0}/xml.xsd"/>
<uri name="http://www.w3.org/1999/xlink.xsd" uri="file://{0}/xlink/1.0.0/xlinks.xsd"/>
</catalog>'''
WMTS_SCHEMA = 'wmts/1.0/wmtsGetCapabilities_response.xsd'

needs_schemas = pytest.mark.skipif(
    not SCHEMAS.exists() or not shutil.which('xmllint'),
    reason="the schemas of python3-mapproxy, or xmllint of libxml2-utils, are missing")
needs_gdal = pytest.mark.skipif(not shutil.which('gdal_translate'), reason='gdal-bin is missing')


def query(base, **parameters):
    """An address with a query."""
    return base + '?' + urllib.parse.urlencode(parameters)


def tree(answer):
    """The root of a document, which is pure ASCII."""
    assert answer.body.isascii()
    return xml.etree.ElementTree.fromstring(answer.body)


def rich(httpd):
    """Layers with everything that documents can show, one with a name that must be escaped."""
    return serve(
        httpd,
        layer('topp:states & <more>', SOURCE, 'TileSeedGrid EPSG:4326', 'TileSeedGrid EPSG:900913',
              'TileSeedFormat image/png', 'TileSeedFormat image/jpeg',
              'TileSeedParameter STYLES default=day value=night'),
        layer('part', SOURCE, 'TileSeedGrid EPSG:3857 zoom=2-5 extent=0,-20037508,20037508,0',
              'TileSeedFormat image/png8'),
        quiet('small'), SMALL_GRID.replace('small', 'few'),
        layer('few', SOURCE, 'TileSeedGrid few zoom=0-3'), tiles=GWC)


# Tiles

@pytest.mark.main_path
@one_mpm
def test_tiles_of_every_service(httpd):
    """One tile by each address that GeoWebCache's clients know."""
    rich(httpd)
    name = 'topp:states & <more>'
    path = urllib.parse.quote(name)
    tile = (1, 2, 0)
    for style, body in ((None, b'day'), ({'STYLES': 'night'}, b'night')):
        put(httpd, 'cache/' + geowebcache_path(name, 'EPSG:4326', 'png', tile, style), body)
    wmts = {'service': 'WMTS', 'version': '1.0.0', 'Request': 'GetTile', 'LAYER': name,
            'format': 'image/png', 'TileMatrixSet': 'EPSG:4326', 'TileRow': 1, 'TileCol': 2}
    wms = {'SERVICE': 'WMS', 'REQUEST': 'GetMap', 'LAYERS': name, 'WIDTH': 256, 'HEIGHT': 256,
           'FORMAT': 'image/png'}
    for service in ('/geowebcache/service', '/geowebcache'):
        for address, body in (
                (f'/wmts/{path}/day/EPSG:4326/EPSG:4326:1/1/2.png', b'day'),
                (f'/wmts/{path}/default/EPSG:4326/1/1/2.png', b'day'),
                (f'/wmts/{path}/night/EPSG:4326/EPSG:4326:1/1/2.png', b'night'),
                (f'/wmts/{path}/EPSG:4326/EPSG:4326:1/1/2?format=image/png', b'day'),
                (f'/wmts/{path}/night/EPSG:4326/EPSG:4326:1/1/2?format=image/png', b'night'),
                (query('/wmts', STYLE='', TileMatrix='EPSG:4326:1', **wmts), b'day'),
                (query('/wmts', STYLE='night', TileMatrix=1, **wmts), b'night'),
                (f'/tms/1.0.0/{path}@EPSG:4326@png/1/2/0.png', b'day'),
                (f'/tms/1.0.0/{path}/1/2/0.png?STYLES=night', b'night'),
                (query('/wms', VERSION='1.1.1', SRS='EPSG:4326', BBOX='0,-90,90,0', STYLES='',
                       **wms), b'day'),
                (query('/wms', VERSION='1.3.0', CRS='EPSG:4326', BBOX='-90,0,0,90',
                       STYLES='night', **wms), b'night'),
                (query('/wms', VERSION='1.3.0', CRS='CRS:84', BBOX='0,-90,90,0', **wms), b'day')):
            answer = fetch(httpd, service + address)
            assert answer.body == body, address
            assert answer.headers['Content-Type'] == 'image/png'
    assert fetch(httpd, f'/geowebcache/rest/wmts/{path}/day/EPSG:4326/EPSG:4326:1/1/2'
                 '?format=image/png').body == b'day'


@one_mpm
def test_what_a_service_refuses(httpd):
    """Each in its own words, with the parameter that is wrong."""
    rich(httpd)
    good = {'REQUEST': 'GetTile', 'LAYER': 'part', 'STYLE': '', 'FORMAT': 'image/png8',
            'TILEMATRIXSET': 'EPSG:3857', 'TILEMATRIX': 'EPSG:3857:2', 'TILEROW': '2',
            'TILECOL': '2'}
    fetch(httpd, query('/geowebcache/wmts', **good), 404)           # no such file, that is all
    for key, value, code, *locator in (
            ('REQUEST', 'GetMap', 'InvalidParameterValue'),
            ('LAYER', 'nowhere', 'InvalidParameterValue'),
            ('FORMAT', 'image/png', 'InvalidParameterValue'),
            ('STYLE', 'zz', 'InvalidParameterValue'),
            ('SERVICE', 'WMS', 'InvalidParameterValue'),
            ('VERSION', '2.0.0', 'InvalidParameterValue'),
            ('TILEMATRIXSET', 'zz', 'InvalidParameterValue'),
            ('TILEMATRIXSET', 'EPSG:4326', 'InvalidParameterValue'),
            ('TILEMATRIX', 'EPSG:4326:2', 'InvalidParameterValue'),
            ('TILEMATRIX', 'EPSG:3857:6', 'InvalidParameterValue'),
            ('TILEMATRIX', 'EPSG:3857:99', 'InvalidParameterValue'),
            ('TILEROW', '-1', 'InvalidParameterValue'), ('TILECOL', '2.0', 'InvalidParameterValue'),
            ('TILEROW', '4', 'TileOutOfRange'), ('TILEROW', '1', 'TileOutOfRange'),
            ('TILECOL', '99', 'TileOutOfRange'), ('TILECOL', '1', 'TileOutOfRange'),
            ('REQUEST', 'GetFeatureInfo', 'OperationNotSupported', 'GetFeatureInfo')):
        status = 501 if code == 'OperationNotSupported' else 400
        answer = fetch(httpd, query('/geowebcache/wmts', **{**good, key: value}), status)
        found = tree(answer).find('o:Exception', NAMES)
        assert found.get('exceptionCode') == code, (key, value)
        assert found.get('locator') == (locator[0] if locator else key), (key, value)
    for path, locator in (('/part/zz/EPSG:3857/2/2/2.png8', 'STYLE'),
                          ('/part/default/zz/2/2/2.png8', 'TILEMATRIXSET'),
                          ('/zz/default/EPSG:3857/2/2/2.png8', 'LAYER'),
                          ('/part/default/EPSG:3857/9/2/2.png8', 'TILEMATRIX'),
                          ('/part/default/EPSG:3857/2/2/4.png8', 'TILECOL'),
                          ('/topp:states%20&%20%3Cmore%3E/zz/EPSG:4326/2/2/2.png', 'STYLE')):
        answer = fetch(httpd, '/geowebcache/wmts' + path, 400)
        assert tree(answer).find('o:Exception', NAMES).get('locator') == locator, path
    for asked, code in (('AcceptVersions=2.0.0', 'VersionNegotiationFailed'),
                        ('AcceptVersions=2.0.0,1.0.0', None), ('SERVICE=wmts&VERSION=1.0.0', None),
                        ('SERVICE=WFS', 'InvalidParameterValue'),
                        ('SERVICE=WMS', 'InvalidParameterValue'),
                        ('SERVICE=WMS&REQUEST=GetCapabilities', None)):           # QGIS
        answer = fetch(httpd, '/geowebcache/wmts?REQUEST=GetCapabilities&' + asked,
                       400 if code else 200)
        found = tree(answer).find('o:Exception', NAMES)
        assert (found.get('exceptionCode') if code else found) == code, asked
    for key in good.keys() - {'STYLE'}:
        left = {name: value for name, value in good.items() if name != key}
        found = tree(fetch(httpd, query('/geowebcache/wmts', **left), 400))
        assert found.find('o:Exception', NAMES).get('exceptionCode') == 'MissingParameterValue', key
    aligned = {'REQUEST': 'GetMap', 'VERSION': '1.1.1', 'LAYERS': 'part', 'SRS': 'EPSG:3857',
               'BBOX': '0,-10018754.17,10018754.17,0', 'WIDTH': 256, 'HEIGHT': 256,
               'FORMAT': 'image/png8'}
    fetch(httpd, query('/geowebcache/wms', **aligned), 404)
    for key, value, code in (
            ('BBOX', '1,2,3,4', None), ('BBOX', '0,0,0,0', None), ('BBOX', 'a', None),
            ('BBOX', '5009377,-10018754.17,15028131,0', None), ('WIDTH', 512, None),
            ('BBOX', '0,0,10018754.17,10018754.17', 'TileOutOfRange'),
            ('SRS', 'EPSG:4326', 'InvalidSRS'), ('SRS', 'zz', 'InvalidSRS'),
            ('STYLES', 'zz', 'StyleNotDefined'), ('LAYERS', 'part,small', 'LayerNotDefined'),
            ('FORMAT', 'image/tiff', 'InvalidFormat'), ('SERVICE', 'WFS', 'InvalidParameterValue'),
            ('REQUEST', 'GetLegendGraphic', 'OperationNotSupported')):
        answer = fetch(httpd, query('/geowebcache/wms', **{**aligned, key: value}), 400)
        assert answer.headers['Content-Type'].startswith('application/vnd.ogc.se_xml')
        found = tree(answer).find('ServiceException')
        assert found.text and found.get('code') == code, (key, value)
    newer = {**aligned, 'VERSION': '1.3.0', 'CRS': aligned['SRS']}
    fetch(httpd, query('/geowebcache/wms', **newer), 404)
    for key, value, code in (('CRS', 'EPSG:4326', 'InvalidCRS'),
                             ('STYLES', 'zz', 'StyleNotDefined'),
                             ('FORMAT', 'image/tiff', 'InvalidFormat'),
                             ('LAYERS', 'zz', 'LayerNotDefined')):
        answer = fetch(httpd, query('/geowebcache/wms', **{**newer, key: value}), 400)
        found = tree(answer).find('{http://www.opengis.net/ogc}ServiceException')
        assert found.get('code') == code, (key, value)
    assert found.text.strip() == "there is no layer 'zz'"
    for path in ('/wmts/part/default/EPSG:3857/EPSG:3857:2/x/2.png', '/wmts/part', '/wmts/',
                 '/tms/1.0.0/part@EPSG:3857', '/tms/1.0.0/nowhere@EPSG:3857@png', '/tms/2.0.0',
                 '/service', '/service/', '/service/kml/a', '/wms/x'):
        fetch(httpd, '/geowebcache' + path, 404)


# Documents

@one_mpm
def test_documents(httpd):
    """What is in them, as far as the schemas don't say, and every address in them works."""
    rich(httpd)
    root = tree(fetch(httpd, '/geowebcache/service/wmts?REQUEST=GetCapabilities'))
    assert tree(fetch(httpd, '/geowebcache/wmts/1.0.0/WMTSCapabilities.xml')).tag == root.tag
    names = [found.text for found in root.findall('w:Contents/w:Layer/o:Identifier', NAMES)]
    assert names == ['topp:states & <more>', 'part', 'small', 'few']
    styles = root.findall('w:Contents/w:Layer[1]/w:Style/o:Identifier', NAMES)
    assert [style.text for style in styles] == ['day', 'night']
    titles = root.findall('w:Contents/w:Layer[1]/w:Style/o:Title', NAMES)      # for OpenLayers
    assert [title.text for title in titles] == ['day', 'night']
    limits = root.find("w:Contents/w:Layer[2]//w:TileMatrixLimits[2]", NAMES)
    assert [found.text for found in limits] == ['EPSG:3857:3', '4', '7', '4', '7']
    sets = {found.find('o:Identifier', NAMES).text: found
            for found in root.findall('w:Contents/w:TileMatrixSet', NAMES)}
    assert sets.keys() == {'EPSG:4326', 'EPSG:900913', 'EPSG:3857', 'small', 'few'}
    assert [found.text for found in sets['few'].findall('w:TileMatrix/o:Identifier', NAMES)] == [
        f'few:{z}' for z in range(4)]
    assert root.find('w:Contents/w:Layer[4]//w:TileMatrixLimits', NAMES) is None
    first = sets['EPSG:4326'].find('w:TileMatrix', NAMES)
    assert first.find('w:TopLeftCorner', NAMES).text == '90 -180'       # the system's own order
    # OGC 07-057r7 annex E, table E.1: the scale of one degree a pixel and its halves
    scale = float(first.find('w:ScaleDenominator', NAMES).text)
    assert abs(scale - 2.795411320143589e8) < 1
    template = root.find('w:Contents/w:Layer/w:ResourceURL', NAMES).get('template')
    put(httpd, 'cache/' + geowebcache_path(names[0], 'EPSG:4326', 'png', (1, 2, 0)), b'day')
    for key, value in (('style', 'day'), ('TileMatrixSet', 'EPSG:4326'),
                       ('TileMatrix', 'EPSG:4326:1'), ('TileRow', '1'), ('TileCol', '2')):
        template = template.replace('{' + key + '}', value)
    assert fetch(httpd, template.removeprefix(httpd.url(''))).body == b'day'

    maps = tree(fetch(httpd, '/geowebcache/service/tms/1.0.0')).findall('TileMaps/TileMap')
    assert len(maps) == 7
    one = tree(fetch(httpd, maps[0].get('href').removeprefix(httpd.url(''))))
    assert one.find('Origin').attrib == {'x': '-180', 'y': '-90'}
    level = one.findall('TileSets/TileSet')[1]
    assert float(level.get('units-per-pixel')) == 180 / 256 / 2
    assert fetch(httpd, level.get('href').removeprefix(httpd.url('')) + '/2/0.png').body == b'day'

    root = tree(fetch(httpd, '/geowebcache/wms?REQUEST=GetCapabilities'))
    box = root.find('m:Capability/m:Layer/m:Layer/m:BoundingBox', NAMES)
    assert [box.get(key) for key in ('minx', 'miny', 'maxx', 'maxy')] == [
        '-90', '-180', '90', '180']


@one_mpm
def test_types_of_documents(httpd):
    """XML in UTF-8, of the type that the service's standard names."""
    rich(httpd)
    for path, kind in (('/wmts?REQUEST=GetCapabilities', 'application/xml'),
                       ('/wmts/1.0.0/WMTSCapabilities.xml', 'application/xml'),
                       ('/wmts?REQUEST=x', 'application/xml'),
                       ('/tms/1.0.0', 'application/xml'),
                       ('/tms/1.0.0/part@EPSG:3857@png8', 'application/xml'),
                       ('/wms?REQUEST=GetCapabilities', 'text/xml'),
                       ('/wms?REQUEST=x', 'text/xml'),
                       ('/wms?REQUEST=GetCapabilities&VERSION=1.1.1',
                        'application/vnd.ogc.wms_xml'),
                       ('/wms?REQUEST=x&VERSION=1.1.1', 'application/vnd.ogc.se_xml')):
        answer = httpd.get('/geowebcache' + path)
        assert answer.headers['Content-Type'] == f'{kind};charset=UTF-8', path
        assert tree(answer) is not None
    for path in ('/nowhere', '/tms/2.0.0'):
        assert httpd.get('/geowebcache' + path).headers['Content-Type'] == (
            'text/plain;charset=ISO-8859-1')


@one_mpm
def test_documents_name_what_is_seen(httpd):
    """TileSeedLayers holds in documents, and the server is called as the client calls it."""
    more = GWC.replace('Require', 'TileSeedLayers b\n    Require')
    serve(httpd, quiet('a'), quiet('b'), tiles=more)
    for path in ('/wmts?REQUEST=GetCapabilities', '/tms/1.0.0', '/wms?REQUEST=GetCapabilities',
                 '/wms?REQUEST=GetCapabilities&VERSION=1.1.1&TILED=true'):
        text = fetch(httpd, '/geowebcache' + path, headers={'Host': 'maps.example.org:8080'}).text
        assert re.search(r'"http://maps\.example\.org:8080/geowebcache/(?:wmts|tms|wms)', text)
        assert '>b<' in text or '"b"' in text
        assert '>a<' not in text and '"a"' not in text


@one_mpm
def test_documents_behind_a_proxy(httpd):
    """TileSeedPublicURL is in every address that a document has."""
    public = 'https://maps.example.org/x%20y/gwc'
    serve(httpd, quiet('a'),
          tiles=GWC.replace('Require', f'TileSeedPublicURL {public}\n    Require'))
    for path in ('/wmts?REQUEST=GetCapabilities', '/tms/1.0.0', '/service/tms/1.0.0/a@small@png',
                 '/wms?REQUEST=GetCapabilities',
                 '/wms?REQUEST=GetCapabilities&VERSION=1.1.1&TILED=true'):
        text = fetch(httpd, '/geowebcache' + path).text
        found = re.findall(r'(?:href|template|onlineResource)="(http[^"]*)"', text)
        assert found or 'service/tms' in path, path
        assert all(address.startswith(public + '/') for address in found), found
        assert '/geowebcache' not in text and '127.0.0.1' not in text


@one_mpm
def test_addresses_through_a_proxy(httpd):
    """What a document names can be had through a proxy with another path."""
    proxy = ('LoadModule proxy_module "${MODULES}/mod_proxy.so"\n'
             'LoadModule proxy_http_module "${MODULES}/mod_proxy_http.so"\n'
             '<Location "/cache">\nProxyPass http://127.0.0.1:@PORT@/geowebcache\nRequire local\n'
             '</Location>\n')
    serve(httpd, quiet('a'), tiles=proxy + GWC.replace(
        'Require', 'TileSeedPublicURL http://127.0.0.1:@PORT@/cache\n    Require'))
    put(httpd, 'cache/a/small_00/0_0/00_00.png', b'tile')
    root = tree(fetch(httpd, '/cache/wmts?REQUEST=GetCapabilities'))
    template = root.find('w:Contents/w:Layer/w:ResourceURL', NAMES).get('template')
    for key, value in (('style', 'default'), ('TileMatrixSet', 'small'),
                       ('TileMatrix', 'small:0'), ('TileRow', '0'), ('TileCol', '0')):
        template = template.replace('{' + key + '}', value)
    (one,) = tree(fetch(httpd, '/cache/tms/1.0.0')).findall('TileMaps/TileMap')
    level = tree(fetch(httpd, one.get('href').removeprefix(httpd.url('')))).find('TileSets/TileSet')
    for address in template, level.get('href') + '/0/0.png':
        assert address.startswith(httpd.url('/cache/'))
        assert fetch(httpd, address.removeprefix(httpd.url(''))).body == b'tile'


@pytest.fixture
def judge(httpd, tmp_path):
    """What xmllint has to say of the answer at a path: errors, none when it is valid."""
    schemas = tmp_path / 'schemas'
    shutil.copytree(SCHEMAS, schemas)
    catalog = tmp_path / 'catalog.xml'
    catalog.write_text(CATALOG.format(schemas))

    def errors(path, schema):
        document = tmp_path / 'document.xml'
        document.write_bytes(httpd.get('/geowebcache' + path).body)
        option = '--dtdvalid' if schema.endswith('.dtd') else '--schema'
        judged = subprocess.run(['xmllint', '--noout', '--nonet', option, schemas / schema,
                                 document],
                                env={'XML_CATALOG_FILES': str(catalog), 'PATH': '/usr/bin'},
                                capture_output=True, text=True, check=False)
        lines = [line for line in judged.stderr.splitlines() if ' error : ' in line]
        assert bool(lines) == bool(judged.returncode), judged.stderr
        return lines
    errors.schemas = schemas
    return errors


@one_mpm
@needs_schemas
def test_documents_against_schemas(httpd, judge):
    """The documents and exceptions are valid."""
    rich(httpd)
    for path, schema in (
            ('/wmts?REQUEST=GetCapabilities', WMTS_SCHEMA),
            ('/wmts?REQUEST=x', 'ows/1.1.0/owsExceptionReport.xsd'),
            ('/wms?REQUEST=GetCapabilities', 'wms/1.3.0/capabilities_1_3_0.xsd'),
            ('/wms?REQUEST=x', 'wms/1.3.0/exceptions_1_3_0.xsd'),
            ('/wms?REQUEST=GetCapabilities&VERSION=1.1.1', 'wms/1.1.1/WMS_MS_Capabilities.dtd'),
            ('/wms?REQUEST=GetCapabilities&VERSION=1.1.1&TILED=true',
             'wmsc/1.1.1/WMS_MS_Capabilities.dtd'),
            ('/wms?REQUEST=x&VERSION=1.1.1', 'wms/1.1.1/exception_1_1_1.dtd')):
        assert judge(path, schema) == [], path


@one_mpm
@needs_schemas
def test_limits_that_begin_at_zero(httpd, judge):
    """Rows and columns in limits are counted from 0, as the standard says and clients read them.
    The schema documents them so too ("From 0 to maxTileRow"), and gives them a type without 0: with
    the type of its documentation the limits are valid, and else nothing but their zeros is not."""
    serve(httpd, quiet('all'), layer('less', SOURCE, 'TileSeedGrid small zoom=0-3'), tiles=GWC)
    root = tree(fetch(httpd, '/geowebcache/wmts?REQUEST=GetCapabilities'))
    limits = root.findall('w:Contents/w:Layer[2]//w:TileMatrixLimits', NAMES)
    assert [[found.text for found in limit] for limit in limits] == [
        [f'small:{z}', '0', str((1 << z) - 1), '0', str((1 << z) - 1)] for z in range(4)]
    errors = judge('/wmts?REQUEST=GetCapabilities', WMTS_SCHEMA)
    assert errors and all(re.search(r"(Min|Max)Tile(Row|Col)'.*'0'", line) for line in errors)
    schema = judge.schemas / WMTS_SCHEMA
    corrected, count = re.subn(r'(name="(?:Min|Max)Tile(?:Row|Col)" type=")positiveInteger',
                               r'\1nonNegativeInteger', schema.read_text())
    assert count == 4
    schema.write_text(corrected)
    assert judge('/wmts?REQUEST=GetCapabilities', WMTS_SCHEMA) == []


@one_mpm
@needs_schemas
def test_dimensions(httpd, judge):
    """What clients may choose beside the style is a dimension, and stands in the address."""
    lines = ('TileSeedGrid small', 'TileSeedParameter STYLES default=day value=night',
             'TileSeedParameter ELEVATION default=0 value=100 value=-7',
             'TileSeedParameter CQL_FILTER regex="A > [0-9]+"')
    serve(httpd, layer('many', SOURCE, *lines), quiet('none'), tiles=GWC)
    assert judge('/wmts?REQUEST=GetCapabilities', WMTS_SCHEMA) == []
    root = tree(fetch(httpd, '/geowebcache/wmts?REQUEST=GetCapabilities'))
    many, none = root.findall('w:Contents/w:Layer', NAMES)
    found = {one.find('o:Identifier', NAMES).text:
             [one.find('w:Default', NAMES).text] + [v.text for v in one.findall('w:Value', NAMES)]
             for one in many.findall('w:Dimension', NAMES)}
    assert found == {'CQL_FILTER': ['default', 'default'], 'ELEVATION': ['0', '0', '100', '-7']}
    assert none.find('w:Dimension', NAMES) is None
    assert '?' not in none.find('w:ResourceURL', NAMES).get('template')
    template = many.find('w:ResourceURL', NAMES).get('template').removeprefix(httpd.url(''))
    for parameters in ({}, {'ELEVATION': '100'}, {'CQL_FILTER': 'A > 5', 'ELEVATION': '-7'}):
        sent = {**{name: values[0] for name, values in found.items()}, **parameters}
        body = repr(parameters).encode()
        put(httpd, 'cache/' + geowebcache_path('many', 'small', 'png', (1, 0, 1),
                                               {**{'CQL_FILTER': '', 'ELEVATION': '0',
                                                   'STYLES': 'day'}, **parameters}
                                               if parameters else None), body)
        address = template
        for key, value in {'style': 'day', 'TileMatrixSet': 'small', 'TileMatrix': 'small:1',
                           'TileRow': '0', 'TileCol': '0', **sent}.items():
            address = address.replace('{' + key + '}', urllib.parse.quote(value))
        assert fetch(httpd, address).body == body
        assert fetch(httpd, query('/geowebcache/wmts', SERVICE='WMTS', VERSION='1.0.0',
                                  REQUEST='GetTile', LAYER='many', STYLE='day', FORMAT='image/png',
                                  TILEMATRIXSET='small', TILEMATRIX='small:1', TILEROW=0, TILECOL=0,
                                  **sent)).body == body
    wrong = tree(fetch(httpd, template.replace('{ELEVATION}', '3').replace('{style}', 'day')
                       .replace('{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}', 'small/1/0/0')
                       .replace('{CQL_FILTER}', ''), 400)).find('o:Exception', NAMES)
    assert wrong.get('locator') == 'ELEVATION'


# GDAL

def mosaic(httpd, z):
    """The tiles of a level of EPSG:3857 side by side."""
    picture = Image.new('RGB', (256 << z, 256 << z))
    for tile in GRIDS['EPSG:3857'].tiles(z):
        path = httpd.path('cache') / geowebcache_path('world', 'EPSG:3857', 'png', tile)
        picture.paste(Image.open(path).convert('RGB'),
                      (tile[1] << 8, ((1 << z) - 1 - tile[2]) << 8))
    return picture


@one_mpm
@needs_gdal
def test_gdal(httpd, tmp_path):
    """GDAL reads the world through WMTS and by xyz, pixel for pixel. There are limits: another
    layer has more levels."""
    httpd.start(REST + TILES + world('TileSeedGrid EPSG:3857 zoom=0-2')
                + world('TileSeedGrid EPSG:3857', name='more'))
    done(httpd, 'world')
    xyz = tmp_path / 'xyz.xml'
    xyz.write_text(f'''<GDAL_WMS><Service name="TMS">
<ServerUrl>{httpd.url('/tiles/world/EPSG:3857/${z}/${x}/${y}.png')}</ServerUrl></Service>
<DataWindow><UpperLeftX>-20037508.34</UpperLeftX><UpperLeftY>20037508.34</UpperLeftY>
<LowerRightX>20037508.34</LowerRightX><LowerRightY>-20037508.34</LowerRightY>
<TileLevel>2</TileLevel><TileCountX>1</TileCountX><TileCountY>1</TileCountY>
<YOrigin>top</YOrigin></DataWindow><Projection>EPSG:3857</Projection>
<BlockSizeX>256</BlockSizeX><BlockSizeY>256</BlockSizeY><BandsCount>3</BandsCount></GDAL_WMS>''')
    for source in (xyz, f'WMTS:{httpd.url("/tiles/service/wmts?REQUEST=GetCapabilities")},'
                        'layer=world,tilematrixset=EPSG:3857,tilematrix=EPSG:3857:2'):
        target = tmp_path / 'out.png'
        subprocess.run(['gdal_translate', '-q', '-b', '1', '-b', '2', '-b', '3', '-of', 'PNG',
                        source, target], check=True, timeout=PATIENCE, cwd=tmp_path)   # its cache
        found = Image.open(target).convert('RGB')
        assert found.size == (1024, 1024)
        assert found.tobytes() == mosaic(httpd, 2).tobytes()
