#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A soak: a seeder that gets bad answers all the time and does not grow by them, and one whose
upstream is away for minutes.

    tests/httpd/soak.py [ANSWERS]

The faults come in turn, with a few unusual answers that are good ones. After a tenth of the answers
descriptors, connections and memory are counted, and again at the end; then every tile is looked at.
Before, the rate of requests is measured over half a minute, and the upstream is away for two
minutes.
"""
import contextlib
import io
import itertools
import os
import pathlib
import shutil
import signal
import sys
import time

from PIL import Image

from conftest import interrupt
from seeding import (GRIDS, REST, begin, counts, ended, failures, files, geowebcache_path,
                     seeder_of, stub, task, terminate)
from tileseed_httpd import MPMS, SANITIZED, Httpd, wait_until
from upstream import Fault, Upstream, picture

BAD = [Fault(*fault) for fault in (
    ('xml',), ('disguised',), ('empty',), ('short',), ('truncated',), ('broken',), ('size',),
    ('status', 404), ('status', 500), ('status', 302), ('close',), ('mistyped',), ('reset',),
    ('loop',), ('status', 503))]
GOOD = [Fault('gzip'), Fault('old'), Fault('unbounded'), Fault('delay', 0.05)]
# What takes its time; nothing large is under way at the last one, when memory is counted.
SLOW = [Fault('huge', 65 << 20), Fault('hang'), Fault('drip', 0.05), Fault('later', 1),
        Fault('until', 1)]
SLOW_EVERY = 500        # answers
TIMEOUTS = {'timeout': '1s', 'polite': 'first-byte-timeout=500ms'}
MORE_KIB = 4096         # what the seeder may grow by
HOURS = 3600            # seconds
STALL = 120             # seconds without a request: something hangs
AWAY = 120              # seconds
BACK = 60               # seconds: pauses between probes grow to 40


def counted(pid):
    """(descriptors, sockets among them, KiB of memory) of a process."""
    links = []
    for number in os.listdir(f'/proc/{pid}/fd'):
        try:
            links.append(os.readlink(f'/proc/{pid}/fd/{number}'))
        except OSError:
            pass
    status = pathlib.Path(f'/proc/{pid}/status').read_text()
    memory = next(line for line in status.splitlines() if line.startswith('VmRSS:'))
    return len(links), sum(link.startswith('socket:') for link in links), int(memory.split()[1])


def wait_for(upstream, answers):
    """Waits until the upstream was asked so often, and says every 10 s how far that is."""
    begun = moved = said = time.monotonic()
    seen = 0
    while seen < answers:
        time.sleep(0.05)
        now = time.monotonic()
        if len(upstream.requests) > seen:
            seen, moved = len(upstream.requests), now
        assert now - moved < STALL, f'nothing was asked for {STALL} s, after {seen} requests'
        if now - said >= 10:
            said = now
            print(f'{seen} of {answers} requests after {now - begun:.0f} s', flush=True)


class Script:
    """The faults in turn; knows how many good answers it has given."""

    def __init__(self, slow_every):
        self.turns = itertools.cycle(BAD * 4 + GOOD)
        self.slow = itertools.cycle(SLOW)
        self.slow_every = slow_every
        self.asked = self.good = 0

    def decide(self, _asked):
        """The next fault."""
        self.asked += 1
        fault = next(self.slow if self.asked % self.slow_every == 0 else self.turns)
        self.good += fault in GOOD
        return fault


def check_tiles(httpd, level):
    """All tiles of a level are there, with the pixels of the stub's pictures."""
    grid = GRIDS['small']
    tiles = grid.tiles(level)
    assert len(files(httpd)) == len(tiles)
    for tile in tiles:
        box = grid.box(grid.metatile(tile, (1, 1)))
        path = httpd.path('cache') / geowebcache_path('stub', 'small', 'png', tile)
        with Image.open(path) as found, Image.open(io.BytesIO(picture(box, 16, 16))) as expected:
            assert found.convert('RGB').tobytes() == expected.tobytes(), tile


def soak(httpd, upstream, answers, slow_every=SLOW_EVERY):
    """Runs the task; returns what was counted early and at the end."""
    httpd.expect('failed answers? of the upstream')
    httpd.expect('is away')
    script = Script(slow_every)
    upstream.decide = script.decide
    # every 16th answer is a good one, so that metatiles are left to the end
    level = next(z for z in range(8) if 4 ** z > answers // 8)
    # each may be tried a thousand times, and none is to be given up
    httpd.start(REST + 'TileSeedRetries 1000\n'
                + stub(upstream, connections=8, meta='1x1', **TIMEOUTS))
    number = begin(httpd, 'stub', zoomStart=level, zoomStop=level, threadCount=8,
                   tileFailureRetryWaitTime=1, totalFailuresBeforeAborting=-1)
    seeder = seeder_of(httpd)
    wait_for(upstream, max(answers // 10, len(SLOW) * slow_every))
    early = counted(seeder)
    wait_for(upstream, answers)
    late = counted(seeder)
    assert seeder_of(httpd) == seeder
    made = files(httpd)
    assert 0 < len(made) <= script.good, 'a bad answer became a tile'
    upstream.decide = lambda asked: None
    document = ended(httpd, number, HOURS)
    assert document['state'] == 'DONE', document
    assert counts(document) == (4 ** level, 0, 0, 0), document
    check_tiles(httpd, level)
    return early, late


def check(early, late, more_kib=MORE_KIB):
    """Nothing is left over of thousands of bad answers."""
    assert late[0] <= early[0] + 16, (early, late)
    assert late[1] <= 8 + 16, (early, late)
    assert SANITIZED or late[2] <= early[2] + more_kib, (early, late)


def pace(httpd, upstream, rate=20, seconds=30):
    """Two tasks of 16 threads at a limited rate; returns the rate and the most in 20 ms."""
    httpd.start(REST + stub(upstream, connections=16, polite=f'rate={rate}/s'))
    for _ in range(2):
        begin(httpd, 'stub', type='reseed', zoomStart=7, zoomStop=7, threadCount=16)
    wait_for(upstream, rate * seconds + 1)
    terminate(httpd)
    times = upstream.times[:rate * seconds + 1]
    return ((len(times) - 1) / (times[-1] - times[0]),
            max(sum(0 <= other - one < 0.02 for other in times) for one in times))


def waits(httpd, number):
    """Whether a task says that its upstream is away."""
    return 'connection refused' in (task(httpd, number)['reason'] or '')


def away(httpd, upstream, seconds):
    """The upstream refuses connections for so long, while one task has begun and another one is
    accepted; returns how long it took afterwards until both went on."""
    httpd.expect('failed answers? of the upstream')
    httpd.expect('is away')
    httpd.start(REST + stub(upstream))
    upstream.always = Fault('delay', 0.02)
    numbers = [begin(httpd, 'stub', zoomStart=5, zoomStop=5)]
    wait_until(lambda: task(httpd, numbers[0])['tilesMade'] > 100)
    upstream.leave()
    back_at = time.monotonic() + seconds
    wait_until(lambda: waits(httpd, numbers[0]))
    numbers.append(begin(httpd, 'stub', zoomStop=4))
    wait_until(lambda: waits(httpd, numbers[1]))
    while time.monotonic() < back_at:
        assert all(waits(httpd, number) for number in numbers)
        time.sleep(0.2)
    asked, begun = len(upstream.requests), time.monotonic()
    upstream.always = None
    upstream.come_back()
    wait_until(lambda: len(upstream.requests) > asked, BACK)
    answered = time.monotonic() - begun
    for number, tiles in zip(numbers, (4 ** 5, 341)):
        document = ended(httpd, number, HOURS)
        assert (document['state'], document['reason']) == ('DONE', None), document
        assert counts(document) == (tiles, 0, 0, 0), document
        assert not failures(httpd, number)
    return answered


@contextlib.contextmanager
def servers():
    """An httpd and its upstream, which end with the block however that ends."""
    httpd = Httpd(MPMS[0])
    with Upstream() as upstream:
        try:
            yield httpd, upstream
        except BaseException:
            httpd.stop()
            shutil.rmtree(httpd.root, ignore_errors=True)
            raise
        httpd.finish()


def run(answers):
    """All of it."""
    with servers() as (httpd, upstream):
        rate, burst = pace(httpd, upstream)
    print(f'rate=20/s: {rate:.2f} a second, at most {burst} within 20 ms', flush=True)
    assert 19 <= rate <= 21 and burst <= 2, (rate, burst)
    with servers() as (httpd, upstream):
        answered = away(httpd, upstream, AWAY)
    print(f'away for {AWAY} s: asked again {answered:.1f} s after it was back, nothing failed',
          flush=True)
    with servers() as (httpd, upstream):
        early, late = soak(httpd, upstream, answers)
    print('descriptors, sockets, KiB:', early, 'early,', late, f'after {answers} bad answers')
    check(early, late)


def main():
    """The separate command; Ctrl-C and SIGTERM end it, and its servers."""
    signal.signal(signal.SIGTERM, interrupt)
    try:
        run(int(sys.argv[1]) if len(sys.argv) > 1 else 100000)
    except KeyboardInterrupt:
        sys.exit('interrupted')


if __name__ == '__main__':
    main()
