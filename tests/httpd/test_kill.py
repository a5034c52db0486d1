# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Terminating tasks: which, how it is asked for, what the page says, and that it holds."""
import os
import pathlib
import re
import signal
import threading
import time

import pytest

from rest import HTML, ask, kind, listed, number_of, refused, seed, serve
from seeding import REST, begin, files, halt, rows, seeder_of, stub, task, terminate
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

THREADS = 8
ONE_THREAD = 'TileSeedThreads 1\n'
ITEM = re.compile(r'^<li>\[(\d+): ([^,]+), (SEED|RESEED|TRUNCATE), (RUNNING|PENDING)\]</li>$',
                  re.MULTILINE)


def kill(httpd, code, path='/rest/seed', **more):
    """Terminates tasks; returns [(id, layer, type, state)] of the page."""
    answer = ask(httpd, 'POST', path, f'kill_all={code}', **more)
    assert kind(answer) == HTML
    assert answer.text.startswith('<html>') and answer.text.rstrip().endswith('</html>')
    found = [(int(number), *rest) for number, *rest in ITEM.findall(answer.text)]
    assert len(found) == answer.text.count('<li>'), answer.text
    return found


def three_tasks(httpd):
    """One task that runs and two that wait for its thread."""
    first = number_of(seed(httpd, 'topp:states', '{"seedRequest":{"type":"reseed"}}'))
    wait_until(lambda: rows(httpd)[0][4] == 1)
    second = number_of(seed(httpd, 'roads'))
    third = number_of(seed(httpd, 'topp:states', '{"seedRequest":{"type":"seed"}}'))
    return ((first, 'topp:states', 'RESEED', 'RUNNING'), (second, 'roads', 'SEED', 'PENDING'),
            (third, 'topp:states', 'SEED', 'PENDING'))


@one_mpm
@pytest.mark.parametrize('code, named, states', [
    ('running', 'running', {'RUNNING'}), ('RUNNING', 'running', {'RUNNING'}),
    ('1', 'running', {'RUNNING'}), ('pending', 'pending', {'PENDING'}),
    ('Pending', 'pending', {'PENDING'}), ('all', 'all', {'RUNNING', 'PENDING'}),
    ('aLL', 'all', {'RUNNING', 'PENDING'})])
def test_codes(httpd, upstream, code, named, states):
    """Each code terminates what it says, whatever its case, and the page names it."""
    serve(httpd, upstream, ONE_THREAD)
    tasks = three_tasks(httpd)
    answer = ask(httpd, 'POST', '/rest/seed', f'kill_all={code}')
    assert f'terminate tasks: {named}.' in answer.text
    gone = [row for row in tasks if row[3] in states]
    assert [(int(number), *rest) for number, *rest in ITEM.findall(answer.text)] == gone
    assert '<p>terminated:</p>' in answer.text and 'being terminated' not in answer.text
    left = [row[0] for row in tasks if row[3] not in states]
    assert listed(httpd) == left
    for number, *_ in gone:
        document = task(httpd, number)
        assert (document['state'], document['reason']) == ('ABORTED', 'terminated by anybody')


@one_mpm
def test_one_layer(httpd, upstream):
    """The address of a layer leaves the tasks of others alone."""
    serve(httpd, upstream, ONE_THREAD)
    states, roads, waiting = three_tasks(httpd)
    assert kill(httpd, 'running', '/rest/seed/roads') == []
    assert kill(httpd, 'pending', '/rest/seed/topp:states') == [waiting]
    assert listed(httpd) == [states[0], roads[0]]
    assert kill(httpd, 'all', '/rest/seed/roads') == [roads]
    assert kill(httpd, 'all', '/rest/seed/topp%3Astates') == [states]
    assert listed(httpd) == []


@one_mpm
def test_nothing_to_terminate(httpd, upstream):
    """Is 200 as well, for all and for a layer."""
    serve(httpd, upstream)
    for path in ('/rest/seed', '/rest/seed/', '/rest/seed/roads'):
        for code in ('all', 'running', 'pending', '1'):
            assert kill(httpd, code, path) == []
    assert 'nothing to terminate' in ask(httpd, 'POST', '/rest/seed', 'kill_all=all').text


@one_mpm
@pytest.mark.parametrize('body, path', [
    ('kill_all=all', ''), ('a=b&kill_all=all&c', ''), ('kill%5Fall=%61ll', ''),
    ('&&kill_all=all&', ''), ('kill_all=all&kill_all=all', ''), ('kill_all=all\r\n', ''),
    ('', '?kill_all=all'), (None, '?kill_all=all'), ('', '?a=b&kill_all=all'),
    ('a=b', '?kill_all=all'), ('kill_all=all', '?kill_all=ALL'), ('kill_all=+all+', '')])
def test_forms(httpd, upstream, body, path):
    """In the body or in the query; whatever the Content-Type."""
    serve(httpd, upstream)
    for content_type in ('application/x-www-form-urlencoded', 'application/json', 'text/xml',
                         'multipart/form-data; boundary=x', ''):
        seed(httpd, 'roads')
        answer = ask(httpd, 'POST', f'/rest/seed{path}', body,
                     headers={'Content-Type': content_type})
        assert len(ITEM.findall(answer.text)) == 1
    assert listed(httpd) == []


@one_mpm
def test_forms_never_mean_more_than_they_say(httpd, upstream):
    """What would spare some tasks and is not understood is refused; the rest is named."""
    serve(httpd, upstream)
    number = number_of(seed(httpd, 'roads'))
    possible = 'Possible here: kill_all'
    for path, body, message in (
            ('seed', 'kill_all=all&layer=topp:states', f"Unknown member: 'layer'. {possible}"),
            ('seed?workspace=topp', 'kill_all=all', f"Unknown member: 'workspace'. {possible}"),
            ('seed/roads', 'kill_thread=1&thread_id=9&kill_all=all',
             f"Unknown member: 'kill_thread'. {possible}"),
            ('seed/roads?kill_all=all', 'kill_all=pending',
             "kill_all is 'all' in the query and 'pending' in the body"),
            ('seed?kill_all=all', '{"layer":"topp:states"}', 'Beside kill_all in the query no '
             'document is read: nothing, or a form, is expected')):
        assert refused(httpd, 400, 'POST', f'/rest/{path}', body) == message
    assert listed(httpd) == [number]
    answer = ask(httpd, 'POST', '/rest/seed?_=7', 'kill_all=all&submit=Go')
    assert answer.headers['TileSeed-Warning'] == 'ignored: submit, _'
    assert 'TS0056: terminate: ignored: submit, _' in httpd.error_log()
    assert listed(httpd) == []


@one_mpm
def test_seed_requests_without_a_suffix(httpd, upstream):
    """On a layer's address a body that begins with { or < is a seed request; on that of all
    layers it is none."""
    serve(httpd, upstream)
    for body in ('{"seedRequest":{"zoomStop":3}}', "{'seedRequest':{'zoomStop':3}}}",
                 '<seedRequest><zoomStop>3</zoomStop></seedRequest>'):
        number = number_of(ask(httpd, 'POST', '/rest/seed/roads?kill_all=all', body))
        assert task(httpd, number)['zoomStop'] == 3
        assert refused(httpd, 400, 'POST', '/rest/seed', body) == (
            'A seed request names its layer in its address: POST it to seed/<layer>.json or '
            'seed/<layer>.xml')
    assert 'Unknown type' in refused(httpd, 400, 'POST', '/rest/seed/roads',
                                     '{"seedRequest":{"type":"trunkate"}}')
    assert 'Unknown layer' in refused(httpd, 400, 'POST', '/rest/seed/nowhere', '{')
    assert len(listed(httpd)) == 3


@one_mpm
def test_refusals(httpd, upstream):
    """A missing or unknown code terminates nothing, and is shown as far as it can be."""
    serve(httpd, upstream)
    seed(httpd, 'roads')
    for body, shown in (('', ''), ('kill_all', ''), ('kill_all=', ''),
                        ('kill_all=none', 'none'), ('kill_all=0', '0'), ('kill_all=2', '2'),
                        ('kill_all=all%00', 'all%00'), ('kill_all=a%0d%0ab', 'a??b'),
                        ('kill_all=%C3%BC', '?'), ('kill_all=<script>', '<script>'),
                        ('kill_all=' + 'x' * 5000, 'x' * 200)):
        for path in ('/rest/seed', '/rest/seed/', '/rest/seed/roads'):
            assert refused(httpd, 400, 'POST', path, body) == (
                f"Unknown kill_all code: '{shown}'. One of all|running|pending is expected."), body
    assert listed(httpd) == [1]


def connected(upstream):
    """How many connections to an upstream its clients have open."""
    port = f':{upstream.server.server_address[1]:04X}'
    lines = pathlib.Path('/proc/net/tcp').read_text(encoding='ascii').splitlines()[1:]
    return sum(line.split()[2].endswith(port) and line.split()[3] == '01' for line in lines)


@one_mpm
def test_upstream_that_hangs(httpd, upstream):
    """Many transfers that never end do not keep a termination waiting, and are closed at once."""
    upstream.always = Fault('hang')
    serve(httpd, upstream)
    body = '{"seedRequest":{"threadCount":8}}'
    numbers = [number_of(seed(httpd, 'roads', body))]
    wait_until(lambda: len(upstream.requests) == 8)     # later it shares its threads with others
    assert connected(upstream) >= 8
    numbers += [number_of(seed(httpd, 'roads', body)) for _ in range(3)]
    assert [row[0] for row in kill(httpd, 'all')] == numbers
    assert listed(httpd) == []
    wait_until(lambda: not connected(upstream), what='the end of all connections')
    asked = len(upstream.requests)
    upstream.always = None
    number = number_of(seed(httpd, 'roads', '{"seedRequest":{"zoomStop":0}}'))
    wait_until(lambda: task(httpd, number)['state'] == 'DONE')      # the connections are free again
    assert len(upstream.requests) == asked + 1


@pytest.mark.pgsql
@one_mpm
def test_no_tile_after_the_answer(httpd, upstream):
    """While tiles are being written: what the answer lists writes no more."""
    upstream.always = Fault('delay', 0.01)
    httpd.start(REST + stub(upstream))
    for kind_of_task in ('seed', 'reseed'):
        number = begin(httpd, 'stub', threadCount=THREADS, type=kind_of_task)
        wait_until(lambda number=number: task(httpd, number)['tilesProcessed'] > 20)
        page = terminate(httpd)
        after = snapshot(httpd)
        assert f'[{number}: stub, ' in page and 'being terminated' not in page
        asked = len(upstream.requests)
        begin(httpd, 'stub', zoomStop=0)                # something that takes the seeder's time
        wait_until(lambda: not rows(httpd))
        assert {path: stamp for path, stamp in snapshot(httpd).items() if path in after} == after
        assert len(snapshot(httpd)) <= len(after) + 1
        assert len(upstream.requests) <= asked + 1 + THREADS    # which were on their way
        document = task(httpd, number)
        assert document['state'] == 'ABORTED'
        assert document['tilesProcessed'] < document['tilesTotal']


def snapshot(httpd):
    """Every tile with what changes when it is written again."""
    found = {}
    for path in files(httpd):
        status = os.stat(httpd.path('cache') / path)
        found[path] = (status.st_ino, status.st_mtime_ns)
    return found


@pytest.mark.parametrize('how', ['stop', 'graceful', 'seeder'])
def test_terminated_tasks_never_come_back(httpd, upstream, how):
    """Nor do they after a restart of any kind; what was not terminated goes on."""
    httpd.expect('AH00546')     # httpd's own, of restarts in a row on a busy machine
    serve(httpd, upstream, ONE_THREAD)
    running, pending, _ = three_tasks(httpd)
    killed = kill(httpd, 'running') + kill(httpd, 'pending', '/rest/seed/topp:states')
    assert running in killed
    restarted(httpd, how)
    assert listed(httpd) == [pending[0]]
    for number in {row[0] for row in killed}:
        document = task(httpd, number)
        assert (document['state'], document['reason']) == ('ABORTED', 'terminated by anybody')
    assert kill(httpd, 'all')[0][:2] == pending[:2]
    restarted(httpd, how)
    assert listed(httpd) == []
    assert number_of(seed(httpd, 'roads')) == 4


def restarted(httpd, how):
    """Stops and starts, restarts, or kills the seeder alone."""
    if how == 'stop':
        httpd.stop()
        httpd.start()
    elif how == 'graceful':
        httpd.graceful()
    else:
        httpd.expect('TS0048: the seeder ended unexpectedly')
        old = seeder_of(httpd)
        os.kill(old, signal.SIGKILL)
        wait_until(lambda: seeder_of(httpd) not in (None, old))


@one_mpm
def test_seeder_that_does_not_answer(httpd, upstream):
    """After 5 s the answer says what could not be confirmed; it is committed all the same."""
    serve(httpd, upstream)
    number = number_of(seed(httpd, 'roads'))
    seeder = seeder_of(httpd)
    halt(httpd, seeder)
    try:
        begun = time.monotonic()
        answer = ask(httpd, 'POST', '/rest/seed', 'kill_all=all')
        assert time.monotonic() - begun > 4
        assert '<p>being terminated:</p>' in answer.text and '<p>terminated:</p>' not in answer.text
        assert f'[{number}: roads, SEED, ' in answer.text
        assert listed(httpd) == []
        assert kill(httpd, 'all') == []
    finally:
        os.kill(seeder, signal.SIGCONT)
    wait_until(lambda: task(httpd, number)['state'] == 'ABORTED')
    assert listed(httpd) == []


@one_mpm
def test_many_at_once(httpd, upstream):
    """Several clients terminate everything: each task is on exactly one of their pages."""
    serve(httpd, upstream, 'TileSeedThreads 4\n')
    numbers = [number_of(seed(httpd, 'roads')) for _ in range(20)]
    pages = []
    threads = [threading.Thread(target=lambda: pages.extend(kill(httpd, 'all')))
               for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(row[0] for row in pages) == numbers
    assert listed(httpd) == []
