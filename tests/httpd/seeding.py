# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Layers, tasks and the arithmetic of tiles, for the tests that seed.

The arithmetic follows the definitions of the grid sets and knows nothing of the module: rows are
counted from the bottom, as in a seed request's bounds, and a tile is (z, x, y).
"""
import dataclasses
import fcntl
import functools
import hashlib
import http.client
import io
import itertools
import json
import math
import os
import pathlib
import signal
import sqlite3
import time
import urllib.parse
import urllib.request

from PIL import Image

import database
from tileseed_httpd import PATIENCE, Beside, wait_until

FEW = '''
<Location "/few/rest">
    TileSeedRest on
    TileSeedLayers other
    Require local
</Location>
'''
REST = '''
TileSeedStateDir "@ROOT@/state"
<Location "/rest">
    TileSeedRest on
    Require local
</Location>
'''

# Tiles of 16 pixels, so that the stub upstream draws little: level z has 2^z x 2^z of them.
SMALL_GRID = '''
<TileSeedGridSet "small">
    TileSeedSRS 32632
    TileSeedExtent 0 0 1000 1000
    TileSeedLevels 8
    TileSeedTileSize 16x16
</TileSeedGridSet>
'''


def layer(name, *lines, store='geowebcache', options=''):
    """A layer whose tiles lie in @ROOT@/cache."""
    inside = '\n'.join(f'    {line}' for line in lines)
    return (f'<TileSeedLayer "{name}">\n{inside}\n'
            f'    TileSeedStore file "@ROOT@/cache" "layout={store}" {options}\n</TileSeedLayer>\n')


def world(*lines, name='world', source='', **more):
    """A layer over the map of the world."""
    return layer(name, f'TileSeedSource wms @WMS@ layers=world {source}', *lines, **more)


def stub(upstream, *lines, name='stub', connections=8, timeout='60s', polite='', meta='2x2',
         **more):
    """The small grid set, and a layer in it over the stub upstream."""
    return (SMALL_GRID + f'TileSeedUpstream stub {upstream.url} connections={connections} '
            f'timeout={timeout} {polite}\n'
            + layer(name, 'TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small',
                    f'TileSeedMetatile {meta}', *lines, **more))


# Tasks

def begin(httpd, name, **members):
    """Posts a seed request; returns the id of the task."""
    answer = httpd.post(f'/rest/seed/{urllib.parse.quote(name)}.json',
                        json.dumps({'seedRequest': members}))
    assert answer.status == 200, answer.body
    return int(answer.headers['TileSeed-Task'])


def task(httpd, number):
    """The document of a task."""
    answer = httpd.get(f'/rest/tasks/{number}.json')
    assert answer.status == 200, answer.body
    return answer.json()


def ended(httpd, number, timeout=PATIENCE):
    """Waits until a task has ended and returns its document."""
    def document():
        found = task(httpd, number)
        return found if found['state'] in ('DONE', 'ABORTED') else None
    return wait_until(document, timeout, f'the end of task {number}')


def done(httpd, name, timeout=PATIENCE, **members):
    """Runs a task that must succeed and returns its document."""
    document = ended(httpd, begin(httpd, name, **members), timeout)
    assert document['state'] == 'DONE', document
    assert document['tilesProcessed'] == document['tilesTotal'], document
    return document


def counts(document):
    """(made, skipped, removed, failed) of a task."""
    return tuple(document['tiles' + kind] for kind in ('Made', 'Skipped', 'Removed', 'Failed'))


def rows(httpd, name=None):
    """The status list, of one layer or all."""
    answer = httpd.get(f'/rest/seed/{name}.json' if name else '/rest/seed.json')
    assert answer.status == 200, answer.body
    return answer.json()['long-array-array']


def terminate(httpd, which='all'):
    """Terminates tasks; returns the page that lists them."""
    answer = httpd.post('/rest/seed', f'kill_all={which}')
    assert answer.status == 200, answer.body
    return answer.text


def coords(*numbers):
    """The member `bounds` of a seed request."""
    return {'coords': {'double': list(numbers)}}


def seeder_of(httpd):
    """The seeder's pid, or None."""
    return next((pid for pid, name in httpd.processes().items() if name == 'tileseed'), None)


def is_being_opened(httpd):
    """Whether somebody holds the lock under which the database is opened."""
    directory = os.open(httpd.path('state'), os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(directory)
    return False


def is_locked(httpd):
    """Whether somebody is in the middle of a transaction that writes, opens the database, or has
    yet to make it: it would be root's if it were made here."""
    if httpd.postgres:
        return database.is_busy(httpd)
    if is_being_opened(httpd):
        return True
    try:
        with database.opened(httpd) as state:
            state.execute('PRAGMA busy_timeout = 0')
            state.execute('BEGIN IMMEDIATE')
    except sqlite3.OperationalError:
        return True
    return False


def stands(pid):
    """Whether a process was stopped by a signal, with all of its threads."""
    threads = pathlib.Path(f'/proc/{pid}/task')
    try:
        return all(') T ' in (threads / number / 'stat').read_text()
                   for number in os.listdir(threads))
    except OSError:             # a thread has just ended
        return False


def halt(httpd, pid):
    """Stops a seeder, yet never in the middle of a transaction: then everybody else would wait."""
    def is_halted():
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: stands(pid))
        if is_locked(httpd):
            os.kill(pid, signal.SIGCONT)
            wait_until(lambda: not is_locked(httpd))    # it needs its time on a busy machine
            return False
        return True
    wait_until(lambda: not is_locked(httpd))
    wait_until(is_halted)


def failures(httpd, number):
    """What the state database keeps of a task's failed metatiles: [(z, x, y, cause, attempts)]."""
    with database.opened(httpd) as state:
        return state.execute('SELECT z, x, y, cause, attempts FROM failure WHERE task = ? '
                             'ORDER BY z, y, x', (number,)).fetchall()


class Watch(Beside):
    """Clients that read the status list all the time, to look afterwards at what they were told.

    Readings are (begun, ended, {id: row}); while httpd is away there are none.
    """

    def __init__(self, httpd, clients=1, name=None):
        super().__init__(*[self.read] * clients)
        self.httpd = httpd
        self.name = name
        self.readings = []
        self.errors = []

    def read(self):
        """One client."""
        while not self.stopped.wait(0.01):
            begun = time.monotonic()
            try:
                found = rows(self.httpd, self.name)
            except (OSError, http.client.HTTPException):
                continue
            except AssertionError as error:
                self.errors.append(error)
                continue
            self.readings.append((begun, time.monotonic(), {row[3]: row for row in found}))

    def check(self, number, total):
        """What was shown of a task: exact sums, and no count that goes back."""
        assert not self.errors, self.errors
        seen = sorted((begun, stop, shown[number]) for begun, stop, shown in self.readings
                      if number in shown)
        assert seen, 'nobody saw the task'
        for _, _, row in seen:
            processed, whole, remaining, _, status = row
            assert whole == total and processed + remaining == total and processed >= 0, row
            assert status in (0, 1), row
        answered = sorted((stop, row[0]) for _, stop, row in seen)
        highest = list(itertools.accumulate((count for _, count in answered), max))
        at = 0
        for begun, _, row in seen:
            while at < len(answered) and answered[at][0] < begun:
                at += 1
            assert at == 0 or row[0] >= highest[at - 1], (row, highest[at - 1])
        return [row for _, _, row in seen]


# Grids

@dataclasses.dataclass(frozen=True)
class Grid:
    """A grid set whose resolutions halve from level to level."""
    srs: str
    minx: float
    miny: float
    side: float         # of a tile of level 0, in units
    columns: int        # of level 0
    rows: int
    pixels: int = 256

    def size(self, z):
        """Columns and rows of a level."""
        return self.columns << z, self.rows << z

    def tiles(self, z, bounds=None):
        """All tiles of a level that share more than an edge with the bounds."""
        columns, lines = self.size(z)
        if bounds is None:
            return {(z, x, y) for x in range(columns) for y in range(lines)}
        side = self.side / 2 ** z
        minx, miny, maxx, maxy = bounds
        return {(z, x, y)
                for x in range(max(0, math.floor((minx - self.minx) / side)),
                               min(columns, math.ceil((maxx - self.minx) / side)))
                for y in range(max(0, math.floor((miny - self.miny) / side)),
                               min(lines, math.ceil((maxy - self.miny) / side)))}

    def between(self, start, stop, bounds=None):
        """The tiles of several levels."""
        return set().union(*(self.tiles(z, bounds) for z in range(start, stop + 1)))

    def metatile(self, tile, meta):
        """(z, first column, first row, last column, last row) of the block around a tile."""
        z, x, y = tile
        columns, lines = self.size(z)
        width, height = meta
        left, low = x - x % width, y - y % height
        return z, left, low, min(left + width, columns) - 1, min(low + height, lines) - 1

    def metatiles(self, tiles, meta):
        """All metatiles that some tiles need."""
        return {self.metatile(tile, meta) for tile in tiles}

    def margin(self, block, gutter):
        """Pixels around a block, none beyond the grid: left, below, right, above."""
        z, left, low, right, high = block
        columns, lines = self.size(z)
        return [min(gutter, tiles * self.pixels)
                for tiles in (left, low, columns - 1 - right, lines - 1 - high)]

    def box(self, block, margin=(0, 0, 0, 0)):
        """Bounds of a block with some pixels around it."""
        z, left, low, right, high = block
        side = self.side / 2 ** z
        more = [pixels * (side / self.pixels) for pixels in margin]
        return (self.minx + left * side - more[0], self.miny + low * side - more[1],
                self.minx + (right + 1) * side + more[2], self.miny + (high + 1) * side + more[3])


# What GeoWebCache made of the two systems
GRIDS = {
    'EPSG:4326': Grid('EPSG:4326', -180, -90, 180, 2, 1),
    'EPSG:900913': Grid('EPSG:900913', -20037508.34, -20037508.34, 40075016.68, 1, 1),
    'EPSG:3857': Grid('EPSG:3857', -20037508.34, -20037508.34, 40075016.68, 1, 1),
    'small': Grid('EPSG:32632', 0, 0, 1000, 1, 1, pixels=16),
}


# Maps

@functools.lru_cache(maxsize=256)
def fetched(url):
    """The picture at an address."""
    with urllib.request.urlopen(url, timeout=30) as response:
        body = response.read()
    assert response.headers['Content-Type'].startswith('image/'), body
    return Image.open(io.BytesIO(body))


def cut(httpd, grid, tile, meta=(4, 4), gutter=0, **query):
    """What a tile must show: its part of a metatile that is fetched here."""
    block = grid.metatile(tile, meta)
    z, left, low, right, high = block
    _, x, y = tile
    margin = grid.margin(block, gutter)
    width = (right - left + 1) * grid.pixels + margin[0] + margin[2]
    height = (high - low + 1) * grid.pixels + margin[1] + margin[3]
    asked = {'service': 'WMS', 'version': '1.1.1', 'request': 'GetMap', 'layers': 'world',
             'styles': '', 'srs': grid.srs, 'width': width, 'height': height,
             'bbox': ','.join(map(repr, grid.box(block, margin))), 'format': 'image/png', **query}
    picture = fetched(httpd.url('/wms?' + urllib.parse.urlencode(asked)))
    assert picture.size == (width, height), z
    column = margin[0] + (x - left) * grid.pixels
    line = margin[3] + (high - y) * grid.pixels
    return picture.crop((column, line, column + grid.pixels, line + grid.pixels))


# Files

def parameter_hash(parameters):
    """What GeoWebCache adds to the name of a tile set's directory."""
    text = '?' + '&'.join(f'{key}={parameters[key]}' for key in sorted(parameters))
    return hashlib.sha1(text.encode()).hexdigest()


def padded(number, order):
    """GeoWebCache's own padding: its estimate of the digits is one too small above powers of 10."""
    if number <= 9:
        digits = 1
    elif number <= 11:
        digits = 2
    else:
        digits = math.ceil(math.log10(number) - 0.001)
    return '0' * max(0, order - digits) + str(number)


def geowebcache_path(name, gridset, extension, tile, parameters=None):
    """Where GeoWebCache would put a tile."""
    z, x, y = tile
    half = 2 << z // 2
    digits = 1 if half <= 10 else int(math.log10(half)) + 1
    top, group = (text.replace(':', '_').replace(' ', '_') for text in (name, gridset))
    suffix = '_' + parameter_hash(parameters) if parameters else ''
    return (f'{top}/{group}_{padded(z, 2)}{suffix}/'
            f'{padded(x // half, digits)}_{padded(y // half, digits)}/'
            f'{padded(x, 2 * digits)}_{padded(y, 2 * digits)}.{extension}')


def files(httpd, below=''):
    """Every file of the cache, with the path below it, but for what the store keeps for itself."""
    top = httpd.path('cache')
    return {os.path.relpath(os.path.join(folder, file), top)
            for folder, _, names in os.walk(top / below) for file in names
            if '/.tileseed' not in folder}


def empty_folders(httpd):
    """Directories of the cache without anything in them, but for the cache itself and for what the
    store keeps for itself."""
    top = httpd.path('cache')
    return [folder for folder, folders, names in os.walk(top)
            if not folders and not names and folder != str(top) and '/.tileseed' not in folder]
