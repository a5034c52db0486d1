# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The rows in which a real WMS draws: what counts is the time and the CPU of both sides.

Every peer seeds twice: with metatiles of 4x4, which is the default of mapproxy-seed and more than
that of mapcache_seed, and with the size that suits it best behind this upstream. Ours has its own
default, or the first TileSeedMetatile of BENCH_MAP_METATILE; the others are measured beside it.
"""
import dataclasses
import os

import rows
from rig import Case
from upstreams import UPSTREAMS

ZOOM = int(os.environ.get('BENCH_MAP_ZOOM') or 7)
OURS, *MORE = (os.environ.get('BENCH_MAP_METATILE') or 'default').split(',')
IN_FLIGHT = 4                   # the default of connections=
DEFAULT = 4                     # the peers' metatiles when nobody chooses


@dataclasses.dataclass
class Row:
    """What is wanted of us behind one upstream."""
    best: int                   # the peers' metatiles that suit them best
    together: float = 0         # CPU seconds of seeder and upstream by the least of a peer's
    alone: float = 0            # CPU seconds of the seeder by mapcache_seed's, at 4x4
    peer: float = 3             # tiles/s by the best peer's with metatiles of 4x4
    best_peer: float = 1        # the same with those that suit them best
    case: Case = dataclasses.field(default_factory=lambda: Case(
        'map', ZOOM, meta=DEFAULT, in_flight=IN_FLIGHT, metatile=OURS))


# mapproxy refuses more than 4000 x 4000 pixels
ROWS = {
    'mapserver': Row(16, alone=.3),
    'mapserver-fcgi': Row(16, together=.9),
    'qgis': Row(16, together=.9),
    'mapproxy-wms': Row(8, together=.9),
}


def missing(name):
    """A word for a row whose upstream isn't there, or None."""
    program = UPSTREAMS[name].lacks()
    return f'-      {name}: {program} is not installed' if program else None


def label(peer, meta):
    """The name of a peer with a size of metatiles."""
    return f'{peer} {meta}x{meta}'


def bind(seed, **more):
    """A seeder with metatiles of its own."""
    return lambda rig, case: seed(rig, dataclasses.replace(case, **more))


def seeders_of(row, seeders):
    """{name: how to run}: ours, then each peer with both sizes."""
    found = {'tileseed': seeders['tileseed']}
    found |= {f'tileseed {size}': bind(seeders['tileseed'], metatile=size) for size in MORE}
    for meta in (DEFAULT, row.best):
        for peer in filter(seeders.get, rows.PEERS):
            found[label(peer, meta)] = bind(seeders[peer], meta=meta)
    return found


def run(rig, seeders, name, runs):
    """{name: median of its runs}."""
    with rig.behind(UPSTREAMS[name]()):
        return rows.run(rig, seeders_of(ROWS[name], seeders), ROWS[name], runs)


def least(medians, meta, value):
    """The peer with the least of a value, with one size of metatiles; None without peers."""
    present = [name for name in (label(peer, meta) for peer in rows.PEERS) if name in medians]
    return min(present, key=lambda name: value(medians[name]), default=None)


def seconds(result):
    """How long a run was."""
    return result.seconds


def together(result):
    """CPU seconds of both sides."""
    return result.cpu + result.upstream


def lines(name, medians):
    """The lines of a row, then its verdicts."""
    row = ROWS[name]
    fastest = [least(medians, meta, seconds) for meta in (DEFAULT, row.best)]
    yield from rows.table(name, medians, fastest)
    yield from verdicts(name, row, medians, fastest)


def verdicts(name, row, medians, fastest):
    """What is wanted beside what was found."""
    ours = medians['tileseed']
    for other, wanted in zip(fastest, (row.peer, row.best_peer)):
        if other:
            yield rows.verdict(name, f'tiles/s of {other}',
                               seconds(medians[other]) / seconds(ours), wanted, True)
    cheapest = least(medians, row.best, together)
    if row.together and cheapest:
        yield rows.verdict(name, f'of the CPU of {cheapest} and its upstream',
                           together(ours) / together(medians[cheapest]), row.together, False)
    mapcache = medians.get(label('mapcache', DEFAULT))
    if row.alone and mapcache:
        yield rows.verdict(name, "of mapcache_seed's CPU alone", ours.cpu / mapcache.cpu,
                           row.alone, False)
