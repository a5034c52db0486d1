# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Children of httpd that end at any instant, and those of another build: what was answered has
happened, of what was not, all or nothing; and tasks notice neither."""
import concurrent.futures
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import re
import signal
import struct
import time

import pytest

from rest import ask, begun, listed, number_of, seed, serve
from seeding import GRIDS, REST, begin, counts, done, ended, is_locked, seeder_of, stub, task
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

TILES = GRIDS['small'].between(0, 4)
FEW_CHILDREN = {
    'prefork': 'StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\n',
    'event': 'StartServers 1\nThreadsPerChild 4\nMaxRequestWorkers 16\nMinSpareThreads 1\n'
             'MaxSpareThreads 5\n',
}
FEW_CHILDREN['worker'] = FEW_CHILDREN['event']
INSTANTS = 5            # of each kind of change

# The first words of the board, which every build finds at the same place
MAGIC = b'TSdBoard'
LAYOUT, FENCE = 1, 3


def progress(httpd, number, tiles):
    """Waits until that many tiles of a task have been processed; returns how many they are."""
    return wait_until(lambda: (found := task(httpd, number)['tilesProcessed']) >= tiles and found,
                      30, f'{tiles} tiles')


def children(httpd):
    """The processes that answer requests, and the one that starts those of CGI."""
    return {pid for pid, name in httpd.processes().items()
            if not name.startswith('tileseed')} - {httpd.process.pid}


def started(pid):
    """When a process started, in ticks; 0 when it is no more."""
    try:
        return int(pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(') ', 1)[1].split()[19])
    except OSError:
        return 0


@pytest.mark.usefixtures('no_core')
def test_children_crash_and_come_and_go(httpd, upstream, mpm):
    """With one spare child at most, and children that crash, a task notices nothing."""
    httpd.expect('AH00051|AH00052|AH00161')
    upstream.always = Fault('delay', 0.05)
    httpd.start(FEW_CHILDREN[mpm] + REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=4, threadCount=4)
    seeder = seeder_of(httpd)

    def newest():
        """The oldest is CGI's daemon, if there is one. Process ids begin again at the lowest."""
        found = {pid: ticks for pid in children(httpd) if (ticks := started(pid))}
        return max(found, key=found.get) if len(found) > (mpm != 'prefork') else None
    for tenths in range(1, 6):
        progress(httpd, number, len(TILES) * tenths // 10)
        victim = wait_until(newest)
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGSEGV)
        wait_until(lambda: victim not in httpd.processes())     # pylint: disable=W0640
    assert counts(ended(httpd, number)) == (len(TILES), 0, 0, 0)
    assert seeder_of(httpd) == seeder
    assert len(upstream.requests) == len(GRIDS['small'].metatiles(TILES, (2, 2)))


# Killed while they change something

def struck(httpd, delay, *request):
    """The answer to a request some time after which all children are killed; None: there is
    none."""
    victims = children(httpd)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(httpd.request, *request)
        time.sleep(delay)
        for victim in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        # until httpd has seen its end, a thread of it may still take connections
        wait_until(lambda: not any(os.path.exists(f'/proc/{victim}') for victim in victims))
        try:
            return answer.result()
        except (OSError, http.client.HTTPException):
            return None


def numbers_known(httpd):
    """The ids of all tasks."""
    return {found['id'] for found in httpd.get('/rest/tasks.json').json()['tasks']}


def check_post(httpd, delay, _number):
    """A task is there or not, and there is only one."""
    before = numbers_known(httpd)
    answer = struck(httpd, delay, 'POST', '/rest/seed/roads.json', '{"seedRequest":{}}')
    new = numbers_known(httpd) - before
    assert len(new) <= 1
    if answer:
        assert answer.status == 200 and new == {number_of(answer)}, answer.body
    wait_until(lambda: new <= set(listed(httpd)))


def check_put(httpd, delay, number):
    """Both members are the new ones, or none."""
    answer = struck(httpd, delay, 'PUT', '/rest/diskquota.json', quota(number))
    found = httpd.get('/rest/diskquota.json').json()['cacheQuotaConfiguration']
    assert found['diskBlockSize'] == found['maxConcurrentCleanUps'], found
    assert answer is None or answer.status == 200 and found['diskBlockSize'] == number, found


def quota(number):
    """What sets two members to a number."""
    return json.dumps({'cacheQuotaConfiguration': {'diskBlockSize': number,
                                                   'maxConcurrentCleanUps': number}})


def check_termination(httpd, delay, _number):
    """All tasks have ended, or none."""
    for _ in range(2):
        seed(httpd, 'roads')
    before = listed(httpd)
    answer = struck(httpd, delay, 'POST', '/rest/seed', 'kill_all=all')
    if answer:
        assert answer.status == 200 and not listed(httpd), answer.body
    wait_until(lambda: listed(httpd) in ([], before))
    wait_until(lambda: len({task(httpd, number)['state'] == 'ABORTED' for number in before}) == 1)


def test_children_are_killed_at_any_instant(httpd, upstream):
    """Before, while and after a change is done and answered."""
    httpd.expect('AH00052|AH01239|AH1039[23]')
    serve(httpd, upstream)
    begun_at = time.monotonic()
    ask(httpd, 'PUT', '/rest/diskquota.json', quota(INSTANTS + 1))
    usual = time.monotonic() - begun_at
    seeder = seeder_of(httpd)
    for number, check in itertools.product(range(1, INSTANTS + 1),
                                           (check_post, check_put, check_termination)):
        check(httpd, usual * (number / INSTANTS) ** 2, number)
    assert seeder_of(httpd) == seeder


# Ended while it is at the database

def at_database(httpd):
    """Children that have the state database open."""
    path = str(httpd.path('state/tileseed.db'))
    return {pid for pid in children(httpd) if path in opened(pid)}


def opened(pid):
    """What a process has open."""
    try:
        return {os.readlink(entry.path) for entry in os.scandir(f'/proc/{pid}/fd')}
    except OSError:     # it has ended
        return set()


@pytest.mark.sqlite
def test_children_end_within_sqlite(httpd, upstream, mpm):
    """A child of prefork ends in the handler of the signal, wherever it is just then."""
    if mpm != 'prefork':
        pytest.skip('threads of other MPMs finish their requests first')
    httpd.expect('state database')      # the seeder's words about a long commit
    mischief = httpd.make_mischief()
    serve(httpd, upstream, FEW_CHILDREN[mpm])
    for _ in range(INSTANTS):
        mischief.slow(httpd.path('state'), 0)
        seed(httpd, 'roads')
        victims = at_database(httpd)
        mischief.slow(httpd.path('state'), 0.2)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(httpd.post, '/rest/seed/roads.json', '{"seedRequest":{}}')
            wait_until(lambda: is_locked(httpd) or answer.done(), 60)   # pylint: disable=W0640
            for victim in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGTERM)
            wait_until(lambda: victims.isdisjoint(children(httpd)), 60)     # pylint: disable=W0640
            assert answer.exception() or answer.result().status == 200
    mischief.slow(httpd.path('state'), 0)
    assert seed(httpd, 'roads')


# Another build

def board_word(httpd, word, change):
    """Changes one of the board's first words in the memory that all processes share."""
    place = f'/proc/{httpd.process.pid}'
    with open(f'{place}/maps', encoding='ascii') as file:
        shared = [int(line.split('-')[0], 16) for line in file if re.match(r'\S+ rw-s ', line)]
    with open(f'{place}/mem', 'r+b', buffering=0) as memory:
        for start in shared:
            memory.seek(start)
            at = memory.read(256).find(MAGIC)
            if at >= 0:
                memory.seek(start + at + 8 * word)
                old, = struct.unpack('Q', memory.read(8))
                memory.seek(start + at + 8 * word)
                memory.write(struct.pack('Q', change(old)))
                return
    raise AssertionError('there is no board')


def fenced(httpd, path):
    """What is answered where the board is said to have been given up; None: httpd knows better."""
    board_word(httpd, FENCE, lambda _: 1)
    answer = httpd.get(path)
    return answer if answer.status == 503 else None


@one_mpm
def test_board_of_another_build(httpd, upstream):
    """The next generation makes its own: tasks go on, what an old child accepts is done, and none
    is shown what the new one has left behind."""
    upstream.always = Fault('delay', 0.05)
    httpd.start(REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=4, threadCount=2)
    before = progress(httpd, number, 20)
    old = children(httpd)
    with begun(httpd, 'POST', '/rest/seed/stub.json', '{"seedRequest":{"zoomStop":0}}') as end:
        board_word(httpd, LAYOUT, lambda layout: layout ^ 1)
        httpd.graceful()
        wait_until(lambda: httpd.get('/rest/seed.json').status == 200)  # 503: of an old child
        second = number_of(end())
    wait_until(lambda: not old & children(httpd))
    assert task(httpd, number)['tilesProcessed'] >= before
    made, skipped, removed, failed = counts(ended(httpd, number))
    assert (made + skipped, removed, failed) == (len(TILES), 0, 0)
    assert sum(counts(ended(httpd, second))) == 1
    for path in ('/rest/seed.json', f'/rest/tasks/{number}.json', '/rest/diskquota.json'):
        answer = wait_until(lambda: fenced(httpd, path))    # pylint: disable=W0640
        assert 'new build' in answer.text, answer.body
        assert answer.headers['Retry-After']
    # nobody has given this board up, and httpd looks every ten seconds
    wait_until(lambda: httpd.get('/rest/seed.json').status == 200)
    assert listed(httpd) == []


def remembers(pid, secret):
    """Whether a process has a text in its memory."""
    memory = pathlib.Path(f'/proc/{pid}')
    with (memory / 'mem').open('rb', 0) as bytes_of:
        for line in (memory / 'maps').read_text().splitlines():
            first, last = (int(part, 16) for part in line.split()[0].split('-'))
            if ' rw' in line and not line.endswith(('[vvar]', '[vsyscall]')):
                with contextlib.suppress(OSError, ValueError):
                    bytes_of.seek(first)
                    if secret in bytes_of.read(last - first):
                        return True
    return False


@one_mpm
@pytest.mark.parametrize('option, secret', [
    ('auth="@ROOT@/secret"', 'me:hush-hush-0123456789'),
    ('header-file="@ROOT@/secret"', 'X-Token: hush-hush-0123456789')], ids=['auth', 'header-file'])
def test_children_know_no_password(httpd, upstream, option, secret):
    """The seeder alone asks upstreams; children forget what the configuration has read. httpd's
    daemon of CGI, which is forked before there are children, may know it."""
    httpd.path('secret').write_text(secret + '\n', 'ascii')
    httpd.start(REST + stub(upstream, polite=option))
    listed(httpd)
    try:
        assert remembers(seeder_of(httpd), secret.encode())
    except PermissionError:
        pytest.skip('only root may look into the memory of the seeder')
    found = [remembers(pid, secret.encode()) for pid in children(httpd)]
    assert len(found) > 2 and sum(found) <= 1, found
    status = pathlib.Path(f'/proc/{seeder_of(httpd)}/status').read_text()
    assert 'NoNewPrivs:\t1' in status


@one_mpm
@pytest.mark.parametrize('option, header', [
    ('header="X-Token: hush-hush-0123456789"', 'X-Token'),
    ('proxy=http://me:hush-hush-0123456789@127.0.0.1:@PORT@', 'Proxy-Authorization')],
    ids=['header', 'proxy'])
def test_children_show_no_password(httpd, upstream, option, header):
    """A child that shows the configuration as httpd has read it has no line with a password any
    more. The seeder has the password."""
    option = option.replace('@PORT@', str(upstream.server.server_address[1]))
    info = ('LoadModule info_module "${MODULES}/mod_info.so"\n'
            '<Location "/server-info">\nSetHandler server-info\nRequire local\n</Location>\n')
    httpd.start(REST + info + stub(upstream, polite=option))
    shown = httpd.get('/server-info?config').text
    assert 'TileSeedUpstream' in shown and 'TileSeedMetatile' in shown
    assert 'hush' not in shown
    done(httpd, 'stub', zoomStop=0)
    assert upstream.headers[0][header]
