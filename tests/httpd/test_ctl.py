# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The client tileseedctl against a real httpd: every verb, over restarts, and what others may not
do."""
import csv
import io
import json
import subprocess

import pytest

from ctl import CTL, Stub, environment, private, run
from seeding import REST, begin, counts, ended, stub, task, world
from tileseed_httpd import PATIENCE, one_mpm, wait_until
from upstream import Fault

GRIDS = ('TileSeedGrid EPSG:3857 zoom=0-3', 'TileSeedGrid EPSG:4326 zoom=0-3',
         'TileSeedParameter STYLES default=political value=night')


@pytest.fixture
def ctl(httpd):
    """Runs the client against the test's server."""
    def call(*words, **more):
        return run(*words, url=httpd.url('/rest'), **more)
    return call


@one_mpm
@pytest.mark.main_path
def test_a_day_of_an_operator(httpd, ctl):  # pylint: disable=redefined-outer-name
    """Layers, an estimate, a seed, its task, the usage, a truncate."""
    httpd.start(REST + world(*GRIDS))
    layers = ctl('layers')
    assert 'world  EPSG:3857 0-3, EPSG:4326 0-3  image/png  STYLES' in layers.stdout, layers
    dry = ctl('seed', 'world', '-z', '0-2', '-p', 'STYLES=night', '--dry-run')
    assert dry.returncode == 0 and '21 of 21 in ' in dry.stdout, dry
    done = ctl('seed', 'world', '-z', '0-2', '-p', 'STYLES=night', '-t', '2', '--wait')
    assert done.returncode == 0 and done.stdout.startswith('task 1\ntask 1 done: 21 of 21'), done
    assert counts(task(httpd, 1))[0] == 21
    again = ctl('reseed', 'world', '--zoom=0', '-g', 'EPSG:4326', '-w', '--json')
    assert json.loads(again.stdout) == task(httpd, 2) and again.returncode == 0
    assert ctl('tasks', '--json').stdout == httpd.get('/rest/tasks.json?limit=20').text
    assert [line.split()[0] for line in ctl('tasks', '-n2').stdout.splitlines()] == ['ID', '2', '1']
    assert 'DONE' in ctl('show', '1').stdout and 'STYLES=night' in ctl('show', '1').stdout
    assert ctl('status').stdout == 'no tasks under way\n'
    check = ctl('check')
    assert check.returncode == 0 and ' used=' in check.stdout, check
    usage = wait_until(lambda: next((said for said in [ctl('quota', 'usage').stdout]
                                     if 'STYLES=night' in said), None))
    assert 'EPSG:4326' in usage and 'the disk quota is off' in usage
    gone = ctl('truncate', 'world', '-y', '-p', 'STYLES=night', '--wait')
    assert gone.returncode == 0 and counts(task(httpd, 3))[2] == 21, gone
    assert ctl('reconcile').returncode == 0
    assert ctl('ask-again', 'world').stdout == 'the upstreams of world are asked\n'
    assert 'nowhere' in ctl('ask-again', 'nowhere').stderr


@one_mpm
def test_a_box_in_degrees(httpd, ctl):  # pylint: disable=redefined-outer-name
    """The same ground in either grid set; the first is asked for."""
    httpd.start(REST + world(*GRIDS))
    for words in ([], ['-g', 'EPSG:3857'], ['-g', 'EPSG:4326']):
        done = ctl('seed', 'world', '-z', '3', '--lonlat', '1,1,44,40', '-w', *words)
        assert done.returncode == 0, done
    assert [task(httpd, number)['tilesTotal'] for number in (1, 2, 3)] == [1, 1, 4]
    assert task(httpd, 1)['bounds'] == pytest.approx([111319.49, 111325.14, 4898057.59, 4865942.28],
                                                     abs=0.01)


@one_mpm
def test_failures_and_retry(httpd, upstream, ctl):  # pylint: disable=redefined-outer-name
    """1 for a task that lost metatiles; why is told; a retry makes them."""
    httpd.start(REST + stub(upstream, 'TileSeedRetries 0'))
    httpd.expect('failed answers? of the upstream')
    upstream.faults = [None, Fault('xml')]
    done = ctl('seed', 'stub', '-z', '0-1', '-w')
    assert done.returncode == 1 and 'failed' in done.stderr, done
    rows = list(csv.DictReader(io.StringIO(ctl('failures', '1', '--csv').stdout)))
    assert [row['z'] for row in rows] == ['1'] and 'stub was told' in rows[0]['cause']
    assert 'stub was told' in ctl('failures', '1').stdout
    assert ctl('failures', '1', '--json').stdout == httpd.get(
        '/rest/tasks/1/failures.json?limit=1000').text
    assert ctl('failures', '1', '--geojson').returncode == 2      # its grid set is none of ours
    again = ctl('retry', '1', '--wait')
    assert again.returncode == 0 and task(httpd, 2)['retryOf'] == 1, again
    assert ctl('retry', '2').returncode == 7


@one_mpm
def test_restarts_of_httpd(httpd, upstream, ctl):  # pylint: disable=redefined-outer-name
    """A wait survives them, and one key means one task."""
    httpd.start(REST + stub(upstream))
    upstream.always = Fault('delay', 0.2)
    assert ctl('seed', 'stub', '-z', '0-4', '--key', 'k').stdout == 'task 1\n'
    assert ctl('seed', 'stub', '-z', '0-4', '--key', 'k').stdout == 'task 1\n'
    assert ctl('seed', 'stub', '-z', '0-3', '--key', 'k').returncode == 7
    waiting = subprocess.Popen([CTL, 'wait', '1', '--interval', '10ms'], text=True,
                               env=environment(httpd.url('/rest')), stderr=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    assert 'task 1' in waiting.stderr.readline()
    httpd.stop()
    said = waiting.stderr.readline()
    while 'asking again' not in said:
        assert said, 'the wait has ended'
        said = waiting.stderr.readline()
    upstream.always = None
    httpd.start()
    stdout, stderr = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 0 and 'task 1 done' in stdout, stderr


@one_mpm
def test_a_lost_answer(httpd):
    """The server has got the request, the client has not got the answer: there is one task."""
    httpd.start(REST + world(*GRIDS))

    def forward(handler):
        command, path, query, body, headers = handler.server.owner.requests[-1]
        return httpd.request(command, f'/rest/{path}?{query}', body, headers)

    def swallow(handler):
        assert forward(handler).status == 200
        handler.hang_up()

    def passed(handler):
        answer = forward(handler)
        more = {name: answer.headers[name] for name in ['TileSeed-Task'] if name in answer.headers}
        handler.say(answer.status, answer.body, **more)

    with Stub({'POST seed/world.xml': [swallow, lambda handler: handler.say(503, 'restarting'),
                                       passed],
               'GET tasks.json': passed}) as proxy:
        done = run('seed', 'world', '-z0', url=proxy.url)
    assert (done.returncode, done.stdout) == (0, 'task 1\n'), done
    assert len(proxy.asked('POST seed/world.xml')) == 3
    assert len(httpd.get('/rest/tasks.json').json()['tasks']) == 1


@one_mpm
def test_kill(httpd, upstream, ctl):  # pylint: disable=redefined-outer-name
    """By id and all; a wait for one ends with 3."""
    httpd.start(REST + stub(upstream))
    upstream.always = Fault('delay', 0.5)
    for _ in range(3):
        begin(httpd, 'stub')
    assert ctl('kill', '1').stdout == 'task 1 is ended\n'
    assert ctl('kill', '1').returncode == 7
    assert ctl('kill', '--all', 'stub', '--yes').returncode == 0
    assert ctl('wait', '1', '2', '3').returncode == 3
    assert all(ended(httpd, number)['state'] == 'ABORTED' for number in (1, 2, 3))


@one_mpm
def test_quota(httpd, ctl):  # pylint: disable=redefined-outer-name
    """Members change one by one; a task that waits for room is told by 8."""
    httpd.start(REST + world(*GRIDS) + world(*GRIDS, name='a&b'))
    off = ctl('quota', 'set', 'globalQuota=1 GiB')
    assert off.returncode == 0 and 'the disk quota is off' in off.stderr
    done = ctl('quota', 'set', 'enabled=true', 'globalQuota=1.5 GiB', 'layer:a&b=5 MiB,LRU')
    assert done.returncode == 0 and 'layer:a&b=5 MiB,LRU' in done.stdout, done
    assert ctl('quota', 'set', 'layer:world=8192 B,LFU').returncode == 0
    said = ctl('quota', 'get').stdout.splitlines()
    assert said[-2:] == ['layer:a&b=5 MiB,LRU', 'layer:world=8192 B,LFU'], said
    assert 'enabled=true' in said and 'globalQuota=1.5 GiB' in said
    assert ctl('quota', '--json').stdout == httpd.get('/rest/diskquota.json').text
    for wrong in ('globalQuota=many', 'layer:none=1 B,LRU', 'enabld=true', 'enabled'):
        assert ctl('quota', 'set', wrong).returncode in (2, 6), wrong
    assert ctl('quota', 'get').stdout.splitlines() == said
    assert 'of 1.5 GiB' in ctl('quota', 'usage', '--by', 'layer').stdout


@one_mpm
def test_who_may_do_what(httpd, tmp_path, ctl):  # pylint: disable=redefined-outer-name
    """httpd's own rules: readers read, nobody else does anything."""
    httpd.users(me='secret', anna='other')
    httpd.start('TileSeedStateDir "@ROOT@/state"\n' + world(*GRIDS) + '''
<Location "/rest">
    TileSeedRest on
    AuthType Basic
    AuthName x
    AuthBasicProvider file
    AuthUserFile "@ROOT@/users"
    <RequireAny>
        Require user me
        <RequireAll>
            Require method GET
            Require user anna
        </RequireAll>
    </RequireAny>
</Location>
''')
    httpd.expect('AH01617|AH01631')
    me = private(tmp_path / 'me', 'secret')
    anna = private(tmp_path / 'anna', 'other\n')
    assert ctl('tasks').returncode == 5
    assert ctl('tasks', '-u', 'anna', TILESEED_PASSWORD_FILE=str(me)).returncode == 5
    for words, code in ((['estimate', 'world', '-z2'], 0), (['seed', 'world', '-z0'], 5)):
        assert ctl('-u', 'anna', *words, TILESEED_PASSWORD_FILE=str(anna)).returncode == code
    assert ctl('-u', 'me', 'seed', 'world', '-z0', '-w',
               TILESEED_PASSWORD_FILE=str(me)).returncode == 0


@one_mpm
def test_what_a_server_may_not_have_yet(httpd, ctl):  # pylint: disable=redefined-outer-name
    """Each address is there, or its absence is said."""
    httpd.start(REST + world(*GRIDS))
    assert ctl('seed', 'world', '-z', '0', '-w').returncode == 0
    wait_until(lambda: 'EPSG:3857' in ctl('quota', 'usage').stdout)
    done = ctl('coverage', 'world', '-z', '0')
    assert done.returncode == 0 and ' there; ' in done.stdout, done
    for words in (['metrics'], ['quota', 'usage', '--by', 'zoom']):
        done = ctl(*words)
        assert (done.returncode, bool(done.stderr)) in ((0, False), (6, True)), done
