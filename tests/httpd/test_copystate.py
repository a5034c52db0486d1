# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The program conf/tileseed-copystate: the state goes over to PostgreSQL and back as it is, or not
at all, and tasks go on where they were."""
import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess

import psycopg2
import pytest

from copystate import LAST_ID, PROGRAM, SCHEMA, State, command, copied, refused
from quota import agrees
from seeding import REST, begin, counts, done, ended, files, seeder_of, stub, task
from test_lifecycle import LAST, THREADS, TILES, check_end, progress
from tileseed_httpd import TOP, one_mpm, wait_until
from upstream import Fault


@pytest.fixture(name='pgsql')
def fixture_pgsql(shared_postgres):
    """The parameters of a connection to an empty database."""
    return shared_postgres.params(shared_postgres.database())


@pytest.fixture(name='make_state')
def fixture_make_state():
    """Makes state directories."""
    made = []
    def make():
        made.append(State())
        return made[-1]
    yield make
    for state in made:
        state.remove()


@pytest.fixture(name='state')
def fixture_state(make_state):
    """A state with odd values in every table."""
    return make_state().fill()


def ask(pgsql, sql):
    """Carries a statement out; returns its rows."""
    with contextlib.closing(psycopg2.connect(pgsql)) as connection:
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else []


def passfile(state, user):
    """A file with the password of a user, which is hush."""
    file = state.folder / 'pgpass'
    file.write_text(f'*:*:*:{user}:hush\n')
    file.chmod(0o600)
    state.own()
    return file


def tables(pgsql):
    """The names of the tables in a database."""
    return {name for name, in ask(
        pgsql, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


# What is copied

def test_over_and_back(make_state, state, pgsql):
    """Every value is as it was: 64-bit numbers, doubles, texts. The source is not touched."""
    before = state.snapshot()
    said = copied(state, pgsql)
    assert state.snapshot() == before
    assert f'{state.file} and database test' in said
    assert f'\n  task      40 rows, sum of id {40 * 41 // 2}\n' in said, said
    pages = state.number('SELECT SUM(bytes) FROM (SELECT CAST(bytes AS REAL) AS bytes FROM page)')
    assert float(re.search(r'\n  page      40 rows, sum of bytes (-?\d+)\n', said)[1]) == pages
    assert f'\nThe next task is {LAST_ID + 1}.\n' in said
    assert tables(pgsql) >= {table.name for table in SCHEMA.tables}
    back = make_state()
    copied(pgsql, back)
    assert back.content() == state.content()
    assert all(path.stat().st_uid == back.folder.stat().st_uid for path in back.folder.iterdir())
    assert back.file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize('is_linked', [False, True])
def test_what_only_the_log_has(make_state, state, pgsql, is_linked):
    """httpd was killed: what it committed last is in SQLite's log, and stays there. The log lies
    beside the file, also when a link leads to that."""
    subprocess.run(['/usr/bin/python3', '-c', f'''
import os, sqlite3
database = sqlite3.connect({str(state.file)!r})
database.execute("INSERT INTO note VALUES ('late', 'committed')")
database.commit()
os._exit(0)'''], check=True)
    state.own()
    before = state.snapshot()
    assert before['tileseed.db-wal'][1]
    source = state
    if is_linked:
        source = make_state()
        source.file.symlink_to(state.file)
        source.mark(LAST_ID)
        source.own()
    copied(source, pgsql)
    assert {**state.snapshot(), 'tileseed.db-shm': before['tileseed.db-shm']} == before
    back = make_state()
    copied(pgsql, back)
    assert back.number("SELECT value FROM note WHERE name = 'late'") == 'committed'


def test_an_empty_state(make_state, pgsql):
    """A state without tasks."""
    state, back = make_state().fill(rows=0), make_state()
    assert '\n  task      0 rows, sum of id 0\n' in copied(state, pgsql)
    copied(pgsql, back)
    assert back.content() == state.content()


def test_texts_that_are_no_utf8(make_state, state, pgsql):
    """Such a text is taken for Latin-1, as the module does; a NUL is refused."""
    with state.changed() as changed:
        changed.execute("UPDATE task SET requested_by = CAST(X'6DFC6C' AS TEXT) WHERE id = 7")
    said = copied(state, pgsql)
    assert '\n  task      40 rows, sum of id 820, 1 with texts taken for Latin-1\n' in said, said
    back = make_state()
    assert 'Latin' not in copied(pgsql, back)
    assert back.number('SELECT requested_by FROM task WHERE id = 7') == 'mül'
    with state.changed() as changed:
        changed.execute("UPDATE task SET reason = CAST(X'610062' AS TEXT) WHERE id = 8")
    assert 'invalid byte sequence for encoding "UTF8": 0x00' in refused(
        state, pgsql, '--overwrite')


# Numbers that don't repeat

def test_numbers_go_on(make_state, state, pgsql):
    """Ids go on behind all that source, target and mark know of."""
    copied(state, pgsql)
    other = make_state().fill(rows=2)
    with other.changed() as changed:
        changed.execute("UPDATE meta SET value = 50 WHERE name = 'task_id'")
    other.mark(50)
    assert f'The next task is {LAST_ID + 1}.' in copied(other, pgsql, '--overwrite')
    assert ask(pgsql, 'SELECT COUNT(*) FROM task') == [(2,)]
    ask(pgsql, "UPDATE meta SET value = 60 WHERE name = 'task_id'")
    assert 'The next task is 61.' in copied(pgsql, other, '--overwrite')
    back = make_state()
    (back.folder / 'tileseed.ids').write_text('5000 1\n')
    back.own()
    assert 'The next task is 5001.' in copied(pgsql, back)
    number, inode = map(int, (back.folder / 'tileseed.ids').read_text().split())
    assert 5000 <= number <= 6000 and inode == back.file.stat().st_ino
    assert 'The next task is 5001.' in copied(back, pgsql, '--overwrite')


# All or nothing

def test_overwrite(make_state, state, pgsql):
    """What is there is refused, and replaced only when that is said."""
    copied(state, pgsql)
    other = make_state().fill(rows=3)
    for source, target in (other, pgsql), (pgsql, other):
        before = other.snapshot()
        said = refused(source, target)
        assert f'has a state already, up to task {LAST_ID}; with --overwrite it is lost' in said
        assert other.snapshot() == before
    assert ask(pgsql, 'SELECT COUNT(*) FROM task') == [(40,)]
    copied(pgsql, other, '--overwrite')
    assert other.content() == state.content()


def test_a_target_that_changes_rows(make_state, state, pgsql):
    """The check before the commit finds a row that is not what was written."""
    copied(state, pgsql)
    ask(pgsql, """
        CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN IF NEW.name LIKE ''% 7'' THEN NEW.value := ''other''; END IF; RETURN NEW; END';
        CREATE TRIGGER change BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION change()""")
    said = refused(make_state().fill(rows=9), pgsql, '--overwrite')
    assert 'the rows of note are not those that were written; nothing was changed' in said
    assert ask(pgsql, 'SELECT COUNT(*) FROM note') == [(40,)]


def test_a_row_that_does_not_fit(state, pgsql):
    """A failure in the middle leaves nothing behind."""
    with state.changed() as changed:
        changed.execute('UPDATE page SET names = ? WHERE z = 9', (1 << 40,))
    assert 'out of range for type integer' in refused(state, pgsql)
    assert not tables(pgsql)


def hear_ctrl_c():
    """Between fork and exec: tests in the background may have been told to ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def halfway(source, target):
    """The program in the middle of its work; it has ended afterwards."""
    with subprocess.Popen(command(source, target), stderr=subprocess.PIPE, text=True,
                          stdout=subprocess.DEVNULL, preexec_fn=hear_ctrl_c) as process:
        line = process.stderr.readline()
        assert line == 'page: 100000 rows copied\n', line
        yield process
        words = process.stderr.read()
    assert process.returncode == -signal.SIGKILL or 'stopped; TO is as it was' in words, words


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGINT])
def test_killed(make_state, pgsql, number):
    """Killed in the middle, it leaves nothing that would pass for a state, and can be run again."""
    state = make_state().fill(rows=1, pages=150000)
    with halfway(state, pgsql) as process:
        process.send_signal(number)
    assert not tables(pgsql)
    copied(state, pgsql)
    back = make_state()
    with halfway(pgsql, back) as process:
        process.send_signal(number)
    assert number == signal.SIGKILL or not back.file.exists()
    copied(pgsql, back)
    assert back.content() == state.content()


# What is refused

@one_mpm
@pytest.mark.sqlite
def test_while_a_seeder_works(httpd, upstream, state, pgsql):
    """Nothing is read or written beside a seeder, whatever is to be overwritten."""
    httpd.start(REST + stub(upstream))
    number = done(httpd, 'stub', zoomStop=1)['id']
    wait_until(lambda: seeder_of(httpd))
    copied(state, pgsql)
    file, folder = httpd.path('state/tileseed.db'), httpd.path('state')
    for words in (file, pgsql), ('--overwrite', file, pgsql), ('--overwrite', pgsql, file):
        assert f'a seeder is at work in {folder}: stop httpd' in refused(*words)
    assert task(httpd, number)['state'] == 'DONE'
    httpd.stop()
    copied('--overwrite', file, pgsql)


@pytest.mark.parametrize('take', [fcntl.lockf, fcntl.flock])
def test_while_the_state_is_locked(state, pgsql, take):
    """APR locks the state directory in one way or the other; who opens the file locks its
    directory; a session in PostgreSQL may be that of another host."""
    with open(state.folder / 'lock', 'w', encoding='ascii') as lock:
        state.own()
        take(lock, fcntl.LOCK_EX)
        for words in (state, pgsql), (pgsql, state):
            assert f'a seeder is at work in {state.folder}: stop httpd' in refused(*words)
    directory = os.open(state.folder, os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    assert 'httpd is just opening the database' in refused(state, pgsql)
    os.close(directory)
    with contextlib.closing(psycopg2.connect(pgsql)):
        said = refused(state, pgsql)
    assert 'other sessions of this user are open (1 from this host); stop httpd on every' in said
    copied(state, pgsql)


def test_versions(make_state, state, pgsql):
    """Both have the version that the program knows."""
    newest = SCHEMA.version
    copied(state, pgsql)
    for version, words in ((newest + 1, f'has schema version {newest + 1} of a newer mod_tileseed'),
                           (newest - 1, 'start httpd with it and the module of this release')):
        with state.changed() as changed:
            changed.execute("UPDATE meta SET value = ? WHERE name = 'schema_version'", (version,))
        assert words in refused(state, pgsql, '--overwrite')
        assert (f'has the tables of schema version {version}, and this program knows {newest}'
                in refused(pgsql, state, '--overwrite'))
        ask(pgsql, f"UPDATE meta SET value = {version} WHERE name = 'schema_version'")
        assert words in refused(pgsql, make_state())
        ask(pgsql, f"UPDATE meta SET value = {newest} WHERE name = 'schema_version'")


def test_what_is_no_state(make_state, state, pgsql):
    """Nothing, something else, a copy, a backup."""
    assert 'has no state of mod_tileseed' in refused(pgsql, make_state())
    ask(pgsql, 'CREATE TABLE page (number integer)')
    assert 'already exists; the state needs a database of its own' in refused(state, pgsql)
    assert tables(pgsql) == {'page'}
    ask(pgsql, 'CREATE TABLE meta (name text, value bigint)')
    assert 'has a table meta without a schema version' in refused(state, pgsql)
    assert 'there is no such file' in refused(state.folder / 'no.db', pgsql)
    copy_of_it = state.folder / 'copy.db'
    copy_of_it.write_bytes(state.file.read_bytes())
    assert 'is not the file that httpd used last' in refused(copy_of_it, pgsql)
    state.mark(LAST_ID - 2000)
    assert 'is not the file that httpd used last' in refused(state, pgsql)
    (state.folder / 'tileseed.ids').unlink()
    assert 'start httpd with it once, stop httpd, and copy' in refused(state, pgsql)


@pytest.mark.parametrize('change', [
    "UPDATE meta SET value = 'eight' WHERE name = 'schema_version'",
    "UPDATE meta SET value = 1.5 WHERE name = 'schema_version'",
    "UPDATE meta SET value = x'ff00' WHERE name = 'task_id'",
    "UPDATE meta SET value = 'later' WHERE name = 'epoch'",
    "UPDATE page SET bytes = 'many' WHERE z = 9"])
def test_texts_in_place_of_numbers(state, pgsql, change):
    """SQLite takes them in any column; whatever they are, one line says so."""
    with state.changed() as changed:
        changed.execute(change)
    assert 'in place of a number' in refused(state, pgsql)
    assert not tables(pgsql)


@pytest.mark.parametrize('name', ['tileseed.db', 'tileseed.db-journal', 'tileseed.db-wal',
                                  'tileseed.ids'])
def test_pipes_in_place_of_files(state, pgsql, name):
    """Nobody waits for somebody to write into them."""
    path = state.folder / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    state.own()
    assert f'{path}: is no regular file' in refused(state, pgsql)


def test_damage(state, pgsql):
    """A damaged file is not copied: the module saves what can be read of it."""
    with open(state.file, 'r+b') as file:
        file.seek(os.path.getsize(state.file) // 2 // 4096 * 4096)
        file.write(bytes(range(256)) * 64)
    before = state.snapshot()
    said = refused(state, pgsql)
    assert ': damaged: ' in said and 'start httpd with it: the module saves what can be' in said
    state.file.write_bytes(b'something else' * 1000)
    assert 'damaged: file is not a database' in refused(state, pgsql)
    assert not tables(pgsql)
    assert before.keys() == state.snapshot().keys()


def test_words(state, pgsql, make_state):
    """What is wrong with the command line. A password is never shown."""
    assert 'one of FROM and TO is a file of SQLite' in refused(state, make_state())
    assert 'one of FROM and TO is a file of SQLite' in refused(pgsql, pgsql)
    for secret in 'password=hush', "password='hush", 'password=a hush', 'sslpassword=hush':
        said = refused(state, f'{pgsql} {secret}')
        assert 'hush' not in said and ('passfile=' in said), said


def test_the_manual_page():
    """It has every option of --help, and mandoc has nothing to say."""
    page = TOP / 'mod_tileseed/manual/tileseed-copystate.8'
    words = subprocess.run([PROGRAM, '--help'], check=True, capture_output=True, text=True).stdout
    described = set(re.findall(r'^\.It Fl \\-([\w-]+)', page.read_text(), re.M))
    assert described == set(re.findall(r'^  --([\w-]+)', words, re.M)) and described
    if shutil.which('mandoc'):
        subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', page], check=True)


def test_the_server(shared_postgres, state, pgsql):
    """What PostgreSQL says is passed on, with advice."""
    assert 'does not exist' in refused(state, shared_postgres.params('nowhere'))
    assert 'No such file or directory' in refused(state, 'host=/nowhere dbname=state')
    admin = shared_postgres.admin('postgres')
    ask(admin, "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'")
    said = refused(state, shared_postgres.params('latin'))
    assert 'has the encoding LATIN1, UTF8 is expected' in said
    ask(admin, "CREATE ROLE stranger LOGIN PASSWORD 'hush'")
    stranger = pgsql.replace(shared_postgres.user(),
                             f'user=stranger passfile={passfile(state, "stranger")}')
    assert 'the user must own the database: createdb -O USER' in refused(state, stranger)


def test_the_driver_is_missing(tmp_path, state, pgsql):
    """One line says what to install."""
    (tmp_path / 'psycopg2.py').write_text('raise ImportError')
    assert 'apt-get install python3-psycopg2' in refused(state, pgsql, PYTHONPATH=tmp_path)


def test_a_password_in_a_file(shared_postgres, state):
    """The server asks for a password, which a file has."""
    admin = shared_postgres.admin('postgres')
    ask(admin, "CREATE ROLE guest LOGIN PASSWORD 'hush'")
    ask(admin, 'CREATE DATABASE guest OWNER guest TEMPLATE template0')
    guest = shared_postgres.params('guest').replace(shared_postgres.user(), 'user=guest')
    said = refused(state, guest)
    assert 'no password supplied' in said and 'passfile= must name a file' in said
    assert 'hush' not in copied(state, f'{guest} passfile={passfile(state, "guest")}')


# httpd

CATALOG = """
    SELECT table_name, ordinal_position, column_name, data_type, character_maximum_length,
    is_nullable, column_default FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT tablename, 0, indexdef, '', 0, '', '' FROM pg_indexes
    WHERE schemaname = 'public' ORDER BY 1, 2, 3"""
TABLES = 'SELECT group_concat(sql) FROM (SELECT sql FROM sqlite_master ORDER BY name)'


@one_mpm
@pytest.mark.sqlite
def test_schema(httpd, upstream, shared_postgres, make_state):
    """What the program makes is what the module makes."""
    pgsql, made = (shared_postgres.params(shared_postgres.database()) for _ in range(2))
    state = make_state()
    httpd.start(REST.replace('@ROOT@/state', str(state.folder)) + stub(upstream))
    done(httpd, 'stub', zoomStop=0)
    httpd.stop()
    copied(state, made)
    httpd.start(REST + stub(upstream) + f'TileSeedDatabase pgsql "{pgsql}"\n')
    done(httpd, 'stub', zoomStop=0)
    httpd.stop()
    back = make_state()
    copied(pgsql, back)
    assert back.number(TABLES) == state.number(TABLES)
    theirs, ours = (ask(one, CATALOG) for one in (pgsql, made))
    assert ours == theirs and len(ours) > 100


@pytest.mark.sqlite
@one_mpm
def test_tasks_go_on(httpd, upstream, pgsql):
    """Twice in the middle of a task: over, and the task is done there; back, and the next one is
    done here. Ids, counts, the history and the books are as if nothing had happened."""
    upstream.always = Fault('delay', 0.06)
    on_sqlite = REST + 'TileSeedSync off\n' + stub(upstream)
    on_postgres = on_sqlite + f'TileSeedDatabase pgsql "{pgsql}"\n'
    file = httpd.path('state/tileseed.db')
    httpd.start(on_sqlite)
    first = begin(httpd, 'stub', zoomStop=LAST, threadCount=THREADS)
    progress(httpd, first, len(TILES) // 3)
    httpd.stop()
    copied(file, pgsql)
    file.rename(httpd.path('state/old.db'))
    httpd.start(on_postgres)
    assert counts(task(httpd, first))[0] >= len(TILES) // 3
    check_end(httpd, upstream, first, interruptions=1)
    assert not file.exists()
    second = begin(httpd, 'stub', zoomStop=LAST, threadCount=THREADS, type='reseed')
    assert second == first + 1
    progress(httpd, second, len(TILES) // 3)
    before = task(httpd, first)
    httpd.stop()
    copied(pgsql, file)
    httpd.start(on_sqlite)
    assert task(httpd, first) == before
    document = ended(httpd, second)
    made, skipped, removed, failed = counts(document)
    assert document['state'] == 'DONE' and made + skipped == len(TILES), document
    assert not removed and not failed, document
    assert len(files(httpd)) == len(TILES)
    assert done(httpd, 'stub', zoomStop=1)['id'] == second + 1
    agrees(httpd)
    assert 'TS0074' not in httpd.error_log()        # no walk made the books
