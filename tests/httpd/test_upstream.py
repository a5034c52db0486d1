# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Politeness towards an upstream, and what tasks do while one is away."""
import re
import statistics
import time

import pytest

from database import opened
import soak
from seeding import (REST, begin, counts, done, ended, failures, files, layer, rows, stub, task,
                     terminate)
from tileseed_httpd import one_mpm, wait_until
from test_sources import CAPABILITIES
from upstream import Fault

SUMMARY = 'failed answers? of the upstream'
AWAY = 'the upstream stub is away'
REASON = re.compile(r'waiting for upstream stub: (.+) since 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ, '
                    r'(next try at [-0-9]+T[:0-9]+Z|it is being tried)')


def waits(httpd, number):
    """Waits until a task says that it waits; returns the cause."""
    def cause():
        found = REASON.fullmatch(task(httpd, number)['reason'] or '')
        return found and found[1]
    return wait_until(cause)


@one_mpm
def test_the_rate_is_held_over_all_tasks(httpd, upstream):
    """However many threads there are; a twentieth is what requests may take on their way."""
    httpd.start(REST + stub(upstream, polite='rate=50/s', connections=16))
    numbers = [begin(httpd, 'stub', type='reseed', zoomStop=4, threadCount=8) for _ in range(2)]
    for number in numbers:
        assert ended(httpd, number)['state'] == 'DONE'
    times = upstream.times
    assert times[-1] - times[0] >= 0.95 * (len(times) - 1) / 50


@one_mpm
def test_a_failing_metatile_holds_up_nobody(httpd, upstream):
    """With one thread the others are made while it waits for its next try."""
    httpd.expect(SUMMARY)
    upstream.faults = [Fault('status', 500)]
    httpd.start(REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=2, threadCount=1, tileFailureRetryWaitTime=3600000)
    document = wait_until(lambda: (lambda found: found['tilesProcessed'] == 20 and found)(
        task(httpd, number)))
    assert counts(document) == (20, 0, 0, 0)
    assert rows(httpd)[0][4] == 1
    terminate(httpd)


@one_mpm
def test_failures_are_counted_one_by_one(httpd, upstream):
    """Metatiles that the upstream can't draw are lost, each with its cause; the rest is made."""
    httpd.expect(SUMMARY)
    httpd.expect(AWAY)              # a 503 that nothing else has followed yet
    httpd.start(REST + 'TileSeedRetries 1\n' + stub(upstream))
    bad = {divmod(number, 16): Fault('status', (500, 503, 404)[number // 7 % 3])
           for number in range(3, 256, 7)}

    def decide(asked):
        """37 of the 256 metatiles of level 5 are never drawn, of different kinds."""
        return bad.get(tuple(int(float(place) / 62.5) for place in asked['BBOX'].split(',')[:2]))
    upstream.decide = decide
    document = done(httpd, 'stub', zoomStart=5, zoomStop=5, threadCount=4,
                    tileFailureRetryWaitTime=50)
    assert counts(document) == (1024 - 148, 0, 0, 148)
    kept = failures(httpd, document['id'])
    assert len(kept) == 37
    assert {(x // 2, y // 2) for _, x, y, _, _ in kept} == set(bad)
    for _, x, y, cause, attempts in kept:
        assert str(int(bad[x // 2, y // 2].number)) in cause
        assert attempts == 2
    assert len(files(httpd)) == 1024 - 148


@one_mpm
def test_the_last_metatile_is_answered_as_if_the_upstream_were_away(httpd, upstream):
    """Only probes tell that the upstream is there; the metatile is lost all the same."""
    httpd.expect(SUMMARY)
    httpd.expect(AWAY)
    httpd.start(REST + 'TileSeedRetries 1\n' + stub(upstream))
    away = Fault('status', 503)
    upstream.decide = lambda asked: away if asked['BBOX'].startswith('750') else None
    document = done(httpd, 'stub', zoomStart=3, zoomStop=3, tileFailureRetryWaitTime=1)
    assert counts(document) == (64 - 16, 0, 0, 16)
    assert [attempts for *_, attempts in failures(httpd, document['id'])] == [2] * 4


@one_mpm
def test_an_upstream_that_goes_away_and_comes_back(httpd, upstream):
    """Tasks say that they wait, other tasks get their threads, and all end without a failure."""
    httpd.expect(SUMMARY)
    httpd.expect(AWAY)
    httpd.start(REST + 'TileSeedRetries 0\nTileSeedThreads 1\n' + stub(upstream))
    upstream.faults = [None] * 3
    upstream.always = Fault('status', 503)
    number = begin(httpd, 'stub', zoomStop=4)
    assert waits(httpd, number) == '503 Service Unavailable: the stub was told to fail'
    assert task(httpd, number)['state'] == 'RUNNING'
    other = done(httpd, 'stub', type='truncate', zoomStart=6, zoomStop=6)
    assert other['tilesSkipped'] == other['tilesTotal']
    asked = len(upstream.requests)
    wait_until(lambda: len(upstream.requests) > asked + 1)
    assert not failures(httpd, number)
    upstream.always = None
    document = ended(httpd, number)
    assert (document['state'], document['reason']) == ('DONE', None)
    assert counts(document) == (341, 0, 0, 0)
    assert not failures(httpd, number)
    log = httpd.error_log()
    assert log.count('the upstream stub is away') == 1
    assert log.count('the upstream stub is back') == 1


@one_mpm
def test_nobody_listens(httpd, upstream):
    """A task waits for an upstream that was never there; it can be terminated."""
    httpd.expect(SUMMARY)
    httpd.expect(AWAY)
    snippet = REST + 'TileSeedRetries 0\n' + stub(upstream)
    upstream.server.server_close()
    httpd.start(snippet)
    number = begin(httpd, 'stub', zoomStop=1)
    assert waits(httpd, number).startswith('connection refused by 127.0.0.1:')
    terminate(httpd)
    assert task(httpd, number)['state'] == 'ABORTED'
    assert not failures(httpd, number)


@one_mpm
def test_an_upstream_that_hangs(httpd, upstream):
    """Silence is noticed after first-byte-timeout, and waited out."""
    httpd.expect(SUMMARY)
    httpd.expect(AWAY)
    # an answer of a machine that does other work may take longer than a second as well
    httpd.start(REST + 'TileSeedRetries 1000\n'
                + stub(upstream, polite='first-byte-timeout=1s'))
    upstream.always = Fault('hang')
    number = begin(httpd, 'stub', zoomStop=2, threadCount=4)
    assert waits(httpd, number) == 'no answer within 1 s'
    upstream.always = None
    document = ended(httpd, number)
    assert (document['state'], counts(document)) == ('DONE', (21, 0, 0, 0))


@one_mpm
def test_an_upstream_that_says_nothing_is_named(httpd, upstream):
    """Long before a timeout the task says what it waits for, and nothing of pace and rest."""
    httpd.expect(SUMMARY)           # of what hung
    httpd.start(REST + stub(upstream, connections=2))
    upstream.faults = [None, None, Fault('delay', 1)]
    upstream.always = Fault('hang')
    number = begin(httpd, 'stub', zoomStop=4, threadCount=2)

    def hushed():
        """The task's document once it says that it waits."""
        document = task(httpd, number)
        said = re.fullmatch('waiting for upstream stub: no answer since [-0-9]+T[:0-9]+Z',
                            document['reason'] or '')
        return said and document['tilesPerSecond'] is document['secondsRemaining'] is None
    wait_until(hushed)
    assert task(httpd, number)['tilesMade'] > 0
    assert re.search('the upstream stub has not answered for [0-9]+ s; requests under way: [12]',
                     httpd.error_log())
    upstream.always = None
    upstream.ended.set()
    document = ended(httpd, number)
    assert (document['state'], document['reason']) == ('DONE', None)


@one_mpm
def test_an_upstream_away_for_too_long_ends_the_task(httpd, upstream):
    """After TileSeedGiveUp the task is aborted, and says why."""
    httpd.expect(SUMMARY)
    httpd.expect(AWAY)
    httpd.expect('aborted')
    upstream.always = Fault('status', 502)
    httpd.start(REST + 'TileSeedGiveUp 2s\n' + stub(upstream))
    document = ended(httpd, begin(httpd, 'stub', zoomStop=4, tileFailureRetryWaitTime=20))
    assert document['state'] == 'ABORTED'
    assert document['reason'] == ('the upstream stub was away for longer than TileSeedGiveUp '
                                  'allows: 502 Bad Gateway: the stub was told to fail')
    assert not files(httpd)


def waited_for(httpd, hours):
    """Makes the task of a server that stands still wait for so long already; returns since when."""
    with opened(httpd) as state:
        (waits_since,), = state.execute('SELECT away_since FROM task')
        assert waits_since > 0
        since = time.time() - hours * 3600
        state.execute('UPDATE task SET away_since = ?', (int(since * 1e6),))
        state.commit()
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(since))


def refused(httpd, number):
    """Waits until a task says that it is refused."""
    return wait_until(lambda: (lambda found: found['reasonCode'] == 'REFUSED' and found)(
        task(httpd, number)))


@one_mpm
def test_refused_credentials_make_a_task_wait(httpd, upstream):
    """After the first answers it asks for nothing but one picture at a time. It loses none, and
    goes on by itself when the credentials are right."""
    httpd.expect(SUMMARY)
    upstream.always = Fault('status', 401)
    httpd.start(REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=6, threadCount=4)
    said = refused(httpd, number)['reason']
    assert re.fullmatch(r'refused by upstream stub: 401 Unauthorized: the stub was told to fail '
                        r'since 20\S+Z, (next try at \S+Z|it is being tried)', said), said
    assert len(upstream.requests) < 30
    del upstream.busy[:]
    httpd.post('/rest/upstreams/again/stub')
    wait_until(lambda: len(upstream.busy) >= 2)
    assert max(upstream.busy) == 1
    assert task(httpd, number)['tilesFailed'] == 0
    upstream.always = None
    httpd.graceful()
    document = ended(httpd, number)
    assert (document['state'], document['reason'], document['tilesFailed']) == ('DONE', None, 0)


@one_mpm
def test_a_layer_that_the_upstream_does_not_have(httpd, upstream):
    """Makes a task wait, which is asked about no more than needed, and ends it at once where the
    capabilities lack the layer as well."""
    httpd.expect(SUMMARY)
    httpd.expect('does not offer')
    httpd.expect('aborted')
    upstream.always = Fault('layer')
    httpd.start(REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=6)
    assert ': 200 with an XML exception: the stub was' in refused(httpd, number)['reason']
    upstream.capabilities = CAPABILITIES.replace('any', 'another')
    httpd.graceful()
    document = ended(httpd, number)
    assert (document['state'], document['reasonCode']) == ('ABORTED', 'GIVEN_UP')
    assert document['reason'].startswith('the upstream stub does not have what the layer asks for')


@one_mpm
@pytest.mark.parametrize('hours, state', [(23.9, 'RUNNING'), (24.1, 'ABORTED')])
def test_a_restart_is_no_new_beginning(httpd, upstream, hours, state):
    """The time that a task has waited counts on, and is said, whatever happens to the seeder."""
    httpd.expect(SUMMARY)
    httpd.expect(AWAY)
    httpd.expect('aborted')
    upstream.always = Fault('status', 502)
    httpd.start(REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=4)
    waits(httpd, number)
    httpd.stop()
    said = {'RUNNING': f' since {waited_for(httpd, hours)}, ',
            'ABORTED': 'away for longer than TileSeedGiveUp allows'}
    httpd.start()
    def is_there():
        found = task(httpd, number)
        return found['state'] == state and said[state] in (found['reason'] or '')
    wait_until(is_there)


@one_mpm
def test_what_was_waited_for_is_forgotten(httpd, upstream):
    """An upstream that has answered since and goes away again is waited for as long as any."""
    httpd.expect(SUMMARY)
    httpd.expect(AWAY)
    upstream.always = Fault('status', 502)
    httpd.start(REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=6, threadCount=1)
    waits(httpd, number)
    httpd.stop()
    waited_for(httpd, 24.1)
    upstream.always = Fault('delay', 0.02)
    httpd.start()
    wait_until(lambda: task(httpd, number)['tilesMade'] > 400)     # some seconds, of one each
    upstream.always = Fault('status', 502)
    waits(httpd, number)
    assert task(httpd, number)['state'] == 'RUNNING'
    terminate(httpd)


@one_mpm
def test_an_upstream_that_repeats_a_key(httpd, upstream):
    """Neither the record of failures nor the log shows it."""
    httpd.expect(SUMMARY)
    upstream.always = Fault('echo', 403)
    httpd.start(REST + 'TileSeedRetries 0\n'
                + stub(upstream).replace(upstream.url, upstream.url + '?apikey=s3cret'))
    number = begin(httpd, 'stub', zoomStop=0)
    ended(httpd, number)
    (_, _, _, cause, _), = failures(httpd, number)
    assert cause.startswith('403 Forbidden: no /wms?apikey=***&SERVICE=WMS'), cause
    assert 'apikey=***' in httpd.error_log()
    assert 's3cret' not in httpd.error_log()


@one_mpm
def test_concurrency_halves_and_recovers(httpd, upstream):
    """Errors make it smaller, good answers let it grow again."""
    httpd.expect(SUMMARY)
    httpd.start(REST + stub(upstream, connections=16, meta='1x1'))
    upstream.faults = [Fault('delay', 0.1)] * 64 + [Fault('status', 500)] * 60
    upstream.always = Fault('delay', 0.1)
    done(httpd, 'stub', type='reseed', zoomStart=5, zoomStop=5, threadCount=16,
         tileFailureRetryWaitTime=50)
    assert max(upstream.busy[:64]) > 12, upstream.busy
    assert max(upstream.busy[125:137]) <= 8, upstream.busy      # the first good ones after the bad
    assert max(upstream.busy[400:]) > 12, upstream.busy


@one_mpm
def test_concurrency_halves_when_answers_are_slow(httpd, upstream):
    """An upstream that is slow without failing is asked less at a time, until it is as before."""
    httpd.start(REST + stub(upstream, connections=16, meta='1x1'))
    upstream.faults = [Fault('delay', 0.1)] * 100 + [Fault('delay', 1)] * 48
    upstream.always = Fault('delay', 0.1)
    document = done(httpd, 'stub', type='reseed', zoomStart=5, zoomStop=5, threadCount=16)
    assert counts(document) == (1024, 0, 0, 0)
    assert max(upstream.busy[:100]) > 12, upstream.busy
    # the slow ones: 16 under way at once and 16 behind them, as each comes back, say it; on a busy
    # machine a few more are on their way by then
    assert statistics.median(upstream.busy[132:148]) <= 10, upstream.busy
    assert max(upstream.busy[400:]) > 12, upstream.busy


@one_mpm
@pytest.mark.parametrize('kind, seconds', [('later', 3), ('until', 2)])
def test_retry_after_is_obeyed_by_those_who_want_a_tile(httpd, upstream, kind, seconds):
    """A tile that a client waits for is no reason to ask before the time that a task was told."""
    httpd.expect(SUMMARY)
    httpd.start(REST + '<Location "/tiles">\nTileSeedTiles on\nRequire local\n</Location>\n'
                + stub(upstream))
    upstream.faults = [Fault(kind, 3)]
    number = begin(httpd, 'stub', zoomStop=0)
    waits(httpd, number)
    answer = httpd.get('/tiles/stub/small/3/1/1.png')
    assert answer.status == 502 and int(answer.headers['Retry-After']) > 0, answer.body
    document = ended(httpd, number)
    assert (document['state'], document['reason']) == ('DONE', None)    # of the wait
    refused, second = upstream.times[:2]
    assert second - refused >= seconds


@one_mpm
def test_a_pause_for_one_layer(httpd, upstream):
    """An upstream that asks for a pause for one layer, and gives pictures of another one, goes on
    with that. The layer's tasks say why they wait, its missing tiles are refused at once, and who
    has it asked again ends the pause."""
    httpd.expect(SUMMARY)
    second = layer('second', 'TileSeedSource wms upstream:stub layers=second', 'TileSeedGrid small')
    httpd.start(REST + '<Location "/tiles">\nTileSeedTiles on\nRequire local\n</Location>\n'
                + stub(upstream) + second)
    pauses = True

    def decide(asked):
        return Fault('later', 86400) if pauses and asked['LAYERS'] == 'second' else None

    upstream.decide = decide
    done(httpd, 'stub', zoomStop=1)
    number = begin(httpd, 'second', zoomStop=3)
    wait_until(lambda: task(httpd, number)['reasonCode'] == 'QUIET')
    assert done(httpd, 'stub', zoomStop=4)['state'] == 'DONE'
    asked = [one['LAYERS'] for one in upstream.requests].count('second')
    answer = httpd.get('/tiles/second/small/3/1/1.png')
    assert answer.status == 502 and int(answer.headers['Retry-After']) > 0, answer.body
    assert [one['LAYERS'] for one in upstream.requests].count('second') == asked
    document = task(httpd, number)
    assert (document['state'], document['reasonCode']) == ('RUNNING', 'QUIET')
    pauses = False
    assert httpd.post('/rest/upstreams/again/second').status == 200
    assert counts(ended(httpd, number))[3] == 0
    wait_until(lambda: httpd.get('/tiles/second/small/4/1/1.png').status == 200)


@one_mpm
def test_an_upstream_is_asked_again_when_somebody_wants_it(httpd, upstream):
    """A pause of minutes ends at once for tasks, for requests, and where nobody waits."""
    httpd.expect(SUMMARY)
    httpd.start(REST + '<Location "/tiles">\nTileSeedTiles on\nRequire local\n</Location>\n'
                + stub(upstream))
    tile = '/tiles/stub/small/3/1/1.png'

    def again():
        answer = httpd.post('/rest/upstreams/again/stub')
        assert (answer.status, answer.body) == (200, b'')

    upstream.faults = [Fault('later', 300)]
    number = begin(httpd, 'stub', zoomStop=0)
    waits(httpd, number)
    assert httpd.get(tile).status == 502
    again()
    assert ended(httpd, number)['state'] == 'DONE'
    upstream.faults = [Fault('later', 300)]
    assert httpd.get(tile).status == 502            # of a request that has failed itself
    assert httpd.get(tile).status == 502
    asked = len(upstream.times)
    again()
    wait_until(lambda: len(upstream.times) > asked)         # nobody waits: what was answered before
    wait_until(lambda: httpd.get(tile).status == 200)
    answer = httpd.post('/rest/upstreams/again/nowhere')
    assert answer.status == 400 and 'nowhere' in answer.text


@one_mpm
def test_what_hangs_is_asked_for_anew_when_somebody_wants_it(httpd, upstream):
    """At once, though the upstream may be silent for much longer: while it is away, then while it
    only does not answer."""
    httpd.expect(SUMMARY)
    httpd.expect('has not answered for')
    httpd.start(REST + stub(upstream, timeout='900s'))
    upstream.faults = [Fault('later', 300), Fault('hang')]
    number = begin(httpd, 'stub', zoomStop=0)
    waits(httpd, number)
    httpd.post('/rest/upstreams/again/stub')
    wait_until(lambda: len(upstream.times) == 2)
    httpd.post('/rest/upstreams/again/stub')
    assert counts(ended(httpd, number))[1:] == (0, 0, 0)
    upstream.always = Fault('hang')
    number = begin(httpd, 'stub', zoomStop=3, type='reseed', threadCount=4)
    wait_until(lambda: task(httpd, number)['reasonCode'] == 'SILENT')
    upstream.always = None
    httpd.post('/rest/upstreams/again/stub')
    assert ended(httpd, number)['tilesFailed'] == 0


@one_mpm
def test_bad_answers_leave_nothing_behind(httpd, upstream):
    """A short run of what "make soak" does for long. Threads still touch memory for the first time,
    so that only large leaks are seen."""
    early, late = soak.soak(httpd, upstream, 300, slow_every=30)
    soak.check(early, late, more_kib=16384)


@one_mpm
def test_an_upstream_that_refuses_connections_for_a_while(httpd, upstream):
    """Tasks from before and in between are complete afterwards, without a failure; likewise."""
    soak.away(httpd, upstream, 2)
