# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Actors: clients that press on one promise each, over layers of their own. The usual ones take
part unless some are named: --actors painter,leavers"""
import json
import socket
import struct
import time

from clients import LAST, NO_ANSWER, OPEN_MOST, TIGHT_LIMITS, TILESETS, Client, fault_of
from journal import (Enforcement, LayerPut, LayerSample, Post, Read, Repaint, Seen, Tileset,
                     epoch_of)

MOOD, TIGHT, SLOW = Tileset('mood'), Tileset('tight'), Tileset('slow')
TASK_SECONDS = 60           # after which nobody waits for a task any more
CROWD = 30                  # sockets that one leaver opens at a time
VALUES = 10 ** 6            # of the open parameter


class Patient(Client):
    """A client that posts tasks and waits for their end."""

    def begin(self, tileset, kind, start, stop, **more):
        """A task over whole levels; its post, answered or not."""
        wanted = {'type': kind, 'zoomStart': start, 'zoomStop': stop, 'format': tileset.format,
                  **more}
        if tileset.style:
            wanted['parameters'] = {'entry': {'string': ['STYLES', tileset.style]}}
        sent, answered, answer = self.ask('POST', f'/rest/seed/{tileset.layer}.json',
                                          json.dumps({'seedRequest': wanted}))
        post = Post(tileset, kind, start, stop, None, sent, answered)
        if answer:
            post.status = answer.status
            post.task = int(answer.headers.get('TileSeed-Task', 0)) or None
        self.journal.posts.append(post)
        return post

    def ends_well(self, post):
        """Waits for the end of a task; whether it was done, as far as is known."""
        deadline = time.time() + TASK_SECONDS
        while post.task and time.time() < deadline and not self.run_of.enough.wait(0.05):
            _, _, answer = self.ask('GET', f'/rest/tasks/{post.task}.json')
            state = answer.json()['state'] if answer and answer.status == 200 else None
            if state in ('DONE', 'ABORTED'):
                return state == 'DONE'
        return False


class Painter(Patient):
    """Changes the data, then truncates: nothing older may be served or lie there from then on."""

    def act(self):
        start, stop = sorted(self.random.choices(range(LAST), k=2))
        with self.run_of.source.epoch.get_lock():
            self.run_of.source.epoch.value += 1
            epoch = self.run_of.source.epoch.value
        post = self.begin(MOOD, 'truncate', start, stop)
        if self.ends_well(post):
            self.journal.repaints.append(Repaint(epoch, start, stop, time.time()))


class Muse(Patient):
    """Seeds what the painter truncates."""

    def act(self):
        start, stop = sorted(self.random.choices(range(LAST), k=2))
        self.ends_well(self.begin(MOOD, self.random.choice(('seed', 'reseed')), start, stop,
                                  threadCount=self.random.randint(1, 4)))


class Viewer(Client):
    """Reads tiles of the data that changes."""

    def act(self):
        z = self.random.randint(0, LAST - 1)
        tile = (z, *(self.random.randrange(2 ** z) for _ in 'xy'))
        sent, answered, answer = self.ask('GET', '/tiles/tms/mood/small/{}/{}/{}.png'.format(*tile))
        read = Read(MOOD, tile, sent, answered)
        if answer and answer.status == 200:
            read.wrong = fault_of(answer, MOOD)
            self.journal.seen.append(Seen(tile, epoch_of(answer.body), sent))
        self.journal.reads.append(read)


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
            self.ends_well(self.begin(removed, 'truncate', start, stop))
        self.ends_well(seed)


class Squeezer(Patient):
    """Gives a layer a quota that is smaller than what its tasks have under way."""

    def act(self):
        with self.run_of.limits:
            self.put(self.random.choice(TIGHT_LIMITS))
        posts = [self.begin(TIGHT, 'seed', self.random.randint(0, 2), self.random.randint(3, 4),
                            threadCount=self.random.randint(1, 3)) for _ in range(2)]
        for post in posts:
            self.ends_well(post)

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
        self.ask('GET', f'/tiles/tms/open/small/{z}/{x}/{y}.png?TIME={value}', fine=(200, 404))


ACTORS = {
    'painter': ((Painter, 0.2), (Muse, 0.3), (Muse, 0.5), (Viewer, 0.03), (Viewer, 0.05)),
    'neighbours': ((Neighbour, 0.2), (Neighbour, 0.2)),
    'squeezer': ((Squeezer, 0.5), (Gauge, 0.3)),
    'leavers': ((Leaver, 1), (Leaver, 2)),
    'flooder': ((Flooder, 0.05), (Flooder, 0.05), (Flooder, 0.1)),
}
USUAL = 'painter,neighbours,squeezer,leavers,flooder'


def cast(run, names):
    """The clients of the actors with those names."""
    return [kind(run, f'{name} {number}', pause) for name in names
            for number, (kind, pause) in enumerate(ACTORS[name])]


def layers(names):
    """{layer: lines} of the layers that actors have for themselves."""
    lines = {}
    if 'painter' in names:
        lines['mood'] = ['TileSeedSource wms upstream:stub layers=mood', 'TileSeedFormat image/png']
    if 'squeezer' in names:
        lines['tight'] = ['TileSeedSource wms upstream:stub layers=any', 'TileSeedFormat image/png']
    if 'leavers' in names:
        lines['slow'] = ['TileSeedSource wms upstream:sleepy layers=sleepy',
                         'TileSeedFormat image/png']
    if 'flooder' in names:
        lines['open'] = ['TileSeedSource wms upstream:stub layers=any', 'TileSeedFormat image/png',
                         'TileSeedParameter TIME "default=" regex=[0-9]+',
                         f'TileSeedMaxTileSets {OPEN_MOST}']
    return lines
