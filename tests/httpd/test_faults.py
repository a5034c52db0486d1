# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""An upstream that misbehaves: its answers become failures with a cause, never tiles."""
import pytest

from seeding import REST, begin, counts, done, ended, failures, files, geowebcache_path, stub
from test_tiles import TILES, fetch
from tileseed_httpd import one_mpm
from upstream import Fault

SUMMARY = 'failed answers? of the upstream'

# Each fault and what its cause must say; tests/unit/test_fetcher.c has more of them.
FAULTS = {
    'xml': (Fault('xml'), 'the stub was told to fail'),
    'disguised': (Fault('disguised'), ''),
    'broken': (Fault('broken'), ''),
    'size': (Fault('size'), 'pixels'),
    '404': (Fault('status', 404), '404'),
    'drip': (Fault('drip', 0.5), 'answer not complete within 2 s'),
    'hang': (Fault('hang'), 'no answer within 2 s'),
    'mistyped': (Fault('mistyped'), 'wrong type: image/png called text/plain'),
    'huge': (Fault('huge', 4 << 20), 'answer longer than 1056768 bytes'),    # 32 x 32 pixels
}


@one_mpm
@pytest.mark.parametrize('kind', FAULTS)
def test_a_failure_has_a_cause_and_no_tiles(httpd, upstream, kind):
    """The other metatiles are made, the task is done, and the cause is kept."""
    fault, words = FAULTS[kind]
    httpd.expect(SUMMARY)
    timeout = '300s' if kind == 'huge' else '2s'
    httpd.start(REST + 'TileSeedRetries 0\n' + stub(upstream, timeout=timeout))
    seen = []

    def decide(asked):
        """The third metatile is the bad one, however often it is asked for."""
        which = asked['BBOX'], asked['WIDTH']
        if which not in seen:
            seen.append(which)
        return fault if seen.index(which) == 2 else None
    upstream.decide = decide
    document = done(httpd, 'stub', zoomStop=2)
    assert counts(document) == (17, 0, 0, 4)
    assert len(files(httpd)) == 17
    (z, x, y, cause, attempts), = failures(httpd, document['id'])
    assert (z, x, y, attempts) == (2, 0, 0, 1)
    assert cause and words in cause, cause
    assert cause in httpd.error_log()

    upstream.decide = lambda asked: None
    again = done(httpd, 'stub', zoomStop=2)
    assert counts(again) == (4, 17, 0, 0)
    assert len(files(httpd)) == 21


@one_mpm
def test_an_answer_that_swells_is_a_failure(httpd, upstream):
    """4 KB of it become 4 MB: its length is what it becomes, and a tile is asked for."""
    httpd.expect(SUMMARY)
    httpd.start(REST + 'TileSeedRetries 0\n' + stub(upstream))
    upstream.faults = [Fault('bomb', 4 << 20)]
    document = ended(httpd, begin(httpd, 'stub', zoomStop=0))
    (*_, cause, _), = failures(httpd, document['id'])
    assert 'answer longer than 1050624 bytes' in cause


@one_mpm
def test_retries_mend_passing_faults(httpd, upstream):
    """As many bad answers to a metatile as there are retries leave no failure behind."""
    httpd.expect(SUMMARY)
    upstream.faults = [Fault('status', 503), Fault('status', 502), None] * 2 + [Fault('truncated')]
    httpd.start(REST + 'TileSeedRetries 2\n' + stub(upstream))
    document = done(httpd, 'stub', zoomStop=2, tileFailureRetryWaitTime=10)
    assert counts(document) == (21, 0, 0, 0)
    assert document['upstreamRequests'] == len(upstream.requests) == 6 + 5
    assert not failures(httpd, document['id'])


@one_mpm
def test_too_many_failures_abort(httpd, upstream):
    """The limit, and the last cause, are the task's reason."""
    httpd.expect(SUMMARY)
    httpd.expect('aborted')
    upstream.always = Fault('status', 404)
    httpd.start(REST + 'TileSeedRetries 0\nTileSeedFailureLimit 3\n' + stub(upstream))
    document = ended(httpd, begin(httpd, 'stub', zoomStop=5))
    assert document['state'] == 'ABORTED'
    assert '3' in document['reason'] and '404' in document['reason'], document['reason']
    assert 4 <= len(failures(httpd, document['id'])) <= 6
    assert not files(httpd)
    document = ended(httpd, begin(httpd, 'stub', zoomStop=1, totalFailuresBeforeAborting=-1))
    assert (document['state'], document['tilesFailed']) == ('ABORTED', 5)
    assert document['reason'] == ('nothing was made: 2 metatiles failed, the last one: '
                                  '404 Not Found: the stub was told to fail')


@one_mpm
def test_some_failures_are_said(httpd, upstream):
    """A task that is done with losses says so, in its document and in the log."""
    httpd.expect(SUMMARY)
    httpd.start(REST + 'TileSeedRetries 0\n' + stub(upstream))
    upstream.faults = [None, Fault('status', 404)]
    document = ended(httpd, begin(httpd, 'stub', zoomStop=1, threadCount=1))
    assert document['state'] == 'DONE' and document['tilesFailed'] in (1, 4)
    assert document['reason'] == ('1 metatile failed, the last one: '
                                  '404 Not Found: the stub was told to fail')
    line = next(line for line in httpd.error_log().splitlines() if ' done after ' in line)
    assert ':warn' in line and '1 metatile failed' in line
    document = done(httpd, 'stub', zoomStop=1)
    assert document['reason'] is None and document['tilesFailed'] == 0


@one_mpm
def test_a_link_in_place_of_a_tile(httpd, upstream):
    """It is no tile for a seed either, and both a seed and a request put the tile there."""
    httpd.start(REST + TILES + stub(upstream))
    done(httpd, 'stub', zoomStop=1)
    tile = httpd.path('cache') / geowebcache_path('stub', 'small', 'png', (1, 0, 0))
    httpd.path('other').write_bytes(b'other')
    for make in (lambda: counts(done(httpd, 'stub', zoomStop=1)) == (1, 4, 0, 0),
                 lambda: fetch(httpd, '/tiles/stub/small/1/0/1.png').body != b'other'):
        tile.unlink()
        tile.symlink_to(httpd.path('other'))
        assert make()
        assert tile.is_file() and not tile.is_symlink()


@one_mpm
def test_a_directory_in_place_of_a_tile(httpd, upstream):
    """That tile alone is not stored: its metatile fails and the cause names it, all others are
    made, and requests get what they ask for. A tile below a derived one that no tile can be is
    named as well."""
    httpd.expect('1 metatile failed')
    httpd.start(REST + TILES + stub(upstream, 'TileSeedDerive zoom=1-1'))
    done(httpd, 'stub', zoomStart=2, zoomStop=2)
    tile, neighbour = (httpd.path('cache') / geowebcache_path('stub', 'small', 'png', (2, x, 3))
                       for x in (3, 2))
    tile.unlink()
    neighbour.unlink()
    tile.mkdir()
    document = ended(httpd, begin(httpd, 'stub', zoomStart=2, zoomStop=2))
    assert (document['state'], counts(document)) == ('DONE', (1, 14, 0, 1))
    assert document['reason'] == (
        f"1 metatile failed, the last one: {tile} can't be replaced: Is a directory")
    assert [row[:4] for row in failures(httpd, document['id'])] == [
        (2, 2, 2, f"{tile} can't be replaced: Is a directory")]
    neighbour.unlink()
    assert 'stored' in fetch(httpd, '/tiles/stub/small/2/2/0.png').headers['Cache-Status']
    assert 'stored' not in fetch(httpd, '/tiles/stub/small/2/3/0.png').headers['Cache-Status']
    tile.rmdir()
    with open(tile, 'wb') as file:
        file.truncate(1 << 30)
    document = ended(httpd, begin(httpd, 'stub', zoomStart=1, zoomStop=1))
    assert counts(document) == (3, 0, 0, 1)
    assert f'{tile}: File too large' in document['reason']


@one_mpm
@pytest.mark.parametrize('limit, more, state', [
    ('26%', {}, 'ABORTED'), ('27%', {}, 'DONE'),
    ('0%', {'totalFailuresBeforeAborting': -1}, 'DONE'),
    ('27%', {'totalFailuresBeforeAborting': 16}, 'ABORTED')])
def test_failures_are_a_share(httpd, upstream, limit, more, state):
    """More than a share of a task's metatiles end it, unless the request says how many may fail."""
    httpd.expect(SUMMARY)
    httpd.expect('aborted')
    httpd.start(REST + f'TileSeedRetries 0\nTileSeedFailureLimit {limit}\n'
                + stub(upstream, meta='4x4'))
    def decide(asked):
        """17 of the 64 metatiles are never drawn, between 26 and 27 per cent."""
        column, row = (int(float(place) / 125) for place in asked['BBOX'].split(',')[:2])
        return Fault('status', 404) if column * 8 + row in range(1, 18) else None
    upstream.decide = decide
    document = ended(httpd, begin(httpd, 'stub', zoomStart=5, zoomStop=5, **more))
    assert document['state'] == state, document
    assert document['tilesFailed'] == 17 * 16 or state == 'ABORTED'
