# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The benchmark's judgements, each on something that is wrong."""
import pathlib
import shutil
import sys
import urllib.request

import pytest
from PIL import Image

BENCH = pathlib.Path(__file__).resolve().parents[1] / 'bench'
sys.path.insert(0, str(BENCH))

import auto                                                         # noqa: E402
import bench                                                        # noqa: E402
import maps                                                         # noqa: E402
import measures                                                     # noqa: E402
import pruning                                                      # noqa: E402
import rig                                                          # noqa: E402
import rows                                                         # noqa: E402
import serve                                                        # noqa: E402
import upstreams                                                    # noqa: E402
from tileseed_httpd import MPMS                                     # noqa: E402


def result(seconds, size=1000):
    """What a run of 100 tiles took."""
    return rig.Result(100, seconds, seconds, 10, size, 7, 7)


def judged(peer, ours, size=1000):
    """The verdicts of a row that wants twice the peer and at most a tenth more bytes."""
    row = rows.Row(rig.Case('rgba', 3), 2, 0, ('mapcache', 1.1))
    medians = {'tileseed': result(ours, size), 'mapcache': result(peer), 'mapproxy': result(99)}
    return [line.split()[0] for line in rows.lines('rgba', row, medians) if line[0] != '|']


@pytest.mark.parametrize('peer, ours, size, verdicts', [
    (2.0, 1.0, 1100, ['ok', 'ok']),
    (2.0, 1.1, 1100, ['MISSED', 'ok']),
    (2.0, 1.0, 1101, ['ok', 'MISSED']),
])
def test_verdicts(peer, ours, size, verdicts):
    """Seconds and bytes a little too many are seen."""
    assert judged(peer, ours, size) == verdicts


def judged_map(name, ours, peer, best):
    """The verdicts of a row with a real WMS: (seconds, CPU, CPU of the upstream) of ours, of both
    peers with metatiles of 4x4 and of the one whose size suits it better; the other is worse."""
    def ran(seconds, cpu, upstream):
        return rig.Result(100, seconds, cpu, 10, upstream=upstream)
    medians = {'tileseed': ran(*ours), 'mapcache 4x4': ran(*peer), 'mapproxy 4x4': ran(*peer),
               'mapcache 16x16': ran(*best), 'mapproxy 16x16': ran(99, 99, 99)}
    return [line.split()[0] for line in maps.lines(name, medians) if line[0] != '|']


@pytest.mark.parametrize('ours, verdicts', [
    ((1.0, 3, 6), ['ok', 'ok', 'ok']),
    ((1.1, 3, 6), ['MISSED', 'MISSED', 'ok']),
    ((1.0, 4, 6), ['ok', 'ok', 'MISSED']),
    ((1.0, 3, 7), ['ok', 'ok', 'MISSED']),
])
def test_verdicts_of_maps(ours, verdicts):
    """Too slow beside either size of the peers, and too much CPU of both sides, are seen."""
    assert judged_map('mapserver-fcgi', ours, (3, 10, 20), (1, 5, 5)) == verdicts


@pytest.mark.parametrize('cpu, verdict', [(3, 'ok'), (3.1, 'MISSED')])
def test_verdict_of_the_seeder_alone(cpu, verdict):
    """Behind CGI the seeder's own CPU is compared."""
    assert judged_map('mapserver', (1, cpu, 9), (3, 10, 20), (1, 5, 5)) == ['ok', 'ok', verdict]


BUSY = """#!/bin/sh
exec %s -c '
import time
while time.process_time() < 0.3: pass
print("Content-Type: image/png\\n")'
"""


@pytest.mark.skipif('prefork' not in MPMS, reason='only prefork waits for its CGI programs')
def test_cpu_of_programs_that_have_ended(monkeypatch):
    """Two maps drawn by a program that takes 0.3 s of CPU and is gone: 0.6 s, of which the kernel
    drops less than a tick each time that it counts."""
    def prepare(self):
        program = self.httpd.path('busy')
        program.write_text(BUSY % sys.executable)
        program.chmod(0o755)
    monkeypatch.setattr(upstreams.Wms, 'prepare', prepare)
    monkeypatch.setattr(upstreams.Wms, 'warm_up', lambda self: None)
    monkeypatch.setattr(upstreams.Wms, 'path', '/busy')
    monkeypatch.setattr(upstreams.Wms, 'configuration', lambda self: """
        ScriptAlias "/busy" "@ROOT@/busy"
        <Location "/busy">
            Require all granted
        </Location>""")
    busy = upstreams.Wms()
    try:
        for _ in range(2):
            urllib.request.urlopen(busy.url(None) + upstreams.MAP, timeout=60).close()
        found = busy.counts()
        assert (found['requests'], found['connections'], found['missing']) == (2, 2, 0)
        assert found['cpu'] >= 0.5
        assert busy.counts()['requests'] == 0
    finally:
        busy.close()
    assert not busy.httpd.leftovers and not busy.httpd.root.exists()


def test_a_map_server_that_is_missing(monkeypatch):
    """It is named, and its row is left out."""
    monkeypatch.setattr(shutil, 'which', lambda name: None)
    assert maps.missing('mapserver') == '-      mapserver: mapserv is not installed'
    assert maps.missing('qgis') == '-      qgis: qgis-server is not installed'


def judged_hits(rate, cpu, peer):
    """The verdicts of `serve` where the default handler does 100 hits/s with a second of CPU each.
    One round of three is disturbed."""
    def rounds(rate, cpu):
        return [serve.Hits(rate, cpu), serve.Hits(rate, cpu), serve.Hits(1, 99)]
    found = {'file': rounds(100, 1), 'path': rounds(rate, cpu), 'WMTS': rounds(100, 1),
             'mapcache path': rounds(peer, 1)}
    return [line.split()[0] for line in serve.judge(found) if not line.startswith(' ')]


@pytest.mark.parametrize('rate, cpu, peer, verdicts', [
    (97, 1.03, 97, ['ok', 'ok', 'ok']),
    (96, 1.03, 90, ['MISSED', 'ok', 'ok']),
    (97, 1.04, 90, ['ok', 'MISSED', 'ok']),
    (97, 1.03, 98, ['ok', 'ok', 'MISSED']),
])
def test_verdicts_of_hits(rate, cpu, peer, verdicts):
    """Too few hits, and too much CPU, are seen; a row without mod_mapcache has no word on it."""
    assert judged_hits(rate, cpu, peer) == [*verdicts, 'ok', 'ok']


def test_median():
    """Each value has a median of its own."""
    found = rows.median([result(1, 30), result(5, 10), result(2, 20)])
    assert (found.seconds, found.size) == (2, 20)


def test_inventory_counts_names_and_inodes(tmp_path):
    """A link is a tile without bytes; what is hidden or no picture is no tile."""
    (tmp_path / 'a.png').write_bytes(b'12345')
    (tmp_path / 'b.png').hardlink_to(tmp_path / 'a.png')
    (tmp_path / '.c.png').write_bytes(b'1')
    (tmp_path / 'd.txt').write_bytes(b'1')
    assert rig.inventory(tmp_path) == (2, 5)


@pytest.mark.parametrize('place', [(0, 0), (255, 255), (100, 3)])
def test_pixels_differ(place):
    """One pixel is enough."""
    tile = Image.new('RGBA', (256, 256), (10, 20, 30, 255))
    other = tile.copy()
    assert measures.is_equal(tile, other)
    other.putpixel(place, (10, 20, 31, 255))
    assert not measures.is_equal(tile, other)


@pytest.mark.parametrize('place, colour, equal', [
    ((0, 0), (9, 128, 128), False), ((0, 0), (10, 127, 128), True), ((2, 2), (10, 127, 128), False),
])
def test_stored_pixels_differ(place, colour, equal):
    """Of a JPEG only the colour of its edge may differ."""
    tile = Image.new('YCbCr', (256, 256), (10, 128, 128))
    other = tile.copy()
    other.putpixel(place, colour)
    assert measures.is_equal(tile, other) == equal


def test_unknown_row(monkeypatch):
    """A row that isn't there is named."""
    monkeypatch.setenv('BENCH_ROWS', 'rgba colour')
    with pytest.raises(SystemExit, match='no row colour; there are rgba'):
        bench.chosen()
    monkeypatch.setenv('BENCH_ROWS', 'post, rgba')
    assert bench.chosen() == ['rgba', 'post']


def sent(tiles, seconds, beginning=0):
    """What an upstream has sent, evenly after a beginning of so many seconds without anything."""
    return {'first': 100, 'last': 100 + beginning + seconds, 'pixels': tiles * 65536,
            'beginningPixels': tiles * 6553.6, 'beginningEnd': 100 + beginning + seconds / 10}


@pytest.mark.parametrize('tiles, beginning, verdicts', [
    (9000, 0, ['ok', 'ok']),            # a tenth slower than 10,000 in 10 s
    (8900, 0, ['MISSED', 'ok']),
    (10000, 4.8, ['ok', 'ok']),         # 3 % of the 160 s of a task
    (10000, 4.9, ['ok', 'MISSED']),
])
def test_verdicts_of_auto(tiles, beginning, verdicts):
    """Sizes that are too slow, and trials that take too long, are seen."""
    found = auto.judge('20+5', sent(tiles, 10, beginning), {'4x4': 500, '16x16': 1000})
    assert [line.split()[0] for line in found if not line.startswith(' ')] == verdicts


def colours_of(lands, last):
    """{tile: its colour} of the levels 0 to `last`: a tile of a land, or with one below, has none;
    a land is a tile, and shows from its own level on or from another."""
    def is_wet(tile):
        z, x, y = tile
        for (level, column, row), shown in lands.items():
            up, down = max(level - z, 0), max(z - level, 0)
            if z >= shown and (column >> up, row >> up) == (x >> down, y >> down):
                return False
        return True
    return {(z, x, y): 'sea' if is_wet((z, x, y)) else None
            for z in range(last + 1) for x in range(2 ** z) for y in range(2 ** z)}


@pytest.mark.parametrize('lands, meta, levels, expected', [
    # a land in one of four quarters: three quarters are pruned below level 1, or below level 2
    ({(1, 0, 0): 0}, 1, 0, (1 + 4 + 4 + 16, 60, 0, 3, 0)),
    ({(1, 0, 0): 0}, 1, 1, (1 + 4 + 16 + 16, 48, 0, 12, 0)),
    # an island of one tile of level 3 in another quarter, which level 1 and 2 don't show
    ({(1, 0, 0): 0, (3, 7, 7): 3}, 1, 0, (25, 60, 1, 3, 1)),
    ({(1, 0, 0): 0, (3, 7, 7): 3}, 1, 1, (37, 48, 1, 12, 1)),
    ({(1, 0, 0): 0, (3, 7, 7): 2}, 1, 1, (37 + 4, 44, 0, 11, 0)),
    # metatiles of 2 x 2: level 1 is one, with land; level 2 has four, three of them of one colour
    ({(1, 0, 0): 0}, 2, 0, (1 + 1 + 4 + 4, 12, 0, 3, 0)),
    ({(1, 0, 0): 0}, 2, 1, (22, 0, 0, 0, 0)),
])
def test_what_pruning_misses(lands, meta, levels, expected):
    """(asked, pruned, wrong metatiles, subtrees, wrong subtrees) of four levels, by hand."""
    truth = pruning.in_metatiles(colours_of(lands, 3), meta)
    assert pruning.judge(truth, meta, levels) == expected
