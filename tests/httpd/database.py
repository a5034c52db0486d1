# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The state database of a test's httpd: SQLite's file, or a database of a private PostgreSQL.

TILESEED_DATABASE=pgsql, "make check-httpd DATABASE=pgsql", runs every test on PostgreSQL.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile

from tileseed_httpd import ordinary_user

try:
    import psycopg2
except ImportError:
    psycopg2 = None

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / 'postgres.sh'
DEFAULT = os.environ.get('TILESEED_DATABASE') or 'sqlite3'
NOT_INSTALLED = 77          # exit code of the script
TABLES = 'task, tileset, page, note, meta, request, quota, failure, answer, finding'


PATIENCE = ('statement_timeout=60s', 'lock_timeout=5s', 'idle_in_transaction_session_timeout=5min')
NOT_THERE = (sqlite3.OperationalError, *([psycopg2.Error] if psycopg2 else []))


class Missing(Exception):
    """PostgreSQL, or what a test needs to look into it, is not installed."""


class Postgres:
    """A private PostgreSQL. Its socket and all that it writes lie in a folder of its own, which
    httpd's User alone may enter beside its owner."""

    def __init__(self, is_own=False):
        self.is_own = is_own            # a test's, which is about limits of time
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='tileseed-pgsql-'))
        self.process = None
        self.made = 0
        if psycopg2 is None:
            raise Missing('python3-psycopg2 is not installed')

    def start(self, wait=True, settings=()):
        """Starts the server, with what is in the folder already; returns when it answers."""
        more = [word for setting in settings for word in ('-c', setting)]
        user = ordinary_user()
        env = os.environ | ({'TILESEED_POSTGRES_USER': user[0]} if user else {})
        with open(self.folder / 'log', 'ab') as log:
            self.process = subprocess.Popen(['sh', str(SCRIPT), str(self.folder), *more], env=env,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while wait and not self.answers():
            if self.process.poll() == NOT_INSTALLED:
                raise Missing('PostgreSQL is not installed')
            assert self.process.poll() is None, self.log()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.05)
        return self

    def log(self):
        """The server's own words."""
        return (self.folder / 'log').read_text(errors='replace')

    def answers(self):
        """Whether somebody can connect."""
        try:
            self.connect('postgres').close()
        except psycopg2.OperationalError:
            return False
        return True

    def connect(self, name):
        """A superuser's connection, each statement of which is a transaction."""
        connection = psycopg2.connect(self.admin(name))
        connection.autocommit = True
        return connection

    def database(self):
        """Makes a database; returns its name."""
        self.made += 1
        name = f'test{self.made}'
        with contextlib.closing(self.connect('postgres')) as connection:
            connection.cursor().execute(f'CREATE DATABASE {name} OWNER tileseed')
        return name

    def params(self, name):
        """How TileSeedDatabase names a database. A busy machine gets its time."""
        patience = '' if self.is_own else \
            f" connect_timeout=60 options='{' '.join(f'-c {one}' for one in PATIENCE)}'"
        return f'host={self.folder} {self.user()} dbname={name}{patience}'

    def user(self):
        """The part of these parameters that says who connects."""
        return f'user=tileseed passfile={self.folder}/passfile'

    def admin(self, name):
        """The parameters of the superuser."""
        return f'host={self.folder} user=postgres passfile={self.folder}/admin dbname={name}'

    def crash(self):
        """Ends the server at once, without a word."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def backends(self):
        """All processes of the server, itself first."""
        children = pathlib.Path(f'/proc/{self.process.pid}/task/{self.process.pid}/children')
        return [self.process.pid, *map(int, children.read_text(encoding='ascii').split())]

    def hang(self):
        """Stops every process of the server where it is."""
        for pid in self.backends():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def go_on(self):
        """Ends that."""
        for pid in self.backends():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def end(self):
        """Ends the server and removes the folder."""
        if self.process and self.process.poll() is None:
            self.go_on()
            self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)


class OnPostgres:
    """A connection that is used as one of sqlite3."""

    def __init__(self, connection):
        self.connection = connection

    def execute(self, sql, arguments=()):
        """Runs a statement; returns its rows."""
        cursor = self.connection.cursor()
        if arguments:
            sql = sql.replace('%', '%%').replace('?', '%s')
        cursor.execute(sql, arguments or None)
        return cursor

    def columns(self, table):
        """The names of a table's columns."""
        found = self.execute('SELECT column_name FROM information_schema.columns'
                             ' WHERE table_name = ? ORDER BY ordinal_position', (table,))
        return [name for name, in found]

    def tables(self):
        """The names of all tables."""
        return [name for name, in self.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]

    def script(self, statements):
        """Runs many statements as the role of the module, whose tables they make."""
        self.execute(f'SET ROLE tileseed; {statements}; RESET ROLE')

    def commit(self):
        """Each statement has been committed already."""


class OnSqlite:
    """A connection to SQLite's file."""

    def __init__(self, connection):
        self.connection = connection
        self.execute = connection.execute
        self.script = connection.executescript
        self.commit = connection.commit

    def columns(self, table):
        """The names of a table's columns."""
        return [row[1] for row in self.execute(f'PRAGMA table_info({table})')]

    def tables(self):
        """The names of all tables."""
        return [name for name, in self.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]


@contextlib.contextmanager
def opened(httpd):
    """A connection to the state database of an httpd, beside it."""
    if httpd.postgres:
        with contextlib.closing(httpd.postgres.connect(httpd.database)) as connection:
            yield OnPostgres(connection)
    else:
        path = f'file:{httpd.path("state/tileseed.db")}?mode=rw'
        with contextlib.closing(sqlite3.connect(path, uri=True)) as connection:
            yield OnSqlite(connection)


@contextlib.contextmanager
def locked(httpd):
    """Nobody can write to the state database within."""
    with opened(httpd) as state:
        if httpd.postgres:
            state.execute('BEGIN')
            state.execute(f'LOCK TABLE {TABLES} IN EXCLUSIVE MODE')
        else:
            state.connection.isolation_level = None
            state.execute('BEGIN IMMEDIATE')
        yield state
        state.execute('ROLLBACK')


def is_busy(httpd):
    """Whether a process of an httpd is in the middle of something, on PostgreSQL."""
    with opened(httpd) as state:
        (count,), = state.execute("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = ? AND"
                                  " pid <> pg_backend_pid() AND state <> 'idle'",
                                  (httpd.database,))
    return count > 0
