# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Nothing old comes back: layers with each way to save requests, over data that change, and all
that can happen to their tiles at random, side by side. Whatever a browser is shown meanwhile, and
each tile in the end, on the disk and over HTTP, is what a calculation says (truth.py), and of after
the last truncate or reseed of its place.

    make check-httpd PYTEST_FLAGS='-k test_truth -s' TILESEED_TRUTH_SEED=7 TILESEED_TRUTH_STEPS=500
"""
import collections
import os
import random
import signal
import time

import pytest

from quota import agrees, put, size
from seeding import (REST, SMALL_GRID, begin, coords, ended, failures, files, geowebcache_path,
                     layer, seeder_of, task)
from tileseed_httpd import Beside, one_mpm, wait_until
from truth import (EVERYWHERE, GRID, QUARTERS, SIDE, Copies, Ledger, Line, Painted, Tileset, Truth,
                   Wrong, survey)
from upstream import Fault

STEPS = int(os.environ.get('TILESEED_TRUTH_STEPS', 12))
SEED = os.environ.get('TILESEED_TRUTH_SEED')
LAST = 4
EVERYTHING = GRID.between(0, LAST), {'zoomStop': LAST}     # as World.part() has it
VIEWED = 8          # tiles that somebody looks at while they are changed
MOST_TOLD = 5       # of each kind
FAILURES = 0.15     # of the requests for the data `flaky`
SHARES = {'mood': 50, 'flaky': 50}      # percent of the data are sea
PNG, WEBP = 'image/png', 'image/webp'
SPARSE = Tileset('sparse', data='mood', pruned=True, meta=2)
DEEP = 6            # the last level of that one, at times
TILESETS = (
    Tileset('joined', data='mood'),
    *(Tileset('pruned', kind, data='mood', pruned=True, meta=2) for kind in (PNG, WEBP)),
    SPARSE,
    *(Tileset('derived', kind, data='flaky', derived=3, fails=True, meta=2)
      for kind in (PNG, WEBP)),
    Tileset('linked', data='flaky', fails=True))
FORMATS = 'TileSeedFormat image/png', 'TileSeedFormat image/webp lossless=on from=image/png'
LINES = {
    'joined': ('TileSeedMetatile auto max=16x16', FORMATS[0]),
    'pruned': ('TileSeedMetatile 2x2', 'TileSeedPrune uniform=0 check=0', *FORMATS),
    'sparse': ('TileSeedMetatile 2x2', 'TileSeedPrune uniform=0 check=0 sparse=on',
               'TileSeedReseed all', FORMATS[0]),
    'derived': ('TileSeedMetatile 2x2', 'TileSeedDerive zoom=0-3', *FORMATS),
    'linked': ('TileSeedMetatile 4x4', FORMATS[0])}
CONFIG = REST + '''
<Location "/tiles">
    TileSeedTiles on
    Require local
</Location>
TileSeedDiskQuotaGrace 0
TileSeedFailureLimit -1
TileSeedRetries 0
''' + SMALL_GRID
EXPECTED = 'ended unexpectedly|AH00052', 'failed answers? of the upstream'


@pytest.fixture(name='upstream')
def upstream_fixture():
    """A WMS of data that change."""
    with Painted(Truth(SHARES)) as server:
        yield server


class World:
    """The layers, what was done to them, and what was seen."""

    def __init__(self, httpd, upstream, seed):
        self.httpd, self.truth = httpd, upstream.truth
        self.random = random.Random(seed)
        self.mischief = httpd.make_mischief()
        self.copies = [Copies(self.truth.history) for _ in range(2)]
        self.posts = {}         # {id: (tile set, kind, tiles, when)} of tasks that have not ended
        self.failed = {}        # {id: (tile set, kind, tiles)} of what can be tried again
        self.lines = []
        self.seen = []
        self.wrong = []
        upstream.decide = self.decide
        sources = ''.join(f'TileSeedUpstream {data} {upstream.url} connections=8\n'
                          for data in SHARES)
        httpd.start(CONFIG + sources + ''.join(
            layer(name, f'TileSeedSource wms upstream:{data} layers={data}', 'TileSeedGrid small',
                  *LINES[name]) for name, data in {(tileset.layer, tileset.data): None
                                                   for tileset in TILESETS}))

    def decide(self, asked):
        """Some answers of the upstream are older than others when they come, and some fail."""
        if asked['LAYERS'] == 'flaky' and random.random() < FAILURES:
            return Fault('status', 500)
        return Fault('old_news', 0.05) if random.random() < 0.3 else None

    # What happens

    def live(self, steps):
        """So many things that happen, one after the other; tasks go on meanwhile."""
        for _ in range(steps):
            self.random.choices((self.replace, self.seed, self.retry, self.kill, self.evict,
                                 self.grow), (12, 3, 2, 2, 2, 2))[0]()
            if self.random.random() < 0.3:
                self.await_some(self.random.randint(0, 2))
        self.await_some(0)

    def change(self, data):
        """The data change, everywhere or in some cells."""
        some = self.random.sample(EVERYWHERE, self.random.randint(1, 8))
        self.truth.change(data, EVERYWHERE if self.random.random() < 0.4 else some)

    def part(self):
        """Tiles at random and the members of a request for them."""
        start, stop = (0, LAST) if self.random.random() < 0.5 else \
            sorted(self.random.choices(range(LAST + 1), k=2))
        members = {'zoomStart': start, 'zoomStop': stop}
        box = None
        if self.random.random() < 0.5:
            (left, right), (low, high) = (sorted(self.random.sample(range(1, SIDE), 2))
                                          for _ in range(2))
            box = left, low, right, high
            members['bounds'] = coords(*box)
        return GRID.between(start, stop, box), members

    def begin(self, kind, tileset, part):
        """Posts a task for a part of a tile set."""
        tiles, members = part
        posted = time.time()
        number = begin(self.httpd, tileset.layer, type=kind, format=tileset.format, threadCount=2,
                       **members)
        self.posts[number] = tileset, kind, tiles, posted
        return number

    def seed(self):
        """A seed, or a reseed before which nothing has changed."""
        self.begin(self.random.choice(('seed', 'reseed')), self.random.choice(TILESETS),
                   self.part())

    def replace(self):
        """The data change, often in the middle of a seed; then they are truncated or reseeded."""
        tileset, before = self.random.choice(TILESETS), []
        if self.random.random() < 0.6:
            number = self.begin(self.random.choice(('seed', 'reseed')), tileset, EVERYTHING)
            before.append(number)
            least = self.random.randrange(len(EVERYTHING[0]))
            wait_until(lambda: self.has_ended(number) or
                       task(self.httpd, number)['tilesProcessed'] >= least)
        self.change(tileset.data)
        kind, part = self.random.choice(('truncate', 'truncate', 'reseed')), self.part()
        self.watch(self.begin(kind, tileset, part), before, tileset, sorted(part[0]))
        if kind == 'reseed' and self.random.random() < 0.5:
            self.begin(kind, tileset, EVERYTHING)

    def watch(self, number, before, tileset, tiles):
        """Often somebody looks at tiles while they are changed, and when that is over: at those of
        the first levels where they are made of others, else rather at those of the last one."""
        if self.random.random() < 0.7:
            skew = 2 if tileset.derived >= 0 else 0.5
            some = [tiles[int(self.random.random() ** skew * len(tiles))] for _ in range(VIEWED)]
            wait_until(lambda: self.view(0, tileset, some) or self.has_ended(number))
            wait_until(lambda: all(map(self.has_ended, before)))
            self.view(0, tileset, some)

    def grow(self):
        """What is known of one quarter is known of everything; the last level of another one is of
        before a change of the data."""
        everything = GRID.between(0, DEEP), {'zoomStop': DEEP}
        some = {'zoomStart': 1, 'zoomStop': DEEP}
        one, other = self.random.sample(QUARTERS, 2)
        for kind, part in (
                ('truncate', everything),
                ('seed', (GRID.tiles(DEEP, one), {'zoomStart': DEEP, 'zoomStop': DEEP,
                                                  'bounds': coords(*one)})),
                ('reseed', (GRID.between(1, DEEP, other), {**some, 'bounds': coords(*other)})),
                ('reseed', (GRID.between(1, DEEP), some))):
            if part[1] is not some and kind == 'reseed':
                self.truth.flood(SPARSE.data)
            number = self.begin(kind, SPARSE, part)
            wait_until(lambda number=number: self.has_ended(number))

    def retry(self):
        """Of what has failed, if anything has."""
        if self.failed:
            of = self.random.choice(sorted(self.failed))
            tileset, kind, tiles = self.failed.pop(of)
            posted = time.time()
            answer = self.httpd.post(f'/rest/tasks/{of}/retry')
            assert answer.status == 200, answer.text
            self.posts[int(answer.headers['TileSeed-Task'])] = tileset, kind, tiles, posted

    def kill(self):
        """kill -9 of the seeder."""
        pid = seeder_of(self.httpd)
        if pid:
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: seeder_of(self.httpd) not in (None, pid))

    def evict(self):
        """The disk quota removes most of what is there."""
        for number, unit in ((400, 'KiB'), (1, 'GiB')):
            put(self.httpd, enabled=True, globalExpirationPolicyName='LRU',
                globalQuota=size(number, unit))

    def await_some(self, most):
        """Waits for tasks, until no more than so many are left."""
        while len(self.posts) > most:
            self.end(self.random.choice(sorted(self.posts)))

    def has_ended(self, number):
        """Whether a task has; then it draws its line."""
        if number in self.posts and task(self.httpd, number)['state'] in ('DONE', 'ABORTED'):
            self.end(number)
        return number not in self.posts

    def end(self, number):
        """Waits for a task: nothing older than it may be seen from now on, but for what failed."""
        document = ended(self.httpd, number)
        tileset, kind, tiles, posted = self.posts.pop(number)
        assert document['state'] == 'DONE' or document['tilesFailed'], document
        lost = tileset.around({row[:3] for row in failures(self.httpd, number)}) & tiles
        assert bool(lost) == bool(document['tilesFailed']), document
        if lost:
            self.failed[number] = tileset, kind, lost
        if kind != 'seed' and document['state'] == 'DONE':
            self.lines.append(Line(f'{kind} {number}', tileset, tiles, lost, posted,
                                   time.time()))

    # What is seen

    def view(self, who, tileset, tiles):
        """Somebody looks at tiles, as a browser does that keeps what it is shown."""
        for tile in tiles:
            key, copies = (tileset, tile), self.copies[who]
            sent = time.time()
            answer = self.httpd.get(tileset.address(tile),
                                    headers=copies.conditions(key, random.random() < 0.5))
            if answer.status in (200, 304):
                try:
                    self.seen.append((key, sent, copies.shown(key, answer), answer.status))
                except Wrong as error:
                    self.wrong.append(f'{key}: {error}')
            elif not tileset.may_be_answered(answer.status) and answer.status != 503:
                self.wrong.append(f'{key} is answered {answer.status}: {answer.text}')

    def look_around(self, stopped):
        """In a thread: somebody who looks at maps."""
        while not stopped.wait(0.01):
            z = random.randint(0, LAST)
            self.view(1, random.choice(TILESETS),
                      [(z, *(random.randrange(2 ** z) for _ in 'xy'))])

    def stored(self):
        """{key: versions} of the files of the cache."""
        found = {}
        for path in files(self.httpd):
            if path in PATHS:
                body = (self.httpd.path('cache') / path).read_bytes()
                try:
                    found[PATHS[path]] = self.truth.history.versions_of(*PATHS[path], body)
                except Wrong as error:
                    self.wrong.append(f'{path}: {error}')
        return found

    def check(self):
        """All that was seen, and all that is there."""
        stored = self.stored()
        keys = [key for key in PATHS.values() if key[1][0] <= LAST]
        shown, unserved, confirmed = survey(self.httpd, self.truth.history, keys, self.copies)
        ledger = Ledger(self.truth.history, self.lines)
        self.seen += [(key, time.time(), versions, 'file') for key, versions in stored.items()]
        self.seen += [(key, sent, versions, 200) for key, (sent, versions) in shown.items()]
        old = collections.defaultdict(list)     # by what tells most
        for key, sent, versions, how in self.seen:
            words = ledger.older(*key, versions, sent)
            if words:
                name = f'{key[0].layer} {key[0].extension}'
                old[name, words.split(' after ')[1].split()[0]].append(f'{name} {key[1]} ({how}): '
                                                                       f'{words}')
        print(f'{len(self.failed)} tasks failed in part and were not tried again')
        print(f'{len(self.seen)} tiles seen, {len(stored)} of them files, {len(shown)} in the end;'
              f' {len(self.lines)} truncates, reseeds and retries')
        told = [line for found in (self.wrong, unserved, confirmed, *old.values()) if found
                for line in (f'{len(found)} are wrong:', *found[:MOST_TOLD])]
        assert not told, '\n'.join(told)


PATHS = {geowebcache_path(tileset.layer, 'small', tileset.extension, tile): (tileset, tile)
         for tileset in TILESETS for tile in GRID.between(0, DEEP if tileset == SPARSE else LAST)}


@one_mpm
@pytest.mark.parametrize('seed, seconds', [(1, 0), (2, 0.005)] if SEED is None else [(SEED, 0.005)])
def test_nothing_old_comes_back(httpd, upstream, seed, seconds):
    """On a disk that is fast, and on one on which each name takes its time, as over a network."""
    for words in EXPECTED:
        httpd.expect(words)
    print(f'seed {seed}')
    world = World(httpd, upstream, seed)
    world.mischief.name_slowly(httpd.path('cache'), seconds)
    beside = Beside(lambda: world.look_around(beside.stopped))
    with beside:
        for tileset in TILESETS:
            world.begin('seed', tileset, EVERYTHING)
        world.live(STEPS)
    world.mischief.name_slowly(httpd.path('cache'), 0)
    world.check()
    agrees(httpd)
