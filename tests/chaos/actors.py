# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Actors: clients that press on one promise each, over layers of their own. The usual ones take
part unless some are named: --actors painter,leavers"""
import json
import socket
import struct
import time

from clients import (DEEP, LAST, NO_ANSWER, OPEN_MOST, PAINTED, SLOW, SUNK, TIGHT, TIGHT_LIMITS,
                     TILESETS, Client)
from journal import Enforcement, LayerPut, LayerSample, Look, Post, Read
from truth import EVERYWHERE, GRID, parts_of

TASK_SECONDS = 60           # after which nobody waits for a task any more
VIEWED = 8                  # tiles that who changes them looks at meanwhile
CROWD = 30                  # sockets that one leaver opens at a time
VALUES = 10 ** 6            # of the open parameter
SLOW_NAMES = 0.005          # seconds
SUNK_LEVELS = 3             # below the metatile: 84 tiles, which the lowest limit has room for
INSET = 7                   # units: less than a tile of the last level


class Patient(Client):
    """A client that posts tasks and waits for their end."""

    def begin(self, tileset, kind, start, stop, bounds=None, **more):
        """A task over some levels; its post, answered or not."""
        wanted = {'type': kind, 'zoomStart': start, 'zoomStop': stop, 'format': tileset.format,
                  **more}
        if bounds:
            wanted['bounds'] = {'coords': {'double': bounds}}
        if tileset.style:
            wanted['parameters'] = {'entry': {'string': ['STYLES', tileset.style]}}
        sent, answered, answer = self.ask('POST', f'/rest/seed/{tileset.layer}.json',
                                          json.dumps({'seedRequest': wanted}))
        return self.post_of(answer, Post(tileset, kind, start, stop, bounds, sent, answered))

    def end_of(self, post, meanwhile=lambda: None):
        """Waits for the end of a task; its document, or None if it is not seen."""
        deadline = time.time() + TASK_SECONDS
        while post.task and time.time() < deadline and not self.run_of.enough.is_set():
            meanwhile()
            sent, answered, answer = self.ask('GET', f'/rest/tasks/{post.task}.json')
            document = answer.json() if answer and answer.status == 200 else {'state': None}
            if document['state'] in ('DONE', 'ABORTED'):
                self.journal.looks.append(Look(post.task, sent, answered, document, self.asked))
                return document
            self.run_of.enough.wait(0.05)
        return None


class Painter(Patient):
    """Changes the data, often while they are seeded, and then truncates or reseeds: what is older
    may not be seen from then on."""

    def act(self):
        if self.random.random() < 0.15:
            self.flood()
            return
        tileset = self.random.choice(PAINTED)
        if self.random.random() < 0.7:
            post = self.begin(tileset, self.random.choice(('seed', 'reseed')), 0, DEEP,
                              threadCount=2)
            if self.random.random() < 0.5:
                self.end_of(post)
            else:
                self.run_of.enough.wait(self.random.random())
        everywhere = self.random.random() < 0.4
        self.run_of.truth.change(
            'any' if self.random.random() < 0.1 else tileset.data,
            EVERYWHERE if everywhere else self.random.sample(EVERYWHERE, self.random.randint(1, 8)))
        kind = self.random.choice(('truncate', 'truncate', 'reseed'))
        self.replace(tileset, kind, *self.levels(), self.bounds())
        if kind == 'reseed' and self.random.random() < 0.5:
            self.replace(tileset, kind, 0, DEEP, None)

    def flood(self):
        """What is known of everything is out of date while it is learnt: the data change, and are
        truncated, while metatiles of one colour are cut, which takes its time."""
        tileset = self.random.choice([tileset for tileset in PAINTED if tileset.pruned])
        self.run_of.truth.flood(tileset.data)
        self.run_of.name_slowly(SLOW_NAMES)
        self.begin(tileset, 'reseed', self.random.randint(1, 3), DEEP, threadCount=2)
        self.run_of.enough.wait(self.random.uniform(0, 0.2))
        self.run_of.truth.change(tileset.data, EVERYWHERE)
        self.replace(tileset, 'truncate', 0, DEEP, None)
        self.run_of.name_slowly(0)

    def replace(self, tileset, kind, start, stop, bounds):
        """A task, while somebody looks at what it removes or makes: at the first levels where they
        are made of others, else rather at the last one."""
        post = self.begin(tileset, kind, start, stop, bounds, threadCount=self.random.randint(1, 4),
                          **({'tileFailureRetryCount': 0} if tileset.fails else {}))
        tiles = sorted(post.tiles()) or [(0, 0, 0)]
        skew = 2 if tileset.derived >= 0 else 0.5
        some = [tiles[int(self.random.random() ** skew * len(tiles))] for _ in range(VIEWED)]
        self.end_of(post, lambda: self.view(tileset, some))
        self.view(tileset, some)

    def view(self, tileset, tiles):
        """Looks at what is just changing."""
        for tile in tiles:
            self.read(tileset, tile)

    def levels(self):
        """The first and the last one."""
        if self.random.random() < 0.5:
            return 0, DEEP
        return sorted(self.random.choices(range(DEEP + 1), k=2))


class Sinker(Patient):
    """Learns of a part of a metatile that it is sea, and then of more of it, which was land when
    the levels below were seeded. Nobody else changes its layer, which the quota leaves alone."""

    def act(self):
        level = self.random.randint(1, 2)
        found, land = self.random.sample(self.some_metatile(level), 2)
        truth, data, stop = self.run_of.truth, SUNK.data, level + SUNK_LEVELS
        if not self.is_done('truncate', 0, LAST):
            return
        truth.change(data, EVERYWHERE)
        truth.flood(data, cells_in(found))
        self.is_done(self.random.choice(('seed', 'reseed')), level, stop, found)
        self.is_done('seed', self.random.randint(level + 1, stop), stop, land)
        truth.spread(data, cells_in(found, land))
        self.is_done('reseed', self.random.randint(0, level), stop, found, land)
        for tile in GRID.between(level, stop, around(land)):
            self.read(SUNK, tile)

    def some_metatile(self, level):
        """Its tiles."""
        x, y = (self.random.randrange(2 ** level) for _ in 'xy')
        return sorted(SUNK.around([(level, x, y)]))

    def is_done(self, kind, start, stop, *tiles):
        """A task over the ground of some tiles, or everywhere: whether its good end is seen."""
        post = self.begin(SUNK, kind, start, stop, around(*tiles) if tiles else None, threadCount=4)
        document = self.end_of(post)
        return document is not None and document['state'] == 'DONE'


def around(*tiles):
    """The bounds of some tiles, within which there are no others."""
    boxes = [GRID.box((z, x, y, x, y)) for z, x, y in tiles]
    return (*(round(min(box[i] for box in boxes)) + INSET for i in (0, 1)),
            *(round(max(box[i] for box in boxes)) - INSET for i in (2, 3)))


def cells_in(*tiles):
    """The cells of the data that are drawn within those bounds."""
    return {part.cell for tile in GRID.tiles(tiles[0][0], around(*tiles))
            for part in parts_of(SUNK, tile)}


class Muse(Painter):
    """Seeds what the painter truncates, and tries again what has failed."""

    def act(self):
        start, stop = self.levels()
        tileset = self.random.choice(PAINTED)
        post = self.begin(tileset, self.random.choice(('seed', 'seed', 'reseed')), start, stop,
                          self.bounds(), threadCount=self.random.randint(1, 4),
                          **({'tileFailureRetryCount': 0} if tileset.fails else {}))
        document = self.end_of(post)
        if document and document['tilesFailed'] and self.random.random() < 0.7:
            self.retry(post)

    def retry(self, post):
        """A task of what has failed."""
        path = f'/rest/tasks/{post.task}'
        _, _, answer = self.ask('GET', f'{path}/failures.json?limit=10000')
        if answer and answer.status == 200:
            failed = post.tileset.around({(lost['z'], lost['x'], lost['y'])
                                          for lost in answer.json()['failures']})
            sent, answered, answer = self.ask('POST', f'{path}/retry')
            self.end_of(self.post_of(answer, Post(
                post.tileset, 'retry', post.start, post.stop, post.bounds, sent, answered,
                retry_of=post.task, failed=failed & post.tiles())))


class Viewer(Client):
    """Reads tiles of the data that changes."""

    def act(self):
        z = self.random.randint(0, DEEP)
        self.read(self.random.choice(PAINTED), (z, *(self.random.randrange(2 ** z) for _ in 'xy')))


class Neighbour(Patient):
    """Truncates levels of one tile set while another in the same directories is seeded."""

    def act(self):
        layer = self.random.choice(('red', 'green'))
        seeded, removed = self.random.sample([tileset for tileset in TILESETS
                                              if tileset.layer == layer], 2)
        start, stop = sorted(self.random.choices(range(2, LAST), k=2))
        seed = self.begin(seeded, self.random.choice(('seed', 'reseed')), start, stop,
                          threadCount=4)
        for _ in range(self.random.randint(1, 3)):
            self.end_of(self.begin(removed, 'truncate', start, stop))
        self.end_of(seed)


class Squeezer(Patient):
    """Gives a layer a quota that is smaller than what its tasks have under way."""

    def act(self):
        with self.run_of.limits:
            self.put(self.random.choice(TIGHT_LIMITS))
        posts = [self.begin(TIGHT, 'seed', self.random.randint(0, 2), self.random.randint(3, 4),
                            threadCount=self.random.randint(1, 3)) for _ in range(2)]
        for post in posts:
            self.end_of(post)

    def put(self, limit):
        """Sets the layer's limit to so many bytes; whether it is known to be set."""
        body = {'cacheQuotaConfiguration': {'layerQuotas': [{'LayerQuota': {
            'layer': 'tight', 'expirationPolicyName': self.random.choice(('LRU', 'LFU')),
            'quota': {'value': str(limit // 1024), 'units': 'KiB'}}}]}}
        sent, answered, answer = self.ask('PUT', '/rest/diskquota.json', json.dumps(body))
        self.journal.layer_puts.append(LayerPut(limit, sent, answered, answer and answer.status))
        return answer is not None and answer.status == 200


class Gauge(Client):
    """Looks how much that layer takes, and whether the limits are in force."""

    def act(self):
        begun = time.time()
        used = self.run_of.disk.used('tight')
        self.journal.layer_samples.append(LayerSample(begun, time.time(), used))
        sent, answered, answer = self.ask('GET', '/rest/diskquota/usage.json')
        if answer and answer.status == 200:
            self.journal.enforcements.append(
                Enforcement(sent, answered, answer.json().get('enforced', True)))


class Leaver(Client):
    """Asks for many tiles of a layer whose upstream takes its time, and goes away."""

    def act(self):
        sockets = []
        for _ in range(CROWD):
            tile = (LAST, *(self.random.randrange(2 ** LAST) for _ in 'xy'))
            self.journal.reads.append(Read(SLOW, tile, time.time()))
            try:
                client = socket.create_connection(('127.0.0.1', self.httpd.port), 5)
                sockets.append(client)
                path = '/tiles/tms/slow/small/{}/{}/{}.png'.format(*tile)
                client.sendall(f'GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
            except NO_ANSWER:
                pass        # httpd is away
        self.run_of.enough.wait(self.random.uniform(0.1, 0.6))
        for client in sockets:
            if self.random.random() < 0.3:      # a reset instead of an end
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            client.close()


class Flooder(Client):
    """Reads with ever new values of a parameter that takes any."""

    def act(self):
        z = self.random.randint(0, 3)
        x, y = (self.random.randrange(2 ** z) for _ in 'xy')
        value = self.random.randrange(VALUES)
        self.ask('GET', f'/tiles/tms/open/small/{z}/{x}/{y}.png?TIME={value}',
                 is_fine=(200, 404, 503).__contains__)      # they come too fast


ACTORS = {
    'painter': (*((Painter, 0.2),) * 3, (Muse, 0.5), (Viewer, 0.03), (Viewer, 0.05)),
    'sinker': ((Sinker, 0.2),),
    'neighbours': ((Neighbour, 0.2), (Neighbour, 0.2)),
    'squeezer': ((Squeezer, 0.5), (Gauge, 0.3)),
    'leavers': ((Leaver, 1), (Leaver, 2)),
    'flooder': ((Flooder, 0.05), (Flooder, 0.05), (Flooder, 0.1)),
}
USUAL = 'painter,sinker,neighbours,squeezer,leavers,flooder'


def cast(run, names):
    """The clients of the actors with those names."""
    return [kind(run, f'{name} {number}', pause) for name in names
            for number, (kind, pause) in enumerate(ACTORS[name])]


def layers(names):
    """{layer: lines} of the layers that actors have for themselves."""
    lines = {}
    formats = ['TileSeedFormat image/png', 'TileSeedFormat image/webp lossless=on from=image/png']
    if 'painter' in names:
        mood = ['TileSeedSource wms upstream:stub layers=mood', formats[0]]
        lines['mood'] = mood
        lines['sparse'] = ['TileSeedSource wms upstream:stub layers=tide', formats[0],
                           'TileSeedMetatile 2x2', 'TileSeedReseed all',
                           'TileSeedPrune uniform=0 check=0 sparse=on']
        lines['pruned'] = mood + ['TileSeedPrune uniform=0 check=0', formats[1]]
        lines['derived'] = ['TileSeedSource wms upstream:flaky layers=flaky', *formats,
                            'TileSeedMetatile 2x2', 'TileSeedDerive zoom=0-3',
                            'TileSeedFailureLimit -1']
        lines['halved'] = ['TileSeedSource wms upstream:flaky layers=flaky', *formats,
                           'TileSeedMetatile auto max=16x16', 'TileSeedDerive zoom=0-1',
                           'TileSeedFailureLimit -1']
    if 'sinker' in names:
        lines['sunk'] = ['TileSeedSource wms upstream:stub layers=ebb', formats[0],
                         'TileSeedMetatile 2x2', 'TileSeedPrune uniform=0 check=0',
                         f'TileSeedKeep zoom=0-{LAST}']
    if 'squeezer' in names:
        lines['tight'] = ['TileSeedSource wms upstream:stub layers=any', formats[0]]
    if 'leavers' in names:
        lines['slow'] = ['TileSeedSource wms upstream:sleepy layers=sleepy', formats[0]]
    if 'flooder' in names:
        lines['open'] = ['TileSeedSource wms upstream:stub layers=any', formats[0],
                         'TileSeedParameter TIME "default=" regex=[0-9]+',
                         f'TileSeedMaxTileSets {OPEN_MOST}']
    return lines
