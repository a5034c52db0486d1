# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The clients: each a thread that does one thing at random, and writes down what came of it."""
import http.client
import json
import random
import re
import threading
import time

from journal import (Failure, Kill, Look, Post, Put, QuotaReading, Read, Reading, Sample, Seen,
                     Write)
from truth import Copies, Tileset, Wrong

DATA = {'any': 0, 'plain': 100, 'sleepy': 0,        # percent of it are sea
        'mood': 50, 'tide': 50, 'flaky': 50, 'ebb': 50}
# red has two formats, green two and a parameter, blue shares its name's beginning with nobody,
# plain is of one colour
TILESETS = (Tileset('red'), Tileset('red', 'image/jpeg'), Tileset('green'),
            Tileset('green', style='dark'), Tileset('green', 'image/jpeg', style='dark'),
            Tileset('blue'), Tileset('plain', data='plain', uniform=True))
LAYERS = sorted({tileset.layer for tileset in TILESETS})
# Of the painter: for each way to save requests, and for each pair of them that a layer may have.
# Joined are mood, pruned and halved; answers are shared by the two formats of a layer, and by mood
# and pruned; all but mood link tiles of one colour; what the upstream offers makes requests
# conditional. No layer derives and prunes
PAINTED = (Tileset('mood', data='mood'),
           Tileset('sparse', data='tide', uniform=True, pruned=True, meta=2),
           *(Tileset('pruned', kind, data='mood', uniform=True, pruned=True)
             for kind in ('image/png', 'image/webp')),
           *(Tileset('derived', kind, data='flaky', uniform=True, derived=3, fails=True, meta=2)
             for kind in ('image/png', 'image/webp')),
           *(Tileset('halved', kind, data='flaky', uniform=True, derived=1, fails=True)
             for kind in ('image/png', 'image/webp')))
TIGHT, SLOW = Tileset('tight'), Tileset('slow', data='sleepy')
SUNK = Tileset('sunk', data='ebb', uniform=True, pruned=True, meta=2)
ALL_TILESETS = (*TILESETS, *PAINTED, SUNK, TIGHT, SLOW)
ALL_LAYERS = sorted({tileset.layer for tileset in ALL_TILESETS})
TYPES = ('seed',) * 5 + ('reseed',) * 2 + ('truncate',) * 3
LAST = 6
DEEP = 4                    # the last one of painters, who come back to what is there
OPEN_MOST = 12              # tile sets by reading that the layer `open` may have
TIGHT_LIMITS = (128 << 10, 192 << 10, 256 << 10, 1 << 20)       # bytes, of one layer
TINY_LIMITS = (1, 2, 4)     # MiB: less than what is at work
LIMITS = (16, 32)           # MiB, of which all tiles but the plain ones would take 107
SIDE = 1000                 # of the grid set's extent, in units
BACKLOG = 12000             # tiles: no further seeds as long as so many remain
LISTED = re.compile(r'\[(\d+): ')
OPEN_QUESTION = 'may be found done later'
NO_ANSWER = (OSError, http.client.HTTPException)


class Client(threading.Thread):
    """One client; its generator hangs on the run's seed and its own name."""

    def __init__(self, run, name, pause):
        super().__init__(name=name, daemon=True)
        self.run_of = run
        self.journal = run.journal
        self.asked = None           # the name of the httpd that the last request went to
        self.random = random.Random(f'{run.seed} {name}')
        self.pause = pause
        self.copies = Copies(run.journal.history)

    @property
    def httpd(self):
        """The httpd that the next request goes to, whoever works."""
        hosts = self.run_of.hosts
        return self.random.choice(hosts) if len(hosts) > 1 else hosts[0]

    def run(self):
        """Until the run says that it is enough."""
        try:
            while not self.run_of.enough.wait(self.random.uniform(0, 2 * self.pause)):
                self.act()
        except BaseException as error:
            self.run_of.broken.append(f'client {self.name}: {error!r}')
            raise

    def act(self):
        """One thing that this client does."""
        raise NotImplementedError

    def ask(self, method, path, body=None, is_fine=(200).__eq__, headers=None):
        """(sent, answered, answer); None and None when there was no answer, or one that leaves open
        whether the change was made. A status that is not fine is written down."""
        sent = time.time()
        what = f'{method} {path}'
        httpd = self.httpd
        self.asked = httpd.name
        try:
            answer = httpd.request(method, path, body, headers)
        except NO_ANSWER as error:
            self.journal.failures.append(Failure(what, sent, time.time(), None, repr(error)))
            return sent, None, None
        answered = time.time()
        self.journal.requests.append((sent, answered - sent, what))
        if not is_fine(answer.status):
            self.journal.failures.append(Failure(what, sent, answered, answer.status, answer.text))
            if OPEN_QUESTION in answer.text:
                return sent, None, None
        return sent, answered, answer

    def read(self, tileset, tile):
        """Asks for a tile, as a browser does that has seen it before, and looks at it."""
        key = tileset, tile
        condition = self.copies.conditions(key, self.random.random() < 0.5)
        sent, answered, answer = self.ask('GET', tileset.address(tile), headers=condition,
                                          is_fine=tileset.may_be_answered)
        read = Read(tileset, tile, sent, answered)
        if answer and answer.status in (200, 304):
            try:
                versions = self.copies.shown(key, answer)
                self.journal.seen.append(Seen(
                    tileset, tile, versions, sent,
                    'sent' if answer.status == 200 else f'confirmed by {condition}'))
            except Wrong as error:
                read.wrong = str(error)
        self.journal.reads.append(read)

    def post_of(self, answer, post):
        """Writes down what came of a post."""
        if answer:
            post.status = answer.status
            post.task = int(answer.headers.get('TileSeed-Task', 0)) or None
        self.journal.posts.append(post)
        return post

    def bounds(self):
        """A rectangle in the extent, or, one time in three, none. Whole units are never as close to
        a tile's edge as to be taken for it."""
        if self.random.random() < 1 / 3:
            return None
        left, right = sorted(self.random.choices(range(SIDE + 1), k=2))
        low, high = sorted(self.random.choices(range(SIDE + 1), k=2))
        return (left, low, right, high)


class Poster(Client):
    """Seeds, seeds again and truncates, as long as there is not too much to do."""

    def act(self):
        tileset = self.random.choice(TILESETS)
        kind = self.random.choice(TYPES)
        start, stop = sorted(self.random.choices(range(LAST + 1), k=2))
        bounds = self.bounds()
        if kind != 'truncate' and self.run_of.remaining > BACKLOG:
            return
        wanted = {'type': kind, 'zoomStart': start, 'zoomStop': stop, 'format': tileset.format,
                  'threadCount': self.random.randint(1, 6)}
        if bounds:
            wanted['bounds'] = {'coords': {'double': bounds}}
        if tileset.style:
            wanted['parameters'] = {'entry': {'string': ['STYLES', tileset.style]}}
        sent, answered, answer = self.ask('POST', f'/rest/seed/{tileset.layer}.json',
                                          json.dumps({'seedRequest': wanted}))
        self.post_of(answer, Post(tileset, kind, start, stop, bounds, sent, answered))


class Terminator(Client):
    """Terminates tasks, then looks whether any of their tiles are written."""

    def act(self):
        layer = self.random.choice(LAYERS) if self.random.random() < 0.9 else None
        code = self.random.choice(('running', 'pending', 'all'))
        path = f'/rest/seed/{layer}' if layer else '/rest/seed'
        sent, answered, answer = self.ask('POST', path, f'kill_all={code}')
        kill = Kill(layer, code, sent, answered)
        if answer:
            kill.status = answer.status
            sure, _, unsure = answer.text.partition('being terminated')
            kill.terminated = tuple(map(int, LISTED.findall(sure)))
            kill.unconfirmed = tuple(map(int, LISTED.findall(unsure)))
        self.journal.kills.append(kill)
        if kill.terminated and not self.run_of.enough.wait(0.3):
            self.look_at_disk(kill)

    def look_at_disk(self, kill):
        """Which tiles were written since the answer."""
        for (tileset, tile), written in self.run_of.disk.tiles(kill.layer).items():
            if written > kill.answered and not tileset.uniform:
                self.journal.writes.append(Write(tileset, tile, written))


class Lister(Client):
    """Reads the status lists, and now and then a task."""

    def act(self):
        layer = self.random.choice((None, *LAYERS))
        sent, answered, answer = self.ask('GET', f'/rest/seed/{layer}.json' if layer
                                          else '/rest/seed.json')
        if not answer or answer.status != 200:
            return
        rows = {row[3]: (*row[:3], row[4]) for row in answer.json()['long-array-array']}
        self.journal.readings.append(Reading(layer, sent, answered, rows, self.asked))
        if layer is None:
            self.run_of.remaining = sum(row[2] for row in rows.values())
        if self.journal.posts:
            self.look(self.random.choice(self.journal.posts[-40:]).task)

    def look(self, task):
        """Reads one task."""
        if not task:
            return
        sent, answered, answer = self.ask('GET', f'/rest/tasks/{task}.json',
                                          is_fine=(200, 404).__contains__)
        if answer and answer.status in (200, 404):
            document = answer.json() if answer.status == 200 else None
            self.journal.looks.append(Look(task, sent, answered, document, self.asked))


class Accountant(Client):
    """Changes the quota's limit and reads it; nobody else does, but the killer in its turn."""

    def act(self):
        with self.run_of.limits:
            self.put_or_get()

    def put_or_get(self):
        """One of both."""
        if self.random.random() < 0.5:
            value = self.random.randint(*LIMITS)
            if 'squeezer' in self.run_of.actors and self.random.random() < 0.3:
                value = self.random.choice(TINY_LIMITS)
            self.put(value)
        else:
            sent, answered, answer = self.ask('GET', '/rest/diskquota.json')
            if answer and answer.status == 200:
                self.journal.quotas.append(QuotaReading(limit(answer), sent, answered))

    def put(self, value):
        """Sets the limit to so many MiB; whether it is known to be set."""
        body = {'cacheQuotaConfiguration': {'globalQuota': {'value': str(value), 'units': 'MiB'}}}
        sent, answered, answer = self.ask('PUT', '/rest/diskquota.json', json.dumps(body))
        self.journal.puts.append(Put(value, sent, answered, answer and answer.status))
        return answer is not None and answer.status == 200


def limit(answer):
    """The quota's limit in MiB, from a GET's answer."""
    quota = answer.json()['cacheQuotaConfiguration']['globalQuota']
    assert quota['units'] == 'MiB', quota
    return int(quota['value'])


class Auditor(Client):
    """Asks what the cache takes, and now and then has the books compared with it."""

    def act(self):
        if self.random.random() < 0.1:
            self.ask('POST', '/rest/diskquota/reconcile')
            return
        _, _, answer = self.ask('GET', '/rest/diskquota/usage.json')
        if answer and answer.status == 200:
            document = answer.json()
            self.journal.usages.append((document['bytes'], document['files'], [
                (tileset['bytes'], tileset['files'])
                for layer in document['layers'] for tileset in layer['tilesets']]))


class Reader(Client):
    """Reads tiles in one corner of the extent, whether they are there or not."""

    def act(self):
        tileset = self.random.choice(TILESETS)
        z = self.random.randint(0, LAST)
        x, y = (min(int(self.random.expovariate(8) * 2 ** z), 2 ** z // 2) for _ in 'xy')
        self.read(tileset, (z, x, y))


class Surveyor(Client):
    """Looks how much the cache takes."""

    def act(self):
        begun = time.time()
        used, unfinished = self.run_of.disk.survey()
        self.journal.samples.append(Sample(begun, time.time(), used, unfinished))


def crowd(run):
    """All clients of a run."""
    return [Poster(run, 'poster 1', 0.25), Poster(run, 'poster 2', 0.25),
            Terminator(run, 'terminator', 2), Lister(run, 'lister 1', 0.05),
            Lister(run, 'lister 2', 0.1), Accountant(run, 'accountant', 0.2),
            Reader(run, 'reader 1', 0.05), Reader(run, 'reader 2', 0.2),
            Auditor(run, 'auditor', 0.3), Surveyor(run, 'surveyor', 0.5)]
