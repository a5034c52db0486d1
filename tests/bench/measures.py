# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The rows that are no comparison of seeders over one case; each yields verdicts and notes."""
import contextlib
import io
import itertools
import os
import re
import shutil
import signal
import statistics
import subprocess
import time

from PIL import Image

from auto import auto
from database import Missing, Postgres
from hosts import fleet, many_hosts, takeover
from rig import DISK, Case, peak_of
from rows import RUNS, ZOOM, verdict
from seeders import Tileseed, command_of_mapcache, timed
from seeding import geowebcache_path
from serve import serve
from tileseed_httpd import wait_until

OCEAN_ZOOM = int(os.environ.get('BENCH_OCEAN_ZOOM', 9))
OCEAN_LEVELS = int(os.environ.get('BENCH_OCEAN_LEVELS', 1))
TRUNCATE_ZOOM = int(os.environ.get('BENCH_TRUNCATE_ZOOM', 8))
EDGE = 2                        # pixels at a tile's edge whose colour a JPEG reader may smooth


def without(program):
    """Says that a row lacks something."""
    return f'-      {program} is not installed'


def memory(rig):
    """Peak memory with 16 metatiles in flight, for a task that ends and for one without end."""
    case = Case('rgba', ZOOM, delay=50)
    with Tileseed(rig, case) as ours:
        ours.seed()
        small = peak_of(ours.pid)
    with Tileseed(rig, case) as ours:
        number = ours.post(zoomStop=30)
        wait_until(lambda: ours.httpd.get(f'/rest/tasks/{number}.json').json()['tilesProcessed']
                   >= case.tiles, 600, 'progress')
        large = peak_of(ours.pid)
    yield verdict('memory', f'MB at the peak, task of {case.tiles} tiles', small, 64, False)
    yield verdict('memory', 'MB at the peak, task of 10^18 tiles', large, 64, False)


def ocean(rig):
    """The requests for a world of which seven tenths are sea, and what became of its tiles."""
    case = Case('ocean', OCEAN_ZOOM, meta=1, links=True,
                prune=f'uniform={OCEAN_LEVELS} sparse=on check=0.1')
    with Tileseed(rig, case) as ours:
        found = ours.seed()
        document = ours.httpd.get('/rest/tasks/1.json').json()
        requests = rig.counts()['requests']
        yield verdict('ocean', 'of the requests', requests / case.metatiles, .4, False)
        yield verdict('ocean', 'of the looks were wrong',
                      document['prunedWrong'] / max(document['prunedChecked'], 1), .001, False)
        yield (f'-      {document["tilesMade"]} tiles made and {document["tilesPruned"]} pruned '
               f'in {found.seconds:.1f} s, {document["prunedChecked"]} looked at')


def nothing(rig):
    """A second seed, when all tiles are there."""
    case = Case('uniform', ZOOM + 1)
    with Tileseed(rig, case) as ours:
        ours.seed()
        again = ours.seed()
    yield f'       nothing      {again.tiles / again.seconds:.0f} tiles/s, tileseed'
    if not shutil.which('mapcache_seed'):
        yield without('mapcache_seed')
        return
    command = command_of_mapcache(rig, case, rig.cache())
    timed(command, case.tiles)
    peer = timed(command, case.tiles)
    yield f'       nothing      {peer.tiles / peer.seconds:.0f} tiles/s, mapcache'
    yield verdict('nothing', 'tiles/s of mapcache_seed', peer.seconds / again.seconds, 1, True)


def has_tile(path):
    """Whether any tile is left below a folder."""
    return any(files for _, _, files in os.walk(path))


def truncate(rig):
    """A truncate of everything, against rm -rf of a copy."""
    case = Case('uniform', TRUNCATE_ZOOM)
    copy = rig.folder / 'copy'
    with Tileseed(rig, case) as ours:
        ours.seed()
        subprocess.run(['cp', '-a', ours.cache, copy], check=True)
        deepest = ours.cache / 'bench' / f'EPSG_3857_{case.zoom:02}'
        begun = time.monotonic()
        ours.post(type='truncate')
        wait_until(lambda: not has_tile(deepest), 600, 'a truncate that readers see')
        seen = time.monotonic() - begun
        wait_until(lambda: not has_tile(ours.cache), 600, 'the end of the truncate')
        gone = time.monotonic() - begun
    peer = timed(['rm', '-rf', copy], case.tiles).seconds
    yield f'       truncate     {case.tiles} tiles: readers see none after {seen * 1000:.0f} ms, ' \
          f'the disk has none after {gone:.2f} s; rm -rf {peer:.2f} s'
    yield verdict('truncate', 'of the speed of rm -rf', peer / gone, 1.4, True)


def syscalls(rig):
    """System calls of the seeder, counted by strace."""
    if not shutil.which('strace'):
        yield without('strace')
        return
    case = Case('rgba', min(5, ZOOM))
    counts = rig.folder / 'strace'
    with Tileseed(rig, case) as ours:
        command = ['strace', '-f', '-c', '-U', 'calls,name', '-o', counts, '-p', str(ours.pid)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            said = strace.stderr.readline()
            if 'attached' not in said:
                yield f'-      {said.strip()}'
                return
            ours.seed()
            strace.send_signal(signal.SIGINT)
    found = {name: int(calls) for calls, name in
             re.findall(r'^ *(\d+) (\w+)$', counts.read_text(), re.M)}
    total = found.pop('total')
    top = sorted(found, key=found.get, reverse=True)[:8]
    yield '       syscalls     ' + ', '.join(f'{name} {found[name] / case.tiles:.2f}'
                                            for name in top)
    yield verdict('syscalls', 'a tile', total / case.tiles, 7, False)


def sync(rig):
    """What it costs that counted tiles are on the disk: TileSeedSync on and off in turn."""
    if not DISK:
        yield '-      sync: BENCH_DISK names no folder on a disk'
        return
    seconds, cpu = {True: [], False: []}, {True: [], False: []}
    with rig.on_disk():
        for is_on in [True, False] * RUNS:
            with Tileseed(rig, Case('rgba', ZOOM + 1, sync=is_on)) as ours:
                found = ours.seed()
            seconds[is_on].append(found.seconds)
            cpu[is_on].append(found.cpu)
    yield '       sync         ' + '; '.join(
        f'{"on" if is_on else "off"} {" ".join(f"{value:.2f}" for value in sorted(times))} s'
        for is_on, times in seconds.items())
    for what, values in (('time', seconds), ('CPU', cpu)):
        yield verdict('sync', f'of the {what} without',
                      statistics.median(values[True]) / statistics.median(values[False]), 1.03,
                      False)


def rows_written(server, name):
    """The rows that were written to the tables of a database of PostgreSQL until it was left."""
    with contextlib.closing(server.connect(name)) as connection:
        cursor = connection.cursor()

        def is_left():
            cursor.execute('SELECT count(*) FROM pg_stat_activity WHERE datname = %s', (name,))
            return cursor.fetchone() == (1,)        # this one
        wait_until(is_left, what=f'the end of all other connections to {name}')
        cursor.execute('SELECT SUM(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables')
        return int(cursor.fetchone()[0])


def posts(ours):
    """Seconds that a POST takes, the median of fifty."""
    waits = []
    for _ in range(50):
        begun = time.monotonic()
        ours.post(type='reseed', zoomStop=0)
        waits.append(time.monotonic() - begun)
        wait_until(ours.is_idle)
    return statistics.median(waits)


def pgsql(rig):
    """A seed on SQLite and one on PostgreSQL, in turn, with metatiles of 1x1, which reach the most
    pages of the books in a second; how long a POST takes; what PostgreSQL writes while the tiles
    of `rgba` are made. Neighbours are compared: the speed of a machine changes by a tenth in a
    minute."""
    try:
        server = Postgres(is_own=True).start(settings=('fsync=on',))
    except Missing as missing:
        yield f'-      {missing}'
        return
    case = Case('palette', ZOOM + 2, meta=1)
    seconds, waits, rows = {None: [], server: []}, {None: [], server: []}, []
    try:
        for database in ([None, server, server, None] * RUNS)[:2 * RUNS]:
            with Tileseed(rig, case, postgres=database) as ours:
                seconds[database].append(ours.seed().seconds)
                waits[database].append(posts(ours))
        for _ in range(RUNS):
            with Tileseed(rig, Case('rgba', ZOOM + 1), postgres=server) as ours:
                taken = ours.seed().seconds
            rows.append(rows_written(server, ours.httpd.database) / taken)
    finally:
        server.end()
    yield '       pgsql        ' + '; '.join(
        f'{"PostgreSQL" if database else "SQLite"} {case.tiles / statistics.median(times):.0f} '
        f'tiles/s, POST {statistics.median(waits[database]) * 1000:.1f} ms'
        for database, times in seconds.items())
    yield verdict('pgsql', 'of the tiles/s on SQLite',
                  statistics.median(one / two for one, two in zip(*seconds.values())), .97, True)
    yield verdict('pgsql', 'ms for a POST', statistics.median(waits[server]) * 1000, 10, False)
    yield verdict('pgsql', 'rows written in a second', statistics.median(rows), 25, False)


def requests_per_second(url):
    """What wrk reaches."""
    done = subprocess.run(['wrk', '-t', '1', '-c', '8', '-d', '3s', url], check=True, text=True,
                          capture_output=True)
    return float(re.search(r'Requests/sec: +([\d.]+)', done.stdout)[1])


def status(rig):
    """GETs of the status list while a task runs, against a static file of that size."""
    if not shutil.which('wrk'):
        yield without('wrk')
        return
    with Tileseed(rig, Case('rgba', ZOOM)) as ours:
        ours.post(zoomStop=30)
        static = ours.httpd.path('static')
        static.mkdir()
        (static / 'list').write_bytes(ours.httpd.get('/rest/seed.json').body)
        rates = [requests_per_second(ours.httpd.url(path))
                 for path in ('/static/list', '/rest/seed.json') * 2]
    static, lists = statistics.mean(rates[::2]), statistics.mean(rates[1::2])
    yield f'       status       {lists:.0f} lists/s, {static:.0f} static files/s'
    yield verdict('status', 'of a static file', lists / static, .9, True)


def post(rig):
    """From the POST to the first request of the upstream."""
    waits = []
    with Tileseed(rig, Case('rgba', 0)) as ours:
        for _ in range(10):
            rig.counts()
            begun = time.monotonic()
            ours.post(type='reseed')
            wait_until(ours.is_idle)
            waits.append(rig.counts()['first'] - begun)
    yield f'       post         {statistics.median(waits) * 1000:.1f} ms to the first request'


# Pixels

def source_of(rig, case, tile):
    """The part of the upstream's picture that a tile must show, by the stub's own rule."""
    z, x, y = tile
    side = min(case.meta, 2 ** z)
    level, column, row = z - side.bit_length() + 1, x // side, y // side
    name = f'{case.kind}-{(column * 5 + row * 3 + level) % 8}-{side * 256}x{side * 256}'
    left, top = x % side * 256, (side - 1 - y % side) * 256
    picture = open_planes(rig.drawn / name)
    return picture.crop((left, top, left + 256, top + 256))


def open_planes(path):
    """A picture; a JPEG as it is stored: brightness and colour, not yet mixed."""
    picture = Image.open(io.BytesIO(path.read_bytes()))
    if picture.format == 'JPEG':
        picture.draft('YCbCr', picture.size)
        return picture
    return picture.convert('RGBA')


def is_equal(tile, source):
    """Whether two pictures show the same; the colour of a JPEG is compared inside its edge."""
    if tile.mode != 'YCbCr':
        return tile.tobytes() == source.tobytes()
    inside = (EDGE, EDGE, 256 - EDGE, 256 - EDGE)
    return (tile.getchannel('Y').tobytes() == source.getchannel('Y').tobytes()
            and tile.crop(inside).tobytes() == source.crop(inside).tobytes())


def pixels(rig):
    """Every tile against the upstream's picture."""
    for kind, extension in (('rgba', 'png'), ('palette', 'png'), ('photo', 'jpeg')):
        case = Case(kind, min(4, ZOOM), extension)
        with Tileseed(rig, case) as ours:
            ours.seed()
            tiles = [(z, x, y) for z in range(case.zoom + 1)
                     for x, y in itertools.product(range(2 ** z), repeat=2)]
            equal = sum(is_equal(
                open_planes(ours.cache / geowebcache_path('bench', 'EPSG:3857', extension, tile)),
                source_of(rig, case, tile)) for tile in tiles)
        yield verdict('pixels', f'{kind} tiles equal the source', equal, len(tiles), True)


MEASURES = {measure.__name__: measure
            for measure in (auto, memory, ocean, nothing, truncate, syscalls, sync, pgsql,
                            fleet, takeover, many_hosts, status, serve, post, pixels)}
