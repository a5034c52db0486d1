# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The rows in which one case is seeded by everybody in turn, and their table of medians."""
import dataclasses
import os
import statistics

from rig import Case, Result

ZOOM = int(os.environ.get('BENCH_ZOOM', 6))
RUNS = int(os.environ.get('BENCH_RUNS') or 3)
PEERS = ('mapcache', 'mapproxy')


@dataclasses.dataclass
class Row:
    """A case and what is wanted of us: least ratios of tiles/s, most bytes of one peer's."""
    case: Case
    peer: float
    roofline: float = 0
    size: tuple = ()            # (peer, ratio)


def slow(milliseconds, zoom, in_flight, **peers):
    """A case with a slow upstream, each peer with the number of threads that suits it."""
    return Case('rgba', min(zoom, ZOOM), delay=milliseconds, in_flight=in_flight, peers=peers)


ROWS = {
    'rgba': Row(Case('rgba', ZOOM), 2.6, .9, ('mapcache', 1.15)),
    'rgba6': Row(Case('rgba', ZOOM, level=6), 1.8, .9, ('mapcache', 1.05)),
    'palette': Row(Case('palette', ZOOM), 3.9, .9, ('mapproxy', 1.04)),
    'single': Row(Case('palette', ZOOM, meta=1), 2, .9),
    'jpeg': Row(Case('photo', ZOOM, 'jpeg'), 2.2, .9),
    'reencode': Row(Case('photo', ZOOM, 'jpeg', gutter=10), 1.4),
    'uniform': Row(Case('mix', ZOOM, links=True), 3.5, .95),
    'latency50': Row(slow(50, 5, 16, mapcache=16, mapproxy=8), 2.8),
    'latency200': Row(slow(200, 5, 16, mapcache=16, mapproxy=8), 1.9),
    'latency200x1': Row(slow(200, 4, 1, mapcache=1, mapproxy=1), 0),
}


def median(results):
    """The median of each value."""
    return Result(*(statistics.median(values)
                    for values in zip(*map(dataclasses.astuple, results))))


def run(rig, seeders, row, runs):
    """{name: median of its runs}; everybody runs once before anybody runs again."""
    results = {name: [] for name in seeders}
    for _ in range(runs):
        for name, seed in seeders.items():
            results[name].append(seed(rig, row.case))
    return {name: median(found) for name, found in results.items()}


# The table

COLUMNS = ('tiles/s', 'CPU s/1000', 'upstream', 'peak MB', 'bytes/tile', 'requests', 'connections')
FORMATS = ('{:.0f}', '{:.3f}', '{:.3f}', '{:.0f}', '{:.0f}', '{:.0f}', '{:.0f}')
LINE = '| {:14} | {:25} |' + ' {:>11} |' * len(COLUMNS)


def head():
    """The head of the table."""
    return (LINE.format('row', 'seeder', *COLUMNS) + '\n'
            + '|---' * 2 + '|---:' * len(COLUMNS) + '|')


def cells(result):
    """The values of a line."""
    return (result.tiles / result.seconds, result.cpu * 1000 / result.tiles,
            result.upstream * 1000 / result.tiles, result.memory, result.size / result.tiles,
            result.requests, result.connections)


def ratios(ours, theirs):
    """Our values by theirs."""
    return [f'{mine / other:.2f}' if other else '-'
            for mine, other in zip(cells(ours), cells(theirs))]


def fastest_peer(medians):
    """The name of the best peer, or None without any."""
    present = [name for name in PEERS if name in medians]
    return min(present, key=lambda name: medians[name].seconds, default=None)


def table(name, medians, others):
    """The lines of the table: every seeder, then ours by some of the others."""
    for seeder, result in medians.items():
        yield LINE.format(name, seeder, *(form.format(value)
                                          for form, value in zip(FORMATS, cells(result))))
    for other in filter(medians.get, others):
        yield LINE.format(name, f'tileseed / {other}',
                          *ratios(medians['tileseed'], medians[other]))


def lines(name, row, medians):
    """The lines of a row: every seeder, then ours by the best peer and by the roofline."""
    best = fastest_peer(medians)
    yield from table(name, medians, (best, 'roofline'))
    yield from verdicts(name, row, medians, best)


def verdicts(name, row, medians, best):
    """What is wanted beside what was found."""
    ours = medians['tileseed']
    wanted = [('tiles/s of the best peer', best, row.peer, 'seconds', 1),
              ('tiles/s of the roofline', 'roofline', row.roofline, 'seconds', 1)]
    if row.size:
        wanted.append((f'bytes of {row.size[0]}', row.size[0], row.size[1], 'size', -1))
    for what, other, ratio, value, sign in wanted:
        if ratio and other in medians:
            found = getattr(medians[other], value) / getattr(ours, value)
            yield verdict(name, what, found ** sign, ratio, sign > 0)
    if not row.peer:
        found = row.case.metatiles * row.case.delay / 1000 / ours.seconds
        yield verdict(name, 'metatiles per latency', found, .95, True)


def verdict(name, what, found, wanted, at_least):
    """One promise, kept or not."""
    kept = found >= wanted if at_least else found <= wanted
    bound = '>=' if at_least else '<='
    return (f'{"ok" if kept else "MISSED":6} {name:14} {found:9.3f} {bound} {wanted:g} {what}')
