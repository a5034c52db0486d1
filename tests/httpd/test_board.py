# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Nonsense in the memory that all processes share: whoever can write there harms neither httpd's
parent, which is root, nor anybody else, and no task is lost."""
import os
import random
import re
import signal
import struct

from seeding import GRIDS, REST, begin, counts, done, ended, halt, seeder_of, stub, task
from tileseed_httpd import wait_until
from upstream import Fault

TILES = GRIDS['small'].between(0, 4)
MAGIC = b'TSdBoard'
HEAD = 64               # bytes that every build understands
EXTREMES = (0, 1, 2 ** 31 - 1, 2 ** 32 - 1, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1)
HANG_SECONDS = 5


def scribble(httpd, seed, skip=HEAD):
    """Writes random and extreme words over the whole board, but for its first bytes."""
    draw = random.Random(seed)
    with open(f'/proc/{httpd.process.pid}/maps', encoding='ascii') as file:
        shared = [[int(end, 16) for end in line.split()[0].split('-')] for line in file
                  if re.match(r'\S+ rw-s ', line)]
    with open(f'/proc/{httpd.process.pid}/mem', 'r+b', buffering=0) as memory:
        for start, end in shared:
            memory.seek(start)
            at = memory.read(256).find(MAGIC)
            if at >= 0:
                size = min(end - start - at, 2 << 20)
                words = [draw.choice(EXTREMES) if draw.random() < 0.5 else draw.getrandbits(64)
                         for _ in range((size - skip) // 8)]
                memory.seek(start + at + skip)
                memory.write(struct.pack(f'{len(words)}Q', *words))
                return
    raise AssertionError('there is no board')


def look_at_all(httpd, number, statuses):
    """Every document that comes from the board; the children must live."""
    for path in ('/rest/seed.json', '/rest/seed/stub.json', '/rest/tasks.json',
                 f'/rest/tasks/{number}.json', '/rest/diskquota.json'):
        assert httpd.get(path).status in statuses, path


def taken_over(httpd):
    """How many seeders have taken the board over."""
    return httpd.error_log().count('the board is taken over')


def test_board_full_of_nonsense(httpd, upstream):
    """Written while the seeder works, while it stands still and is killed for it, and before a
    restart."""
    httpd.expect('no sign of life|ended unexpectedly|AH0005[12]|board .*wrong')
    upstream.always = Fault('delay', 0.03)
    httpd.start(REST + stub(upstream) + f'TileSeedHangTimeout {HANG_SECONDS}s\n'
                + 'LogLevel tileseed:debug\n')
    parent = httpd.process.pid
    done(httpd, 'stub', zoomStop=0)     # task 1: nonsense may say that it crashed the seeder
    number = begin(httpd, 'stub', zoomStop=4, threadCount=2)
    assert number not in EXTREMES
    wait_until(lambda: task(httpd, number)['tilesProcessed'])
    for seed in range(2):
        before = taken_over(httpd)
        halt(httpd, seeder_of(httpd))
        scribble(httpd, seed)
        look_at_all(httpd, number, {200})
        # what the last seeder left must be mended before more nonsense comes: as a part of that it
        # could say that the task crashed the seeder thrice
        wait_until(lambda: taken_over(httpd) > before)  # pylint: disable=W0640
    scribble(httpd, 7, 0)
    look_at_all(httpd, number, {200, 503})      # the head says that another build has taken over
    httpd.graceful()
    wait_until(lambda: httpd.get('/rest/seed.json').status == 200)
    upstream.always = None
    document = ended(httpd, number)
    made, skipped, removed, failed = counts(document)
    assert (made + skipped, removed, failed) == (len(TILES), 0, 0), document
    assert httpd.process.pid == parent and httpd.process.poll() is None
    assert not re.search(r'Segmentation|Abort|exit signal (?!Killed)', httpd.error_log())
