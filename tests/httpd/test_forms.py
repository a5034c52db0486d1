# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The two forms that scripts have copied from GeoWebCache's web page."""
import re
import urllib.parse

import pytest

import tileseed_httpd
from rest import HTML, ask, kind, listed, location, number_of, refused, seed, serve, unknown
from seeding import task, terminate
from tileseed_httpd import wait_until

one_mpm = pytest.mark.parametrize('mpm', tileseed_httpd.MPMS[:1], indirect=True)

STATES = '/rest/seed/topp:states'

# What a browser sends when nothing but the needed was chosen on GeoWebCache's page.
FORM = {'threadCount': '01', 'type': 'seed', 'gridSetId': 'EPSG:4326', 'tileFormat': 'image/png',
        'zoomStart': '00', 'zoomStop': '15', 'parameter_STYLES': '', 'minX': '', 'minY': '',
        'maxX': '', 'maxY': ''}


def post(httpd, form, address=STATES, **more):
    """Posts a form; returns the task that its page links."""
    answer = ask(httpd, 'POST', address, urllib.parse.urlencode(form), **more)
    assert kind(answer) == HTML and answer.text.startswith('<html>')
    number = number_of(answer)
    assert answer.headers['Link'] == f'</rest/tasks/{number}.json>; rel="monitor"'
    assert re.findall('href="(.*?)"', answer.text) == [f'/rest/tasks/{number}.json']
    return task(httpd, number)


@one_mpm
def test_seed_form(httpd, upstream):
    """A seed request with the rules of one, whatever the label of the body."""
    serve(httpd, upstream)
    found = post(httpd, FORM)
    assert found['layer'] == 'topp:states' and found['gridSetId'] == 'EPSG:4326'
    assert (found['zoomStart'], found['zoomStop']) == (0, 15) and found['type'] == 'seed'
    assert found['bounds'] == [-180, -90, 180, 90] and found['parameters'] == {'STYLES': ''}
    found = post(httpd, {'minX': '-124.5', 'minY': '24', 'maxX': '-66', 'maxY': '49.5',
                         'type': 'RESEED', 'threadCount': '4', 'format': 'image/jpeg',
                         'gridSetId': 'EPSG:4326', 'parameter_styles': 'population',
                         'zoomStart': '3', 'zoomStop': '5', 'totalFailuresBeforeAborting': '7'},
                 headers={'Content-Type': 'text/xml'})
    assert found['bounds'] == [-124.5, 24, -66, 49.5] and found['type'] == 'reseed'
    assert found['format'] == 'image/jpeg' and found['threadCount'] == 4
    assert found['parameters'] == {'STYLES': 'population'}
    assert post(httpd, {'minX': ''})['zoomStop'] == 21


@one_mpm
def test_seed_form_as_the_page_fills_it_in(httpd, upstream):
    """With its fields for failures, -1 among them, in the body, in the query, and in both."""
    serve(httpd, upstream)
    form = {**FORM, 'tileFailureRetryCount': '-1', 'tileFailureRetryWaitTime': '100',
            'totalFailuresBeforeAborting': '1000'}
    query = urllib.parse.urlencode(form)
    assert post(httpd, form)['zoomStop'] == 15
    assert post(httpd, {}, f'{STATES}?{query}')['zoomStop'] == 15
    assert post(httpd, {'minX': '', 'zoomStop': '3'}, f'{STATES}?zoomStart=1&zoomStop=03')[
        'zoomStart'] == 1
    assert refused(httpd, 400, 'POST', f'{STATES}?{query}', 'minX=&zoomStop=3') == (
        "zoomStop is '15' in the query and '3' in the body")


@one_mpm
def test_list_form(httpd, upstream):
    """Lists the tasks of the layer or of all; other forms are told what they are."""
    serve(httpd, upstream)
    states, roads = number_of(seed(httpd, 'topp:states')), number_of(seed(httpd, 'roads'))
    for address, what, numbers in ((STATES, 'layer', [states]), (STATES, 'all', [states, roads]),
                                   ('/rest/seed', 'all', [states, roads])):
        answer = ask(httpd, 'POST', address, f'list={what}')
        assert kind(answer) == HTML and answer.text.startswith('<html>')
        assert [int(number) for number in re.findall(r'\[(\d+): ', answer.text)] == numbers
    assert refused(httpd, 400, 'POST', STATES, 'list=x') == (
        "Unknown list: 'x'. One of layer|all is expected")
    assert refused(httpd, 400, 'POST', STATES, '--b\r\nContent-Disposition: form-data; name="minX"'
                   '\r\n\r\n\r\n--b--\r\n').startswith('A form as multipart/form-data is not read')


@one_mpm
@pytest.mark.parametrize('fields, message', (
    ({'type': ''}, "Unknown type: ''. One of seed|reseed|truncate is expected"),
    ({'type': 'sed'}, "Unknown type: 'sed'. One of seed|reseed|truncate is expected"),
    ({'minX': '1', 'bbox': '1,2,3,4'},
     'bbox and minX, minY, maxX, maxY say the same: only one of them may be filled in'),
    ({'minX': '', 'extent': '1,2,3,4'}, "Unknown member: 'extent'. Is bbox meant?"),
    ({'zoomEnd': '4'}, "Unknown member: 'zoomEnd'. Is zoomStop meant?"),
    ({'srs': '3857'}, "Unknown member: 'srs'. Is gridSetId meant?"),
    ({'STYLES': 'outline'}, "Unknown member: 'STYLES'. Is parameter_NAME meant?"),
    ({'format': 'image/jpeg'}, "tileFormat 'image/png' and format 'image/jpeg' say two things"),
    ({'zoomstop': '3'}, "zoomstop is there twice, with '15' and '3'"),
    ({'type': 'truncate', 'submit': 'Go'}, "Unknown member: 'submit'. A truncate is refused rather "
     'than done without it: leave it out if it says nothing'),
    ({'minX': '1'}, "bounds must be four numbers, minx, miny, maxx, maxy: '' is none"),
    ({'gridSetId': 'x'},
     "Unknown gridSetId: 'x'. Layer topp:states has EPSG:4326, EPSG:900913"),
    ({'zoomStart': '5', 'zoomStop': '4'}, 'zoomStart 5 is greater than zoomStop 4')))
def test_seed_form_that_cannot_be(httpd, upstream, fields, message):
    """The same sentences as for documents."""
    serve(httpd, upstream)
    body = urllib.parse.urlencode({**FORM, **fields})
    assert refused(httpd, 400, 'POST', STATES, body) == message


@one_mpm
def test_thread_form_terminates_one_task(httpd, upstream):
    """The page lists it; its neighbours go on."""
    serve(httpd, upstream)
    numbers = [number_of(seed(httpd, 'topp:states')) for _ in range(3)]
    wait_until(lambda: task(httpd, numbers[0])['state'] == 'RUNNING')
    for number in numbers[:2]:
        before = task(httpd, number)['state']
        answer = ask(httpd, 'POST', STATES, f'kill_thread=1&thread_id={number}')
        assert kind(answer) == HTML and answer.text.startswith('<html>')
        assert f'[{number}: topp:states, SEED, {before}]' in answer.text
        assert task(httpd, number)['state'] == 'ABORTED'
    assert listed(httpd) == numbers[2:]
    again = ask(httpd, 'POST', STATES, f'kill_thread=1&thread_id={numbers[0]}').text
    assert 'nothing to terminate' in again


@one_mpm
def test_thread_form_of_another_layer(httpd, upstream):
    """A task is terminated at its own layer's address alone; what is no id is refused."""
    serve(httpd, upstream, location('/some/rest', 'Require local', 'TileSeedLayers roads'))
    number = number_of(seed(httpd, 'topp:states'))
    body = f'kill_thread=1&thread_id={number}'
    assert 'nothing to terminate' in ask(httpd, 'POST', '/rest/seed/roads', body).text
    assert 'nothing to terminate' in ask(httpd, 'POST', '/some/rest/seed/roads', body).text
    assert refused(httpd, 400, 'POST', '/some/rest/seed/topp:states',
                   body) == unknown('topp:states', base='/some/rest')
    assert refused(httpd, 400, 'POST', STATES, 'kill_thread=1&thread_id=x') == (
        "thread_id must be the id of a task, not 'x'")
    assert refused(httpd, 400, 'POST', '/rest/seed', body).startswith('Unknown kill_all code')
    assert listed(httpd) == [number]
    terminate(httpd)
