# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The row `serve`: hits of one tile by wrk, ours beside httpd's own handler and mod_mapcache.

All are addresses of one httpd, each with a section of its own: MPM, keep-alive and log are the
same. Client and server have a core of their own. The addresses take turns, round after round; the
first round warms up.
"""
import contextlib
import dataclasses
import os
import re
import shutil
import statistics
import string
import subprocess
from pathlib import Path

from rig import Case
from rows import RUNS, verdict
from seeders import Tileseed, write_mapcache
from seeding import geowebcache_path
from tileseed_httpd import MODULES

ROUNDS = 4 * RUNS
SECONDS = 1                     # of each address in a round
TILE = (5, 11, 20)              # its row counted from the bottom
ROW = 2 ** TILE[0] - 1 - TILE[2]
WMTS = ('?SERVICE=WMTS&REQUEST=GetTile&VERSION=1.0.0&LAYER=bench&STYLE=default&FORMAT=image%%2Fpng'
        f'&TILEMATRIXSET=%s&TILEMATRIX={TILE[0]}&TILEROW={ROW}&TILECOL={TILE[1]}')

SERVER = string.Template('''
MaxKeepAliveRequests 0
<Directory "/">
    AllowOverride None
</Directory>
<Location "/tiles">
    TileSeedTiles on
    Require all granted
</Location>
Alias "/files" "$cache"
<Location "/files">
    Require all granted
</Location>
''')

MAPCACHE = string.Template('''
LoadModule mapcache_module "$module"
MapCacheAlias "/mapcache" "$config"
<Location "/mapcache">
    Require all granted
</Location>
''')


@dataclasses.dataclass
class Hits:
    """What one address did in one round."""
    rate: float                 # hits a second
    cpu: float                  # seconds of httpd a hit


def addresses(with_mapcache):
    """{name: what is asked for}; the file's address has once the length of a query's."""
    z, x, _ = TILE
    found = {
        'file': '/files/' + geowebcache_path('bench', 'EPSG:3857', 'png', TILE),
        'path': f'/tiles/bench/EPSG:3857/{z}/{x}/{ROW}.png',
        'WMTS': '/tiles/wmts' + WMTS % 'EPSG%3A3857',
    }
    found['file?query'] = found['file'] + WMTS % 'EPSG%3A3857'
    if with_mapcache:
        found['mapcache path'] = f'/mapcache/tms/1.0.0/bench@GoogleMapsCompatible/{z}/{x}/' \
                                 f'{TILE[2]}.png'
        found['mapcache WMTS'] = '/mapcache/wmts' + WMTS % 'GoogleMapsCompatible'
    return found


def mapcache_path(tile):
    """Where mod_mapcache looks for a tile, in its own layout."""
    def parts(number):
        return f'{number // 10**6:03}/{number // 1000 % 1000:03}/{number % 1000:03}'
    z, x, y = tile
    return f'bench/GoogleMapsCompatible/{z:02}/{parts(x)}/{parts(y)}.png'


@contextlib.contextmanager
def on_core(core):
    """Processes that are started meanwhile run on that core alone."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def cpu_of_children(httpd):
    """CPU seconds of all processes that serve, to the nanosecond: the ticks of /proc/PID/stat are
    too coarse for the share of a core that a round gets on a busy machine."""
    return sum(int(thread.read_text(encoding='ascii').split()[0]) for pid in httpd.children()
               for thread in Path(f'/proc/{pid}/task').glob('*/schedstat')) / 1e9


def hit(httpd, address, core):
    """One address for a while."""
    before = cpu_of_children(httpd)
    done = subprocess.run(['taskset', '-c', str(core), 'wrk', '-t', '1', '-c', '8',
                           '-d', f'{SECONDS}s', httpd.url(address)],
                          check=True, text=True, capture_output=True)
    requests, seconds = re.search(r'(\d+) requests in ([\d.]+)s', done.stdout).groups()
    if 'Non-2xx' in done.stdout or 'Socket errors' in done.stdout:
        raise RuntimeError(done.stdout)
    return Hits(int(requests) / float(seconds),
                (cpu_of_children(httpd) - before) / int(requests))


def compare(found, other, value):
    """The median over the rounds of one address' values by another's."""
    return statistics.median(getattr(mine, value) / getattr(theirs, value)
                             for mine, theirs in zip(found, other))


def judge(found):
    """The lines of the row, from {name: its rounds}."""
    for name, rounds in found.items():
        rate, cpu = (statistics.median(getattr(one, value) for one in rounds)
                     for value in ('rate', 'cpu'))
        yield (f'       serve        {rate:.0f} hits/s, {cpu * 1e6:.1f} µs of CPU a hit '
               f'({compare(rounds, found["file"], "cpu"):.3f} of the file): {name}')
    for name in ('path', 'WMTS'):
        yield verdict('serve', f'of the hits/s of the file, {name}',
                      compare(found[name], found['file'], 'rate'), .97, True)
        yield verdict('serve', f'of the CPU of the file, {name}',
                      compare(found[name], found['file'], 'cpu'), 1.03, False)
        peer = found.get(f'mapcache {name}')
        if peer:
            yield verdict('serve', f'of the hits/s of mod_mapcache, {name}',
                          compare(found[name], peer, 'rate'), 1, True)


def check(httpd, names, tile):
    """Every address must give the tile itself."""
    for name, address in names.items():
        answer = httpd.get(address)
        if answer.status != 200 or answer.body != tile:
            raise RuntimeError(f'{name}: {answer.status} at {address}\n{httpd.error_log()}')


def configure(rig, with_mapcache, cache):
    """The part of the configuration that this row adds."""
    text = SERVER.substitute(cache=cache)
    if with_mapcache:
        text += MAPCACHE.substitute(
            module=MODULES / 'mod_mapcache.so',
            config=write_mapcache(rig, Case('palette'), rig.folder / 'mapcache'))
    return text


def serve(rig):
    """Hits of one tile."""
    missing = [program for program in ('wrk', 'taskset') if not shutil.which(program)]
    cores = sorted(os.sched_getaffinity(0))
    if missing or len(cores) < 2:
        yield f'-      {missing[0]} is not installed' if missing else '-      serve: one core'
        return
    with_mapcache = (MODULES / 'mod_mapcache.so').exists()
    if not with_mapcache:
        yield '-      mod_mapcache is not installed'
    names = addresses(with_mapcache)
    with on_core(cores[0]), Tileseed(rig, Case('palette', TILE[0]), lambda cache: configure(
            rig, with_mapcache, cache)) as ours:
        ours.seed()
        tile = (ours.cache / geowebcache_path('bench', 'EPSG:3857', 'png', TILE)).read_bytes()
        copy = rig.folder / 'mapcache' / mapcache_path(TILE)
        copy.parent.mkdir(parents=True)
        copy.write_bytes(tile)
        check(ours.httpd, names, tile)
        rounds = [{name: hit(ours.httpd, address, cores[-1]) for name, address in names.items()}
                  for _ in range(1 + ROUNDS)]
    yield from judge({name: [one[name] for one in rounds[1:]] for name in names})
