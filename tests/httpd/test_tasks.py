# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Tasks that explain themselves: their list, one of them, its end and its failures."""
import datetime
import os
import random
import signal
import urllib.parse

import pytest

import tileseed_httpd
from rest import JSON, ask, kind, listed, location, number_of, refused, seed, serve
from seeding import (GRIDS, REST, begin, counts, done, ended, failures, files, seeder_of, stub,
                     task, terminate)
from tileseed_httpd import wait_until
from upstream import Fault

one_mpm = pytest.mark.parametrize('mpm', tileseed_httpd.MPMS[:1], indirect=True)

MEMBERS = ['id', 'layer', 'gridSetId', 'format', 'type', 'bounds', 'zoomStart', 'zoomStop',
           'derived', 'threadCount', 'parameters', 'state', 'reason', 'reasonCode', 'tilesTotal',
           'tilesProcessed', 'tilesMade', 'tilesSkipped', 'tilesUnchanged', 'tilesRemoved',
           'tilesFailed', 'tilesPruned', 'prunedMetatiles', 'prunedChecked', 'prunedWrong',
           'prunedForgotten', 'bytes', 'upstreamRequests', 'sharedRequests', 'requestSize',
           'tilesPerSecond', 'secondsRemaining', 'requestedBy', 'ignored', 'created', 'started',
           'finished', 'retryOf']


def tasks(httpd, query='', base='/rest'):
    """The ids of a list of tasks, in its order, and the address of the next page or None."""
    answer = ask(httpd, 'GET', f'{base}/tasks.json{query}')
    assert kind(answer) == JSON
    link = answer.headers['Link']
    assert link is None or link.startswith('<') and link.endswith('>; rel="next"')
    document = answer.json()
    assert list(document) == ['tasks']
    assert all(list(one) == MEMBERS for one in document['tasks'])
    return [one['id'] for one in document['tasks']], link and link[1:link.index('>')]


# Lists

@one_mpm
def test_list_has_every_task_newest_first(httpd, upstream):
    """Finished ones too; states, layer and page narrow it."""
    serve(httpd, upstream)
    assert tasks(httpd) == ([], None)
    numbers = [number_of(seed(httpd, name))
               for name in ('roads', 'topp:states', 'roads', 'roads', 'topp:states')]
    terminate(httpd)
    more = [number_of(seed(httpd, name)) for name in ('roads', 'topp:states')]
    assert tasks(httpd) == ((numbers + more)[::-1], None)
    assert tasks(httpd, '?state=aborted') == (numbers[::-1], None)
    assert tasks(httpd, '?state=pending,RUNNING,done') == (more[::-1], None)
    assert tasks(httpd, '?layer=roads') == ([6, 4, 3, 1], None)
    assert tasks(httpd, '?layer=topp%3Astates&state=aborted') == ([5, 2], None)
    assert tasks(httpd, '?layer=nowhere') == ([], None)
    assert tasks(httpd, '?before=3') == ([2, 1], None)
    assert tasks(httpd, '?limit=7') == ([7, 6, 5, 4, 3, 2, 1], None)


@pytest.mark.pgsql
@one_mpm
def test_list_comes_in_pages(httpd, upstream):
    """Each names the next one, with the same query; new tasks do not move what comes."""
    serve(httpd, upstream, location('/a b/rest'))
    for _ in range(7):
        seed(httpd, 'topp:states')
    terminate(httpd)
    address = '/a%20b/rest/tasks.json?state=aborted,done&layer=topp%3Astates&limit=3'
    pages = []
    while address:
        numbers, following = tasks(httpd, '?' + urllib.parse.urlsplit(address).query,
                                   address.split('/tasks.json')[0])
        pages.append(numbers)
        assert following is None or following.startswith('/a%20b/rest/tasks.json?')
        address = following
        seed(httpd, 'topp:states')
    assert pages == [[7, 6, 5], [4, 3, 2], [1]]


@one_mpm
def test_query_that_cannot_be(httpd, upstream):
    """One line says what would be right."""
    serve(httpd, upstream)
    assert refused(httpd, 400, 'GET', '/rest/tasks.json?limit=0') == (
        "limit must be a whole number from 1 to 1000, not '0'")


@one_mpm
def test_location_shows_its_layers_tasks_alone(httpd, upstream):
    """In the list, one by one, their failures; and no other can be terminated."""
    serve(httpd, upstream,
          location('/some/rest', 'Require local', 'TileSeedLayers roads'))
    states, roads = number_of(seed(httpd, 'topp:states')), number_of(seed(httpd, 'roads'))
    assert tasks(httpd) == ([roads, states], None)
    assert tasks(httpd, base='/some/rest') == ([roads], None)
    assert tasks(httpd, '?layer=topp:states', base='/some/rest') == ([], None)
    for method, address in (('GET', f'{states}.json'), ('DELETE', f'{states}.json'),
                            ('GET', f'{states}/failures.json')):
        assert refused(httpd, 404, method, f'/some/rest/tasks/{address}') == (
            f'there is no task {states}')
    assert ask(httpd, 'DELETE', f'/some/rest/tasks/{roads}.json').json()['state'] == 'ABORTED'
    assert listed(httpd) == [states]


@pytest.mark.pgsql
@one_mpm
def test_history_is_pruned(httpd, upstream):
    """TileSeedHistory bounds it; unfinished tasks are never forgotten."""
    httpd.start(REST + 'TileSeedHistory 3 30d\n' + stub(upstream, 'TileSeedRetries 0'))
    upstream.faults = [Fault('xml')]
    begin(httpd, 'stub', zoomStop=0)
    wait_until(lambda: task(httpd, 1)['state'] == 'ABORTED')
    assert failures(httpd, 1)
    for _ in range(4):
        done(httpd, 'stub', zoomStop=0)
    httpd.restart()                             # the seeder prunes at its start
    wait_until(lambda: tasks(httpd)[0] == [5, 4, 3], what='the history to be pruned')
    assert refused(httpd, 404, 'GET', '/rest/tasks/1/failures.json') == 'there is no task 1'
    assert not failures(httpd, 1)
    httpd.expect('failed answers? of the upstream')


# One task

@one_mpm
def test_live_numbers_of_a_task(httpd, upstream):
    """While it runs: what was made, at which pace, how long it will take; then how it ended."""
    upstream.always = Fault('delay', 0.1)
    httpd.start(REST + 'TileSeedThreads 1\n' + stub(upstream))
    number = begin(httpd, 'stub', zoomStart=6, zoomStop=6, threadCount=2)
    last = begin(httpd, 'stub', zoomStart=6, zoomStop=6)
    first = wait_until(lambda: task(httpd, number)['secondsRemaining'] and task(httpd, number))
    assert first['state'] == 'RUNNING' and first['finished'] is None
    assert first['tilesTotal'] == 4 ** 6 and first['tilesPerSecond'] > 0
    left = first['tilesTotal'] - first['tilesProcessed']
    assert first['secondsRemaining'] == pytest.approx(left / first['tilesPerSecond'], rel=0.02)
    later = wait_until(lambda: next((found for found in [task(httpd, number)]
                                     if found['tilesMade'] > first['tilesMade']), None))
    assert later['bytes'] > first['bytes']
    assert later['upstreamRequests'] >= first['upstreamRequests']
    pending = task(httpd, last)
    assert pending['state'] == 'PENDING'
    assert pending['reason'] == 'waits for a thread: other tasks have all 1 of TileSeedThreads'
    assert pending['tilesPerSecond'] is pending['secondsRemaining'] is None
    assert pending['started'] is pending['finished'] is None
    terminate(httpd)
    final = ended(httpd, number)
    assert final['reason'] == 'terminated by anybody' and final['secondsRemaining'] is None
    made = datetime.datetime.fromisoformat(final['started'].replace('Z', '+00:00'))
    assert abs(made.timestamp() - httpd.path('state').stat().st_ctime) < 3600


@one_mpm
def test_pace_of_a_task_that_stands_is_unknown(httpd, upstream):
    """The upstream hangs: nobody can tell how long it will take."""
    serve(httpd, upstream)
    number = number_of(seed(httpd, 'roads'))
    wait_until(lambda: task(httpd, number)['state'] == 'RUNNING')
    found = task(httpd, number)
    assert found['tilesPerSecond'] is found['secondsRemaining'] is None


# Terminating one

@pytest.mark.pgsql
@pytest.mark.main_path
@one_mpm
def test_delete_terminates_one_task(httpd, upstream):
    """Pending or running; the answer is its document, and the second time it is too late."""
    serve(httpd, upstream)
    numbers = [number_of(seed(httpd, 'roads')) for _ in range(3)]
    wait_until(lambda: task(httpd, numbers[0])['state'] == 'RUNNING')
    for number in numbers[:2]:
        document = ask(httpd, 'DELETE', f'/rest/tasks/{number}.json').json()
        assert document['state'] == 'ABORTED' and document['reason'] == 'terminated by anybody'
        assert document['id'] == number and document['finished']
        assert number not in listed(httpd)
    assert listed(httpd) == numbers[2:]
    assert refused(httpd, 409, 'DELETE', f'/rest/tasks/{numbers[0]}.json') == (
        f'task {numbers[0]} has ended already; only a pending or running one can be terminated')
    assert refused(httpd, 404, 'DELETE', '/rest/tasks/4711.json') == 'there is no task 4711'


@one_mpm
def test_page_of_another_site_deletes_nothing(httpd, upstream):
    """Origin counts for DELETE as for POST."""
    serve(httpd, upstream)
    number = number_of(seed(httpd, 'roads'))
    refused(httpd, 403, 'DELETE', f'/rest/tasks/{number}.json',
            headers={'Origin': 'http://evil.example'})
    assert listed(httpd) == [number]


# Failures

@pytest.mark.pgsql
@pytest.mark.main_path
@one_mpm
def test_failures_tell_what_is_missing_and_why(httpd, upstream):
    """Every failed metatile by its first tile, in pages, with what the upstream said."""
    upstream.always = Fault('status', 404)
    httpd.start(REST + stub(upstream, 'TileSeedRetries 0'))
    number = begin(httpd, 'stub', zoomStart=3, zoomStop=3)
    assert counts(ended(httpd, number)) == (0, 0, 0, 64)
    address, found = f'/rest/tasks/{number}/failures.json?limit=7', []
    while address:
        page = ask(httpd, 'GET', address)
        document = page.json()
        assert list(document) == ['failures', 'causes', 'causesOf', 'total', 'next']
        assert document['total'] == 16
        found += document['failures']
        assert page.headers['Link'] == (document['next'] and f'<{document["next"]}>; rel="next"')
        address = document['next']
    grid = GRIDS['small']
    assert {(one['z'], one['x'], one['y']) for one in found} == {
        block[:3] for block in grid.metatiles(grid.tiles(3), (2, 2))}
    assert len(found) == 16
    for one in found:
        assert one['httpStatus'] == 404 and one['attempts'] == 1 and '404' in one['cause']
        assert one['time'].endswith('Z')
    assert not files(httpd)
    httpd.expect('failed answers? of the upstream')


@one_mpm
def test_failures_of_a_good_task_are_none(httpd, upstream):
    """An empty list, not an error; a task that is not there is one."""
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=1)
    assert ask(httpd, 'GET', '/rest/tasks/1/failures.json').json() == {
        'failures': [], 'causes': [], 'causesOf': 0, 'total': 0, 'next': None}
    assert refused(httpd, 404, 'GET', '/rest/tasks/2/failures.json') == 'there is no task 2'
    assert refused(httpd, 400, 'GET', '/rest/tasks/1/failures.json?after=1') == (
        "after must be a metatile as z/x/y, not '1'")


# Retry

def retry(httpd, number, status=200):
    """Retries a task; returns the id of the new one, or the sentence of a refusal."""
    if status != 200:
        return refused(httpd, status, 'POST', f'/rest/tasks/{number}/retry')
    answer = ask(httpd, 'POST', f'/rest/tasks/{number}/retry')
    again = number_of(answer)
    assert answer.body == b'' and again > number
    assert answer.headers['Link'] == f'</rest/tasks/{again}.json>; rel="monitor"'
    assert task(httpd, again)['retryOf'] == number
    return again


def boxes(blocks):
    """What the upstream is asked for to get some metatiles of the small grid set."""
    return sorted(GRIDS['small'].box(block) for block in blocks)


def asked(upstream):
    """What the upstream was asked for since the last time."""
    found = sorted(tuple(float(number) for number in one['BBOX'].split(','))
                   for one in upstream.requests)
    upstream.requests.clear()
    return found


def lost(httpd, number):
    """The first tiles of the metatiles that a task has given up on."""
    return {found[:3] for found in failures(httpd, number)}


def scripted(faults, of):
    """A script of so many answers with so many faults in it, always the same."""
    script = [Fault('status', 404)] * faults + [None] * (of - faults)
    random.Random(37).shuffle(script)
    return script


@pytest.mark.pgsql
@one_mpm
def test_retry_makes_what_failed_and_nothing_else(httpd, upstream):
    """37 of 256 metatiles fail: DONE, 37 causes; the retry makes those, and then there are none."""
    httpd.expect('failed answers? of the upstream')         # where the task takes its time
    upstream.faults = scripted(37, 256)
    httpd.start(REST + stub(upstream, 'TileSeedRetries 0'))
    grid = GRIDS['small']
    first = ended(httpd, begin(httpd, 'stub', zoomStart=5, zoomStop=5, threadCount=4))
    assert first['state'] == 'DONE' and counts(first) == (1024 - 4 * 37, 0, 0, 4 * 37)
    missing = lost(httpd, first['id'])
    said = ask(httpd, 'GET', f'/rest/tasks/{first["id"]}/failures.json').json()
    assert said['total'] == len(missing) == 37
    assert {(one['z'], one['x'], one['y']) for one in said['failures']} == missing
    assert all('404' in one['cause'] for one in said['failures'])
    asked(upstream)
    second = ended(httpd, retry(httpd, first['id']))
    assert second['state'] == 'DONE' and second['tilesTotal'] == 4 * 37
    assert counts(second) == (4 * 37, 0, 0, 0) and second['upstreamRequests'] == 37
    assert asked(upstream) == boxes(grid.metatile(tile, (2, 2)) for tile in missing)
    assert len(files(httpd)) == 1024
    assert ask(httpd, 'GET', f'/rest/tasks/{second["id"]}/failures.json').json()['total'] == 0
    assert retry(httpd, second['id'], 409) == (
        f'task {second["id"]} has no failed metatiles: there is nothing to retry')
    again = ended(httpd, retry(httpd, first['id']))      # its failures are history, all made now
    assert counts(again) == (0, 4 * 37, 0, 0) and asked(upstream) == []
    httpd.expect('failed answers? of the upstream')


@one_mpm
def test_retry_of_a_retry(httpd, upstream):
    """Of a reseed cut by its bounds: what fails again is retried again, by its own id."""
    upstream.faults = scripted(12, 64)
    httpd.start(REST + stub(upstream, 'TileSeedRetries 0'))
    grid, bounds = GRIDS['small'], (70, 70, 930, 930)    # tiles 1 to 14 of 16, metatiles 0 to 7
    number = begin(httpd, 'stub', zoomStart=4, zoomStop=4, type='reseed',
                   bounds={'coords': {'double': bounds}})
    tiles = grid.tiles(4, bounds)
    assert len(tiles) == 14 ** 2

    def of(blocks):
        return len({tile for tile in tiles
                    if grid.metatile(tile, (2, 2))[:3] in blocks})
    found, missing = ended(httpd, number), lost(httpd, number)
    assert len(missing) == 12 and counts(found) == (196 - of(missing), 0, 0, of(missing))
    for faults in (5, 2, 0):
        upstream.faults = scripted(faults, len(missing))
        asked(upstream)
        number = retry(httpd, number)
        found, still = ended(httpd, number), lost(httpd, number)
        assert len(still) == faults and still <= missing and found['type'] == 'reseed'
        assert found['tilesTotal'] == of(missing)
        assert counts(found) == (of(missing) - of(still), 0, 0, of(still))
        assert asked(upstream) == boxes(
            {grid.metatile(tile, (2, 2)) for tile in tiles
             if grid.metatile(tile, (2, 2))[:3] in missing})
        missing = still
    assert len(files(httpd)) == len(tiles)
    httpd.expect('failed answers? of the upstream')


@one_mpm
def test_retry_goes_on_after_a_restart(httpd, upstream):
    """Its list is as durable as the task: the seeder dies in its middle."""
    upstream.faults = scripted(20, 64)
    httpd.start(REST + stub(upstream, 'TileSeedRetries 0'))
    first = ended(httpd, begin(httpd, 'stub', zoomStart=4, zoomStop=4))
    missing = lost(httpd, first['id'])
    upstream.faults, upstream.always = [None] * 9, Fault('hang')
    asked(upstream)
    number = retry(httpd, first['id'])
    wait_until(lambda: task(httpd, number)['tilesMade'] == 36)
    os.kill(seeder_of(httpd), signal.SIGKILL)
    upstream.always = None
    found = ended(httpd, number)
    assert counts(found) == (80, 0, 0, 0) and found['state'] == 'DONE'
    made = asked(upstream)
    assert sorted(set(made)) == boxes(GRIDS['small'].metatile(tile, (2, 2)) for tile in missing)
    assert len(made) <= 20 + 2          # what hung, and one more under way
    assert len(files(httpd)) == 256
    httpd.expect('failed answers? of the upstream|ended unexpectedly|AH00052')


@one_mpm
def test_retry_that_cannot_be(httpd, upstream):
    """Of a task that is not over, is not there, or whose layer is another by now."""
    upstream.faults, upstream.always = [Fault('status', 404)], None
    httpd.start(REST + stub(upstream, 'TileSeedRetries 0'))
    ended(httpd, begin(httpd, 'stub', zoomStop=0))
    upstream.always = Fault('hang')
    number = begin(httpd, 'stub', zoomStop=3)
    wait_until(lambda: task(httpd, number)['state'] == 'RUNNING')
    assert retry(httpd, number, 409) == (
        f'task {number} is RUNNING: what fails can be retried when it has ended')
    assert retry(httpd, 4711, 404) == 'there is no task 4711'
    refused(httpd, 405, 'GET', '/rest/tasks/1/retry')
    refused(httpd, 403, 'POST', '/rest/tasks/1/retry', headers={'Origin': 'http://evil.example'})
    terminate(httpd)
    httpd.restart(REST + stub(upstream, name='other'))
    assert retry(httpd, 1, 409) == (
        "task 1 can't be retried: layer stub is not configured")
    httpd.expect('failed answers? of the upstream')
