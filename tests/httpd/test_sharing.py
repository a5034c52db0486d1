# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Tasks that need the same pictures of an upstream: each is fetched once for all of them."""
import os
import signal

import pytest

from seeding import (REST, begin, coords, counts, done, ended, failures, seeder_of, stub, task,
                     terminate)
from test_auto import contents
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

FORMATS = ('TileSeedFormat image/png', 'TileSeedFormat image/webp from=image/png')
KINDS = ('image/png', 'image/webp')
LAST = 5
SUMMARY = 'failed answers? of the upstream'
META = '4x4'


def total(last):
    """How many tiles the levels up to `last` have."""
    return (4 ** (last + 1) - 1) // 3


TILES = total(LAST)


def begin_both(httpd, **members):
    """A task of each format; returns their ids."""
    return [begin(httpd, 'stub', zoomStop=LAST, format=kind, **members) for kind in KINDS]


def progress(httpd, number, tiles):
    """Waits until a task has made so many tiles."""
    wait_until(lambda: task(httpd, number)['tilesProcessed'] >= tiles)


def seeded_apart(httpd, upstream, meta, last=LAST):
    """Seeds one format after the other and takes the tiles away again; returns what they were, and
    how many requests one of them needs."""
    upstream.is_ground = True
    httpd.start(REST + stub(upstream, *FORMATS, meta=meta))
    for kind in KINDS:
        assert counts(done(httpd, 'stub', zoomStop=last, format=kind, threadCount=2)) == \
            (total(last), 0, 0, 0)
    found = contents(httpd)
    assert len(found) == 2 * total(last)
    for kind in KINDS:
        done(httpd, 'stub', zoomStop=last, format=kind, type='truncate')
    requests = len(upstream.requests)
    del upstream.requests[:]
    assert requests % 2 == 0 or meta != META
    return found, requests // 2


@one_mpm
@pytest.mark.parametrize('meta', [META, '4x4 gutter=3', 'auto max=16x16'])
def test_two_formats(httpd, upstream, meta):
    """The tiles are those of tasks that ran one after the other, for half of the requests."""
    expected, requests = seeded_apart(httpd, upstream, meta)
    upstream.decide = lambda asked: Fault('delay', .02)
    both = begin_both(httpd, threadCount=2)
    documents = [ended(httpd, number) for number in both]
    assert [counts(document) for document in documents] == [(TILES, 0, 0, 0)] * 2
    assert sum(document['upstreamRequests'] for document in documents) == len(upstream.requests)
    if meta != 'auto max=16x16':
        assert len(upstream.requests) < 1.3 * requests
        assert [document['upstreamRequests'] + document['sharedRequests']
                for document in documents] == [requests] * 2
    assert contents(httpd) == expected


@one_mpm
def test_the_first_waits_for_the_second(httpd, upstream):
    """Where that saves more requests than the first is ahead, which are more than a few."""
    last = 4
    _, requests = seeded_apart(httpd, upstream, '1x1', last)
    upstream.decide = lambda asked: Fault('delay', .01)
    first = begin(httpd, 'stub', zoomStop=last, format=KINDS[0], threadCount=1)
    progress(httpd, first, total(last) // 4)
    second = begin(httpd, 'stub', zoomStop=last, format=KINDS[1], threadCount=1)
    reasons = set()

    def are_ended():
        documents = [task(httpd, number) for number in (first, second)]
        reasons.add(documents[0]['reason'] or '')
        return all(document['state'] == 'DONE' for document in documents)
    wait_until(are_ended, 120, 'the ends')
    assert any(f'task {second} needs the same pictures' in reason for reason in reasons)
    assert counts(task(httpd, first)) == counts(task(httpd, second)) == (total(last), 0, 0, 0)
    assert 'needs the same' not in (task(httpd, first)['reason'] or '')
    assert len(upstream.requests) < 1.5 * requests


@one_mpm
def test_reseeds(httpd, upstream):
    """What did not change is asked for once too."""
    expected, requests = seeded_apart(httpd, upstream, META)
    for number in begin_both(httpd, threadCount=2):
        ended(httpd, number)
    del upstream.requests[:]
    upstream.decide = lambda asked: Fault('delay', .02)
    documents = [ended(httpd, number) for number in begin_both(httpd, type='reseed', threadCount=2)]
    assert [counts(document) for document in documents] == [(0, TILES, 0, 0)] * 2
    assert [document['tilesUnchanged'] for document in documents] == [TILES] * 2
    assert len(upstream.requests) < 1.5 * requests
    assert contents(httpd) == expected


@one_mpm
def test_a_reseed_takes_no_answer_of_before_its_time(httpd, upstream):
    """Also where a task of another part of the map was its partner then."""
    seeded_apart(httpd, upstream, META)
    part, rest = coords(0, 0, 240, 240), coords(510, 510, 990, 990)
    members = {'zoomStart': 4, 'zoomStop': 4, 'bounds': part}
    upstream.decide = lambda asked: \
        Fault('held') if float(asked['BBOX'].split(',')[0]) > 400 else None
    last = begin(httpd, 'stub', zoomStart=7, zoomStop=7, bounds=rest, format=KINDS[1])
    wait_until(lambda: upstream.requests)
    done(httpd, 'stub', format=KINDS[0], **members)
    upstream.is_ground = False      # another map
    document = done(httpd, 'stub', format=KINDS[1], type='reseed', **members)
    assert (counts(document), document['sharedRequests']) == ((16, 0, 0, 0), 0)
    upstream.decide = lambda asked: None
    upstream.released.set()
    assert ended(httpd, last)['state'] == 'DONE'


@one_mpm
@pytest.mark.parametrize('which', [0, 1])
def test_one_is_terminated(httpd, upstream, which):
    """The other goes on and is complete, whoever had asked."""
    seeded_apart(httpd, upstream, META)
    upstream.decide = lambda asked: Fault('delay', .02)
    both = begin_both(httpd, threadCount=2)
    progress(httpd, both[0], TILES // 8)
    answer = httpd.post('/rest/seed/stub', f'kill_thread=1&thread_id={both[which]}')
    assert answer.status == 200, answer.body
    other = ended(httpd, both[1 - which])
    assert other['state'] == 'DONE' and counts(other) == (TILES, 0, 0, 0)
    assert ended(httpd, both[which])['state'] == 'ABORTED'


@one_mpm
def test_killed_in_the_middle(httpd, upstream):
    """kill -9 of the seeder: both go on, and their sums are exact."""
    httpd.expect('seeder')
    expected, _ = seeded_apart(httpd, upstream, META)
    upstream.decide = lambda asked: Fault('delay', .03)
    both = begin_both(httpd, threadCount=2)
    progress(httpd, both[1], TILES // 4)
    old = seeder_of(httpd)
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: seeder_of(httpd) not in (None, old), what='a new seeder')
    for number in both:
        document = ended(httpd, number)
        assert document['state'] == 'DONE', document
        made, skipped, removed, failed = counts(document)
        assert (made + skipped, removed, failed) == (TILES, 0, 0)
    assert contents(httpd) == expected


@one_mpm
def test_what_fails_fails_for_each(httpd, upstream):
    """A request that fails is no answer for the other: it asks for itself."""
    httpd.expect(SUMMARY)
    seeded_apart(httpd, upstream, META)

    def decide(asked):
        left, low, right, _ = map(float, asked['BBOX'].split(','))
        is_corner = left <= 0 and low <= 0 and right < 1000 / 2 ** LAST * 5  # of the last level
        return Fault('disguised') if is_corner else Fault('delay', .02)
    upstream.decide = decide
    httpd.restart(REST + 'TileSeedRetries 1\n' + stub(upstream, *FORMATS, meta=META))
    for number in begin_both(httpd, threadCount=2):
        document = ended(httpd, number)
        assert document['tilesMade'] + document['tilesFailed'] == TILES
        (z, x, y, _, attempts), = failures(httpd, number)
        assert ((z, x, y), attempts) == ((LAST, 0, 0), 2)


@one_mpm
def test_a_truncate_between(httpd, upstream):
    """Answers of before a truncate are not stored, nor handed on."""
    seeded_apart(httpd, upstream, META)
    upstream.decide = lambda asked: Fault('delay', .02)
    both = begin_both(httpd, threadCount=2)
    progress(httpd, both[0], TILES // 8)
    terminate(httpd)
    for number in both:
        ended(httpd, number)
    upstream.is_ground = False
    for kind in KINDS:
        done(httpd, 'stub', zoomStop=LAST, format=kind, type='truncate')
    assert not contents(httpd)
    for number in begin_both(httpd, threadCount=2):
        assert counts(ended(httpd, number)) == (TILES, 0, 0, 0)
    again = contents(httpd)
    for kind in KINDS:
        done(httpd, 'stub', zoomStop=LAST, format=kind, type='reseed', threadCount=2)
    assert contents(httpd) == again
