#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A soak: a task that gets nothing but bad answers, and a seeder that does not grow by them.

    tests/httpd/soak.py [ANSWERS]

The faults come in turn. After a tenth of the answers descriptors, connections and memory are
counted, and again at the end. Before, the rate of requests is measured over half a minute.
"""
import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import sys
import time

from conftest import interrupt
from seeding import REST, begin, ended, files, seeder_of, stub, task, terminate
from tileseed_httpd import MPMS, SANITIZED, Httpd
from upstream import Fault, Upstream

FAULTS = [Fault(*fault) for fault in (
    ('xml',), ('disguised',), ('empty',), ('short',), ('truncated',), ('broken',), ('size',),
    ('status', 404), ('status', 500), ('status', 302), ('close',), ('mistyped',), ('reset',),
    ('loop',), ('status', 503))]
MORE_KIB = 4096         # what the seeder may grow by
HOURS = 3600            # seconds
STALL = 120             # seconds without a request: something hangs


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


def soak(httpd, upstream, answers):
    """Runs the task; returns what was counted early and at the end."""
    httpd.expect('failed answers of the upstream')
    httpd.expect('is away')
    turns = itertools.cycle(FAULTS)
    upstream.decide = lambda asked: next(turns)
    # 256 metatiles: each may be tried a thousand times, and none is to be given up
    httpd.start(REST + 'TileSeedRetries 1000\n' + stub(upstream, connections=8, meta='1x1'))
    number = begin(httpd, 'stub', zoomStart=4, zoomStop=4, threadCount=8,
                   tileFailureRetryWaitTime=1, totalFailuresBeforeAborting=-1)
    seeder = seeder_of(httpd)
    wait_for(upstream, answers // 10)
    early = counted(seeder)
    wait_for(upstream, answers)
    late = counted(seeder)
    assert seeder_of(httpd) == seeder
    assert not files(httpd), 'a bad answer became a tile'
    assert task(httpd, number)['tilesMade'] == 0
    upstream.decide = lambda asked: None
    document = ended(httpd, number, HOURS)
    assert (document['state'], document['tilesMade']) == ('DONE', 256), document
    return early, late


def check(early, late):
    """Nothing is left over of thousands of bad answers."""
    assert late[0] <= early[0] + 16, (early, late)
    assert late[1] <= 8 + 16, (early, late)
    assert SANITIZED or late[2] <= early[2] + MORE_KIB, (early, late)


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
    """Pace and soak."""
    with servers() as (httpd, upstream):
        rate, burst = pace(httpd, upstream)
    print(f'rate=20/s: {rate:.2f} a second, at most {burst} within 20 ms')
    assert 19 <= rate <= 21 and burst <= 2, (rate, burst)
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
