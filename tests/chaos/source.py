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


class Painter(upstream.Handler):
    """The layer `plain` has one colour for each level."""

    def image(self, asked, smaller=0):
        if asked.get('LAYERS') != 'plain':
            return super().image(asked, smaller)
        left, _, right, _ = map(float, asked['BBOX'].split(','))
        side = (right - left) / int(asked['WIDTH'])
        buffer = io.BytesIO()
        Image.new('RGB', (int(asked['WIDTH']), int(asked['HEIGHT'])),
                  (int(1024 * side) % 256, 80, 160)).save(buffer, 'PNG')
        return buffer.getvalue()


class Moody(upstream.Upstream):
    """Counts its requests instead of keeping them."""

    def __init__(self, seed, counter):
        super().__init__()
        self.server.RequestHandlerClass = Painter
        self.random = random.Random(f'{seed} upstream')
        self.counter = counter

    def next_fault(self, asked):
        with self.lock:
            self.counter.value += 1
            return upstream.Fault('delay', self.random.uniform(0, SLOWEST))


def serve(seed, counter, pipe):
    """Until the pipe's other end is closed or says something."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Painter.disable_nagle_algorithm = True
    with Moody(seed, counter) as server:
        pipe.send(server.url)
        pipe.poll(None)


class Source:
    """The process; `url` is where it listens, count() how often it was asked."""

    def __init__(self, seed):
        context = multiprocessing.get_context('fork')
        self.pipe, other = context.Pipe()
        self.counter = context.Value('q', 0, lock=False)
        self.process = context.Process(target=serve, args=(seed, self.counter, other), daemon=True)
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
