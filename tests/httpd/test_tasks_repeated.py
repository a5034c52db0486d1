# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Requests that are there already: sent again by a client that heard no answer, or covered."""
import concurrent.futures
import json

import pytest

import tileseed_httpd
from rest import LEAST, ask, listed, location, number_of, refused, seed, serve
from seeding import REST, begin, ended, stub, task
from tileseed_httpd import wait_until
from upstream import Fault

one_mpm = pytest.mark.parametrize('mpm', tileseed_httpd.MPMS[:1], indirect=True)

BODY = json.dumps({'seedRequest': {'zoomStop': 3, 'name': 'other'}})


def key(name):
    """The header of a request that may be sent again."""
    return {'headers': {'Idempotency-Key': name}}


@one_mpm
def test_same_key_is_the_same_task(httpd, upstream):
    """The same answer to the letter, also after the task's end and a restart of httpd."""
    serve(httpd, upstream)
    first = seed(httpd, 'roads', BODY, **key('a1'))
    number = number_of(first)
    for _ in range(3):
        again = seed(httpd, 'roads', BODY, **key('a1'))
        for name in ('TileSeed-Task', 'Link', 'TileSeed-Warning'):
            assert again.headers[name] == first.headers[name]
    assert listed(httpd) == [number]
    ask(httpd, 'DELETE', f'/rest/tasks/{number}.json')
    httpd.restart()
    assert number_of(seed(httpd, 'roads', BODY, **key('a1'))) == number and not listed(httpd)
    assert number_of(seed(httpd, 'roads', BODY, **key('a2'))) > number
    assert number_of(seed(httpd, 'roads', BODY)) > number + 1


@one_mpm
def test_same_key_with_another_request(httpd, upstream):
    """Another body, layer or format: refused, nothing begins."""
    serve(httpd, upstream)
    number = number_of(seed(httpd, 'roads', BODY, **key('a1')))
    for name, suffix, body in (('roads', 'json', LEAST['json']), ('topp:states', 'json', BODY),
                               ('roads', 'xml', LEAST['xml'])):
        assert refused(httpd, 422, 'POST', f'/rest/seed/{name}.{suffix}', body, **key('a1')) == (
            'this Idempotency-Key came with another request, which is task '
            f'{number}; a new request needs a new key')
    for wrong in ('x' * 256, ''):
        assert refused(httpd, 400, 'POST', '/rest/seed/roads.json', BODY, **key(wrong)) == (
            'Idempotency-Key must have 1 to 255 characters')
    refused(httpd, 400, 'POST', '/rest/seed/roads.json', '{"seedRequest":{"type":"x"}}',
            **key('a3'))
    assert number_of(seed(httpd, 'roads', BODY, **key('a3'))) == number + 1


@one_mpm
def test_same_key_where_the_task_is_not_seen(httpd, upstream):
    """A location that does not see the task's layer is not told its number."""
    serve(httpd, upstream, location('/few/rest', 'Require local',
                                    'TileSeedLayers topp:states'))
    number = number_of(seed(httpd, 'roads', BODY, **key('a1')))
    path = '/rest/seed/topp:states.json'
    assert f'task {number};' in refused(httpd, 422, 'POST', path, BODY, **key('a1'))
    assert refused(httpd, 422, 'POST', f'/few{path}', BODY, **key('a1')) == (
        'this Idempotency-Key came with another request; a new request needs a new key')


@pytest.mark.pgsql
def test_same_key_at_the_same_time(httpd, upstream):
    """Of many clients one makes the task, in whichever child."""
    serve(httpd, upstream)
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(lambda _: seed(httpd, 'roads', BODY, **key('all')), range(24)))
    assert len({number_of(answer) for answer in answers}) == 1
    assert len(listed(httpd)) == 1


@one_mpm
def test_retry_with_a_key(httpd, upstream):
    """Sent twice it is made once."""
    upstream.faults = [Fault('status', 404)]
    httpd.start(REST + stub(upstream, 'TileSeedRetries 0'))
    ended(httpd, begin(httpd, 'stub', zoomStop=0))
    numbers = [number_of(ask(httpd, 'POST', '/rest/tasks/1/retry', **key('r'))) for _ in range(2)]
    assert numbers == [2, 2] and ended(httpd, 2)['tilesMade'] == 1
    httpd.expect('failed answers? of the upstream')


@one_mpm
def test_covered_seed_is_answered_with_the_pending_one(httpd, upstream):
    """If the client says that this will do; otherwise, or when it is more, it is a new task."""
    serve(httpd, upstream, 'TileSeedThreads 1')
    running = number_of(seed(httpd, 'topp:states'))
    wait_until(lambda: task(httpd, running)['state'] == 'RUNNING')
    pending = number_of(seed(httpd, 'roads', BODY))
    less = json.dumps({'seedRequest': {'zoomStart': 1, 'zoomStop': 2,
                                       'bounds': {'coords': {'double': [0, 0, 9, 9]}}}})
    for prefer in ('handling=lenient', 'respond-async, Handling="lenient"; wait=3'):
        answer = seed(httpd, 'roads', less, headers={'Prefer': prefer})
        assert number_of(answer) == pending
        assert answer.headers['Preference-Applied'] == 'handling=lenient'
    for name, body, prefer in (('roads', less, 'handling=strict'), ('roads', less, None),
                               ('roads', LEAST['json'], 'handling=lenient'),
                               ('topp:states', LEAST['json'], 'handling=lenient')):
        before = listed(httpd)
        answer = seed(httpd, name, body, headers={'Prefer': prefer} if prefer else {})
        assert number_of(answer) > before[-1] and 'Preference-Applied' not in answer.headers
