# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What the module has written down of the cache: its books in the state database, and what it says
in the error log that it removes for the disk quota."""
import contextlib
import datetime
import re
import sqlite3

from clients import ALL_TILESETS
from database import opened
from seeding import parameter_hash

EVICTION = re.compile(r'^\[\w+ (\w+ \d+ [\d:.]+ \d+)\].* removes page (\d+)/(\d+)/(\d+) of (\S+) '
                      r'for the disk quota')
BIRTH = re.compile(r'^\[\w+ (\w+ \d+ [\d:.]+ \d+)\].* the books of the disk usage are read')
STANDBY = re.compile(r'^\[\w+ (\w+ \d+ [\d:.]+ \d+)\].* TS0086: ')
RETIRED = re.compile(r'^\[\w+ (\w+ \d+ [\d:.]+ \d+)\] \[mpm_event:debug\].* wake up listener')
STAMP = '%b %d %H:%M:%S.%f %Y'


def key_of(tileset):
    """What the module calls a tile set."""
    parameters = parameter_hash({'STYLES': tileset.style}) if tileset.style else 'default'
    return f'{tileset.layer}/small/{tileset.extension}/{parameters}'


OWNERS = {key_of(tileset): tileset for tileset in ALL_TILESETS}


def time_of(line):
    """When a line of the error log was written."""
    return datetime.datetime.strptime(line[1], STAMP).timestamp()


class Books:
    """The books of an httpd that runs, or has ended, or of several that share them."""

    def __init__(self, hosts):
        self.hosts = hosts
        self.httpd = hosts[0]

    def ask(self, sql):
        """All rows."""
        if self.httpd.postgres:
            with opened(self.httpd) as database:
                return database.execute(sql).fetchall()
        path = self.httpd.path('state/tileseed.db')
        with contextlib.closing(sqlite3.connect(f'file:{path}?mode=ro', uri=True)) as database:
            return database.execute(sql).fetchall()

    def doubts(self):
        """What is still to be counted, or to be removed: pages, tile sets."""
        return self.ask('SELECT (SELECT COUNT(*) FROM page WHERE dirty <> 0), (SELECT COUNT(*) '
                        'FROM tileset WHERE complete = 0 OR doubtful <> 0 OR detached_files <> 0)'
                        )[0]

    def pages(self):
        """As Disk.pages() finds them."""
        found = {(OWNERS[key], (z, x, y)): numbers for key, z, x, y, *numbers in self.ask(
            'SELECT tileset.name, z, x, y, page.names, page.files, page.bytes, page.allocated '
            'FROM page JOIN tileset ON tileset.id = page.tileset WHERE page.names > 0')
                 if key in OWNERS}
        found.update({(OWNERS[key], None): [0, *numbers] for key, *numbers in self.ask(
            'SELECT name, shared_files, shared_bytes, shared_allocated FROM tileset '
            'WHERE shared_files > 0') if key in OWNERS})
        return found

    def wrong_sums(self):
        """Tile sets whose sums are not those of their pages, or that count what is long gone."""
        return self.ask(
            'SELECT name, tileset.names, tileset.files, tileset.bytes, tileset.allocated, '
            'SUM(page.names), SUM(page.files), SUM(page.bytes), SUM(page.allocated) FROM tileset '
            'JOIN page ON page.tileset = tileset.id GROUP BY tileset.id HAVING '
            '(tileset.names, tileset.files, tileset.bytes, tileset.allocated, 0) <> (SUM(page.names'
            '), SUM(page.files), SUM(page.bytes), SUM(page.allocated), detached_files)')

    def evictions(self):
        """(time, tile set, page) of all removals that were begun."""
        return [(time_of(line), OWNERS[line[5]], tuple(map(int, line.group(2, 3, 4))))
                for line in self.lines(EVICTION) if line[5] in OWNERS]

    def births(self):
        """When seeders had read the books and went to work."""
        return self.times_of(BIRTH)

    def standbys(self):
        """Which host that had worked said when that it stands by."""
        found = []
        for httpd in self.hosts:
            has_worked = False
            for line in httpd.error_log().splitlines():
                stands_by = STANDBY.search(line)
                if stands_by and has_worked:
                    found.append((httpd.name, time_of(stands_by)))
                has_worked = not stands_by and (has_worked or BIRTH.search(line) is not None)
        return found

    def retired(self):
        """When children of event had had all connections that they may have."""
        return self.times_of(RETIRED)

    def times_of(self, pattern):
        """When such lines were written."""
        return [time_of(line) for line in self.lines(pattern)]

    def lines(self, pattern):
        """The matches of a pattern in the lines of all error logs."""
        for httpd in self.hosts:
            yield from filter(None, map(pattern.search, httpd.error_log().splitlines()))

    def open_tilesets(self):
        """How many tile sets the layer with the open parameter has."""
        return self.ask("SELECT COUNT(*) FROM tileset WHERE name LIKE 'open/%'")[0][0]


def misbooked(books, disk):
    """A line for each page of which books and disk do not say the same."""
    booked, lying = books.pages(), disk.pages()
    return [f'{tileset} page {page}: books {booked.get((tileset, page))}, '
            f'disk {lying.get((tileset, page))}'
            for tileset, page in sorted({*booked, *lying}, key=str)
            if booked.get((tileset, page)) != lying.get((tileset, page))] + [
                f'sums of {row}' for row in books.wrong_sums()]
