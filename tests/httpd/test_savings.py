# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What saves requests, all at once: joined, shared, pruned and derived, with kills amid them."""
import os
import signal

import pytest

from seeding import REST, begin, counts, done, ended, seeder_of, stub, task
from test_auto import contents
from test_prune import LAND
from test_sharing import total
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

FORMATS = ('TileSeedFormat image/png', 'TileSeedFormat image/webp lossless=on from=image/png',
           'TileSeedFormat image/jpeg from=image/png')
KINDS = ('image/png', 'image/webp', 'image/jpeg')
STOP = 5
WAYS = {'pruned': 'TileSeedPrune uniform=1 check=0',
        'sparse': 'TileSeedPrune uniform=0 check=0 sparse=on',
        'derived': 'TileSeedDerive zoom=1-3'}


def kill(httpd):
    """kill -9 of the seeder; returns when another has come."""
    old = seeder_of(httpd)
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: seeder_of(httpd) not in (None, old), what='a new seeder')


def check(document):
    """Each tile of a seed is counted once. What a killed seeder had found and not saved is not
    pruned below."""
    assert document['state'] == 'DONE', document
    made, skipped, removed, failed = counts(document)
    assert (made + skipped + document['tilesPruned'], removed, failed) == (total(STOP), 0, 0)


@one_mpm
@pytest.mark.parametrize('meta', ['2x2', 'auto'])
@pytest.mark.parametrize('way', WAYS)
def test_three_formats_with_kills(httpd, upstream, way, meta):
    """Each tile is the one of tasks that ran one after the other, and each is counted once."""
    httpd.expect('ended unexpectedly|AH00052')
    upstream.lands = [LAND]
    httpd.start(REST + stub(upstream, *FORMATS, WAYS[way], meta=meta))
    for kind in KINDS:
        check(done(httpd, 'stub', zoomStop=STOP, format=kind, threadCount=2))
    apart = contents(httpd)
    for kind in KINDS:
        done(httpd, 'stub', zoomStop=STOP, format=kind, type='truncate')
    upstream.decide = lambda asked: Fault('delay', .02)
    numbers = [begin(httpd, 'stub', zoomStop=STOP, format=kind, threadCount=2) for kind in KINDS]
    for least in (40, 90):
        wait_until(lambda least=least: task(httpd, numbers[1])['tilesProcessed'] > least)
        kill(httpd)
    documents = [ended(httpd, number) for number in numbers]
    for document in documents:
        check(document)
    assert sum(document['sharedRequests'] for document in documents) > 0
    together = {name: file for name, file in contents(httpd).items()
                if '/.tseed-' not in name}    # what a killed worker was about to finish
    assert way != 'derived' or together.keys() ^ apart.keys() == set()
    common = together.keys() & apart.keys()
    assert len(common) > 100
    assert [name for name in common if together[name] != apart[name]] == []
