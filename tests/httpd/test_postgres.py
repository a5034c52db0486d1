# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Tasks outlive whatever happens to the PostgreSQL that keeps them: no accepted task is lost, and
every tile is counted once."""
import contextlib
import http.client
import json
import os
import random
import signal
import threading
import time

import pytest

from database import opened
from rest import number_of, seed
from seeding import GRIDS, REST, begin, counts, ended, files, seeder_of, stub, task
from test_tiles import TILES as TILES_LOCATION
from tileseed_httpd import Beside, one_mpm, wait_until
from upstream import Fault

psycopg2 = pytest.importorskip('psycopg2', reason='python3-psycopg2 is not installed')

LAST = 5
TILES = GRIDS['small'].between(0, LAST)
TROUBLE = (r'state database|state dir|can\'t (?:record|terminate|tell|say|show|change|read|renew)'
           r'|TS0042|TS0043|TS0057|TS0083|TS0084'
           r'|^FATAL:  terminating connection due to')       # libpq's own word, on stderr
LONG = 15       # seconds that a database stands still, more than the seeder may be silent

pytestmark = [one_mpm, pytest.mark.parametrize('database', ['pgsql'], indirect=True)]


@pytest.fixture
def slow(upstream):
    """A stub that takes its time, so that a task of TILES lasts some seconds."""
    upstream.always = Fault('delay', 0.05)
    return upstream


class Clients(Beside):
    """Clients that post small tasks, each with a key of its own until that has become a task."""

    def __init__(self, httpd, clients=2):
        super().__init__(*[self.run] * clients)
        self.httpd = httpd
        self.lock = threading.Lock()
        self.tasks = {}             # key -> the task that a 200 has named
        self.refused = 0

    def run(self):
        """One client."""
        while not self.stopped.wait(0.05):
            key = f'{random.getrandbits(64):016x}'
            while not self.post(key) and not self.stopped.wait(0.2):
                pass

    def post(self, key):
        """Whether the request was accepted."""
        body = json.dumps({'seedRequest': {'zoomStart': 0, 'zoomStop': 0, 'type': 'reseed'}})
        try:
            answer = self.httpd.post('/rest/seed/stub.json', body,
                                     headers={'Idempotency-Key': key})
        except (OSError, http.client.HTTPException):
            return False
        with self.lock:
            if answer.status == 200:
                self.tasks[key] = number_of(answer)
            else:
                assert answer.status == 503 and answer.headers['Retry-After'], answer.body
                self.refused += 1
        return answer.status == 200

    def check(self):
        """Every accepted task is there, ends well, and is the only one of its key."""
        assert self.tasks
        assert len(set(self.tasks.values())) == len(self.tasks)
        for number in self.tasks.values():
            document = ended(self.httpd, number)
            assert document['state'] == 'DONE', document
        with opened(self.httpd) as state:
            kept = dict(state.execute('SELECT name, task FROM request').fetchall())
            (known,), = state.execute('SELECT COUNT(*) FROM task')
        assert {key: kept[key] for key in self.tasks} == self.tasks
        assert known == len(kept) + 1       # and the seed


def check_seed(httpd, number):
    """The seed has made all tiles, and counted each of them once."""
    document = ended(httpd, number)
    assert document['state'] == 'DONE', document
    made, skipped, removed, failed = counts(document)
    assert (made + skipped, removed, failed) == (len(TILES), 0, 0), document
    assert len(files(httpd)) == len(TILES)


def progress(httpd, number, tiles):
    """Waits until that many tiles have been processed."""
    wait_until(lambda: task(httpd, number)['tilesProcessed'] >= tiles, what=f'{tiles} tiles')


def test_restart_in_the_middle_of_a_seed(httpd, postgres, slow):
    """The server dies twice without a word while clients post tasks."""
    httpd.expect(TROUBLE)
    httpd.start(REST + stub(slow))
    number = begin(httpd, 'stub', zoomStop=LAST, threadCount=4)
    with Clients(httpd) as clients:
        for tenths in (2, 5):
            progress(httpd, number, len(TILES) * tenths // 10)
            refused = clients.refused
            postgres.crash()
            wait_until(lambda before=refused: clients.refused > before, what='a refusal')
            postgres.start()
            accepted = len(clients.tasks)
            wait_until(lambda before=accepted: len(clients.tasks) > before, what='a task')
    check_seed(httpd, number)
    clients.check()
    assert 'is PostgreSQL running there, on that port?' in httpd.error_log()
    assert httpd.error_log().count('TS0076: the state database works again') >= 1


@pytest.mark.long
def test_connections_that_end_at_random(httpd, postgres, slow):
    """Each at any time, be it amid a transaction."""
    httpd.expect(TROUBLE)
    httpd.start(REST + stub(slow))
    number = begin(httpd, 'stub', zoomStop=LAST, threadCount=4)
    ends = 0
    chance = random.Random(20261124)
    with Clients(httpd) as clients, contextlib.closing(postgres.connect('postgres')) as connection:
        cursor = connection.cursor()
        while task(httpd, number)['state'] != 'DONE':
            cursor.execute('SELECT pid FROM pg_stat_activity WHERE datname = %s',
                           (httpd.database,))
            pids = [pid for pid, in cursor]
            if pids:
                cursor.execute('SELECT pg_terminate_backend(%s)', (chance.choice(pids),))
                ends += 1
            time.sleep(chance.random() / 10)    # the disturbance comes at any time
    assert ends > 10
    check_seed(httpd, number)
    clients.check()


def test_server_that_stands_still(httpd, postgres, slow):
    """Tiles are served all the same, the seeder is not taken for one that hangs, and all goes on
    afterwards."""
    httpd.expect(TROUBLE)
    httpd.start(REST + TILES_LOCATION + stub(slow) +
                'TileSeedHangTimeout 5s\nTileSeedLease 5m\n')
    number = begin(httpd, 'stub', zoomStop=LAST, threadCount=4)
    progress(httpd, number, len(TILES) // 10)
    seeder = seeder_of(httpd)
    postgres.hang()
    until = time.monotonic() + LONG
    while time.monotonic() < until:
        assert httpd.get('/tiles/stub/small/0/0/0.png').status == 200
        time.sleep(0.2)             # nothing says that the seeder is not killed
    postgres.go_on()
    with Clients(httpd, clients=1) as clients:
        wait_until(lambda: clients.tasks)
    check_seed(httpd, number)
    clients.check()
    assert seeder_of(httpd) == seeder


@pytest.mark.parametrize('how', ['stands still', 'is gone'])
def test_stop_while_the_database(httpd, postgres, slow, how):
    """httpd ends within its time, and the task goes on where the database has it."""
    httpd.expect(TROUBLE)
    httpd.start(REST + stub(slow))
    number = begin(httpd, 'stub', zoomStop=LAST, threadCount=4)
    progress(httpd, number, len(TILES) // 10)
    if how == 'is gone':
        postgres.crash()
        wait_until(lambda: 'TS0042' in httpd.error_log())
    else:
        postgres.hang()
    httpd.stop()                    # finish() complains of processes that are left behind
    if how == 'is gone':
        postgres.start()
    else:
        postgres.go_on()
    httpd.start()
    check_seed(httpd, number)


def test_start_before_the_database(httpd, postgres, upstream):
    """httpd starts, says what is wrong, and works as soon as PostgreSQL does."""
    httpd.expect(TROUBLE + '|TS0040')
    postgres.crash()
    httpd.start(REST + TILES_LOCATION + stub(upstream))
    answer = seed(httpd, 'stub', status=503)
    assert answer.headers['Retry-After'] and 'nothing was changed' in answer.text
    assert 'is PostgreSQL running there, on that port?' in httpd.error_log()
    postgres.start()
    wait_until(lambda: httpd.post('/rest/seed/stub.json',
                                  '{"seedRequest":{"zoomStop":0}}').status == 200)
    assert ended(httpd, 1)['state'] == 'DONE'


def test_database_of_a_newer_version(httpd, postgres, upstream):
    """503, and the error log says which versions."""
    httpd.expect(TROUBLE + '|TS0040')
    httpd.start(REST + stub(upstream))
    ended(httpd, begin(httpd, 'stub', zoomStop=0))
    httpd.stop()
    with opened(httpd) as state:
        (version,), = state.execute("SELECT value FROM meta WHERE name = 'schema_version'")
        state.execute("UPDATE meta SET value = 99 WHERE name = 'schema_version'")
    httpd.start()
    seed(httpd, 'stub', status=503)
    assert 'schema version 99 of a newer mod_tileseed' in httpd.error_log()
    assert postgres.answers()
    with opened(httpd) as state:
        state.execute("UPDATE meta SET value = ? WHERE name = 'schema_version'", (version,))
    wait_until(lambda: httpd.post('/rest/seed/stub.json',
                                  '{"seedRequest":{"zoomStop":0}}').status == 200)


def test_no_password_is_told(httpd, postgres, upstream):
    """A configuration that anybody may read is worth a warning."""
    httpd.expect(TROUBLE + '|TS0040|TS0079')
    with contextlib.closing(postgres.connect('postgres')) as connection:
        connection.cursor().execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
    params = (f"host={postgres.folder} user=guarded password='secret word' "
              f'dbname={httpd.database}')
    httpd.start(REST + stub(upstream) + f'TileSeedDatabase pgsql "{params}"\n')
    answer = seed(httpd, 'stub', status=503)
    assert 'authentication failed' in httpd.error_log()
    assert 'test.conf has the password of TileSeedDatabase' in \
        httpd.error_log() + httpd.path('output').read_text()
    told = httpd.error_log() + httpd.path('output').read_text() + answer.text
    assert 'secret' not in told
