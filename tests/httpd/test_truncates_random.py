# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""At random: seeds, reseeds, requests for missing tiles, evictions, truncates of all, of levels and
of boxes, and deaths, side by side in tile sets that share directories, on a disk that is slow and
over an upstream whose answers are late. Afterwards what was truncated is gone, nothing else is
missing, no tile is older than a truncate of it, books equal the disk, and tasks say what happened.

Two things are steered, for chance alone hardly finds them: whoever has read a level lingers before
it renames that away, while others begin to write there; and the data changes beside a seed.
"""
import os
import random
import signal
import threading

from PIL import Image

from quota import agrees, disk, known, put, size
from seeding import (GRIDS, REST, SMALL_GRID, begin, coords, counts, ended, files,
                     geowebcache_path, layer, parameter_hash, seeder_of, task)
from test_layouts import LAYOUTS as PEERS
from test_layouts import SAFE
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

LAYOUTS = ['geowebcache', 'xyz', 'tms', 'arcgis', 'tilecache', 'quadkey']
SHARED = ['{gridset}/{z}/{x}/{layer}-{hash}-{y}.{ext}',     # by all tile sets of two layers
          '{gridset}/{z}/{layer}-{hash}/{y}/{x}.{ext}']
MIMES = {'png': 'image/png', 'jpeg': 'image/jpeg'}
STYLES = ('', 'night')
LAST = 4            # level
TILES = GRIDS['small'].between(0, LAST)
SIDE = 1000         # of the grid set
MIB = 1 << 20
SERVED = """
<Location "/tiles">
    TileSeedTiles on
    Require local
</Location>
"""


class Tileset:
    """One of the tile sets of a world, and what became of it."""

    def __init__(self, name, layout, extension, style):
        self.name = name
        self.layout = layout
        self.extension = extension
        self.style = style
        self.role = 'kept'      # 'cut': it is truncated; 'late': it is seeded only beside that
        self.lines = []         # (tiles, shade): since a truncate none of these may be older
        self.seeds, self.reseeds, self.truncates = [], [], []
        self.paths = {self.path(tile): tile for tile in TILES}

    def __str__(self):
        return f'{self.layout}: {self.name} {self.extension} {self.style}'

    def path(self, tile):
        """Where a tile lies, by the peers' formulas."""
        z, x, y = tile
        digest = parameter_hash({'STYLES': self.style}) if self.style else ''
        if self.layout in SHARED:
            return self.layout.format(gridset='small', z=z, x=x, y=2 ** z - 1 - y, layer=self.name,
                                      hash=digest or 'default', ext=self.extension)
        if self.layout == 'geowebcache':
            return geowebcache_path(self.name, 'small', self.extension, tile,
                                    {'STYLES': self.style} if self.style else None)
        top = f'{self.name}/small' + (f'_{digest}' if digest else '')
        return PEERS[self.layout](tile).replace(f'{SAFE}/small', top).replace(
            '.png', f'.{self.extension}')

    def begin(self, httpd, **members):
        """Posts a task of it."""
        return begin(httpd, self.name, **{
            'format': MIMES[self.extension], 'zoomStop': LAST,
            'parameters': {'entry': {'string': ['STYLES', self.style]}}, **members})

    def seed(self, httpd):
        """Begins a seed of all of it."""
        self.seeds.append(self.begin(httpd, threadCount=2))
        return self.seeds[-1]

    def reseed(self, httpd, rng):
        """Begins a reseed of all of it, or of a part."""
        _, members = some_part(rng)
        self.reseeds.append(self.begin(httpd, type='reseed', threadCount=2, **members))
        return self.reseeds[-1]

    def truncate(self, httpd, tiles=TILES, shade=0, **members):
        """Begins a truncate of some tiles, as the members say it."""
        self.truncates.append(self.begin(httpd, type='truncate', **members))
        self.lines.append((tiles, shade))
        return self.truncates[-1]

    def ask(self, httpd, rng):
        """Asks for one of its tiles."""
        z = rng.randrange(LAST + 1)
        x, y = (rng.randrange(1 << z) for _ in range(2))
        return httpd.get(f'/tiles/{self.name}/small/{z}/{x}/{y}.{self.extension}'
                         f'?STYLES={self.style}').status

    def stays(self):
        """The tiles that must be there in the end."""
        return TILES - self.lines[-1][0] if self.role == 'cut' else TILES

    def bound(self, tile):
        """The shade that a tile has at least."""
        return max((shade for tiles, shade in self.lines if tile in tiles), default=0)


def some_part(rng):
    """Tiles at random, and the members of a request for them: all, some levels, or a box."""
    start, stop = sorted(rng.choices(range(LAST + 1), k=2))
    kind = rng.choice(('all', 'levels', 'box'))
    if kind == 'all':
        return TILES, {}
    box = None
    if kind == 'box':
        (left, right), (low, high) = (sorted(rng.sample(range(1, SIDE), 2)) for _ in range(2))
        box = left, low, right, high
    return GRIDS['small'].between(start, stop, box), {
        'zoomStart': start, 'zoomStop': stop, **({'bounds': coords(*box)} if box else {})}


class World:
    """Layers whose directories are shared, over a stub upstream, and a disk that is slow."""

    def __init__(self, httpd, upstream, rng):
        self.httpd, self.upstream, self.rng = httpd, upstream, rng
        self.mischief = httpd.make_mischief()
        shared = rng.choice(SHARED)
        self.layouts = {'plain': rng.choice(LAYOUTS[:4]), 'other': rng.choice(LAYOUTS),
                        'one': shared, 'twin': shared}
        self.tilesets = [Tileset(name, layout, extension, style)
                         for name, layout in self.layouts.items()
                         for extension in MIMES for style in STYLES]
        self.cast()
        self.stopped = threading.Event()
        self.problems = []
        upstream.shade = 8
        upstream.decide = self.decide

    def cast(self):
        """Gives the tile sets their roles. Where others than late ones lie in the directories of
        one that is cut, these never go as a whole."""
        shared = [tileset for tileset in self.tilesets if tileset.layout in SHARED]
        groups = [shared] + [
            [tileset for tileset in self.tilesets if (tileset.name, tileset.style) == (name, style)]
            for name in ('plain', 'other') for style in STYLES]
        for group in groups:
            roles = ['cut'] + ['late'] * (len(group) - 1)
            if self.rng.random() < 0.3:
                roles[1:] = self.rng.choices(('cut', 'kept', 'late'), k=len(group) - 1)
            self.rng.shuffle(roles)
            for tileset, role in zip(group, roles):
                tileset.role = role

    def decide(self, _asked):
        """Some answers of the upstream are older than others when they come."""
        late = not self.stopped.is_set() and random.random() < 0.3
        return Fault('old_news', 0.2) if late else None

    def start(self, more=''):
        """Starts httpd."""
        lines = ('TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small',
                 'TileSeedMetatile 4x4', 'TileSeedFormat image/png', 'TileSeedFormat image/jpeg',
                 'TileSeedParameter STYLES default= value=night')
        self.httpd.start(
            REST + SERVED + SMALL_GRID + f'TileSeedUpstream stub {self.upstream.url}\n' + more
            + ''.join(layer(name, *lines, store=layout,
                            options=f'link-uniform={self.rng.choice(("on", "off"))}')
                      for name, layout in self.layouts.items()))
        known(self.httpd)

    def of(self, role):
        """The tile sets of a role."""
        return [tileset for tileset in self.tilesets if tileset.role == role]

    def disturb(self, seed, deaths):
        """In a thread: a disk now slow, now fast; seeders that die."""
        rng = random.Random(seed)
        cache = self.httpd.path('cache')
        while not self.stopped.wait(0.3):
            self.mischief.slow(cache, rng.choice((0, 0.0002, 0.002)))
            seeder = seeder_of(self.httpd)
            if deaths and seeder and rng.random() < 0.2:
                deaths -= 1
                self.mischief.kill_at_truncate(rng.random() < 0.5)
                if rng.random() < 0.5:
                    os.kill(seeder, signal.SIGKILL)
            else:
                self.mischief.kill_at_truncate(False)
        self.mischief.slow(cache, 0)
        self.mischief.kill_at_truncate(False)

    def visit(self, seed):
        """In a thread: somebody who looks at maps."""
        rng = random.Random(seed)
        while not self.stopped.wait(0.01):
            status = rng.choice(self.of('cut') + self.of('kept')).ask(self.httpd, rng)
            if status not in (200, 503):
                self.problems.append(f'a tile: {status}')

    def wait(self, numbers):
        """Waits for tasks, all of which must succeed."""
        for number in numbers:
            document = ended(self.httpd, number)
            assert document['state'] == 'DONE', document
            assert sum(counts(document)) == document['tilesTotal'], document
            assert counts(document)[3] == 0, document

    def live(self, steps):
        """Tasks at random, and misses, some beside each other."""
        begun = []
        for _ in range(steps):
            tileset = self.rng.choice(self.of('cut') + self.of('kept'))
            if tileset.role == 'kept':
                begun.append(tileset.seed(self.httpd))
            else:
                begun += self.rng.choice((self.change, self.cut, self.fill))(tileset)
            if self.rng.random() < 0.3:
                self.wait([self.rng.choice(begun)])
        return begun

    def fill(self, tileset):
        """A seed, or a reseed."""
        return [tileset.seed(self.httpd) if self.rng.random() < 0.5
                else tileset.reseed(self.httpd, self.rng)]

    def cut(self, tileset):
        """A truncate of any part, while the data stays what it is."""
        tiles, members = some_part(self.rng)
        return [tileset.truncate(self.httpd, tiles, **members)]

    def change(self, tileset):
        """The data changes in the middle of a seed or a reseed, and a truncate follows."""
        before = len(self.upstream.requests)
        begun = self.fill(tileset)
        wait_until(lambda: len(self.upstream.requests) > before + 4
                   or task(self.httpd, begun[0])['state'] == 'DONE', 30)
        self.upstream.shade = min(self.upstream.shade + 8, 248)
        tiles, members = some_part(self.rng)
        return begun + [tileset.truncate(self.httpd, tiles, self.upstream.shade, **members)]

    def found(self, tileset):
        """Its tiles on the disk."""
        return {tileset.paths[path] for path in files(self.httpd) if path in tileset.paths}

    def shade(self, path):
        """What a tile shows."""
        try:
            with Image.open(self.httpd.path('cache') / path) as image:
                return image.convert('L').getpixel((7, 7))
        except FileNotFoundError:   # it has just gone for the quota
            return 255

    def stale(self, tileset):
        """Its tiles that are older than a truncate of them."""
        found = self.found(tileset) if tileset.lines else ()
        return [tile for path, tile in tileset.paths.items()
                if tile in found and self.shade(path) < tileset.bound(tile) - 3]


def run(world, deaths=0, steps=10):
    """Lives, ends with truncates beside seeds, and looks what is there."""
    threads = [threading.Thread(target=world.disturb, args=(world.rng.random(), deaths)),
               threading.Thread(target=world.visit, args=(world.rng.random(),))]
    for thread in threads:
        thread.start()
    try:
        world.wait(world.live(steps))
        stale = {str(tileset): world.stale(tileset) for tileset in world.of('cut')}
    finally:
        world.stopped.set()
        for thread in threads:
            thread.join()
    assert not world.problems
    assert not any(stale.values()), stale


def end(world):
    """The last truncates, beside seeds that come into directories that have just been read."""
    httpd = world.httpd
    world.wait([tileset.seed(httpd) for tileset in world.of('cut') + world.of('kept')])
    world.mischief.slow(httpd.path('cache'), 0.0002)
    world.mischief.linger(httpd.path('cache'), 0.3)
    begun = [number for tileset in world.of('cut') for number in world.cut(tileset)]
    world.wait(begun + [tileset.seed(httpd) for tileset in world.of('late')])
    world.mischief.linger(httpd.path('cache'), 0)
    world.mischief.slow(httpd.path('cache'), 0)


def check(world):
    """Nothing of what was truncated is there, all of the rest, and the books know it."""
    for tileset in world.tilesets:
        found = world.found(tileset)
        assert found == tileset.stays(), (str(tileset), tileset.role, found ^ tileset.stays())
    agrees(world.httpd)
    assert not [path for path in files(world.httpd) if '.tseed-' in path]


def of(world, numbers, kind):
    """A count of several tasks."""
    return sum(counts(ended(world.httpd, number))[kind] for number in numbers)


@one_mpm
def test_truncates_at_random(httpd, upstream):
    """Nobody dies. A tile set in which nobody looks for tiles has what was made less what was
    removed; a reseed may have made what was there."""
    world = World(httpd, upstream, random.Random(1))
    world.start()
    world.visit = lambda _: None
    run(world)
    for tileset in world.tilesets:
        there = len(world.found(tileset)) + of(world, tileset.truncates, 2)
        made, remade = of(world, tileset.seeds, 0), of(world, tileset.reseeds, 0)
        assert made <= there <= made + remade, str(tileset)
    end(world)
    check(world)


@one_mpm
def test_truncates_and_deaths_at_random(httpd, upstream):
    """With clients that ask for tiles, and seeders that are killed."""
    httpd.expect('ended unexpectedly|AH00052')
    world = World(httpd, upstream, random.Random(100))
    world.start()
    run(world, deaths=2)
    end(world)
    check(world)


@one_mpm
def test_truncates_and_evictions_at_random(httpd, upstream):
    """With a quota that takes half of it."""
    world = World(httpd, upstream, random.Random(200))
    world.start('TileSeedDiskQuotaGrace 0\n')
    put(httpd, enabled=True, globalExpirationPolicyName='LRU', globalQuota=size(4, 'MiB'))
    run(world)
    end(world)
    for tileset in world.tilesets:
        assert world.found(tileset) <= tileset.stays(), str(tileset)
    assert wait_until(lambda: disk(httpd)[0] <= 4 * MIB)
    agrees(httpd)
