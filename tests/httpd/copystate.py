# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""For the tests of conf/tileseed-copystate: how it is run, and states in SQLite with odd values in
every table."""
import contextlib
import math
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import pytest

from tileseed_httpd import PATIENCE, TOP, ordinary_user

pytest.importorskip('psycopg2', reason='python3-psycopg2 is missing')
sys.path.append(str(TOP / 'conf'))

# pylint: disable-next=wrong-import-position
import state_databases

PROGRAM = TOP / 'conf/tileseed-copystate'
SCHEMA = state_databases.Schema((TOP / 'mod_tileseed/state/tseed_schema.c').read_text())
ROWS = 40
LAST_ID = 1 << 60
VALUES = {
    'BIGINT': [0, 1, -1, (1 << 63) - 1, -(1 << 63), (1 << 53) + 1],
    'INTEGER': [0, 1, -1, (1 << 31) - 1, -(1 << 31)],
    'DOUBLE PRECISION': [0.0, 0.1, -2.5, 1 / 3, 5e-324, sys.float_info.max, math.inf, 2.0 ** 53 + 2,
                         123456789.123456789],
    'TEXT': ['', 'plain', 'a\tb', 'a\nb\r\n', '\\', '\\N', '\\.', '\\t\\\\', "it's; -- \"so\"",
             'Zürich Ω 漢字', '\U0001f30d', 'e\u0301', '\u202eback', '\ufeff\uffff', '\u2028',
             '\x01\x07\x1b\x7f\x85', '%s {} $1', 'long ' * 5000],
}
VALUES['VARCHAR(64)'] = VALUES['TEXT'][:-1]


class State:
    """A state directory of httpd's User; `file` is its database."""

    def __init__(self):
        self.user = ordinary_user()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='tileseed-state-'))
        self.file = self.folder / 'tileseed.db'
        self.own()

    def own(self):
        """All of it is the User's."""
        for path in (self.folder, *self.folder.iterdir()) if self.user else ():
            os.chown(path, *self.user[1:])

    def mark(self, last_id):
        """The module's mark of the ids: httpd used this file last."""
        number = last_id + state_databases.STEP // 2
        (self.folder / 'tileseed.ids').write_text(f'{number} {self.file.stat().st_ino}\n')

    @contextlib.contextmanager
    def changed(self):
        """The database, to be changed."""
        with contextlib.closing(sqlite3.connect(self.file)) as database:
            yield database
            database.commit()
        self.own()

    def fill(self, rows=ROWS, pages=0):
        """Makes the database, with odd values in every table."""
        with self.changed() as database:
            database.execute('PRAGMA journal_mode = WAL')
            for sql in SCHEMA.statements:
                database.execute(sql)
            for table in SCHEMA.tables:
                if table.name != 'meta':
                    fill_table(database, table.name, rows)
            database.executemany('UPDATE meta SET value = ? WHERE name = ?',
                                 [(SCHEMA.version, 'schema_version'), (LAST_ID, 'task_id')])
            database.executemany(
                'INSERT INTO page VALUES (1, 20, ?, 1, 1024, 4, 5000, 8192, 0, 0, 0, 0)',
                ((x,) for x in range(pages)))
        self.mark(LAST_ID)
        self.own()
        return self

    def content(self):
        """All that the database holds."""
        with contextlib.closing(sqlite3.connect(f'file:{self.file}?mode=ro', uri=True)) as database:
            return sorted(database.iterdump())

    def number(self, sql):
        """The answer to a question."""
        with contextlib.closing(sqlite3.connect(f'file:{self.file}?mode=ro', uri=True)) as database:
            return database.execute(sql).fetchone()[0]

    def snapshot(self):
        """Every file of the directory, but for the lock."""
        return {path.name: (path.stat().st_mtime_ns, path.read_bytes())
                for path in self.folder.iterdir() if path.name != 'lock'}

    def remove(self):
        """Ends it."""
        shutil.rmtree(self.folder)


def fill_table(database, name, rows):
    """Rows whose keys differ."""
    columns = database.execute(f'PRAGMA table_info({name})').fetchall()
    unique = {'print'}
    def value(column, number):
        _at, title, kind, _needed, _default, key = column
        if key or title in unique:
            return f'{VALUES[kind][number % 17]} {number}' if kind[0] in 'TV' else number
        return VALUES[kind][number % len(VALUES[kind])]
    places = ', '.join('?' * len(columns))
    database.executemany(f'INSERT INTO {name} VALUES ({places})', (
        [value(column, number) for column in columns] for number in range(1, rows + 1)))


def command(source, target, *options):
    """The command line; a State stands for its file."""
    words = (one.file if isinstance(one, State) else one for one in (source, target))
    return [str(PROGRAM), *options, *map(str, words)]


def copy(source, target, *options, **environment):
    """Runs the program to its end."""
    return subprocess.run(command(source, target, *options), check=False, capture_output=True,
                          text=True, timeout=PATIENCE, env={**os.environ, **environment})


def copied(source, target, *options):
    """Copies, which must go well; returns what it said."""
    run = copy(source, target, *options)
    assert run.returncode == 0, run.stderr
    return run.stdout


def refused(source, target, *options, **environment):
    """What it said when it refused to copy."""
    run = copy(source, target, *options, **environment)
    assert run.returncode == 1 and not run.stdout, run
    assert run.stderr.startswith('tileseed-copystate: ') and run.stderr.count('\n') == 1, run.stderr
    return run.stderr
