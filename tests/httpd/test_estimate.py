# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Estimates: what a seed request would mean, from what was there and what was measured."""
import datetime
import json
import xml.etree.ElementTree

import pytest

import tileseed_httpd
from quota import put, size
from rest import JSON, XML, ask, kind, listed, location, refused, unknown
from seeding import GRIDS, REST, coords, done, files, stub, world
from tileseed_httpd import wait_until
from upstream import Fault

one_mpm = pytest.mark.parametrize('mpm', tileseed_httpd.MPMS[:1], indirect=True)

MEMBERS = ['layer', 'gridSetId', 'format', 'type', 'tiles', 'metatiles', 'tilesPresent',
           'tilesPruned', 'presentBy', 'tilesToMake', 'bytes', 'seconds', 'measuredTiles', 'free',
           'freeIn']


def estimate(httpd, name, **members):
    """The estimate of a seed request, which makes no task."""
    before = listed(httpd)
    answer = ask(httpd, 'POST', f'/rest/estimate/{name}.json',
                 json.dumps({'seedRequest': members}))
    assert kind(answer) == JSON and 'TileSeed-Task' not in answer.headers
    assert listed(httpd) == before
    found = answer.json()
    assert list(found) == ['estimate'] and list(found['estimate']) == MEMBERS
    for interval in (found['estimate']['bytes'], found['estimate']['seconds']):
        assert interval is None or (
            0 <= interval['low'] <= interval['expected'] <= interval['high'])
    return found['estimate']


@one_mpm
def test_nothing_was_measured_yet(httpd, upstream):
    """The tiles are counted, what they will take nobody knows; and nothing is made by asking."""
    httpd.start(REST + stub(upstream))
    found = estimate(httpd, 'stub', zoomStart=2, zoomStop=4)
    grid = GRIDS['small']
    assert found['tiles'] == len(grid.between(2, 4))
    assert found['metatiles'] == len(grid.metatiles(grid.between(2, 4), (2, 2)))
    assert found['tilesPresent'] == 0 and found['presentBy'] == 'count'
    assert found['tilesToMake'] == found['tiles'] and found['measuredTiles'] == 0
    assert found['bytes'] is found['seconds'] is None
    assert not files(httpd) and not upstream.requests


@one_mpm
def test_readers_may_ask(httpd, upstream):
    """A GET says the same as a POST; a location that lets nobody change anything has it."""
    httpd.start(REST + stub(upstream) + location(
        '/read', '<RequireAll>', 'Require local', 'Require method GET HEAD', '</RequireAll>'))
    httpd.expect('AH01630: client denied')
    posted = estimate(httpd, 'stub', zoomStart=2, zoomStop=4, type='reseed',
                      bounds=coords(0, 0, 50, 50))
    del posted['free'], posted['freeIn']        # what the disk has free changes all the time
    query = 'zoomStart=2&zoomStop=4&type=reseed&bbox=0,0,50,50'
    assert httpd.request('POST', '/read/estimate/stub.json', '{"seedRequest":{}}').status == 403
    found = ask(httpd, 'GET', f'/read/estimate/stub.json?{query}').json()['estimate']
    assert {name: found[name] for name in posted} == posted
    assert kind(ask(httpd, 'GET', f'/read/estimate/stub.xml?{query}')) == XML
    whole = ask(httpd, 'GET', '/read/estimate/stub.json').json()['estimate']
    assert whole['tiles'] > posted['tiles']
    for wrong, words in (('bbox=1,2,3', 'minx,miny,maxx,maxy'), ('bbox=1,2,3,4,5', 'four numbers'),
                         ('bbox=a,b,c,d', "'a' is none"), ('zoomstopp=3', 'Is zoomStop meant?'),
                         ('type=x', 'Unknown type')):
        assert words in refused(httpd, 400, 'GET', f'/rest/estimate/stub.json?{wrong}')
    answer = ask(httpd, 'GET', '/rest/estimate/stub.json?f=json')
    assert answer.headers['TileSeed-Warning'] == 'ignored: f'
    for answer in (ask(httpd, 'GET', '/rest/estimate/stub.json?zoomStop=99'),
                   httpd.request('POST', '/rest/seed/stub.json',
                                 '{"seedRequest":{"zoomStop":99}}')):
        assert answer.headers['TileSeed-Warning'] == (
            'zoomStop 99 reduced to 7, the last level of layer stub in small')


@one_mpm
def test_second_seed_of_a_layer(httpd):
    """Bytes and tiles of a real map within a factor of 1.5 of what then happens."""
    httpd.start(REST + world('TileSeedGrid EPSG:4326', 'TileSeedReseed all'))
    first = {'zoomStart': 0, 'zoomStop': 3, 'bounds': coords(-180, -90, 0, 90)}
    second = {'zoomStart': 0, 'zoomStop': 3}
    done(httpd, 'world', **first)
    for members in (second, {**second, 'type': 'reseed'}):
        told = estimate(httpd, 'world', **members)
        assert told['presentBy'] == 'count' and told['measuredTiles'] > 0
        before = len(files(httpd))
        assert told['tilesPresent'] == before
        made = done(httpd, 'world', **members)
        assert told['tiles'] == made['tilesTotal'] and told['tilesToMake'] == made['tilesMade']
        assert made['bytes'] / 1.5 < told['bytes']['expected'] < made['bytes'] * 1.5
        assert told['seconds']['expected'] > 0
    told = estimate(httpd, 'world', **second)
    assert told['tilesToMake'] == 0 and told['tilesPresent'] == told['tiles']
    assert told['bytes'] == {'expected': 0, 'low': 0, 'high': 0}
    assert estimate(httpd, 'world', type='truncate', **second)['tilesPresent'] == told['tiles']


@one_mpm
def test_second_seed_of_a_slow_layer(httpd, upstream):
    """So is the time: what the first seed took for a third as many tiles. Most of it is the
    upstream's on a busy machine, too."""
    upstream.always = Fault('delay', .6)
    httpd.start(REST + stub(upstream))
    level = {'zoomStart': 4, 'zoomStop': 4, 'threadCount': 2}
    first = done(httpd, 'stub', bounds=coords(0, 0, 500, 500), **level)
    told = estimate(httpd, 'stub', **level)
    started, finished = (datetime.datetime.fromisoformat(first[key].replace('Z', '+00:00'))
                         for key in ('started', 'finished'))
    took = 3 * (finished - started).total_seconds()
    assert took / 1.5 < told['seconds']['expected'] < took * 1.5
    upstream.always = None
    assert done(httpd, 'stub', **level)['tilesMade'] == told['tilesToMake'] == 3 * 64


@one_mpm
def test_large_areas_are_sampled(httpd, upstream):
    """And the answer says so; a quarter of every level is there."""
    httpd.start(REST + stub(upstream, meta='4x4').replace('Levels 8', 'Levels 24'))
    done(httpd, 'stub', zoomStart=4, zoomStop=6, bounds=coords(0, 0, 500, 500), threadCount=8)
    found = estimate(httpd, 'stub', zoomStart=4, zoomStop=23)
    assert found['tiles'] == sum(4 ** z for z in range(4, 24)) and found['presentBy'] == 'sample'
    assert found['tilesToMake'] + found['tilesPresent'] == found['tiles']
    assert found['tilesPresent'] == pytest.approx((4 ** 4 + 4 ** 5 + 4 ** 6) / 4, rel=0.25)
    low, high = found['bytes']['low'], found['bytes']['high']
    assert high > 1000 * low                # 17 levels away from what was measured


@one_mpm
def test_what_is_free(httpd, upstream):
    """The smaller one of what quota and disk leave; a location of some layers is not told."""
    httpd.start(REST + stub(upstream) + location('/some/rest', 'Require local',
                                                 'TileSeedLayers stub'))
    put(httpd, enabled=False)
    found = wait_until(lambda: (lambda one: one['freeIn'] == 'disk' and one)(
        estimate(httpd, 'stub', zoomStop=1)))
    assert found['free'] > 2 ** 20
    put(httpd, enabled=True, globalQuota=size(8, 'MiB'))
    assert wait_until(lambda: estimate(httpd, 'stub', zoomStop=1)['free'] == 2 ** 23)
    assert estimate(httpd, 'stub', zoomStop=1)['freeIn'] == 'quota'
    some = ask(httpd, 'GET', '/some/rest/estimate/stub.json?zoomStop=1').json()['estimate']
    assert some['free'] is some['freeIn'] is None


@one_mpm
def test_both_formats_and_what_is_refused(httpd, upstream):
    """XML has the same members; a request that can't be seeded can't be estimated."""
    upstream.always = Fault('hang')
    httpd.start(REST + stub(upstream)
                + stub(upstream, name='other').split('</TileSeedGridSet>')[1].split('\n', 2)[2]
                + location('/some/rest', 'Require local', 'TileSeedLayers other'))
    answer = ask(httpd, 'POST', '/rest/estimate/stub.xml',
                 '<seedRequest><zoomStop>1</zoomStop></seedRequest>')
    assert kind(answer) == XML
    root = xml.etree.ElementTree.fromstring(answer.body)
    assert root.tag == 'estimate' and [child.tag for child in root] == MEMBERS
    assert root.find('tiles').text == '5' and root.find('bytes').text is None
    assert refused(httpd, 400, 'POST', '/rest/estimate/stub.json',
                   '{"seedRequest":{"type":"sed"}}').startswith("Unknown type: 'sed'")
    assert refused(httpd, 400, 'POST', '/rest/estimate/x.json', '{}') == unknown('x')
    assert refused(httpd, 400, 'POST', '/some/rest/estimate/stub.json',
                   '{"seedRequest":{}}') == unknown('stub', base='/some/rest')
    refused(httpd, 405, 'PUT', '/rest/estimate/stub.json')
    nothing = estimate(httpd, 'other', bounds=coords(2000, 2000, 3000, 3000))
    assert nothing['tiles'] == nothing['metatiles'] == nothing['tilesToMake'] == 0
