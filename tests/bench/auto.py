# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""TileSeedMetatile auto beside fixed sizes, on upstreams that take so long for each request and so
long for each pixel. Each runs for some seconds of a task without end; the upstream says how many
pixels it has sent in them."""
import itertools
import os
import time

from rig import Case
from rows import verdict
from seeders import TIMEOUT, Tileseed
from tileseed_httpd import wait_until

SECONDS = float(os.environ.get('BENCH_AUTO_SECONDS', 5))
UPSTREAMS = os.environ.get('BENCH_AUTO_UPSTREAMS', '').split() or [
    '+'.join(one) for one in itertools.product(('1', '20', '200'), ('0.5', '5', '50'))]
SIZES = ('4x4', '8x4', '8x8', '16x8', '16x16')
CONNECTIONS = {'1': 1}          # by ms, so that the seeder is not the limit; else the default
REQUESTS_LEAST = 72             # 40 of them are the beginning
TILE = 256 ** 2                 # pixels
TASK = 10_000 * 16              # tiles of a task that loses so much by trials


def sent(rig, upstream, size):
    """What the upstream has sent in a while."""
    delay, pixel = upstream.split('+')
    case = Case('plain', 14, links=True, delay=float(delay), pixel=float(pixel), metatile=size,
                in_flight=CONNECTIONS.get(delay, 4))
    with Tileseed(rig, case) as ours:
        end = time.monotonic() + SECONDS
        path = f'/rest/tasks/{ours.post(zoomStart=9)}.json'
        wait_until(lambda: time.monotonic() > end and
                   ours.httpd.get(path).json()['upstreamRequests'] >= REQUESTS_LEAST,
                   TIMEOUT, 'progress')
        found = rig.counts()
        log = ours.httpd.error_log()
    if found['missing'] or 'failed' in log:
        raise RuntimeError(f'{found["missing"]} requests for pictures that are not there\n{log}')
    return found


def speed(found):
    """Tiles a second, from the 40th picture on."""
    return ((found['pixels'] - found['beginningPixels']) / TILE
            / (found['last'] - found['beginningEnd']))


def lost(found):
    """The seconds that the beginning has taken longer than the same pixels took later, as a share
    of what a task takes. What is lost after the beginning is a part of the speed."""
    later = speed(found)
    seconds = found['beginningEnd'] - found['first'] - found['beginningPixels'] / TILE / later
    return max(0, seconds) / (TASK / later)


def judge(upstream, ours, speeds):
    """The lines of an upstream: what was found, and beside it what is wanted."""
    size, best = max(speeds.items(), key=lambda one: one[1])
    yield (f'       auto         {upstream} (ms a request + ns): {speed(ours):.0f} tiles/s, '
           + ', '.join(f'{name} {found:.0f}' for name, found in speeds.items()))
    yield verdict('auto', f'{upstream} of the tiles/s with {size}', speed(ours) / best, .9, True)
    yield verdict('auto', f'{upstream} of a task of 10,000 metatiles lost at first', lost(ours),
                  .03, False)


def auto(rig):
    """Every upstream with each size, then with none."""
    for upstream in UPSTREAMS:
        speeds = {size: speed(sent(rig, upstream, size)) for size in SIZES}
        yield from judge(upstream, sent(rig, upstream, 'auto'), speeds)
