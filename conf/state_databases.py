# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The state of mod_tileseed in its two kinds of databases, for tileseed-copystate.

Both kinds have the same methods. A row is a tuple of int, float and bytes: a text may have any
bytes in SQLite.
"""
import collections
import contextlib
import io
import os
import pathlib
import re
import sqlite3
import stat
import time
import urllib.parse

import psycopg2
import psycopg2.extensions

BATCH = 1000                    # rows in memory; a row of answer has up to some 30 KB
PATIENCE = 5                    # seconds until those who are just ending have ended
STEP = 1000                     # the mark is at most that far ahead, see state/tseed_sqlite_open.c
STAY = ('host', 'role', 'miss', 'portion')  # of hosts that are alive: these tables are not copied
LIST = re.compile(r'static const char \*const version_(\d+)\[\] = \{(.*?)\n\};', re.S)
TOKEN = re.compile(r'/\*.*?\*/|"((?:[^"\\]|\\.)*)"|(,)', re.S)
OTHERS = """
    SELECT COALESCE(host(client_addr), 'this host'), COUNT(*) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = session_user AND pid <> pg_backend_pid()
    AND backend_type = 'client backend' GROUP BY 1"""
LAST = {                        # numbers of meta that were given out last, which never repeat
    'task_id': "SELECT MAX(id) FROM (SELECT value AS id FROM meta WHERE name = 'task_id'"
               ' UNION ALL SELECT MAX(id) FROM task) AS ids',
    'epoch': "SELECT MAX(value) FROM meta WHERE name = 'epoch'",
}
ESCAPES = [(b'\\', rb'\\'), (b'\t', rb'\t'), (b'\n', rb'\n'), (b'\r', rb'\r')]  # COPY's escapes

Table = collections.namedtuple('Table', 'name columns are_texts')


class Refused(Exception):
    """Why the state is not copied, as a sentence for the administrator."""


def require_file(path):
    """Refuses what is there and is no file, such as a pipe, which whoever opens it waits for."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Refused(f'{path}: is no regular file')


class Schema:
    """The newest schema, from the text of tseed_schema.c."""

    def __init__(self, text):
        lists = LIST.findall(text)
        self.version = len(lists)
        self.statements = [sql for _number, body in lists for sql in statements_of(body)]
        if not lists or [int(number) for number, _body in lists] != [*range(1, len(lists) + 1)]:
            raise Refused('tseed_schema.c does not have the versions of the schema')
        with contextlib.closing(sqlite3.connect(':memory:')) as database:
            for sql in self.statements:
                database.execute(sql)
            self.tables = [table_of(database, name) for name, in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall()
                if name not in STAY]


def statements_of(body):
    """The statements of one version: strings that follow each other are one text in C."""
    found = ['']
    for match in TOKEN.finditer(body):
        if match[2]:
            found.append('')
        else:
            found[-1] += match[1] or ''
    return [sql for sql in found if sql]


def table_of(database, name):
    """A table as SQLite knows it."""
    found = database.execute(f'PRAGMA table_info({name})').fetchall()
    return Table(name, [row[1] for row in found],
                 [row[2] == 'TEXT' or row[2].startswith('VARCHAR') for row in found])


# The mark of ids, see state/tseed_sqlite_open.h: no id above it was ever given out

class Mark:
    """The file tileseed.ids beside a file of SQLite."""

    def __init__(self, path):
        self.database = path
        self.path = path.parent / 'tileseed.ids'

    def read(self):
        """(id, inode of the database that it was written for); zeros when there is none."""
        require_file(self.path)
        try:
            number, inode = self.path.read_text(encoding='ascii').split()
            return int(number), int(inode)
        except (FileNotFoundError, ValueError):
            return 0, 0

    def fits(self, last_id):
        """Whether the database is the one that httpd had last. Of a backup or a copy the module
        settles the ids, and puts the books in doubt."""
        number, inode = self.read()
        return inode == self.database.stat().st_ino and 0 <= number - last_id <= STEP

    def write(self, last_id):
        """Says that the database is httpd's; on the disk when this returns."""
        beside = self.path.with_suffix('.ids.new')
        beside.unlink(missing_ok=True)
        file = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.write(file, f'{last_id + STEP} {self.database.stat().st_ino}\n'.encode())
        os.fsync(file)
        os.close(file)
        beside.replace(self.path)
        directory = os.open(self.path.parent, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)


# The two kinds of databases: their rows are tuples of int, float and bytes

class Database:
    """What both kinds have in common."""

    def __init__(self):
        self.database = None        # the connection

    def version(self):
        """The version of the schema, or None when there are no tables of ours."""
        if not self.has_table('meta'):
            return None
        rows = self.execute("SELECT value FROM meta WHERE name = 'schema_version'")
        if not rows:
            raise Refused(f'{self}: has a table meta without a schema version: it is no state '
                          'database of mod_tileseed')
        return self.whole(rows[0][0], 'meta')

    def whole(self, number, name):
        """A number of a table. SQLite keeps in any column whatever it is given."""
        if not isinstance(number, int):
            raise Refused(f'{self}: damaged: the table {name} has {number!r} in place of a number')
        return number

    def refuse_copies(self):
        """Refuses what is not the database that httpd used last; a server's is none but itself."""

    def last(self, name='task_id'):
        """The number of a kind that was given out last, as far as the database knows."""
        return self.whole(self.execute(LAST[name])[0][0] or 0, 'meta')

    def keep(self, name, number):
        """Goes on from a number."""
        self.execute(f"UPDATE meta SET value = {number} WHERE name = '{name}'")

    def execute(self, sql):
        """Carries a statement out; returns its rows."""
        with contextlib.closing(self.database.cursor()) as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def batches(self, table):
        """All rows of a table, some at a time."""
        with contextlib.closing(self.cursor()) as cursor:
            cursor.execute(f'SELECT {", ".join(table.columns)} FROM {table.name}')
            for batch in iter(lambda: cursor.fetchmany(BATCH), []):
                for row in batch:
                    for value, is_text in zip(row, table.are_texts):
                        if not is_text and not isinstance(value, float):
                            self.whole(value, table.name)
                yield batch


class Sqlite(Database):
    """A file of SQLite."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.is_made = False        # by us

    def __str__(self):
        return str(self.path)

    def connect(self, how):
        """Opens the file with an option of SQLite."""
        for end in ('', '-wal', '-shm', '-journal'):
            require_file(f'{self.path}{end}')
        name = urllib.parse.quote(str(self.path))
        self.database = sqlite3.connect(f'file:{name}?{how}', uri=True, timeout=10,
                                        isolation_level=None)
        self.database.text_factory = bytes

    def cursor(self):
        """A cursor that does not read all rows at once."""
        return self.database.cursor()

    def is_at_rest(self):
        """Whether the file is all there is, and nobody has it open: who opens it takes the lock of
        the directory, which is ours. SQLite then needs no files of its own to read it."""
        path = os.path.realpath(self.path)      # SQLite follows links, too
        return not any(os.path.lexists(f'{path}{end}') for end in ('-wal', '-journal'))

    def begin_reading(self):
        """All is read as of one moment, of a file that is sound."""
        self.connect('immutable=1' if self.is_at_rest() else 'mode=ro')
        try:
            self.execute('BEGIN')
            verdict = self.execute('PRAGMA integrity_check(1)')[0][0].decode()
        except sqlite3.DatabaseError as error:
            verdict = str(error)
        if verdict != 'ok':
            raise Refused(f'{self}: damaged: {verdict}; start httpd with it: the module saves what '
                          'can be read; then stop httpd, and copy')

    def begin_writing(self):
        """Makes the file unless there is one."""
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            self.is_made = True
            for end in '-wal', '-shm', '-journal':      # of a file that is gone
                pathlib.Path(f'{self.path}{end}').unlink(missing_ok=True)
        self.connect('mode=rw')
        self.execute('PRAGMA synchronous = FULL')
        self.execute('BEGIN EXCLUSIVE')

    def has_table(self, name):
        """Whether there is a table."""
        return bool(self.execute(f"SELECT 1 FROM sqlite_master WHERE name = '{name}'"))

    def clear(self, tables):
        """Empties tables."""
        for table in tables:
            self.execute(f'DELETE FROM {table.name}')

    def add(self, table, batch):
        """Adds rows. A text comes as bytes, which SQLite would keep as a BLOB."""
        places = ', '.join('CAST(? AS TEXT)' if is_text else '?' for is_text in table.are_texts)
        self.database.executemany(
            f'INSERT INTO {table.name} ({", ".join(table.columns)}) VALUES ({places})', batch)

    def refuse_copies(self):
        """Refuses a backup: the module settles its ids and puts its books in doubt."""
        if not Mark(self.path).fits(self.last()):
            raise Refused(f'{self} is not the file that httpd used last, says tileseed.ids beside '
                          'it; if you have restored it, start httpd with it once, stop httpd, and '
                          'copy')

    def keep(self, name, number):
        """Task ids go on from the mark if that is of a file that is gone."""
        mark = Mark(self.path).read()[0]
        super().keep(name, mark if name == 'task_id' and mark > number + STEP else number)

    def commit(self):
        """Ends the transaction, and makes the file httpd's; all is on the disk then."""
        last_id = self.last()
        self.execute('COMMIT')
        self.database.close()
        Mark(self.path).write(last_id)

    def abandon(self):
        """Leaves things as they were."""
        if self.database:
            self.database.close()
        if self.is_made:
            self.path.unlink()


class Pgsql(Database):
    """A database of PostgreSQL."""

    def __init__(self, text):
        super().__init__()
        try:
            self.parameters = psycopg2.extensions.parse_dsn(text)
        except psycopg2.ProgrammingError:       # its words may quote a part of a password
            raise Refused("the parameters of the connection to PostgreSQL can't be read: "
                          'keyword=value is expected for each, such as "host=db.example '
                          'dbname=tileseed user=tileseed passfile=/etc/apache2/tileseed.pgpass"'
                          ) from None
        if {'password', 'sslpassword'} & self.parameters.keys():
            raise Refused('a password on the command line can be read by every user of this host; '
                          'write it into a file, and name that file with passfile=')

    def __str__(self):
        host = self.parameters.get('host', self.parameters.get('hostaddr'))
        return (f'database {self.parameters.get("dbname", "by default")}'
                + (f' at {host}' if host else ''))

    def connect(self, readonly):
        """Begins the transaction. httpd's timeouts are for short statements, ours are not."""
        self.database = psycopg2.connect(**{
            'connect_timeout': 10, 'fallback_application_name': 'tileseed-copystate',
            **self.parameters, 'client_encoding': 'UTF8'})
        psycopg2.extensions.register_type(psycopg2.extensions.BYTES, self.database)
        self.database.autocommit = True
        self.refuse_others()
        self.database.autocommit = False
        self.database.set_session(isolation_level='REPEATABLE READ', readonly=readonly)
        for setting in ('statement_timeout = 0', 'idle_in_transaction_session_timeout = 0',
                        "lock_timeout = '10s'", 'extra_float_digits = 1',
                        'synchronous_commit = on'):
            self.execute(f'SET LOCAL {setting}')
        encoding = self.execute("SELECT current_setting('server_encoding')")[0][0].decode()
        if encoding != 'UTF8':
            raise Refused(f'{self}: has the encoding {encoding}, UTF8 is expected; make the '
                          'database anew: createdb -E UTF8 -T template0')

    def refuse_others(self):
        """An httpd, on whatever host, has sessions while it runs, and a moment longer."""
        deadline = time.monotonic() + PATIENCE
        while others := self.execute(OTHERS):
            if time.monotonic() > deadline:
                who = ', '.join(f'{count} from {host.decode()}' for host, count in others)
                raise Refused(f'{self}: other sessions of this user are open ({who}); stop httpd '
                              'on every host that uses the database, and end programs such as psql')
            time.sleep(0.2)

    def cursor(self):
        """A cursor of the server, which hands out some rows at a time."""
        return self.database.cursor('rows')

    def begin_reading(self):
        """All is read as of one moment."""
        self.connect(readonly=True)

    def begin_writing(self):
        """Nobody sees anything of it before the commit."""
        self.connect(readonly=False)

    def has_table(self, name):
        """Whether there is a table."""
        return bool(self.execute('SELECT 1 FROM pg_tables WHERE schemaname = current_schema()'
                                 f" AND tablename = '{name}'"))

    def clear(self, tables):
        """Empties tables; nobody else reads or writes them until the commit."""
        self.execute(f'TRUNCATE {", ".join(table.name for table in tables)}')

    def add(self, table, batch):
        """Adds rows."""
        with contextlib.closing(self.database.cursor()) as cursor:
            cursor.copy_expert(f'COPY {table.name} ({", ".join(table.columns)}) FROM STDIN',
                               io.BytesIO(b''.join(map(line_of, batch))))

    def commit(self):
        """Ends the transaction; all is on the disk then."""
        self.database.commit()
        self.database.close()

    def abandon(self):
        """Leaves things as they were."""
        if self.database:
            self.database.close()


def line_of(row):
    """A row as a line of COPY."""
    return b'\t'.join(map(field_of, row)) + b'\n'


def field_of(value):
    """A value in such a line. Both databases write and read doubles exactly."""
    if not isinstance(value, bytes):
        return repr(value).encode()
    for letter, escaped in ESCAPES:
        value = value.replace(letter, escaped)
    return value
