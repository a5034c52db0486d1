# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The benchmark's judgements, each on something that is wrong."""
import pathlib
import sys

import pytest
from PIL import Image

BENCH = pathlib.Path(__file__).resolve().parents[1] / 'bench'
sys.path.insert(0, str(BENCH))

import auto                                                         # noqa: E402
import bench                                                        # noqa: E402
import measures                                                     # noqa: E402
import rig                                                          # noqa: E402
import rows                                                         # noqa: E402
import serve                                                        # noqa: E402


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
