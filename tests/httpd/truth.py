# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What each tile must show, and how old it may be: a calculation that knows nothing of the module.

Data (the `layers` of a WMS) cover the small grid set with 4 x 4 cells. Each cell has a version, and
shows it in red and green wherever it is drawn. Blue says which data, style, level and place it is;
where a cell is sea, blue is the same everywhere. So a picture tells of each cell which version it
is of, and every pixel of it can be worked out.

    truth = Truth({'mood': 50})             # one half of its cells is sea
    truth.change('mood', range(16))         # all cells are of the next version
    body = truth.draw('mood', '', (0, 0, 1000, 1000), 256, 256)
    versions_of(tileset, tile, body)        # of the tile's cells, or raises Wrong

A ledger has a line for each task after whose end nothing older than its POST may be seen in its
area: truncates, and reseeds and retries but for what they say has failed.
"""
import bisect
import collections
import concurrent.futures
import dataclasses
import functools
import io
import multiprocessing
import random
import time

from PIL import Image, ImageChops

import upstream
from imagery import light, signal
from seeding import GRIDS

GRID = GRIDS['small']
SIDE = 1000                 # of the extent, in units
CELLS = 4                   # on a side
EVERYWHERE = range(CELLS ** 2)
QUARTERS = [(left + 7, low + 7, left + SIDE // 2 - 7, low + SIDE // 2 - 7)      # no tile of others
            for left in (0, SIDE // 2) for low in (0, SIDE // 2)]
STEP, STEPS = 8, 32         # of red and of green: far enough apart for JPEG
MOST = STEPS ** 2 - 1       # versions
FLOODS = 3                  # one version out of so many is sea everywhere
SEA, BLOCK = 240, 4         # blue; of land there are blocks of so many pixels, of 16 to 176
EXTENSIONS = {'image/png': 'png', 'image/jpeg': 'jpeg', 'image/webp': 'webp'}
LOSSY = 12                  # by which the mean of 8 x 8 pixels of a JPEG may be wrong


class Wrong(Exception):
    """A picture is not what the calculation says of any version."""


@dataclasses.dataclass(frozen=True)
class Tileset:
    """Layer, format and parameters; the grid set is the same for all."""
    layer: str
    format: str = 'image/png'
    style: str = ''
    data: str = 'any'
    uniform: bool = False       # its tiles may share files, so none tells when it got its name
    pruned: bool = False        # its tiles may have no file
    derived: int = -1           # levels up to this one are made of the level below
    fails: bool = False         # its upstream does at times
    meta: int = 4               # tiles on a side of its metatiles

    @property
    def extension(self):
        """Of its files."""
        return EXTENSIONS[self.format]

    def address(self, tile):
        """Where a tile is served."""
        z, x, y = tile
        return (f'/tiles/tms/{self.layer}/small/{z}/{x}/{y}.{self.extension}' +
                (f'?STYLES={self.style}' if self.style else ''))


    def around(self, tiles):
        """The tiles of the metatiles in which some tiles are."""
        blocks = GRID.metatiles(tiles, (self.meta, self.meta))
        return frozenset((z, x, y) for z, left, low, right, high in blocks
                         for x in range(left, right + 1) for y in range(low, high + 1))

    def may_be_answered(self, status):
        """Whether a request for a tile may be. Tiles that are made of others are 404 where these
        are missing."""
        return status in (200, 304) or status == 404 and self.derived >= 0 or \
            status == 502 and self.fails


# Drawing

def colour(version):
    """Red and green of a version."""
    return tuple(STEP * digit + STEP // 2 for digit in divmod(version, STEPS))


def version_at(pixel):
    """The version that a pixel shows."""
    return pixel[0] // STEP * STEPS + pixel[1] // STEP


@functools.lru_cache(maxsize=4096)
def is_sea(data, share, cell, version):
    """Whether a cell is of one colour in a version: as chance has it, and all of them at times."""
    return version % FLOODS == 2 and share > 0 or \
        random.Random(f'{data} {cell} {version}').random() * 100 < share


@functools.lru_cache(maxsize=64)
def land(data, style, z, first=0):
    """The blue of a whole level. A level before the first that is drawn is the mean of the next."""
    if z < first:
        return halves(land(data, style, z + 1, first))
    side = GRID.pixels // BLOCK << z
    values = random.Random(f'{data} {style} {z}').randbytes(side * side)
    blocks = Image.frombytes('L', (side, side), values).point(lambda value: 16 + value * 5 // 8)
    return blocks.resize((GRID.pixels << z,) * 2, Image.NEAREST)


def halves(level):
    """Each pixel is the mean of the light of four."""
    side = level.width // 2
    lights = [light(value) for value in level.tobytes()]
    rows = [[a + b for a, b in zip(lights[i:i + level.width:2], lights[i + 1:i + level.width:2])]
            for i in range(0, len(lights), level.width)]
    return Image.frombytes('L', (side, side), bytes(
        signal((a + b) / 4) for above, below in zip(rows[::2], rows[1::2])
        for a, b in zip(above, below)))


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of a picture that is of one version: a box of pixels of the level, in a cell. The tile
    of the level that is drawn from which it was made, if that is another level."""
    cell: int
    box: tuple
    tile: tuple = None


def parts_in(z, box):
    """The parts of a box of pixels that is drawn; rows of pixels count from the top."""
    side = (GRID.pixels << z) // CELLS
    left, top, right, bottom = box
    return [Part(y * CELLS + x, (max(left, x * side), max(top, y * side),
                                 min(right, (x + 1) * side), min(bottom, (y + 1) * side)))
            for y in range(max(0, top // side), min(CELLS, -(-bottom // side)))
            for x in range(max(0, left // side), min(CELLS, -(-right // side)))]


def paint(ground, box, shares, versions):
    """A box of a level, of which `ground` is the land, {part: version}; (data, share of sea)."""
    image = Image.new('RGB', (box[2] - box[0], box[3] - box[1]))
    for part, version in versions.items():
        left, top, right, bottom = part.box
        size = right - left, bottom - top
        red, green = (Image.new('L', size, value) for value in colour(version))
        blue = Image.new('L', size, SEA) if is_sea(*shares, part.cell, version) else \
            ground.crop(part.box)
        image.paste(Image.merge('RGB', (red, green, blue)), (left - box[0], top - box[1]))
    return image


@functools.lru_cache(maxsize=8192)
def box_of(tile):
    """The pixels of a tile in its level."""
    z, x, y = tile
    top = (2 ** z - 1 - y) * GRID.pixels
    return x * GRID.pixels, top, (x + 1) * GRID.pixels, top + GRID.pixels


@functools.lru_cache(maxsize=65536)
def parts_of(tileset, tile):
    """The parts of a tile."""
    z, x, y = tile
    first = tileset.derived + 1
    if z >= first:
        return parts_in(z, box_of(tile))
    found, scale = [], first - z
    for below in ((first, column, row) for row in range(y << scale, y + 1 << scale)
                  for column in range(x << scale, x + 1 << scale)):
        whole, = parts_in(first, box_of(below))
        found.append(Part(whole.cell, tuple(edge >> scale for edge in whole.box), below))
    return found


def difference(one, other):
    """The most by which a channel differs anywhere."""
    return max(high for _, high in ImageChops.difference(one, other).getextrema())


# The data

class Truth:
    """Data that change: what they are now, for all processes that are forked afterwards, and what
    they were when. Versions count from 0, of all the cells of one data."""

    def __init__(self, shares):
        self.shares = shares        # {data: the share of sea, in percent}
        self.names = sorted(shares)
        self.cells = multiprocessing.Array('i', len(self.names) * CELLS ** 2)
        self.history = History(shares)

    def change(self, data, cells):
        """Cells become of the next version, all in one moment, if there is one left."""
        with self.cells.get_lock():
            self.paint(data, cells, self.history.versions[data] + 1)

    def spread(self, data, cells):
        """Cells become of the newest version, which others are of already."""
        with self.cells.get_lock():
            self.paint(data, cells, self.history.versions[data])

    def paint(self, data, cells, version):
        """Cells become of a version."""
        at = self.names.index(data) * CELLS ** 2
        if version > MOST:
            return
        self.history.painted[data, version] = \
            self.history.painted.get((data, version), frozenset()) | {*cells}
        for cell in cells:
            self.cells[at + cell] = version
        self.history.add(data, time.time(), version, cells)

    def flood(self, data, cells=EVERYWHERE):
        """Cells become of the next version in which all that are of it are sea."""
        with self.cells.get_lock():
            for _ in range((1 - self.history.versions[data]) % FLOODS + 1):
                self.change(data, cells)

    def draw(self, data, style, bbox, width, height, kind='PNG'):
        """The picture that a WMS makes now."""
        unit = (bbox[2] - bbox[0]) / width
        z = round(SIDE / GRID.pixels / unit).bit_length() - 1
        left, bottom = round(bbox[0] / unit), (GRID.pixels << z) - round(bbox[1] / unit)
        at = self.names.index(data) * CELLS ** 2
        with self.cells.get_lock():
            versions = self.cells[at:at + CELLS ** 2]
        box = left, bottom - height, left + width, bottom
        image = paint(land(data, style, z), box, (data, self.shares[data]),
                      {part: versions[part.cell] for part in parts_in(z, box)})
        buffer = io.BytesIO()
        image.save(buffer, kind, **({'compress_level': 1} if kind == 'PNG' else {'quality': 95}))
        return buffer.getvalue()


class Painter(upstream.Handler):
    """A WMS of the data."""

    def image(self, asked, smaller=0):
        """The picture that was asked for."""
        return self.server.owner.truth.draw(
            asked['LAYERS'], asked.get('STYLES', ''), list(map(float, asked['BBOX'].split(','))),
            int(asked['WIDTH']), int(asked['HEIGHT']),
            'JPEG' if 'jpeg' in self.mime(asked) else 'PNG')


class Painted(upstream.Upstream):
    """The stub WMS with data."""

    def __init__(self, truth):
        super().__init__()
        self.server.RequestHandlerClass = Painter
        self.truth = truth


class History:
    """What was when."""

    def __init__(self, shares):
        self.shares = shares
        self.versions = collections.Counter()               # {data: the newest one}
        self.painted = {}           # {(data, version): its cells}, from before the first is changed
        self.changes = collections.defaultdict(list)        # {(data, cell): [(done, version)]}

    def add(self, data, done, version, cells):
        """A change of some cells that was done at a time."""
        for cell in cells:
            self.changes[data, cell].append((done, version))
        self.versions[data] = version

    def version(self, data, cell, moment):
        """What a cell was at least of at a time."""
        changes = self.changes.get((data, cell), ())
        at = bisect.bisect_right(changes, (moment, MOST))
        return changes[at - 1][1] if at else 0

    def has(self, data, cell, version):
        """Whether a cell was ever of a version."""
        return version == 0 or cell in self.painted.get((data, version), ())

    def versions_of(self, tileset, tile, body):
        """Of which version each part of a tile is, in the order of parts_of(); None where a lossy
        format leaves too little of it to be read."""
        try:
            with Image.open(io.BytesIO(body)) as found:
                kind, image = found.get_format_mimetype(), found.convert('RGB')
        except (OSError, SyntaxError) as error:
            raise Wrong(str(error)) from error
        if image.size != (GRID.pixels, GRID.pixels) or kind != tileset.format:
            raise Wrong(f'{image.size} pixels of {kind}')
        if tileset.format == 'image/jpeg':
            if tile[0] < 2:
                return (None,) * len(parts_of(tileset, tile))
            image = image.resize((2, 2), Image.BOX)
        versions = self.read(image, tileset, tile)
        for part, version in versions.items():
            if not self.has(tileset.data, part.cell, version):
                raise Wrong(f'{part} of version {version}, which never was')
        allowed = LOSSY if tileset.format == 'image/jpeg' else max(0, tileset.derived + 1 - tile[0])
        expected = paint(land(tileset.data, tileset.style, tile[0], tileset.derived + 1),
                         box_of(tile), (tileset.data, self.shares[tileset.data]), versions)
        wrong = difference(image, expected.resize(image.size, Image.BOX))
        if wrong > allowed:
            raise Wrong(f'a pixel is wrong by {wrong}, of versions {tuple(versions.values())}')
        return tuple(versions.values())

    @staticmethod
    def read(image, tileset, tile):
        """{part: the version that the pixel in the middle of it shows}"""
        left, top, _, _ = box_of(tile)
        scale = image.width / GRID.pixels / 2
        return {part: version_at(image.getpixel((
            int((part.box[0] + part.box[2] - 2 * left) * scale),
            int((part.box[1] + part.box[3] - 2 * top) * scale))))
                for part in parts_of(tileset, tile)}


# How old it may be

@dataclasses.dataclass(eq=False)
class Line:
    """A task that came to its end: from `done` on nothing older than `posted` is in its area, but
    for what it says has failed. What is made of failed tiles must have failed too."""
    name: str
    tileset: Tileset
    area: frozenset
    failed: frozenset
    posted: float
    done: float

    def has_made(self, tile):
        """Whether a tile is of the task, or gone."""
        return tile in self.area and tile not in self.failed


class Ledger:
    """All lines, and what follows for each tile."""

    def __init__(self, history, lines=()):
        self.history = history
        self.lines = collections.defaultdict(list)
        self.kept = {}
        for line in lines:
            self.add(line)

    def add(self, line):
        """Draws a line."""
        self.lines[line.tileset].append(line)
        self.kept.clear()

    def bound(self, tileset, tile, part, moment):
        """(the oldest version of a part that a tile may show at a time, the line that says so)"""
        lines = [line for line in self.lines[tileset]
                 if line.done < moment and line.has_made(tile)]
        return max(((self.behind(line, tile, part), line.name) for line in lines),
                   default=(0, 'nothing'))

    def behind(self, line, tile, part):
        """The oldest version that a line leaves. A tile that is made of others is as old as these:
        they are of after the line, if they are in its area, or what they were when it was drawn."""
        key = line, tile, part.tile or part.cell
        if key not in self.kept:
            z = tile[0] + 1
            if z > line.tileset.derived + 1:
                self.kept[key] = self.history.version(line.tileset.data, part.cell, line.posted)
            else:
                below = z, *(place >> part.tile[0] - z for place in part.tile[1:])
                self.kept[key] = self.behind(line, below, part) if below in line.area else \
                    self.bound(line.tileset, below, part, line.posted)[0]
        return self.kept[key]

    def older(self, tileset, tile, versions, moment):
        """What is wrong with a tile that was seen at a time; '' if nothing is."""
        for part, version in zip(parts_of(tileset, tile), versions):
            least, why = self.bound(tileset, tile, part, moment)
            if version is not None and version < least:
                return f'cell {part.cell} of version {version}, after {why} {least} at least' + \
                    (f', by {part.tile}' if part.tile else '')
        return ''


# Whoever keeps what was served

class Copies:
    """A cache of tiles, as browsers have one: it asks whether a copy is still good, by tag or by
    time, and shows it again where it is told so."""

    def __init__(self, history):
        self.history = history
        self.kept = {}      # {(tile set, tile): (ETag, Last-Modified, versions)}

    def conditions(self, key, by_time):
        """The headers of the next request for a tile."""
        tag, modified, _ = self.kept.get(key, (None, None, None))
        if by_time:
            return {'If-Modified-Since': modified} if modified else {}
        return {'If-None-Match': tag} if tag else {}

    def shown(self, key, answer):
        """The versions of the tile that a client sees after an answer of 200 or 304."""
        if answer.status == 304:
            return self.kept[key][2]
        versions = self.history.versions_of(*key, answer.body)
        if answer.headers['Content-Type'] != key[0].format:
            raise Wrong(f'is called {answer.headers["Content-Type"]}')
        self.kept[key] = answer.headers['ETag'], answer.headers['Last-Modified'], versions
        return versions


def survey(httpd, history, keys, copies):
    """Looks at an httpd at rest: asks for tiles, and then whether copies that others have kept are
    good, by their tags and by their times. {key: (when, versions)} and what is wrong: pictures, and
    copies that were confirmed although they are older than what is there. It begins with the last
    level, whose tiles may be made of what is known of the levels above until these are asked for.
    """
    def ask(key, **headers):
        return httpd.get(key[0].address(key[1]), headers=headers)

    def look(key):
        sent, answer = time.time(), ask(key)
        try:
            if answer.status == 200:
                return key, (sent, history.versions_of(*key, answer.body)), ''
            bad = not key[0].may_be_answered(answer.status) and answer.status != 503   # no room
            return key, None, f'{key} is answered {answer.status} at rest' if bad else ''
        except Wrong as error:
            return key, None, f'{key} at rest: {error}'

    def check(kept, key):
        _, stored = found[key]
        have = kept.kept[key][2]
        is_old = any(mine < now for mine, now in zip(have, stored) if now)
        return [f'{key[0].layer} {key[0].extension} {key[1]} of {have}, where there is {stored}: '
                f'{condition}' for condition in map(kept.conditions, (key, key), (False, True))
                if condition and ask(key, **condition).status == 304 and is_old]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        looks = list(pool.map(look, sorted(keys, key=lambda key: -key[1][0])))
        found = {key: seen for key, seen, _ in looks if seen}
        pairs = [(kept, key) for kept in copies for key in kept.kept if key in found]
        confirmed = sum(pool.map(lambda pair: check(*pair), pairs), [])
    return found, [words for _, _, words in looks if words], confirmed
