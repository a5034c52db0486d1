# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What TileSeedPrune spares and misses on a real map: pruning.py [OPTIONS]

    --zoom Z            the last level, 7
    --countries FILE    GeoJSON in place of the demo's countries
    --filled            countries without outlines, which show what is smaller than a pixel
    --box A,B,C,D       seeds inside of these bounds alone, in EPSG:3857
    --levels N          lets the module prune as well, with uniform=N
    --runs N            no truth: the times of TileSeedMetatile auto with and without uniform=1

MapServer (FastCGI) draws the map of the demo; ogr2ogr and shptree make a file with an index of its
countries. One or two seeds follow:

1. Without pruning. Which tiles are of one colour is read off the disk afterwards, and what pruning
   would have spared and missed is worked out here, without the module: for metatiles of 1x1 and
   4x4, and so many levels of one colour as TileSeedPrune has LEVELS. A subtree is wrong when any
   tile of it is not of the colour above it.
2. With `uniform=N check=100` and metatiles of 1x1, by the module: its own counts.

With --runs, N seeds with `auto` alone and N with `uniform=1` take turns, each of an empty cache
with link-uniform=on. The medians of their times are compared, and each tile of the last two caches:
tiles of both must show the same pixels, and a tile that only `auto` alone has must be of the one
colour of the tile above it.

TILESEED_MODULE names the module.
"""
import argparse
import collections
import contextlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'httpd'))

# pylint: disable=wrong-import-position
from PIL import Image                                                               # noqa: E402

import upstreams                                                                    # noqa: E402
from rig import MEMORY, Case                                                        # noqa: E402
from seeders import Tileseed                                                        # noqa: E402
from seeding import GRIDS, coords, geowebcache_path                                 # noqa: E402
from tileseed_httpd import TOP                                                      # noqa: E402

GRID = 'EPSG:3857'
LEVELS = range(6)
SOURCE = '''    CONNECTIONTYPE OGR
    CONNECTION "world-110m.geojson"
    DATA "countries"
'''
OUTLINE = ' OUTLINECOLOR 150 140 125 WIDTH 0.6'


class Map(upstreams.Fcgi):
    """MapServer over countries with an index."""
    countries = TOP / 'conf/demo/world-110m.geojson'
    outlined = True

    def prepare(self):
        super().prepare()
        shapes, text = (self.httpd.path(f'demo/{name}') for name in ('countries.shp', 'world.map'))
        for command in (['ogr2ogr', shapes, self.countries], ['shptree', shapes]):
            subprocess.run(command, check=True, capture_output=True)
        changes = {SOURCE: '    DATA "countries"\n'} | ({} if self.outlined else {OUTLINE: ''})
        content = text.read_text(encoding='utf-8')
        for old, new in changes.items():
            assert old in content
            content = content.replace(old, new)
        text.write_text(content, encoding='utf-8')


class Rig:
    """What a Tileseed wants: a place and an upstream."""

    def __init__(self, upstream, folder):
        self.url, self.counts, self.folder = upstream.url, upstream.counts, folder

    def cache(self):
        """An empty folder in place of the one before."""
        path = self.folder / 'cache'
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path


# The truth

def colours(cache, tiles):
    """{tile: its colour, None without one}. A tile of one colour is a link."""
    known, found = {}, {}
    for tile in tiles:
        path = cache / geowebcache_path('bench', GRID, 'png', tile)
        status = path.stat()
        if status.st_nlink > 1 and status.st_ino not in known:
            (_, known[status.st_ino]), = Image.open(path).convert('RGBA').getcolors()
        found[tile] = known[status.st_ino] if status.st_nlink > 1 else None
    return found


def in_metatiles(found, meta):
    """{(z, column, row) of a metatile: its colour} from the tiles that there are."""
    parts = collections.defaultdict(set)
    for (z, x, y), colour in found.items():
        parts[z, x // meta, y // meta].add(colour)
    return {place: next(iter(inside)) if len(inside) == 1 else None
            for place, inside in parts.items()}


def above(place, meta):
    """The metatile above one; from the level that has more than one on it is at half of all."""
    z, column, row = place
    return (z - 1, column // 2, row // 2) if 2 ** z > meta else (z - 1, 0, 0)


def judge(truth, meta, levels):
    """(asked, pruned, wrong metatiles, subtrees, wrong subtrees) under the rule of TileSeedPrune:
    `truth` are the colours of all metatiles."""
    depths, tops, asked, wrong, broken = {}, {}, 0, 0, set()
    subtrees = set()
    for place in sorted(truth):
        colour, parent = truth[place], above(place, meta)
        if parent in tops:
            top = tops[place] = tops[parent]
            subtrees.add(top)
            if colour != truth[top]:
                wrong += 1
                broken.add(top)
            continue
        asked += 1
        if colour is not None:
            same = truth.get(parent) == colour
            depths[place] = depths.get(parent, 0) + 1 if same else 0
            if depths[place] >= levels:
                tops[place] = place
    return asked, len(truth) - asked, wrong, len(subtrees), len(broken)


def percent(part, whole):
    """A share."""
    return f'{100 * part / whole:.3f} %' if whole else '-'


def tell(found):
    """The table of what pruning would do."""
    line = '| {:>8} | {:>6} | {:>9} | {:>7} | {:>8} | {:>13} | {:>9} | {:>15} |'
    print(line.format('metatile', 'LEVELS', 'metatiles', 'asked', 'subtrees', 'wrong', 'pruned',
                      'wrong'), flush=True)
    print('|---:' * 8 + '|')
    for meta in (1, 4):
        truth = in_metatiles(found, meta)
        for levels in LEVELS:
            asked, pruned, wrong, subtrees, broken = judge(truth, meta, levels)
            print(line.format(
                f'{meta}x{meta}', levels, len(truth), f'{asked / len(truth):.3f}', subtrees,
                f'{broken} {percent(broken, subtrees)}', pruned,
                f'{wrong} {percent(wrong, pruned)}'), flush=True)


# The two seeds

def seed(rig, case, box):
    """One task; returns its document and what it leaves, read by whoever is called with it."""
    more = {'bounds': coords(*box)} if box else {}
    with Tileseed(rig, case) as ours:
        ours.seed(**more)
        document = ours.httpd.get('/rest/tasks/1.json').json()
    return document, rig.folder / 'cache'


def measure(zoom, box, levels):
    """Both."""
    tiles = GRIDS[GRID].between(0, zoom, box)
    case = Case('map', zoom, meta=16, links=True, in_flight=4)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(
            prefix='tileseed-bench-', dir=MEMORY)))
        folder.chmod(0o755)
        upstream = Map()
        stack.callback(upstream.close)
        rig = Rig(upstream, folder)
        document, cache = seed(rig, case, box)
        print(f'{document["tilesMade"]} tiles, levels 0 to {zoom}, of {Map.countries.name}')
        tell(colours(cache, tiles))
        if levels is None:
            return
        case.meta, case.prune = 1, f'uniform={levels} sparse=on check=100'
        document, _ = seed(rig, case, box)
        print(f'by the module, {case.prune}: {document["tilesMade"]} tiles made, '
              f'{document["tilesPruned"]} pruned, {document["upstreamRequests"]} requests; of '
              f'{document["prunedChecked"]} metatiles that were looked at '
              f'{document["prunedWrong"]} were wrong')


# The times

def above_in(cache, tile):
    """The path of the lowest tile above one that a cache has."""
    z, x, y = tile
    while z > 0:
        z, x, y = z - 1, x // 2, y // 2
        path = cache / geowebcache_path('bench', GRID, 'png', (z, x, y))
        if path.exists():
            return path
    raise AssertionError(f'nothing lies above {tile}')


def pixels(path):
    """What a tile shows."""
    return Image.open(path).convert('RGBA').tobytes()


def differ(whole, sparse, tiles):
    """(pruned tiles, wrong ones, tiles of both, those that differ)."""
    pruned = wrong = both = other = 0
    same = set()
    for tile in tiles:
        name = geowebcache_path('bench', GRID, 'png', tile)
        mine, theirs = sparse / name, whole / name
        if not theirs.exists():     # beyond a box whose edge lies between tiles
            continue
        has = mine.exists()
        pruned, both = pruned + (not has), both + has
        mine = mine if has else above_in(sparse, tile)
        pair = mine.stat().st_ino, theirs.stat().st_ino
        if pair not in same:
            if mine.read_bytes() == theirs.read_bytes() or pixels(mine) == pixels(theirs):
                same.add(pair)
            else:
                wrong, other = wrong + (not has), other + has
    return pruned, wrong, both, other


def race(zoom, box, runs):
    """Seeds by turns, and the comparison."""
    tiles = GRIDS[GRID].between(0, zoom, box)
    times = {'off': [], 'uniform=1': []}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(
            prefix='tileseed-bench-', dir=MEMORY)))
        folder.chmod(0o755)
        upstream = Map()
        stack.callback(upstream.close)
        rig = Rig(upstream, folder)
        for prune in list(times) * runs:
            case = Case('map', zoom, links=True, in_flight=4, metatile='auto', prune=prune)
            more = {'bounds': coords(*box)} if box else {}
            with Tileseed(rig, case) as ours:
                seconds = ours.seed(**more).seconds
                document = ours.httpd.get('/rest/tasks/1.json').json()
            times[prune].append(seconds)
            print(f'{prune}: {seconds:.1f} s, {document["tilesMade"]} tiles made, '
                  f'{document["tilesPruned"]} pruned, {document["upstreamRequests"]} requests, '
                  f'{document["prunedChecked"]} looks, {document["prunedWrong"]} wrong', flush=True)
            kept = folder / prune
            shutil.rmtree(kept, ignore_errors=True)
            (folder / 'cache').rename(kept)
        alone, both = (statistics.median(some) for some in times.values())
        print(f'ratio {both / alone:.3f}', flush=True)
        print('{} tiles pruned, {} of them wrong; {} of both, {} differ'.format(
            *differ(folder / 'off', folder / 'uniform=1', tiles)))


def options():
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--zoom', type=int, default=7)
    parser.add_argument('--countries', type=Path, default=Map.countries)
    parser.add_argument('--filled', action='store_true')
    parser.add_argument('--box', type=lambda text: tuple(map(float, text.split(','))))
    parser.add_argument('--levels', type=int)
    parser.add_argument('--runs', type=int, default=0)
    return parser.parse_args()


def main():
    """All of it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # so that everything is cleaned up
    asked = options()
    Map.countries, Map.outlined = asked.countries, not asked.filled
    missing = [name for name in ('ogr2ogr', 'shptree') if not shutil.which(name)]
    lacks = Map.lacks() or (missing and missing[0])
    if lacks:
        sys.exit(f'{lacks} is not installed')
    if asked.runs:
        race(asked.zoom, asked.box, asked.runs)
    else:
        measure(asked.zoom, asked.box, asked.levels)


if __name__ == '__main__':
    main()
