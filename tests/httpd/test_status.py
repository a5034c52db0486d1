# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Our section of mod_status: on the page, and as values for machines."""
import html
import json
import re

import pytest

from quota import agrees, put
from seeding import REST, begin, done, stub
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

STATUS = '''
<Location "/server-status">
    SetHandler server-status
    Require local
</Location>
'''


def values(httpd):
    """Our values of ?auto, in their order."""
    text = httpd.get('/server-status?auto').text
    return dict(line.split(': ', 1) for line in text.splitlines() if line.startswith('TileSeed'))


def section(httpd, query=''):
    """Our section of the page; "" if there is none."""
    return httpd.get('/server-status' + query).text.partition('<h1>Tile cache seeding</h1>')[2]


@one_mpm
def test_values_of_an_idle_server(httpd, upstream):
    """State, counts, and what the cache takes; a limit only while there is one."""
    httpd.start(REST + STATUS + stub(upstream))
    done(httpd, 'stub', zoomStop=2)
    taken = agrees(httpd)['bytes']
    assert taken > 0
    wait_until(lambda: values(httpd)['TileSeedQuotaUsed'] == str(taken))
    found = values(httpd)
    assert [key for key in found if 'Upstream' not in key] == [
        'TileSeedSeeder', 'TileSeedTasksRunning', 'TileSeedTasksPending', 'TileSeedTilesPerSecond',
        'TileSeedQuotaUsed']
    assert list(found.values())[:4] == ['working', '0', '0', '0.0']
    put(httpd, enabled=True, globalQuota={'value': 3, 'units': 'MiB'})
    assert values(httpd)['TileSeedQuotaLimit'] == str(3 << 20)
    assert 'the disk quota is 3.0 MiB</p>' in section(httpd)


@one_mpm
def test_tasks(httpd, upstream):
    """Each task has its values, a row of the page, or an item of the page without tables."""
    upstream.always = Fault('held')
    httpd.start('TileSeedThreads 1\n' + REST + STATUS + stub(upstream))
    first = begin(httpd, 'stub', zoomStop=2)
    second = begin(httpd, 'stub', zoomStop=1)
    wait_until(lambda: values(httpd)['TileSeedTasksRunning'] == '1')
    wait_until(lambda: 'TileSeedTask[1]Reason' in values(httpd))
    found = values(httpd)
    assert found['TileSeedTasksPending'] == '1'
    assert {key[15:]: value for key, value in found.items() if 'Task[0]' in key} == {
        'Id': str(first), 'Layer': 'stub', 'Type': 'seed', 'State': 'RUNNING', 'Total': '21',
        'Processed': '0', 'Failed': '0', 'TilesPerSecond': '0.0'}
    assert found['TileSeedTask[1]Id'] == str(second)
    assert found['TileSeedTask[1]Reason'].startswith('waits for a thread')
    assert f'<td>{first}</td><td>stub</td><td>seed</td><td>RUNNING</td><td>0 of 21</td>' in (
        section(httpd))
    plain = section(httpd, '?notable')
    assert f'<li>task {second} of layer stub: seed, PENDING, 0 of 5 tiles' in plain
    assert '<table' not in plain
    upstream.released.set()


@one_mpm
def test_hostile_names(httpd, upstream):
    """A name is text, on the page and in a value."""
    upstream.always = Fault('held')
    name = '<img src=x onerror=alert(1)> Größe'
    httpd.start(REST + STATUS + stub(upstream, name=name))
    begin(httpd, name, zoomStop=1)
    text = section(httpd)
    assert '<img' not in text and text.isascii() and name in html.unescape(text)
    assert values(httpd)['TileSeedTask[0]Layer'] == '<img src=x onerror=alert(1)> Gr??e'
    upstream.released.set()


@one_mpm
def test_more_tasks_than_are_shown(httpd, upstream):
    """A hundred of them, and the number of the others."""
    upstream.always = Fault('held')
    httpd.start('TileSeedThreads 1\n' + REST + STATUS + stub(upstream))
    for _ in range(103):
        begin(httpd, 'stub', zoomStop=1)
    found = values(httpd)
    assert int(found['TileSeedTasksRunning']) + int(found['TileSeedTasksPending']) == 103
    assert len([key for key in found if re.fullmatch(r'TileSeedTask\[\d+\]Id', key)]) == 100
    text = section(httpd)
    assert len(re.findall(r'<tr><td>\d+</td>', text)) == 100 and '<p>and 3 more</p>' in text
    httpd.post('/rest/seed', 'kill_all=all')
    upstream.released.set()


@one_mpm
def test_section_that_is_switched_off(httpd, upstream):
    """Nothing is said, of no task."""
    httpd.start('TileSeedServerStatus off\n' + REST + STATUS + stub(upstream))
    assert values(httpd) == {} and section(httpd) == ''


@pytest.mark.sqlite
@one_mpm
def test_state_that_cannot_be_used(httpd, upstream):
    """The seeder's state is said, and what can't be read is left out."""
    httpd.expect('TS0003|TS0040|TS0043')
    httpd.start('TileSeedStateDir "/dev/null/state"\n' + REST.replace('TileSeedStateDir', '#') +
                STATUS + stub(upstream))
    wait_until(lambda: values(httpd)['TileSeedSeeder'].startswith('waiting: '))
    assert 'TileSeedQuotaUsed' not in values(httpd)
    assert 'The cache takes' not in section(httpd)
    assert json.dumps(values(httpd)).isascii()
