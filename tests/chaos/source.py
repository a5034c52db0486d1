# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The upstream: the stub WMS in a process of its own, so that it does not share a Python with the
clients. Its own generator draws how long an answer takes, whether the picture is drawn before that
or after it, and what it offers to tell whether the picture has changed since."""
import multiprocessing
import random
import signal

import upstream
from truth import Painted, Painter

SLOWEST = 0.03              # seconds
SLEEP = 4                   # seconds, of the layer `sleepy`
FAILURES = 0.15             # of the requests for the layer `flaky`
OFFERS = ('', 'etag', 'modified')


class Moody(Painted):
    """Counts its requests instead of keeping them."""

    def __init__(self, seed, counter, truth):
        super().__init__(truth)
        self.random = random.Random(f'{seed} upstream')
        self.counter = counter

    def next_fault(self, asked):
        with self.lock:
            self.counter.value += 1
            self.offer = self.random.choice(OFFERS)
            if asked.get('LAYERS') == 'sleepy':
                return upstream.Fault('delay', SLEEP)
            if asked.get('LAYERS') == 'flaky' and self.random.random() < FAILURES:
                return upstream.Fault('status', 500)
            return upstream.Fault(self.random.choice(('delay', 'old_news')),
                                  self.random.uniform(0, SLOWEST))


def serve(seed, counter, truth, pipe):
    """Until the pipe's other end is closed or says something."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Painter.disable_nagle_algorithm = True
    with Moody(seed, counter, truth) as server:
        pipe.send(server.url)
        pipe.poll(None)


class Source:
    """The process, which has the data of `truth`; `url` is where it listens, count() how often it
    was asked."""

    def __init__(self, seed, truth):
        context = multiprocessing.get_context('fork')
        self.pipe, other = context.Pipe()
        self.counter = context.Value('q', 0, lock=False)
        self.process = context.Process(target=serve, args=(seed, self.counter, truth, other),
                                       daemon=True)
        self.process.start()
        other.close()
        self.url = self.pipe.recv()

    def count(self):
        """Requests so far."""
        return self.counter.value

    def finish(self):
        """Ends it."""
        self.pipe.send(None)
        self.process.join(5)
        self.process.kill()
