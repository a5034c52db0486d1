# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The upstream: the stub WMS in a process of its own, so that it does not share a Python with the
clients. Every answer takes a moment that is drawn from its own generator."""
import io
import multiprocessing
import random
import signal

from PIL import Image

import upstream

SLOWEST = 0.03              # seconds
SLEEP = 4                   # seconds, of the layer `sleepy`


class Painter(upstream.Handler):
    """The layer `plain` has one colour for each level; `mood` tells the epoch of its data."""

    def image(self, asked, smaller=0):
        if asked.get('LAYERS') == 'mood':
            return self.mood(asked)
        if asked.get('LAYERS') != 'plain':
            return super().image(asked, smaller)
        left, _, right, _ = map(float, asked['BBOX'].split(','))
        side = (right - left) / int(asked['WIDTH'])
        buffer = io.BytesIO()
        Image.new('RGB', (int(asked['WIDTH']), int(asked['HEIGHT'])),
                  (int(1024 * side) % 256, 80, 160)).save(buffer, 'PNG')
        return buffer.getvalue()

    def mood(self, asked):
        """Columns in red, so that no tile is of one colour; the epoch in green and blue."""
        size = int(asked['WIDTH']), int(asked['HEIGHT'])
        epoch = self.server.owner.epoch.value
        buffer = io.BytesIO()
        Image.merge('RGB', (Image.linear_gradient('L').rotate(90).resize(size),
                            Image.new('L', size, epoch >> 8),
                            Image.new('L', size, epoch & 255))).save(buffer, 'PNG')
        return buffer.getvalue()


class Moody(upstream.Upstream):
    """Counts its requests instead of keeping them."""

    def __init__(self, seed, counter, epoch):
        super().__init__()
        self.server.RequestHandlerClass = Painter
        self.random = random.Random(f'{seed} upstream')
        self.counter = counter
        self.epoch = epoch

    def next_fault(self, asked):
        with self.lock:
            self.counter.value += 1
            if asked.get('LAYERS') == 'sleepy':
                return upstream.Fault('delay', SLEEP)
            return upstream.Fault('delay', self.random.uniform(0, SLOWEST))


def serve(seed, counter, epoch, pipe):
    """Until the pipe's other end is closed or says something."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Painter.disable_nagle_algorithm = True
    with Moody(seed, counter, epoch) as server:
        pipe.send(server.url)
        pipe.poll(None)


class Source:
    """The process; `url` is where it listens, count() how often it was asked, `epoch` which data it
    has."""

    def __init__(self, seed):
        context = multiprocessing.get_context('fork')
        self.pipe, other = context.Pipe()
        self.counter = context.Value('q', 0, lock=False)
        self.epoch = context.Value('q', 0)
        self.process = context.Process(target=serve, args=(seed, self.counter, self.epoch, other),
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
