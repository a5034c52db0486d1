# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A minute of chaos, and its checker: what it finds in a journal with one thing wrong in it."""
import pathlib
import re
import subprocess
import sys
import time

import pytest

CHAOS = pathlib.Path(__file__).resolve().parents[1] / 'chaos'
sys.path.insert(0, str(CHAOS))

import chaos                                                             # noqa: E402
import checker                                                           # noqa: E402
from clients import LIMITS, OPEN_MOST                                    # noqa: E402
from journal import (Disturbance, Enforcement, Failure, Journal, Kill, LayerPut,  # noqa: E402
                     LayerSample, Look, Post, Put, QuotaReading, Read, Reading, Sample, Seen,
                     Write)
from test_harness import CLOSES_SOCKETS                                  # noqa: E402
from truth import History, Tileset                                       # noqa: E402

RED, DERIVED = Tileset('red'), Tileset('derived', derived=1)


LOST = [(2, 0, 0), (1, 0, 0), (0, 0, 0)]       # metatiles of the last one


def document(post, state, made=0, removed=0, finished='1970-01-01T00:01:40+00:00'):
    """The document of a post's task."""
    return {'layer': post.tileset.layer, 'type': post.type, 'format': post.tileset.format,
            'zoomStart': post.start, 'zoomStop': post.stop, 'state': state, 'reason': 'terminated',
            'tilesTotal': len(post.tiles()), 'tilesMade': made, 'tilesSkipped': 0,
            'tilesRemoved': removed, 'tilesFailed': 0, 'finished': finished}


def peace():
    """A journal in which everything is as it should be: task 1 was done, 2 terminated, 3 truncated
    a level, 4 came of a request without an answer. A reader had a metatile made, a page has gone
    for the quota. The data have changed twice: before task 3, and before task 5, in which a
    metatile and what is derived from it failed; task 6 made these."""
    journal = Journal()
    posts = journal.posts = [
        Post(RED, 'seed', 0, 1, None, 10, 11, 200, 1),
        Post(RED, 'seed', 3, 3, None, 12, 13, 200, 2),
        Post(RED, 'truncate', 2, 2, None, 14, 15, 200, 3), Post(RED, 'seed', 2, 2, None, 16)]
    journal.kills = [Kill('red', 'pending', 30, 31, 200, (2,))]
    journal.puts = [Put(7, 40, 41, 200), Put(8, 42), Put(9, 44, 45, 503)]
    journal.quotas = [QuotaReading(8, 43, 43.5), QuotaReading(7, 46, 47)]
    journal.quota = 8
    journal.readings = [
        Reading('red', 20, 21, {1: (2, 5, 3, 1), 2: (0, 64, 64, 0), 3: (0, 16, 16, 0),
                                4: (0, 16, 16, 0)}),
        Reading(None, 32, 33, {1: (4, 5, 1, 1), 3: (8, 16, 8, 1), 4: (0, 16, 16, 0)}),
        Reading(None, 82, 83, {1: (4, 5, 1, 1), 3: (6, 16, 10, 1), 4: (0, 16, 16, 0)})]
    journal.documents = {1: document(posts[0], 'DONE', 5), 2: document(posts[1], 'ABORTED', 9,
                                                                       finished=None),
                         3: document(posts[2], 'DONE', removed=16),
                         4: document(posts[3], 'DONE', 16)}
    journal.looks = [Look(1, 22, 23, document(posts[0], 'RUNNING', 3)),
                     Look(1, 110, 111, document(posts[0], 'DONE', 5)),
                     Look(1, 110.2, 110.8, document(posts[0], 'RUNNING', 4))]
    journal.tiles = {(RED, tile): 50 for post in posts[:1] + posts[3:] for tile in post.tiles()}
    journal.writes = [Write(RED, (3, 0, 0), 30.5)]
    journal.reads = [Read(RED, (4, 0, 0), 50, 51)]
    journal.tiles[RED, (4, 1, 1)] = 50.5
    journal.evictions = [(51, RED, (0, 0, 0))]
    del journal.tiles[RED, (0, 0, 0)]
    journal.usages = [(5, 2, [(4, 1), (1, 1)]), (0, 0, [])]
    journal.samples = [Sample(30, 31, LIMITS[1] << 20), Sample(41, 42, LIMITS[1] << 20)]
    journal.births = [1, 61, 78]
    journal.retired = [150.1, 151]
    journal.layer_puts = [LayerPut(5000, 120, 121, 200), LayerPut(3000, 130, 131, 200),
                          LayerPut(1000, 132, 133, 503)]
    journal.layer_samples = [LayerSample(122, 123, 5000), LayerSample(134, 135, 5000),
                             LayerSample(170, 171, 3000)]
    journal.enforcements = [Enforcement(122, 123, True)]
    paint(journal)
    journal.open_tilesets = OPEN_MOST + 1
    journal.disturbances = [Disturbance('restart', 60, 61), Disturbance('state_removed', 70, 72),
                            Disturbance('seeder_kill', 75, 75), Disturbance('stop_start', 76, 77)]
    journal.failures = [Failure('GET /', 60.5, 60.6), Failure('POST /', 71, 73, 503),
                        Failure('GET /tiles/tms', 90, 91, 503), Failure('GET /', 150, 150.2)]
    return journal


def paint(journal):
    """What clients have seen of data that change, and what lies on the disk."""
    journal.history = History({'any': 0})
    for version, time_ in ((1, 13), (2, 200)):
        journal.history.painted['any', version] = frozenset(range(16))
        journal.history.add('any', time_, version, range(16))
    journal.posts += [
        Post(DERIVED, 'reseed', 0, 2, None, 210, 211, 200, 5),
        Post(DERIVED, 'retry', 0, 2, None, 230, 231, 200, 6, 5, DERIVED.around(LOST))]
    journal.documents[5] = document(journal.posts[4], 'DONE', 0)
    journal.documents[5]['tilesFailed'] = 21
    journal.documents[6] = document(journal.posts[5], 'DONE', 21)
    journal.documents[6].update(type='RESEED', retryOf=5)
    journal.given_up[5] = LOST
    journal.looks += [Look(3, 84, 85, journal.documents[3]),
                      Look(5, 220, 221, journal.documents[5])]
    journal.rested = 300
    journal.seen = [Seen(RED, (2, 0, 0), (0,), 84.5), Seen(RED, (2, 0, 0), (1,), 86),
                    Seen(RED, (1, 0, 0), (0,) * 4, 250), Seen(DERIVED, (2, 1, 1), (1,), 222)]
    journal.shown = {(RED, (2, 0, 0)): (1,), (RED, (2, 0, 1)): (2,), (RED, (3, 0, 0)): (0,),
                     (DERIVED, (2, 1, 1)): (2,), (DERIVED, (1, 0, 0)): (2, 2, 2, 2)}


def lost(journal):
    """A task that was answered is not there."""
    del journal.documents[1]


def changed(journal):
    """A task is there, but for another layer."""
    journal.documents[1]['layer'] = 'blue'


def endless(journal):
    """A task that still runs after the end."""
    journal.documents[1]['state'] = 'RUNNING'


def inexact(journal):
    """A task that is done without one of its tiles."""
    journal.documents[1]['tilesMade'] = 4
    journal.looks.pop()


def aborted(journal):
    """A task that ended without anybody's wish."""
    journal.documents[1]['state'] = 'ABORTED'
    journal.looks.pop()


def finished_nevertheless(journal):
    """A task that was listed as terminated, and done all the same."""
    journal.documents[2].update(state='DONE', tilesMade=64)


def repeated(journal):
    """An id that was given twice."""
    journal.posts.append(Post(RED, 'seed', 0, 1, None, 10, 11, 200, 1))


def descending(journal):
    """An id that is lower than one that was answered before."""
    journal.posts.append(Post(RED, 'seed', 0, 1, None, 18, 19, 200, 0))
    journal.documents[0] = document(journal.posts[0], 'DONE', 5)


def refused_and_done(journal):
    """A task of a request that was refused."""
    journal.posts[3].answered, journal.posts[3].status = 17, 503


def returned(journal):
    """A terminated task that is listed again."""
    journal.readings.append(Reading('red', 34, 35, {2: (0, 64, 64, 0), 1: (4, 5, 1, 1),
                                                    3: (0, 16, 16, 1)}))


def spared(journal):
    """A task that a termination of all should have listed and did not."""
    journal.kills.append(Kill(None, 'all', 31.5, 31.8, 200))


def written_late(journal):
    """A tile of the terminated task, written after the answer."""
    journal.writes.append(Write(RED, (3, 1, 1), 31.2))


def found_late(journal):
    """The same, found at the end."""
    journal.tiles[RED, (3, 1, 1)] = 31.2


def backwards(journal):
    """A count that was higher before."""
    journal.readings[1].rows[1] = (1, 5, 4, 1)


def restarted(journal):
    """A count that was higher before httpd was stopped with its seeder alive."""
    del journal.disturbances[1:3]


def understated(journal):
    """A terminated task that had done more when it was read."""
    journal.readings[0].rows[2] = (20, 64, 44, 1)
    journal.documents[2]['finished'] = '1970-01-01T00:00:30+00:00'


def below_zero(journal):
    """A row whose numbers do not add up."""
    journal.readings[1].rows[1] = (4, 5, 2, 1)


def unlisted(journal):
    """A list without a task that had not ended."""
    del journal.readings[1].rows[3]


def resumed(journal):
    """A task that was done and runs again."""
    journal.looks.append(Look(1, 112, 113, document(journal.posts[0], 'RUNNING', 5)))


def missing(journal):
    """A tile of a finished seed that is not there."""
    del journal.tiles[RED, (1, 1, 0)]


def expired_early(journal):
    """A page that had gone before the task came."""
    journal.evictions = [(9, *journal.evictions[0][1:])]


def read_elsewhere(journal):
    """A tile that nobody asked for at that time."""
    journal.reads[0].sent = 51


def overfull(journal):
    """A cache beyond its limit."""
    journal.samples[0].used += 1


def unreached(journal):
    """A layer that still takes what it might before its limit was lowered."""
    journal.layer_samples[2].used += 1


def lowered_in_vain(journal):
    """A cache that does."""
    journal.samples.append(Sample(115, 116, 9 << 20))


def lifted(journal):
    """Limits that are not in force."""
    journal.enforcements[0].is_on = False


def flooded(journal):
    """One tile set too many."""
    journal.open_tilesets += 1


def stale(journal):
    """A tile of the data before a truncate, served after it."""
    journal.seen[1].versions = (0,)


def stored_late(journal):
    """One that lies there."""
    journal.shown[RED, (2, 0, 1)] = (0,)


def derived_late(journal):
    """One of four parts was made of an older tile, which the same task had failed to make."""
    journal.given_up[5] = LOST[:1]
    journal.posts[5].failed = DERIVED.around(LOST[:1])
    journal.shown[DERIVED, (1, 0, 0)] = (2, 2, 2, 1)


def confirmed(journal):
    """A copy that was said to be good."""
    journal.confirmed.append('red png (1, 0, 0) of (1,), where there is (2,)')


def unserved(journal):
    """A tile that can't be had when nothing else goes on."""
    journal.unserved.append('red png (1, 0, 0) is answered 404 at rest')


def misbooked(journal):
    """A page of which the books say something else than the disk."""
    journal.misbooked.append('red page (0, 0, 0): books None, disk [1, 1, 100, 4096]')


def inflated(journal):
    """A usage of which nobody knows whose it is."""
    journal.usages.append((5, 2, [(4, 1)]))


def unreadable(journal):
    """An answer that is no tile."""
    journal.reads[0].wrong = 'image file is truncated'


def outlived(journal):
    """A tile from before a truncate."""
    journal.posts[0].stop = 2
    journal.documents[1].update(zoomStop=2, tilesTotal=21, tilesMade=21)
    journal.looks.clear()
    journal.readings.clear()
    journal.tiles[RED, (2, 1, 0)] = 12


def half(journal):
    """A tile that does not decode."""
    journal.damaged.append('red/x.png: image file is truncated')


def stray(journal):
    """A file that is no tile."""
    journal.strays.append('red/x.png.old')


def misread(journal):
    """A quota that nobody had set any more."""
    journal.quotas.append(QuotaReading(9, 48, 49))


def forgotten(journal):
    """A quota that is not the last one at the end."""
    journal.quota = 500


def cut(journal):
    """A connection that was cut in peace."""
    journal.failures.append(Failure('GET /', 50, 51))


def refused(journal):
    """A change that was refused although only httpd was restarted."""
    journal.failures.append(Failure('POST /', 60.5, 60.6, 503))


def failed(journal):
    """An error that nothing explains."""
    journal.failures.append(Failure('POST /', 71, 73, 500))


def crashed(journal):
    """A process that died of its own."""
    journal.crashes.append('process 7: Segmentation fault (11)')


def left(journal):
    """A process that outlived httpd."""
    journal.leftovers.append('process 7 (tileseed)')


BREACHES = {
    lost: checker.accepted_task_is_lost, changed: checker.accepted_task_is_lost,
    endless: checker.task_has_no_good_end, inexact: checker.task_has_no_good_end,
    aborted: checker.task_has_no_good_end, finished_nevertheless: checker.task_has_no_good_end,
    repeated: checker.id_is_wrong, descending: checker.id_is_wrong,
    refused_and_done: checker.task_from_nowhere,
    returned: checker.terminated_task_came_back, spared: checker.terminated_task_came_back,
    written_late: checker.terminated_task_wrote, found_late: checker.terminated_task_wrote,
    backwards: checker.counts_went_back, below_zero: checker.counts_do_not_add_up,
    restarted: checker.counts_went_back, understated: checker.counts_went_back,
    unlisted: checker.unfinished_task_is_not_listed, resumed: checker.end_was_taken_back,
    missing: checker.tile_of_finished_seed_is_missing, outlived: checker.tile_outlived_its_truncate,
    expired_early: checker.tile_of_finished_seed_is_missing,
    read_elsewhere: checker.terminated_task_wrote, overfull: checker.limit_was_passed,
    unreached: checker.lowered_limit_was_not_reached,
    lowered_in_vain: checker.lowered_limit_was_not_reached, lifted: checker.limits_were_lifted,
    flooded: checker.too_many_tilesets, stale: checker.old_data_was_served,
    stored_late: checker.old_data_was_left, derived_late: checker.old_data_was_left,
    confirmed: checker.old_copy_was_confirmed, unserved: checker.served_tile_is_wrong,
    inflated: checker.usage_does_not_add_up,
    misbooked: checker.books_are_wrong, unreadable: checker.served_tile_is_wrong,
    half: checker.tile_is_damaged, stray: checker.file_is_no_tile,
    misread: checker.quota_is_wrong, forgotten: checker.quota_is_wrong,
    cut: checker.request_failed_for_no_reason, refused: checker.request_failed_for_no_reason,
    failed: checker.request_failed_for_no_reason,
    crashed: checker.process_crashed, left: checker.something_is_left,
}


def test_peace():
    """Nothing is wrong where nothing is wrong."""
    assert checker.violations(peace()) == []


@pytest.mark.parametrize('breach', BREACHES, ids=lambda breach: breach.__name__)
def test_breach(breach):
    """Each breach is found by the check that is there for it."""
    journal = peace()
    breach(journal)
    assert list(BREACHES[breach](journal)), checker.violations(journal)


@pytest.mark.parametrize('kind, births, seen, found', [
    ('child_kill', [], 160, 1), ('seeder_kill', [], 160, 0), ('seeder_kill', [101], 125, 0),
    ('seeder_kill', [101], 160, 1), ('cache_readonly', [], 140, 0), ('cache_readonly', [], 160, 1)])
def test_excuse(kind, births, seen, found):
    """A limit need not be reached while no seeder can do it; it must be soon after that."""
    journal = peace()
    journal.disturbances.append(Disturbance(kind, 100, 102))
    journal.births += births
    journal.samples.append(Sample(seen, seen + 1, 9 << 20))
    assert len(list(checker.lowered_limit_was_not_reached(journal))) == found


@pytest.mark.parametrize('host, sent, found', [
    ('web1', 60, 1), ('web2', 60, 0), ('web1', 102, 0), ('web1', 110, 0), ('web1', 81, 0)])
def test_counts_of_several_hosts(host, sent, found):
    """One host's counts do not go back; a takeover begins with what the last host has recorded."""
    journal = Journal(hosts=['web1', 'web2'], births=[1, 100],
                      standbys=[('web2', 59), ('web1', 82)])
    journal.readings = [Reading(None, 50, 51, {1: (20, 64, 44, 1)}, 'web1'),
                        Reading(None, sent, sent + 1, {1: (10, 64, 54, 1)}, host)]
    assert len(list(checker.counts_went_back(journal))) == found


@pytest.mark.parametrize('kind, found', [('host_kill', 0), ('host_pause', 1)])
def test_counts_of_a_host_that_is_killed(kind, found):
    """Its board is gone when it starts again, and no other host has taken over."""
    journal = Journal(hosts=['web1', 'web2'], births=[1, 100])
    journal.disturbances = [Disturbance(kind, 55, 59)]
    journal.readings = [Reading(None, 50, 51, {1: (20, 64, 44, 1)}, 'web1'),
                        Reading(None, 60, 61, {1: (10, 64, 54, 1)}, 'web1')]
    assert len(list(checker.counts_went_back(journal))) == found


@pytest.mark.parametrize('hosts, what, found', [
    ([None], 'GET /tiles/tms', 1), (['web1', 'web2'], 'GET /tiles/tms', 0),
    (['web1', 'web2'], 'POST /', 1)])
def test_refusals_of_several_hosts(hosts, what, found):
    """A host that stands by makes no tile; it accepts tasks all the same."""
    journal = Journal(hosts=hosts, failures=[Failure(what, 90, 91, 503)])
    assert len(list(checker.request_failed_for_no_reason(journal))) == found


@pytest.mark.parametrize('layer, sent, found', [
    ('derived', 90, 0), ('derived', 120, 1), ('red', 90, 1)])
def test_refusals_amid_a_truncate(layer, sent, found):
    """Nothing is made of tiles that are being removed."""
    post = Post(DERIVED, 'truncate', 0, 2, None, 80, 81, 200, 1)
    journal = Journal(posts=[post], documents={1: document(post, 'DONE')}, failures=[
        Failure(f'GET /tiles/tms/{layer}/small/0/0/0.png', sent, sent + 1, 503)])
    assert len(list(checker.request_failed_for_no_reason(journal))) == found


@pytest.mark.parametrize('limit, sent, found', [
    (2, 90, 0), (2, 120, 1), (8, 90, 1)])
def test_refusals_for_want_of_room(limit, sent, found):
    """There is none while a client has set a very low limit."""
    journal = Journal(puts=[Put(limit, 80, 81, 200), Put(16, 100, 101, 200)], failures=[Failure(
        'GET /tiles/tms/derived/small/0/0/0.png', sent, sent + 1, 503, checker.NO_ROOM)])
    assert len(list(checker.request_failed_for_no_reason(journal))) == found


@pytest.mark.parametrize('retired, found', [(91, 0), (89, 1)])
def test_refusals_of_a_child_that_retires(retired, found):
    """It may have done so amid the request."""
    journal = Journal(retired=[retired], failures=[
        Failure('GET /tiles/tms/red/small/0/0/0.png', 90, 97, 503, checker.ENDING)])
    assert len(list(checker.request_failed_for_no_reason(journal))) == found


def test_every_check_is_broken():
    """No check without a journal that it must find wrong."""
    assert set(BREACHES.values()) == set(checker.CHECKS)


SAID = '[Sun Nov 22 05:44:{}.5 2026] [{}:notice] [pid {}:tid 5] {}\n'


@pytest.mark.parametrize('kind, second, caller, found', [
    ('restart', 23, 'mod_mpm_event', 0), ('stop_start', 23, 'mod_mpm_event', 0),
    ('graceful', 23, 'mod_mpm_event', 1), ('restart', 29, 'mod_mpm_event', 1),
    ('restart', 23, 'mod_tileseed', 1), ('restart', 23, None, 1)])
def test_crash_in_a_stop(kind, second, caller, found):
    """Only httpd itself may crash, and only while it ends its children."""
    begun = time.mktime((2026, 11, 22, 5, 44, 20, 0, 0, -1))
    log = SAID.format(second, 'core', 3, 'AH00052: child pid 7 exit signal Segmentation fault (11)')
    calls = {7: CLOSES_SOCKETS.replace('mod_mpm_event', caller)} if caller else {}
    unexplained = chaos.unexplained(log, set(), [Disturbance(kind, begun, begun + 5)], calls)
    assert len(unexplained) == found


@pytest.mark.long
def test_a_minute():
    """The command itself, with a fixed seed: it disturbs, and finds nothing."""
    command = [sys.executable, str(CHAOS / 'chaos.py'), '--minutes', '1', '--seed', '7']
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '\nviolations 0\n' in done.stdout
    assert re.search(r'\nchildren of event retired [1-9]', done.stdout), done.stdout
    assert '\nkills by kind 1 ' in done.stdout or '\nkills by kind 2 ' in done.stdout, done.stdout
