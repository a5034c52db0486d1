# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Tasks outlive whatever happens to httpd and to the seeder, and nothing is done twice but what was
under way."""
import collections
import contextlib
import fcntl
import os
import pathlib
import signal
import sqlite3
import threading
import time

import pytest

from seeding import (GRIDS, REST, Watch, begin, counts, done, ended, failures, files, layer, rows,
                     seeder_of, stub, task, terminate)
from test_tiles import TILES as TILES_LOCATION
from tileseed_httpd import Httpd, one_mpm, wait_until
from upstream import Fault

THREADS = 2
LARGE, SLOW_READ = 3000, 0.003                  # pages of a database, seconds a read
PAGES = 300000                                  # of books
LOOKED_THROUGH = 'the state database was looked through'
LONGER_THAN_APR = 4                             # seconds that it gives a subprocess, and some
LAST = 4                                        # zoom levels 0 to 4
TILES = GRIDS['small'].between(0, LAST)
METATILES = GRIDS['small'].metatiles(TILES, (2, 2))


@pytest.fixture
def slow(upstream):
    """A stub that takes its time, so that a task of METATILES lasts some seconds."""
    upstream.always = Fault('delay', 0.06)
    return upstream


@pytest.fixture
def other_httpd(mpm):
    """A second httpd beside the fixture `httpd`."""
    server = Httpd(mpm)
    yield server
    server.finish()


def start(httpd, upstream, *lines, more=''):
    """Starts httpd and a task; returns its id when some tiles have been made."""
    httpd.start(REST + stub(upstream, *lines) + more)
    number = begin(httpd, 'stub', zoomStop=LAST, threadCount=THREADS)
    progress(httpd, number, len(TILES) // 10)
    return number


def progress(httpd, number, tiles):
    """Waits until that many tiles have been processed."""
    wait_until(lambda: task(httpd, number)['tilesProcessed'] >= tiles, what=f'{tiles} tiles')


def check_end(httpd, upstream, number, interruptions):
    """All tiles are there, counted once each; only what was under way was asked for again."""
    document = ended(httpd, number)
    assert document['state'] == 'DONE', document
    made, skipped, removed, failed = counts(document)
    assert (made + skipped, removed, failed) == (len(TILES), 0, 0), document
    assert len(files(httpd)) == len(TILES)
    assert not rows(httpd)
    asked = collections.Counter((request['BBOX'], request['WIDTH'])
                                for request in upstream.requests)
    assert len(asked) == len(METATILES)
    # of a run, as many are fetched or wait for a worker as are with workers
    assert sum(asked.values()) - len(asked) <= interruptions * 2 * THREADS


def interrupt_graceful(httpd):
    """apachectl graceful."""
    httpd.graceful()


def interrupt_restart(httpd):
    """apachectl restart."""
    httpd.restart()


def interrupt_stop(httpd):
    """apachectl stop, then start."""
    httpd.stop()
    assert not httpd.processes()
    httpd.start()


def interrupt_graceful_stop(httpd):
    """apachectl graceful-stop, then start."""
    httpd.stop(signal.SIGWINCH)
    assert not httpd.processes()
    httpd.start()


def interrupt_parent(httpd):
    """The parent is killed: its seeder leaves by itself; its children, which would go on
    answering, are killed before the start."""
    httpd.expect('AH00098')                     # the pid file that it left
    httpd.process.kill()
    httpd.process.wait()
    wait_until(lambda: seeder_of(httpd) is None, what='the end of the seeder')
    httpd.kill_processes()
    wait_until(lambda: not httpd.processes())
    httpd.start()


@pytest.mark.parametrize('interrupt', [interrupt_graceful, interrupt_restart, interrupt_stop,
                                       interrupt_graceful_stop, interrupt_parent])
def test_task_goes_on(httpd, slow, interrupt):
    """Twice in the middle of a task: same id, counts that never go back, nothing lost. While a busy
    disk syncs for seconds, the database may have less than was shown: here nobody asks it to."""
    httpd.start(REST + 'TileSeedSync off\n' + stub(slow))
    with Watch(httpd, clients=2) as watch:
        number = begin(httpd, 'stub', zoomStop=LAST, threadCount=THREADS)
        for tenths in (2, 5):
            progress(httpd, number, len(TILES) * tenths // 10)
            interrupt(httpd)
            assert {row[3] for row in rows(httpd)} <= {number}  # it may have come to its end
        wait_until(lambda: not rows(httpd))
    watch.check(number, len(TILES))
    check_end(httpd, slow, number, interruptions=2)


@pytest.mark.pgsql
@pytest.mark.main_path
def test_seeder_killed(httpd, slow):
    """A new seeder comes at once and takes over where the last one was."""
    httpd.expect('the seeder ended unexpectedly')
    httpd.expect('AH00052')
    number = start(httpd, slow)
    with Watch(httpd) as watch:
        old = seeder_of(httpd)
        os.kill(old, signal.SIGKILL)
        assert [row[3] for row in rows(httpd)] == [number]
        wait_until(lambda: seeder_of(httpd) not in (None, old), what='a new seeder')
        before = len(slow.requests)
        wait_until(lambda: len(slow.requests) > before)
        assert 'ended unexpectedly, by the signal Killed (9), and is' in httpd.error_log()
        wait_until(lambda: not rows(httpd))
    watch.check(number, len(TILES))
    check_end(httpd, slow, number, interruptions=1)


def test_seeder_ends_with_a_status(httpd, slow):
    """A seeder whose lock file was removed ends by itself. The log has its exit status, and a new
    seeder goes on."""
    httpd.expect('the lock file of the state directory|the seeder ended unexpectedly')
    number = start(httpd, slow)
    old = seeder_of(httpd)
    httpd.path('state/lock').unlink()
    wait_until(lambda: seeder_of(httpd) not in (None, old), what='a new seeder')
    assert 'ended unexpectedly, with exit status 1, and is started' in httpd.error_log()
    check_end(httpd, slow, number, interruptions=1)


def test_pending_tasks_keep_their_order(httpd, slow):
    """Tasks that wait for a thread wait on after a restart, and begin in the order of their ids."""
    httpd.start(REST + stub(slow) + 'TileSeedThreads 1\n')
    numbers = [begin(httpd, 'stub', zoomStart=level, zoomStop=level) for level in (3, 2, 1)]
    assert [row[3:] for row in rows(httpd)] == [[numbers[0], 1], [numbers[1], 0], [numbers[2], 0]]
    httpd.restart()
    assert [row[3] for row in rows(httpd)] == numbers
    documents = [ended(httpd, number) for number in numbers]
    assert [document['state'] for document in documents] == ['DONE'] * 3
    assert [document['tilesProcessed'] for document in documents] == [64, 16, 4]
    begun = [document['started'] for document in documents]
    assert begun == sorted(begun)
    assert begin(httpd, 'stub', zoomStop=0) > numbers[2]


def test_terminated_stays_terminated(httpd, upstream):
    """Neither a restart nor a start takes up again what was terminated, running or pending."""
    upstream.always = Fault('hang')
    httpd.start(REST + stub(upstream) + 'TileSeedThreads 1\n')
    numbers = [begin(httpd, 'stub', zoomStop=3) for _ in range(2)]
    wait_until(lambda: upstream.requests)
    page = terminate(httpd)
    assert all(f'[{number}: stub, SEED, ' in page for number in numbers), page
    upstream.always = None
    asked = len(upstream.requests)
    for again in (httpd.graceful, lambda: interrupt_stop(httpd)):
        again()
        assert not rows(httpd)
        documents = [task(httpd, number) for number in numbers]
        assert [document['state'] for document in documents] == ['ABORTED'] * 2
        assert all('terminated' in document['reason'] for document in documents)
    assert len(upstream.requests) == asked
    assert not files(httpd)
    assert done(httpd, 'stub', zoomStop=0)['id'] == numbers[1] + 1


def test_failures_survive(httpd, slow):
    """What was given up on before a restart is still counted and known after it."""
    httpd.expect('failed answers? of the upstream')
    slow.decide = lambda asked: Fault('status', 404) if asked['WIDTH'] == '16' else None  # level 0
    number = start(httpd, slow, 'TileSeedRetries 0')
    httpd.restart()
    document = ended(httpd, number)
    assert document['state'] == 'DONE'
    made, skipped, removed, failed = counts(document)       # the stop cuts metatiles short
    assert (made + skipped, removed, failed) == (len(TILES) - 1, 0, 1)
    assert [failure[:3] for failure in failures(httpd, number)] == [(0, 0, 0)]


def test_a_child_lives_for_five_connections(httpd, slow):
    """Children that come and go take nothing along."""
    number = start(httpd, slow, more='MaxConnectionsPerChild 5\n')
    with Watch(httpd, clients=2) as watch:
        children = set()
        while rows(httpd):
            children |= set(httpd.processes())
        assert len(children) > 6
    watch.check(number, len(TILES))
    check_end(httpd, slow, number, interruptions=0)


def test_layer_taken_out_of_the_configuration(httpd, slow):
    """Its task ends with the reason, those of other layers go on."""
    httpd.expect('no layer|aborted')
    other = stub(slow, name='other').split('TileSeedUpstream', 1)[1].split('\n', 1)[1]
    httpd.start(REST + stub(slow) + other)
    lost = begin(httpd, 'stub', zoomStop=LAST)
    kept = begin(httpd, 'other', zoomStop=2)
    progress(httpd, lost, 1)
    httpd.graceful(REST + stub(slow, name='other'))
    document = ended(httpd, lost)
    assert document['state'] == 'ABORTED'
    assert 'stub' in document['reason']
    assert counts(ended(httpd, kept)) == (21, 0, 0, 0)


def test_stop_while_the_upstream_hangs(httpd, upstream):
    """An upstream that hangs does not hold up the stop, and the seeder is gone afterwards."""
    upstream.always = Fault('hang')
    httpd.start(REST + stub(upstream))
    begin(httpd, 'stub', zoomStop=3, threadCount=8)
    wait_until(lambda: upstream.requests)
    assert seeder_of(httpd)
    httpd.stop()
    assert not httpd.leftovers
    assert not httpd.processes()


@one_mpm
def test_configtest_leaves_no_trace(httpd, upstream):
    """No directory, no process, no request."""
    status, words = httpd.configtest(REST + stub(upstream))
    assert (status, words) == (0, 'Syntax OK\n')
    assert not httpd.path('state').exists()
    assert not httpd.path('cache').exists()
    assert not httpd.processes()
    assert not upstream.requests


@pytest.mark.sqlite
@one_mpm
def test_large_database_on_a_slow_disk(httpd, upstream):
    """After a bad end all of it is looked through, beside the work: nobody waits for that, nor is
    the seeder taken for one that hangs."""
    mischief = httpd.make_mischief()
    httpd.start(REST + stub(upstream) + 'TileSeedHangTimeout 5s\nLogLevel tileseed:debug\n')
    done(httpd, 'stub', zoomStop=1)
    httpd.stop()
    with contextlib.closing(sqlite3.connect(httpd.path('state/tileseed.db'))) as database:
        database.execute('CREATE TABLE filler AS WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL '
                         f'SELECT i + 1 FROM n WHERE i < {LARGE}) SELECT randomblob(3500) FROM n')
        database.commit()
    httpd.path('state/ended-well').unlink()
    mischief.slow(httpd.path('state'), SLOW_READ)
    httpd.start()
    seeder = wait_until(lambda: seeder_of(httpd))
    assert done(httpd, 'stub', zoomStop=2)['state'] == 'DONE'
    assert httpd.error_log().count(LOOKED_THROUGH) == 1     # by the first start
    wait_until(lambda: httpd.error_log().count(LOOKED_THROUGH) == 2, what='the end of the look')
    assert seeder_of(httpd) == seeder
    httpd.stop()
    httpd.start()
    done(httpd, 'stub', zoomStop=0)
    assert httpd.error_log().count(LOOKED_THROUGH) == 2     # it had ended well


@pytest.mark.sqlite
@one_mpm
def test_large_books_on_a_slow_disk(httpd, upstream):
    """Pages of the books are read beside the work: a tile is passed on meanwhile, a task says what
    it waits for, the seeder is not taken for one that hangs, and the books are what they were."""
    mischief = httpd.make_mischief()
    httpd.start(REST + stub(upstream) + TILES_LOCATION +
                'TileSeedHangTimeout 5s\nLogLevel tileseed:info\n')
    done(httpd, 'stub', zoomStop=1)
    httpd.stop()
    with contextlib.closing(sqlite3.connect(httpd.path('state/tileseed.db'))) as database:
        database.execute(
            'INSERT INTO page WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n '
            f'WHERE i < {PAGES - 1}) SELECT (SELECT MIN(id) FROM tileset), 17, i / 500, i % 500, '
            '1, 1, 100, 4096, 0, 0, 0, 0 FROM n')
        database.commit()
    mischief.slow(httpd.path('state'), SLOW_READ)
    httpd.start()
    seeder = wait_until(lambda: seeder_of(httpd))
    number = begin(httpd, 'stub', zoomStop=2)
    assert httpd.get('/tiles/stub/small/3/0/0.png').status == 200
    wait_until(lambda: 'books of the disk usage' in (task(httpd, number)['reason'] or ''))
    assert f'are read: {PAGES}' not in httpd.error_log()
    wait_until(lambda: f'are read: {PAGES + 2} pages' in httpd.error_log(), what='the last page')
    assert ended(httpd, number)['state'] == 'DONE'
    assert seeder_of(httpd) == seeder


@one_mpm
def test_stop_waits_as_long_as_it_is_told(httpd, upstream):
    """A seeder that needs longer than httpd would give it is not killed within its time."""
    httpd.start(REST + stub(upstream) + 'TileSeedStopTimeout 10s\n')
    done(httpd, 'stub', zoomStop=1)
    seeder = seeder_of(httpd)
    os.kill(seeder, signal.SIGSTOP)
    stopping = threading.Thread(target=httpd.stop)
    stopping.start()
    time.sleep(LONGER_THAN_APR)         # nothing says that it has not been killed
    state = pathlib.Path(f'/proc/{seeder}/stat').read_text(encoding='ascii').split()[2]
    os.kill(seeder, signal.SIGCONT)
    stopping.join()
    assert state == 'T' and not httpd.leftovers, (state, httpd.leftovers)


@pytest.mark.sqlite
@one_mpm
@pytest.mark.skipif(os.geteuid() != 0, reason='only root can change its root')
def test_directories_below_another_root(httpd, upstream):
    """They are made where seeder and children see them; there is no database driver there."""
    httpd.expect('ChrootDir|state da|state directory|record the task')
    jail = httpd.folder('jail')
    jail.chmod(0o755)
    httpd.start(f'ChrootDir {jail}\n' + REST.replace('@ROOT@', '/var') +
                stub(upstream).replace('@ROOT@', '/var'))
    assert (jail / 'var/state').stat().st_uid and (jail / 'var/cache').is_dir()
    wait_until(lambda: 'APR\'s database driver sqlite3 can\'t be loaded' in httpd.error_log())
    assert httpd.post('/rest/seed/stub.json', '{"seedRequest":{}}').status == 503


@one_mpm
def test_seeder_lets_go_of_what_is_not_its_own(httpd, upstream):
    """Neither pipes of the MPM nor logs of requests nor sockets that listen."""
    httpd.start(REST + stub(upstream) +
                'CustomLog "@ROOT@/access_log" "%h"\nCustomLog "|/bin/cat" "%h"\n')
    number = begin(httpd, 'stub', zoomStop=1)
    assert ended(httpd, number)['state'] == 'DONE'
    with open('/proc/net/tcp', encoding='ascii') as table:
        listening = {line.split()[9] for line in table if line.split()[3] == '0A'}
    links = {int(path.name): os.readlink(path)
             for path in pathlib.Path(f'/proc/{seeder_of(httpd)}/fd').iterdir()}
    inherited = {at: link for at, link in links.items() if at > 2 and (
        link.startswith('pipe:') or link.endswith('access_log') or link[8:-1] in listening)}
    assert not inherited, links
    assert any(link.endswith('error.log') for link in links.values()), links


@pytest.mark.skipif(os.geteuid() != 0, reason='only root can be led astray')
@one_mpm
def test_store_behind_a_link_of_others(httpd, upstream):
    """Root makes no directory where a link leads that User could have put there; an
    administrator's own link is followed."""
    httpd.expect("can't make the store")
    vault = httpd.path('vault')
    vault.mkdir()
    httpd.folder('cache').joinpath('out').symlink_to(vault)
    httpd.path('mine').symlink_to(vault)
    httpd.start(REST + stub(upstream).replace('/cache"', '/cache/out/tiles/deep"')
                + layer('other', 'TileSeedSource wms upstream:stub layers=any',
                        'TileSeedGrid small').replace('/cache"', '/mine/tiles"'))
    assert [path.name for path in vault.iterdir()] == ['tiles']
    assert vault.joinpath('tiles').stat().st_uid == httpd.user[1]
    assert not list(vault.joinpath('tiles').iterdir())


def test_second_httpd_on_the_state_directory(httpd, other_httpd, slow):
    """It says that the place is taken, does no harm, and takes over when it is free."""
    other_httpd.expect('another seeder holds the state directory')
    number = start(httpd, slow)
    shared = (REST + stub(slow)).replace('@ROOT@', str(httpd.root))
    other_httpd.start(shared + TILES_LOCATION)

    def refusal():
        answer = other_httpd.put('/rest/diskquota.json', '{"cacheQuotaConfiguration":{}}')
        return answer if answer.status == 503 else None
    answer = wait_until(refusal, what='the refusal')
    assert answer.headers['Retry-After']
    assert answer.headers['Content-Type'].startswith('text/plain')
    assert 'state directory' in answer.text and str(httpd.root) not in answer.text
    answer = other_httpd.post('/rest/seed/stub.json', '{"seedRequest":{}}')
    assert answer.status == 503
    answer = other_httpd.get('/tiles/tms/stub/small/5/0/0.png')
    assert answer.status == 503 and 'another httpd' in answer.text, answer.text
    check_end(httpd, slow, number, interruptions=0)
    httpd.stop()
    wait_until(lambda: other_httpd.post('/rest/seed/stub.json', '{"seedRequest":{"zoomStop":0}}')
               .status == 200, what='the second seeder')
    wait_until(lambda: not rows(other_httpd))


def warned(httpd):
    """How often a second httpd in a store's directory was noticed."""
    return httpd.error_log().count('another httpd works in the store directory')


def test_two_httpds_in_one_store_are_noticed(httpd, other_httpd, upstream):
    """Whoever comes second says so once; a restart of the first, which has the directory, does not
    say it of its own predecessor."""
    for server in httpd, other_httpd:
        server.expect('another httpd works in the store directory')
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=1)
    config = (REST + stub(upstream)).replace('@ROOT@/cache', str(httpd.path('cache')))
    assert str(httpd.path('cache')) in config
    wait_until(lambda: locked(httpd.path('cache')), what='the first lock')
    os.chmod(httpd.root, 0o755)
    other_httpd.start(config)
    wait_until(lambda: warned(other_httpd), what='the warning')
    done(other_httpd, 'stub', zoomStop=1)
    assert str(httpd.path('cache')) in other_httpd.error_log()
    other_httpd.stop()
    pid = seeder_of(httpd)
    httpd.graceful()
    wait_until(lambda: seeder_of(httpd) not in (None, pid), what='another seeder')
    wait_until(lambda: locked(httpd.path('cache')), what='the second lock')
    assert (warned(httpd), warned(other_httpd)) == (0, 1)


@one_mpm
def test_a_store_that_hangs_keeps_no_other_from_its_lock(httpd, upstream):
    """Each store's directory is locked, though the file server of one is away."""
    mischief = httpd.make_mischief()
    httpd.expect('another httpd works in the store directory')      # us, looking for locks
    stores = [httpd.folder(name) for name in ('first', 'second', 'third')]
    config = REST + stub(upstream).replace('@ROOT@/cache', str(stores[0]))
    for store in stores[1:]:
        config += layer(store.name, 'TileSeedSource wms upstream:stub layers=any',
                        'TileSeedGrid small').replace('@ROOT@/cache', str(store))
    mischief.hang(stores[1], True)
    httpd.start(config)
    wait_until(lambda: locked(stores[0]) and locked(stores[2]), what='the locks of the others')
    assert not locked(stores[1])
    mischief.hang(stores[1], False)
    wait_until(lambda: locked(stores[1]), what='the last lock')


@one_mpm
def test_a_store_that_hangs_holds_no_other(httpd, upstream):
    """It has all workers and seeding threads when a task of another store comes, which is done."""
    mischief = httpd.make_mischief()
    ill = httpd.folder('ill')
    httpd.expect('TS0103')
    httpd.start(REST + 'TileSeedWorkers 1\nTileSeedThreads 1\n' + stub(upstream)
                + layer('ill', 'TileSeedSource wms upstream:stub layers=any',
                        'TileSeedGrid small').replace('@ROOT@/cache', str(ill)))
    mischief.hang(ill, True)
    held = begin(httpd, 'ill', zoomStop=LAST)
    wait_until(lambda: any(path.is_file() for path in ill.rglob('*')), what='a tile begun')
    done(httpd, 'stub', zoomStop=LAST)
    found = task(httpd, held)
    assert (found['state'], found['reasonCode']) == ('RUNNING', 'STORE')
    wait_until(lambda: f'TS0103: the store {ill} has not answered' in httpd.error_log())
    mischief.hang(ill, False)
    assert ended(httpd, held)['state'] == 'DONE'
    wait_until(lambda: f'TS0104: the store {ill} answers again' in httpd.error_log())
    assert httpd.error_log().count('TS0103') == 1


def locked(directory):
    """Whether somebody holds a directory's lock."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
