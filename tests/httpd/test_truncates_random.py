# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""At random: seeds, requests for missing tiles, evictions, truncates and deaths, side by side in
tile sets that share directories, on a disk that is slow. Afterwards what was truncated is gone,
nothing else is missing, books equal the disk, and tasks say what happened."""
import itertools
import os
import random
import signal
import threading

import pytest
from PIL import Image

from quota import agrees, disk, known, put, size
from seeding import (REST, SMALL_GRID, begin, counts, ended, files, layer, parameter_hash,
                     seeder_of)
from tileseed_httpd import one_mpm, wait_until

LAYOUTS = ['geowebcache', 'xyz', 'tms', 'arcgis', 'tilecache', 'quadkey',
           '{gridset}/{z}/{x}/{layer}-{hash}-{y}.{ext}',
           '{gridset}/{z}/{layer}-{hash}/{y}/{x}.{ext}']
MIMES = {'png': 'image/png', 'jpeg': 'image/jpeg'}
STYLES = ('', 'night')
LAST = 4            # level
TILES = 341         # of levels 0 to LAST
MIB = 1 << 20
SERVED = """
<Location "/tiles">
    TileSeedTiles on
    Require local
</Location>
"""


class Tileset:
    """One of the tile sets of a world, and what became of it."""

    def __init__(self, name, extension, style):
        self.name = name
        self.extension = extension
        self.style = style
        self.role = 'kept'      # 'cut': it is truncated; 'late': it is seeded only beside that
        self.shade = 0          # no tile may be older
        self.seeds, self.truncates = [], []

    def __str__(self):
        return f'{self.name} {self.extension} {self.style}'

    def begin(self, httpd, **members):
        """Posts a task of it."""
        return begin(httpd, self.name, format=MIMES[self.extension], zoomStop=LAST,
                     parameters={'entry': {'string': ['STYLES', self.style]}}, **members)

    def seed(self, httpd):
        """Begins a seed of all of it."""
        self.seeds.append(self.begin(httpd, threadCount=2))
        return self.seeds[-1]

    def truncate(self, httpd, shade=0, **members):
        """Begins a truncate."""
        self.truncates.append(self.begin(httpd, type='truncate', **members))
        self.shade = max(self.shade, shade)
        return self.truncates[-1]

    def ask(self, httpd, rng):
        """Asks for one of its tiles."""
        z = rng.randrange(LAST + 1)
        x, y = (rng.randrange(1 << z) for _ in range(2))
        return httpd.get(f'/tiles/{self.name}/small/{z}/{x}/{y}.{self.extension}'
                         f'?STYLES={self.style}').status

    def has(self, path):
        """Whether a file of the cache is one of its tiles."""
        digest = parameter_hash({'STYLES': 'night'})
        return (self.name in path and path.endswith(self.extension)
                and (digest in path) == bool(self.style))


class World:
    """Layers whose directories are shared, over a stub upstream, and a disk that is slow."""

    def __init__(self, httpd, upstream, rng):
        self.httpd, self.upstream, self.rng = httpd, upstream, rng
        self.mischief = httpd.make_mischief()
        self.layouts = {f'layer{number}': layout for number, layout in
                        enumerate(rng.sample(LAYOUTS[:6], 2) + LAYOUTS[6:])}
        self.layouts['twin'] = LAYOUTS[6]
        self.tilesets = [Tileset(name, extension, style) for name in self.layouts
                         for extension in MIMES for style in STYLES]
        for tileset in self.tilesets:
            tileset.role = rng.choice(('kept', 'cut', 'cut', 'late', 'late'))
        self.stopped = threading.Event()
        self.problems = []
        upstream.shade = 8

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
            document = ended(self.httpd, number, 120)
            assert document['state'] == 'DONE', document
            assert sum(counts(document)) == document['tilesTotal'], document
            assert counts(document)[3] == 0, document

    def live(self, steps):
        """Tasks at random, and misses, some beside each other."""
        begun = []
        for _ in range(steps):
            tileset = self.rng.choice(self.of('cut') + self.of('kept'))
            if tileset.role == 'cut' and self.rng.random() < 0.5:
                begun.append(self.cut(tileset))
            else:
                begun.append(tileset.seed(self.httpd))
            if self.rng.random() < 0.3:
                self.wait([self.rng.choice(begun)])
        return begun

    def cut(self, tileset):
        """A truncate of levels, or of all after the data has changed."""
        if self.rng.random() < 0.5:
            return tileset.truncate(self.httpd, zoomStart=self.rng.randrange(LAST))
        self.upstream.shade = min(self.upstream.shade + 8, 248)
        return tileset.truncate(self.httpd, self.upstream.shade)

    def found(self, tileset):
        """Its tiles on the disk."""
        return [path for path in files(self.httpd) if tileset.has(path)]

    def is_stale(self, tileset):
        """Its tiles that are older than its last truncate of all."""
        def shade(path):
            try:
                with Image.open(self.httpd.path('cache') / path) as image:
                    return image.convert('L').getpixel((7, 7))
            except FileNotFoundError:   # it has just gone for the quota
                return 255
        return [path for path in self.found(tileset) if shade(path) < tileset.shade - 3]


def run(world, deaths=0, steps=24):
    """Lives, ends with truncates beside seeds, and looks what is there."""
    threads = [threading.Thread(target=world.disturb, args=(world.rng.random(), deaths)),
               threading.Thread(target=world.visit, args=(world.rng.random(),))]
    for thread in threads:
        thread.start()
    try:
        world.wait(world.live(steps))
        stale = [str(tileset) for tileset in world.tilesets if world.is_stale(tileset)]
    finally:
        world.stopped.set()
        for thread in threads:
            thread.join()
    assert not world.problems
    assert not stale


def end(world):
    """The last truncates, on a slow disk, beside seeds that come into the same directories."""
    httpd = world.httpd
    world.wait([tileset.seed(httpd) for tileset in world.of('cut') + world.of('kept')])
    world.mischief.slow(httpd.path('cache'), 0.001)
    world.wait([work(httpd) for pair in itertools.zip_longest(
        (tileset.truncate for tileset in world.of('cut')),
        (tileset.seed for tileset in world.of('late'))) for work in pair if work])
    world.mischief.slow(httpd.path('cache'), 0)


def check(world):
    """Nothing of what was truncated is there, all of the rest, and the books know it."""
    for tileset in world.tilesets:
        expected = 0 if tileset.role == 'cut' else TILES
        assert len(world.found(tileset)) == expected, str(tileset)
    agrees(world.httpd)
    assert not [path for path in files(world.httpd) if '.tseed-' in path]


def of(world, numbers, kind):
    """A count of several tasks."""
    return sum(counts(ended(world.httpd, number))[kind] for number in numbers)


@one_mpm
@pytest.mark.parametrize('number', range(2))
def test_truncates_at_random(httpd, upstream, number):
    """Nobody dies. A tile set in which nobody looks for tiles has what was made less what was
    removed."""
    world = World(httpd, upstream, random.Random(number))
    world.start()
    world.visit = lambda _: None
    run(world)
    for tileset in world.tilesets:
        there = len(world.found(tileset))
        assert of(world, tileset.seeds, 0) - of(world, tileset.truncates, 2) == there, str(tileset)
    end(world)
    check(world)


@one_mpm
@pytest.mark.parametrize('number', range(2))
def test_truncates_and_deaths_at_random(httpd, upstream, number):
    """With clients that ask for tiles, and seeders that are killed."""
    httpd.expect('ended unexpectedly|AH00052')
    world = World(httpd, upstream, random.Random(100 + number))
    world.start()
    run(world, deaths=2)
    end(world)
    check(world)


@one_mpm
def test_truncates_and_evictions_at_random(httpd, upstream):
    """With a quota that takes half of it."""
    world = World(httpd, upstream, random.Random(200))
    world.start('TileSeedDiskQuotaGrace 0\n')
    put(httpd, enabled=True, globalExpirationPolicyName='LRU', globalQuota=size(8, 'MiB'))
    run(world)
    end(world)
    for tileset in world.tilesets:
        assert tileset.role != 'cut' or not world.found(tileset), str(tileset)
    assert wait_until(lambda: disk(httpd)[0] <= 8 * MIB)
    agrees(httpd)
