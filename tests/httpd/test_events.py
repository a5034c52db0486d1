# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Events that tasks must outlive: reloads under load, crashes, full disks, a state database that is
not ours any more, and a configuration that has changed under them."""
import contextlib
import errno
import functools
import http.client
import itertools
import json
import os
import pathlib
import signal
import sqlite3
import subprocess

import pytest
from PIL import Image

from database import opened
from rest import Client, listed, number_of, seed
from seeding import (GRIDS, REST, SMALL_GRID, Watch, begin, counts, done, ended, files, layer, rows,
                     seeder_of, stub, task, terminate)
from tileseed_httpd import SANITIZED, Beside, one_mpm, wait_until
from upstream import Fault

TILES = {last: len(GRIDS['small'].between(0, last)) for last in range(8)}
GRACEFULS = 20
MEMORY_GROWTH = 1024            # KiB that may be noise


@pytest.fixture
def small_disk(httpd):
    """Mounts a file system of a few pages below the server's folder, for its children."""
    mounted = []

    def mount(name, size):
        if os.geteuid() != 0:
            pytest.skip('only root can mount a small file system')
        place = httpd.path(name)
        place.mkdir()
        _, user, group = httpd.user
        made = subprocess.run(
            ['mount', '-t', 'tmpfs', '-o', f'size={size},mode=0700,uid={user},gid={group}', 'tmpfs',
             str(place)], capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f'a small file system can\'t be mounted: {made.stderr.strip()}')
        mounted.append(place)
        return place
    yield mount
    httpd.stop()
    for place in mounted:
        subprocess.run(['umount', str(place)], check=True)


@pytest.fixture
def slow(upstream):
    """A stub that takes its time."""
    upstream.always = Fault('delay', 0.05)
    return upstream


def progress(httpd, number, tiles):
    """Waits until that many tiles of a task have been processed."""
    wait_until(lambda: task(httpd, number)['tilesProcessed'] >= tiles, what=f'{tiles} tiles')


def check_seed(document, last):
    """A seed of the levels up to the last one has made all tiles, once each."""
    assert document['state'] == 'DONE', document
    made, skipped, removed, failed = counts(document)
    assert (made + skipped, removed, failed) == (TILES[last], 0, 0), document


def tiles(httpd):
    """The files of the cache, but for what a worker was about to finish."""
    return {file for file in files(httpd) if '/.tseed-' not in file}


def check_pictures(httpd):
    """Every tile that has its name is a whole picture."""
    for file in tiles(httpd):
        with Image.open(httpd.path('cache') / file) as picture:
            picture.load()
            assert picture.size == (16, 16), file


# Reloads under load

class Load(Beside):
    """A client that seeds over new connections, and one that reads and sets the quota over one that
    it keeps; a kept connection that was closed meanwhile is opened anew, as every client does."""

    def __init__(self, httpd):
        super().__init__(*(functools.partial(self.run, what)
                           for what in (self.post, self.read_and_set)))
        self.httpd = httpd
        self.numbers = []
        self.requests = 0
        self.errors = []

    def run(self, what):
        """One client until the end; whatever goes wrong is kept."""
        with Client(self.httpd) as client:
            while not self.stopped.wait(0.02):
                try:
                    what(client)
                except (OSError, http.client.HTTPException, AssertionError) as error:
                    self.errors.append(repr(error))

    def post(self, _client):
        """A small task."""
        self.numbers.append(begin(self.httpd, 'stub', zoomStop=0, type='reseed'))

    def read_and_set(self, client):
        """The list, the quota, and the quota set to what it is."""
        for method, path, body in (
                ('GET', '/rest/seed.json', None), ('GET', '/rest/diskquota.json', None),
                ('PUT', '/rest/diskquota.json', '{"cacheQuotaConfiguration":{}}')):
            status = self.ask(client, method, path, body)
            assert status == 200, (method, path, status)
            self.requests += 1

    def go_on(self):
        """Waits until one more request is answered. Reloads that wait for nobody starve the clients
        of prefork: each child ends after one connection, and each reload makes some itself."""
        seen = self.requests
        wait_until(lambda: self.requests > seen or self.errors, what='an answer')

    @staticmethod
    def ask(client, method, path, body):
        """One idempotent request: sent again when the kept connection turns out to be closed."""
        try:
            return client.request(method, path, body)[0].status
        except (ConnectionError, http.client.BadStatusLine):
            client.connection.close()
            return client.request(method, path, body)[0].status


def footprint(pid):
    """A process's resident memory in KiB, and the number of its descriptors."""
    status = pathlib.Path(f'/proc/{pid}/status').read_text(encoding='ascii')
    memory = next(int(line.split()[1]) for line in status.splitlines()
                  if line.startswith('VmRSS'))
    return memory, len(os.listdir(f'/proc/{pid}/fd'))


def tasks_known(httpd):
    """The ids of all tasks of the state database."""
    with opened(httpd) as state:
        return [number for number, in state.execute('SELECT id FROM task ORDER BY id')]


def hold_the_last(upstream):
    """The corner that a task comes to last is not answered before the test releases it."""
    def decide(asked):
        return Fault('held') if min(map(float, asked['BBOX'].split(',')[:2])) > 900 else None
    upstream.decide = decide


def test_reloads_in_a_row_under_load(httpd, slow):
    """No request fails, no task is lost or doubled, no count goes back, and nothing grows."""
    httpd.expect('AH00546')     # httpd's own: it keeps no more than a few old generations
    httpd.expect('has not answered for')
    slow.always = Fault('delay', 0.1)
    hold_the_last(slow)         # the task is to last until the end
    httpd.start(REST + stub(slow))
    for _ in range(3):
        httpd.graceful()                        # what is allocated once is there now
    before = footprint(httpd.process.pid)
    with Watch(httpd) as watch, Load(httpd) as load:
        number = begin(httpd, 'stub', zoomStart=1, zoomStop=5, threadCount=2)
        for _ in range(GRACEFULS):
            httpd.graceful()
            load.go_on()
        assert number in listed(httpd)
    after = footprint(httpd.process.pid)
    assert not load.errors, load.errors
    assert load.numbers
    watch.check(number, TILES[5] - 1)
    slow.always = None
    slow.released.set()
    wait_until(lambda: not rows(httpd))
    assert tasks_known(httpd) == sorted(load.numbers + [number])
    for small in load.numbers:
        assert counts(task(httpd, small)) in [(1, 0, 0, 0), (0, 1, 0, 0)]   # made or unchanged
    made, skipped, removed, failed = counts(task(httpd, number))
    assert (made + skipped, removed, failed) == (TILES[5] - 1, 0, 0)
    wait_until(lambda: list(httpd.processes().values()).count('tileseed') == 1, what='one seeder')
    assert after[1] == before[1], (before, after)
    # a sanitizer keeps what it knew of a module that is loaded no more
    assert SANITIZED or after[0] - before[0] < MEMORY_GROWTH, (before, after)


# Crashes

@pytest.mark.usefixtures('no_core')
def test_seeder_crashes(httpd, slow):
    """A crash is worked off like a kill: one at a metatile does not give it up."""
    httpd.expect('the seeder ended unexpectedly|AH00052')
    httpd.start(REST + stub(slow))
    number = begin(httpd, 'stub', zoomStop=4, threadCount=2)
    progress(httpd, number, 20)
    old = seeder_of(httpd)
    with Watch(httpd) as watch:
        os.kill(old, signal.SIGSEGV)
        wait_until(lambda: seeder_of(httpd) not in (None, old), what='a new seeder')
        assert 'unexpectedly, by the signal Segmentation fault (11), and' in httpd.error_log()
        check_seed(ended(httpd, number), 4)
    watch.check(number, TILES[4])


# The state directory

def fill(directory):
    """Leaves no room in a small file system; returns the file that takes it."""
    filler = directory / 'filler'
    with contextlib.suppress(OSError), filler.open('wb', buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return filler


def try_to_post(httpd):
    """Posts a small task; returns the answer."""
    return httpd.post('/rest/seed/stub.json', '{"seedRequest":{"zoomStop":0}}')


@pytest.mark.sqlite
@one_mpm
def test_state_directory_is_full(httpd, slow, small_disk):
    """A POST says so, what runs loses nothing, and when there is room all is as it was."""
    httpd.expect('disk is full|No space left|state database|can\'t record the task')
    state = small_disk('state', '2m')
    httpd.start(REST + stub(slow))
    number = begin(httpd, 'stub', zoomStart=1, zoomStop=5, threadCount=2)
    progress(httpd, number, 1)
    filler = fill(state)
    answers = []

    def refused():
        answers.append(try_to_post(httpd))
        return answers[-1].status != 200
    wait_until(refused, what='the refusal of a POST')
    for answer in [answers.pop(), try_to_post(httpd)]:
        assert answer.status in (503, 507), answer.body
        assert answer.headers['Retry-After']
        assert 'space' in answer.text or 'state database' in answer.text, answer.text
    filler.unlink()
    wait_until(lambda: answers.append(try_to_post(httpd)) or answers[-1].status == 200)
    accepted = [number_of(answer) for answer in answers if answer.status == 200]
    assert accepted == sorted(set(accepted)) and min(accepted) > number
    slow.always = None
    wait_until(lambda: not rows(httpd))
    assert tasks_known(httpd) == [number, *accepted]
    assert {task(httpd, small)['state'] for small in accepted} == {'DONE'}
    made, skipped, removed, failed = counts(task(httpd, number))
    assert (made + skipped, removed, failed) == (TILES[5] - 1, 0, 0)


@pytest.mark.sqlite
@one_mpm
def test_state_directory_is_over_quota(httpd, upstream):
    """A quota of the file system that is used up is a full disk."""
    httpd.expect('state database|can\'t record the task')
    mischief = httpd.make_mischief()
    httpd.start(REST + stub(upstream))
    number = done(httpd, 'stub', zoomStop=0)['id']
    mischief.fill(httpd.path('state'), errno.EDQUOT)
    answers = [seed(httpd, 'stub', status=507) for _ in range(5)]
    assert all(answer.headers['Retry-After'] and 'space' in answer.text for answer in answers)
    said = [line for line in httpd.error_log().splitlines() if "can't record" in line]
    assert 0 < len(said) < len(answers), said       # once a minute and child
    mischief.fill(httpd.path('state'), 0)
    assert done(httpd, 'stub', zoomStop=0)['id'] == number + 1


@pytest.mark.sqlite
@one_mpm
@pytest.mark.parametrize('last', [0, 3])
@pytest.mark.parametrize('error, reason', [
    (errno.EDQUOT, 'paused: the state directory has no space left'),
    (errno.EROFS, "paused: the state database can't be written; the error log says why")])
def test_task_that_waits_for_the_state_directory(httpd, upstream, last, error, reason):
    """It says so, before its next page as at its end, and goes on by itself; so does the next."""
    httpd.expect('state database')
    mischief = httpd.make_mischief()
    httpd.start(REST + 'TileSeedThreads 1\n' + stub(upstream))
    upstream.always = Fault('delay', 0.5)
    numbers = [begin(httpd, 'stub', zoomStop=last) for _ in range(2)]
    wait_until(lambda: upstream.requests)
    mischief.fill(httpd.path('state'), error)
    for number, state in zip(numbers, ('RUNNING', 'PENDING')):
        wait_until(lambda number=number: task(httpd, number)['reason'], what='the pause')
        document = task(httpd, number)
        assert (document['state'], document['reason']) == (state, reason)
    assert listed(httpd) == numbers
    upstream.always = None
    mischief.fill(httpd.path('state'), 0)
    for number in numbers:
        document = ended(httpd, number)
        check_seed(document, last)
        assert document['reason'] is None


@pytest.mark.sqlite
@one_mpm
def test_database_is_replaced_under_a_task(httpd, slow):
    """What the new one does not know ends at once, as the log says; ids go on."""
    httpd.expect('TS0100: the state database .* was removed')
    httpd.start(REST + stub(slow))
    number = begin(httpd, 'stub', zoomStop=6, threadCount=2)
    progress(httpd, number, 20)
    for file in httpd.path('state').glob('tileseed.db*'):
        file.unlink()
    wait_until(lambda: 'TS0101' in httpd.error_log(), what='the line about a new start')
    wait_until(lambda: not rows(httpd))
    written = tiles(httpd)
    assert done(httpd, 'stub', zoomStop=0)['id'] > number
    assert tiles(httpd) == written


@pytest.mark.sqlite
@one_mpm
def test_log_of_the_database_is_removed(httpd, slow):
    """Nothing that was answered is lost with it."""
    httpd.expect('tileseed.db-wal|state database|can\'t record the task')
    httpd.start(REST + stub(slow))
    number = begin(httpd, 'stub', zoomStop=4, threadCount=2)
    progress(httpd, number, 20)
    httpd.path('state/tileseed.db-wal').unlink()
    answer = wait_until(lambda: next((found for found in [try_to_post(httpd)]
                                      if found.status == 200), None), what='the state')
    os.kill(seeder_of(httpd), signal.SIGKILL)
    httpd.expect('the seeder ended unexpectedly')
    check_seed(ended(httpd, number), 4)
    assert task(httpd, number_of(answer))['state'] in ('DONE', 'PENDING', 'RUNNING')


@pytest.mark.sqlite
@one_mpm
def test_state_directory_goes_away_and_comes_back(httpd, slow):
    """503 while it is away, and nobody makes another one; afterwards the same tasks and ids."""
    httpd.expect('state dir|state database|lock file|the seeder ended|can\'t record the task')
    httpd.start(REST + stub(slow))
    number = begin(httpd, 'stub', zoomStart=1, zoomStop=5, threadCount=2)
    progress(httpd, number, 10)
    state, away = httpd.path('state'), httpd.path('away')
    state.rename(away)
    answer = seed(httpd, 'stub', status=503)
    assert answer.headers['Retry-After'] and 'state database' in answer.text
    assert not state.exists()
    away.rename(state)
    answer = wait_until(lambda: next((found for found in [try_to_post(httpd)]
                                      if found.status == 200), None), what='the state')
    assert number_of(answer) == number + 1
    slow.always = None
    assert counts(ended(httpd, number + 1)) in ((1, 0, 0, 0), (0, 1, 0, 0))
    made, skipped, removed, failed = counts(ended(httpd, number))
    assert (made + skipped, removed, failed) == (TILES[5] - 1, 0, 0)


@pytest.mark.sqlite
@one_mpm
def test_damaged_database(httpd, upstream):
    """httpd starts, sets the file aside as it is, says so, and ids go on."""
    httpd.expect('the state database was damaged')
    httpd.start(REST + stub(upstream))
    numbers = [done(httpd, 'stub', zoomStop=0)['id'] for _ in range(3)]
    httpd.stop()
    database = httpd.path('state/tileseed.db')
    garbage = bytes(itertools.islice(itertools.cycle(b'no database, '), 32768))
    for name in ('', '-wal'):                   # a whole log would mend it
        pathlib.Path(f'{database}{name}').write_bytes(garbage)
    httpd.start()
    assert done(httpd, 'stub', zoomStop=1)['id'] > max(numbers)
    assert 'the state database was damaged' in httpd.error_log()
    aside, = database.parent.glob('tileseed.db.damaged-*Z')
    assert aside.name in httpd.error_log()
    assert aside.read_bytes() == garbage


@pytest.mark.sqlite
@one_mpm
def test_removed_database(httpd, upstream):
    """It is noticed under a running httpd and said; the disk quota stays in force, also one that
    was set over REST; the cache is counted again, and ids go on."""
    httpd.expect('TS0100|replaced or removed|TS0042|TS0047')
    httpd.start(REST + 'TileSeedDiskQuota on 5GiB\n' + stub(upstream))
    answer = httpd.put('/rest/diskquota.json', json.dumps({'cacheQuotaConfiguration': {
        'globalQuota': {'value': 3, 'units': 'GiB'}}}))
    assert answer.status == 200, answer.body
    before = done(httpd, 'stub', zoomStop=3)
    for file in httpd.path('state').glob('tileseed.db*'):
        file.unlink()
    wait_until(lambda: 'TS0100' in httpd.error_log(), what='a word of it')
    wait_until(lambda: 'TS0101' in httpd.error_log(), what='a new seeder')

    def counted():
        usage = httpd.get('/rest/diskquota/usage.json')
        return usage.status == 200 and usage.json()['complete'] and \
            usage.json()['tiles'] == before['tilesMade']
    wait_until(counted, what='the count')
    quota = httpd.get('/rest/diskquota.json').json()['cacheQuotaConfiguration']
    assert quota['enabled'] is True and quota['globalQuota']['value'] == '3', quota
    gauge = httpd.get('/rest/overview.json').json()['quota']
    assert gauge['enabled'] and gauge['limit']['bytes'] == 3 << 30, gauge
    again = done(httpd, 'stub', zoomStop=3)
    assert again['id'] > before['id'] and again['tilesSkipped'] == before['tilesMade'], again


def set_version(database, version):
    """Gives the state database another version, all of it in the one file; returns the old one."""
    with contextlib.closing(sqlite3.connect(database)) as opened:
        (old,), = opened.execute('SELECT value FROM meta WHERE name = \'schema_version\'')
        opened.execute('UPDATE meta SET value = ? WHERE name = \'schema_version\'', (version,))
        opened.commit()
        opened.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    return old


@pytest.mark.sqlite
@one_mpm
def test_database_of_a_newer_version(httpd, upstream):
    """httpd starts and answers 503, the file stays as it is; a database of ours is used at once."""
    httpd.expect('newer mod_tileseed|state dir|state database|can\'t record the task')
    httpd.start(REST + stub(upstream))
    number = done(httpd, 'stub', zoomStop=0)['id']
    httpd.stop()
    database = httpd.path('state/tileseed.db')
    version = set_version(database, 99)
    before = database.read_bytes()
    httpd.start(REST + stub(upstream))
    for _ in range(2):
        answer = seed(httpd, 'stub', status=503)
        assert answer.headers['Retry-After'] and 'error log' in answer.text
    assert 'schema version 99 of a newer mod_tileseed' in httpd.error_log()
    httpd.stop()
    assert database.read_bytes() == before
    assert not list(database.parent.glob('*damaged*'))
    httpd.start()
    seed(httpd, 'stub', status=503)
    set_version(database, version)
    wait_until(lambda: try_to_post(httpd).status == 200, what='the state')
    assert done(httpd, 'stub', zoomStop=0)['id'] > number
    assert task(httpd, number)['state'] == 'DONE'


# The cache directory

@one_mpm
def test_cache_directory_is_full(httpd, upstream, small_disk):
    """The task pauses, says why, and goes on by itself when there is room; no tile is cut short."""
    httpd.expect('is paused')
    cache = small_disk('cache', '512k')
    httpd.start(REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=4, threadCount=2)
    document = wait_until(lambda: next((found for found in [task(httpd, number)]
                                        if 'paused' in (found['reason'] or '')), None),
                          what='the pause')
    assert document['state'] == 'RUNNING'
    assert 'No space left' in document['reason'], document
    assert f'task {number} of layer' in httpd.error_log()
    assert listed(httpd) == [number]
    check_pictures(httpd)
    subprocess.run(['mount', '-o', 'remount,size=16m', str(cache)], check=True)
    document = ended(httpd, number)
    check_seed(document, 4)
    assert document['reason'] is None
    assert len(files(httpd)) == TILES[4]
    check_pictures(httpd)


@one_mpm
def test_pace_after_a_wait_for_room(httpd, upstream, small_disk):
    """A task that has waited for room and goes on is a running one again: it has a pace, and leaves
    no thread to another."""
    httpd.expect('is paused|paused: TileSeedMinFree')
    cache = small_disk('cache', '8m')
    filler = cache / 'of somebody else'
    filler.write_bytes(bytes(7 << 20))
    upstream.always = Fault('delay', 0.1)
    httpd.start('TileSeedMinFree 2MiB\nTileSeedThreads 1\n' + REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStart=5, zoomStop=6, threadCount=1)
    wait_until(lambda: task(httpd, number)['reason'], what='the pause')
    filler.unlink()
    found = wait_until(lambda: next((document for document in [task(httpd, number)]
                                     if document['state'] != 'RUNNING'
                                     or document['tilesPerSecond'] is not None), None))
    assert found['state'] == 'RUNNING' and found['reason'] is None, found
    terminate(httpd)


@one_mpm
def test_room_above_the_floor_comes_back(httpd, upstream, small_disk):
    """TileSeedMinFree: the task pauses at the floor, and goes on by itself when somebody else has
    made room."""
    httpd.expect('is paused|TileSeedMinFree keeps')
    cache = small_disk('cache', '4m')
    filler = cache / 'of somebody else'
    filler.write_bytes(bytes(3 << 19))
    httpd.start('TileSeedMinFree 2MiB\n' + REST + stub(upstream, 'TileSeedKeep zoom=0-7'))
    number = begin(httpd, 'stub', zoomStop=4, threadCount=2)
    document = wait_until(lambda: next((found for found in [task(httpd, number)]
                                        if 'paused' in (found['reason'] or '')), None),
                          what='the pause')
    assert document['state'] == 'RUNNING'
    assert "in the layer's store" in document['reason'], document
    space = os.statvfs(cache)
    assert 0 < len(files(httpd)) - 1 < TILES[4]
    assert space.f_bavail * space.f_frsize >= 2 << 20
    filler.unlink()
    document = ended(httpd, number)
    check_seed(document, 4)
    assert document['reason'] is None
    assert len(files(httpd)) == TILES[4]
    space = os.statvfs(cache)
    assert space.f_bavail * space.f_frsize >= 2 << 20


# The configuration

OTHER_GRID = SMALL_GRID.replace('"small"', '"{name}"')
LAST = 4

# What is changed of a layer and its grid set: (before, after), and what the reason must say; None
# where the task goes on.
CHANGES = {
    'taken-out': ('TileSeedLayer "taken-out"', None, 'not configured'),
    'extent': ('0 0 1000 1000', '0 0 1000 1001', 'has changed'),
    'resolutions': ('TileSeedLevels 8', 'TileSeedResolutions 60 30 15 7 3', 'has changed'),
    'meta': ('TileSeedMetatile 2x2', 'TileSeedMetatile 4x4', None),
    'moved': ('@ROOT@/cache', '@ROOT@/elsewhere', None),
    'layout': ('layout=geowebcache', 'layout=xyz', 'store'),
    'format': ('TileSeedFormat image/png', 'TileSeedFormat image/jpeg', 'image/png'),
    'value': ('default=red value=red', 'default=blue value=blue', 'COLOUR'),
    'more': ('TileSeedMetatile 2x2', 'TileSeedMetatile 2x2\n    TileSeedParameter TIME default=1',
             'TIME'),
}


def section(name):
    """A layer and a grid set of the same name."""
    return OTHER_GRID.format(name=name) + layer(
        name, f'TileSeedSource wms upstream:stub layers={name}', f'TileSeedGrid {name}',
        'TileSeedMetatile 2x2', 'TileSeedFormat image/png',
        'TileSeedParameter COLOUR default=red value=red')


def changed(name):
    """The same after the change."""
    before, after, _ = CHANGES[name]
    assert before in section(name)
    return section(name).replace(before, after) if after else ''


def asked_for(upstream, name):
    """What was asked of the upstream for a layer."""
    return [request for request in list(upstream.requests) if request['LAYERS'] == name]


@one_mpm
@pytest.mark.parametrize('reload', ['graceful', 'stop and start'])
def test_configuration_changes_under_tasks(httpd, slow, reload):
    """What a task can't go on with aborts it and says so; nothing old comes to a new place. Without
    syncs: what was shown and not on a slow disk when httpd stops goes with the board."""
    httpd.expect('aborted')
    source = f'TileSeedSync off\nTileSeedUpstream stub {slow.url} connections=32\n'
    httpd.start(REST + source + ''.join(map(section, CHANGES)))
    numbers = {name: begin(httpd, name, zoomStop=LAST) for name in CHANGES}
    for number in numbers.values():
        progress(httpd, number, 1)
    after = REST + source + ''.join(map(changed, CHANGES))
    if reload == 'graceful':
        httpd.graceful(after)
    else:
        httpd.stop()
        httpd.start(after)
    for name, (_, _, words) in CHANGES.items():
        document = ended(httpd, numbers[name])
        if words is None:
            check_seed(document, LAST)
        else:
            assert document['state'] == 'ABORTED', (name, document)
            assert words in document['reason'], (name, document)
            assert 0 < document['tilesProcessed'] < document['tilesTotal'], (name, document)
    check_after_change(httpd, slow)


def check_after_change(httpd, upstream):
    """The old tiles are where they were, and the changed shape is for tasks to come."""
    elsewhere = {str(path.relative_to(httpd.path('elsewhere')))
                 for path in httpd.path('elsewhere').rglob('*.png')}
    assert elsewhere and all(path.startswith('moved/') for path in elsewhere)
    assert {int(request['WIDTH']) for request in asked_for(upstream, 'meta')} == {16, 32}
    assert all(request['FORMAT'] == 'image/png' for request in list(upstream.requests))
    tiles = GRIDS['small'].between(0, LAST)
    assert len(files(httpd, 'meta')) == len(tiles)
    assert len(elsewhere | set(files(httpd, 'moved'))) == len(tiles)
    for name in CHANGES:
        kept = files(httpd, name)
        assert kept and all(file.endswith('.png') for file in kept), name
        assert name == 'meta' or len(kept) < len(tiles), name
    before = len(asked_for(upstream, 'meta'))
    done(httpd, 'meta', zoomStart=2, zoomStop=2, type='reseed')
    assert [request['WIDTH'] for request in asked_for(upstream, 'meta')[before:]] == ['64']
