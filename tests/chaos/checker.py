# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What must be true of a journal, whatever was disturbed. violations() has a line for each breach.

A check is a function that yields sentences; its name, in words, begins the line.
"""
import collections
import datetime
import itertools
import math

from clients import LIMITS, OPEN_MOST, TINY_LIMITS
from disk import PAGE
from journal import Disturbance
from truth import Ledger, Line

FILE_CLOCK = 0.02           # the kernel stamps files with the time of its last tick
MOST_OLD = 5                # tiles that are told, of a kind
SEAMS = 2                   # seconds for which a disturbance may be felt after its end

# Which disturbances explain what: connections that were cut, changes that were refused.
CUTS = ('restart', 'stop_start', 'child_kill', 'parent_kill', 'host_kill')
NO_DATABASE = ('connections_cut', 'database_crash', 'database_hang')
REFUSALS = ('state_removed', 'state_readonly', 'seeder_hang', 'host_pause', *NO_DATABASE)
ENDS_OF_SEEDER = ('seeder_kill', 'seeder_crash', 'seeder_hang')
MISSES = ENDS_OF_SEEDER + CUTS + NO_DATABASE + ('graceful', 'state_removed', 'state_readonly',
                                                'low_tide')   # there is hardly any room
# What ends a seeder, and what keeps one from removing anything.
NEW_SEEDERS = ENDS_OF_SEEDER + ('graceful', 'restart', 'stop_start', 'parent_kill', 'host_kill',
                                'host_pause', 'drain')
HINDRANCES = ('state_removed', 'state_readonly', 'cache_readonly', *NO_DATABASE)
BACK_OFF = 35               # seconds that the next seeder may wait, and some
LAG = 5                     # seconds after which every host knows who works
NO_ROOM, ENDING = 'there is no room for it', 'this process of httpd is ending'
AGAIN = 10                  # seconds until a removal that failed is tried again
CLEAN_UPS = 30              # seconds in which a busy machine comes to the end of two


def accepted(journal):
    """The posts that were answered 200."""
    return [post for post in journal.posts if post.status == 200]


def unanswered(journal):
    """The posts of which nobody knows whether they were accepted."""
    return [post for post in journal.posts if post.answered is None]


def terminations(journal):
    """{id: the answered kill that listed it}"""
    return {task: kill for kill in journal.kills
            for task in (*kill.terminated, *kill.unconfirmed)}


def killed_in_silence(journal, post):
    """Whether a termination that nobody heard back from may have met a task."""
    return any(kill.answered is None and kill.layer in (None, post.tileset.layer)
               for kill in journal.kills)


def processed(document):
    """The sum of what a task says it did."""
    return sum(document.get('tiles' + kind, 0)
               for kind in ('Made', 'Skipped', 'Removed', 'Failed', 'Pruned'))


def seconds(text):
    """A time of a document."""
    return datetime.datetime.fromisoformat(text).timestamp()


# Tasks

def accepted_task_is_lost(journal):
    """What was answered 200 is there, as it was asked for."""
    for post in accepted(journal):
        document = journal.documents.get(post.task)
        if document is None:
            yield f'task {post.task}: {post}'
        else:
            asked = (post.tileset.layer, post.type, post.start, post.stop, post.tileset.format,
                     len(post.tiles()))
            kept = tuple(document[key] for key in ('layer', 'type', 'zoomStart', 'zoomStop',
                                                   'format', 'tilesTotal'))
            if post.retry_of:       # of what has failed alone
                is_right = document.get('retryOf') == post.retry_of
            else:
                is_right = (kept[0], kept[1].lower(), *kept[2:]) == asked
            if not is_right:
                yield f'task {post.task} was {asked}, is {kept}'


def task_has_no_good_end(journal):
    """DONE with exact counts, or ABORTED because somebody terminated it."""
    ended_by = terminations(journal)
    for post in accepted(journal):
        document = journal.documents.get(post.task, {'state': 'ABORTED', 'reason': 'terminated'})
        words = f'task {post.task} is {document["state"]} ({document["reason"]})'
        if document['state'] == 'DONE':
            if processed(document) != document['tilesTotal']:
                yield f'{words} with {processed(document)} of {document["tilesTotal"]} tiles'
            elif post.task in ended_by:
                yield f'{words} although it was listed as terminated'
        elif document['state'] != 'ABORTED':
            yield words
        elif post.task in journal.documents and post.task not in ended_by \
                and not document['tilesFailed'] and not killed_in_silence(journal, post):
            yield f'{words} although nobody terminated it'


def id_is_wrong(journal):
    """Ids never repeat, and ascend from one answer to every later request."""
    counted = collections.Counter(post.task for post in accepted(journal))
    for task, times in counted.items():
        if times > 1:
            yield f'{task} was given to {times} tasks'
    highest = 0
    answers = sorted(accepted(journal), key=lambda post: post.answered)
    at = 0
    for post in sorted(accepted(journal), key=lambda post: post.sent):
        while at < len(answers) and answers[at].answered < post.sent:
            highest = max(highest, answers[at].task)
            at += 1
        if post.task < highest:
            yield f'{post.task} came after {highest}'


def task_from_nowhere(journal):
    """A task that no answer named belongs to a request without answer; one that was refused left
    nothing."""
    known = {post.task for post in accepted(journal)}
    asked = collections.Counter((post.tileset.layer, post.type, post.start, post.stop,
                                 len(post.tiles())) for post in unanswered(journal)
                                if not post.retry_of)
    retried = {post.retry_of for post in unanswered(journal)}
    for task, document in sorted(journal.documents.items()):
        if task in known or document.get('retryOf', 0) in retried - {None}:
            continue
        key = (document['layer'], document['type'].lower(), document['zoomStart'],
               document['zoomStop'], document['tilesTotal'])
        if asked[key] == 0:
            yield f'task {task}: nobody waits for {key}'
        asked[key] -= 1


def terminated_task_came_back(journal):
    """After the answer of a termination no list shows what it listed, nor, with code all, what
    had been accepted before."""
    for kill in journal.kills:
        if kill.status != 200:
            continue
        gone = {*kill.terminated, *kill.unconfirmed}
        if kill.code == 'all':
            gone |= {post.task for post in accepted(journal)
                     if post.answered < kill.sent and kill.layer in (None, post.tileset.layer)}
        seen = {task for reading in journal.readings if reading.sent > kill.answered
                for task in gone & reading.rows.keys()}
        for task in sorted(seen):
            yield f'task {task} was listed after {kill}'


def terminated_task_wrote(journal):
    """Every tile was written while some task was alive that makes it."""
    ends = {task: kill.answered for kill in journal.kills for task in kill.terminated}
    lives = collections.defaultdict(list)
    for post in [*accepted(journal), *unanswered(journal)]:
        if post.type != 'truncate':
            for tile in post.tiles():
                lives[post.tileset, tile].append(
                    (post.sent, ends.get(post.task, float('inf')), post.task))
    for read in journal.reads:
        for tile in read.tileset.around([read.tile]):
            lives[read.tileset, tile].append((read.sent, float('inf'), None))
    writes = {(write.tileset, write.tile, write.time) for write in journal.writes}
    writes |= {(*key, time) for key, time in journal.tiles.items() if not key[0].uniform}
    told = set()
    for tileset, tile, time in sorted(writes, key=lambda write: write[2]):
        owners = lives[tileset, tile]
        if any(begun - FILE_CLOCK <= time <= end for begun, end, _ in owners):
            continue
        suspects = tuple(sorted(task for begun, _, task in owners if task and begun < time))
        if suspects not in told:
            told.add(suspects)
            late = time - max((end for _, end, task in owners if task in suspects), default=time)
            yield f'{tileset} {tile} at {time:.3f}, {late:.3f} s after the end of {suspects}'


def losses_of_board(journal):
    """The disturbances that may cost the last second's counts: the board went when there was no
    seeder to write them down. A parent that is killed leaves its seeder no time to be sure, and a
    host that is killed has no seeder left. A seeder whose state directory goes ends as well, and
    what waits for its turn with the next one is on the board alone."""
    return [event for event in journal.disturbances if event.kind in ('parent_kill', 'host_kill') or
            event.kind == 'stop_start' and any(
                death.kind in (*ENDS_OF_SEEDER, 'state_removed')
                and 0 < event.begun - death.begun < BACK_OFF
                for death in journal.disturbances)]


def counts_read(journal):
    """(task, host, sent, answered, processed) of everything that was read."""
    for reading in journal.readings:
        for task, row in reading.rows.items():
            yield task, reading.host, reading.sent, reading.answered, row[0]
    for look in journal.looks:
        if look.document:
            yield look.task, look.host, look.sent, look.answered, processed(look.document)


def last_counts(journal, losses):
    """(task, its end, processed) of what is known at the end. Of a task that was terminated just
    before a board went, no seeder may have had the time to say the last word."""
    for task, document in journal.documents.items():
        end = seconds(document['finished']) if document['finished'] else float('inf')
        if document['state'] == 'DONE' or \
                not any(end - SEAMS < event.begun < end + BACK_OFF for event in losses):
            yield task, end, processed(document)


def counts_went_back(journal):
    """What is read never goes back while a board lives, nor when the task has ended."""
    losses = {host: losses_of_board(journal) + takeovers(journal, host) for host in journal.hosts}
    shown = collections.defaultdict(list)
    for task, host, sent, answered, count in counts_read(journal):
        if not any(event.begun <= answered and sent <= event.ended for event in losses[host]):
            shown[task, host, boards_before(losses[host], sent)].append((sent, answered, count))
    first = journal.hosts[0]
    for task, end, count in last_counts(journal, losses[first]):
        shown[task, first, boards_before(losses[first], end)].append((end, float('inf'), count))
    for (task, *_), seen in sorted(shown.items()):
        seen.sort()
        answers = sorted((answered, count) for _, answered, count in seen)
        highest = list(itertools.accumulate((count for _, count in answers), max))
        at = 0
        for sent, _, count in seen:
            while at < len(answers) and answers[at][0] < sent:
                at += 1
            if at and count < highest[at - 1]:
                yield f'task {task}: {count} after {highest[at - 1]}'
                break


def takeovers(journal, host):
    """The times around which one of several hosts may show the counts of a board that is no longer
    that of the host that works: what was not recorded is counted anew. A host that has worked shows
    what is recorded from when it stands by, before another one has begun."""
    if len(journal.hosts) == 1:
        return []
    return [Disturbance('takeover', birth, birth + LAG) for birth in journal.births] + \
        [Disturbance('standby', time - LAG, time + LAG)
         for name, time in journal.standbys if name == host]


def boards_before(losses, time):
    """How many boards had gone by a time."""
    return sum(event.ended < time for event in losses)


def counts_do_not_add_up(journal):
    """Each row of a list is right in itself."""
    for reading in journal.readings:
        for task, (count, total, remaining, _) in reading.rows.items():
            if count + remaining != total or not 0 <= count <= total:
                yield f'task {task}: {count} of {total}, {remaining} remaining'


def unfinished_task_is_not_listed(journal):
    """From its answer until its end a task is in every list of its layer."""
    ended_by = terminations(journal)
    for post in accepted(journal):
        document = journal.documents.get(post.task)
        if document is None or not document['finished']:
            continue
        end = seconds(document['finished'])
        if post.task in ended_by:
            end = min(end, ended_by[post.task].sent)
        for reading in journal.readings:
            if reading.layer in (None, post.tileset.layer) and post.task not in reading.rows \
                    and post.answered < reading.sent and reading.answered < end - 1:
                yield f'task {post.task}, {end - reading.answered:.1f} s before its end'
                break


def state_of(document):
    """PENDING, RUNNING, DONE, ABORTED, or gone."""
    return document['state'] if document else 'gone'


def end_was_taken_back(journal):
    """A task that was shown as ended stays as it was shown. Of two looks at the same time nobody
    knows which was first."""
    ends = {}
    for look in sorted(journal.looks, key=lambda look: look.answered):
        if state_of(look.document) in ('DONE', 'ABORTED'):
            ends.setdefault(look.task, (look.answered, state_of(look.document)))
    later = [(look.task, look.sent, state_of(look.document)) for look in journal.looks]
    later += [(task, math.inf, state_of(document)) for task, document in journal.documents.items()]
    for task, sent, state in later:
        since, end = ends.get(task, (math.inf, state))
        if sent >= since and state != end:
            yield f'task {task} was {end}, is {state}'


# Tiles

def removed_later(journal, post):
    """The tiles that a younger truncate of the tile set may have taken away."""
    gone = set()
    for other in journal.posts:
        if other.type == 'truncate' and other.tileset == post.tileset and \
                other.status in (200, None) and (other.task is None or other.task > post.task):
            gone |= other.tiles()
    return gone


def expired_later(journal, post):
    """The pages that the disk quota has taken since."""
    return {page for time, tileset, page in journal.evictions
            if tileset == post.tileset and time > post.sent}


def given_up(journal, post):
    """The tiles of the metatiles that a task recorded as failed."""
    return post.tileset.around(journal.given_up.get(post.task, ()))


def done(journal, *types):
    """The accepted posts of some types whose tasks came to a good end."""
    return [post for post in accepted(journal) if post.type in types
            and journal.documents.get(post.task, {}).get('state') == 'DONE']


def tile_of_finished_seed_is_missing(journal):
    """Every tile of a finished seed is there, but for what was truncated after it."""
    for post in done(journal, 'seed', 'reseed'):
        have = {tile for tileset, tile in journal.tiles if tileset == post.tileset}
        missing = set() if post.tileset.pruned else post.tiles() - have
        if missing:
            missing -= removed_later(journal, post) | given_up(journal, post)
            gone = expired_later(journal, post)
            missing = {tile for tile in missing
                       if (tile[0], tile[1] // PAGE, tile[2] // PAGE) not in gone}
        if missing:
            yield f'task {post.task}: {len(missing)} tiles, {min(missing)} of {post.tileset}'


def tile_outlived_its_truncate(journal):
    """A finished truncate has left nothing that was there before it."""
    for post in done(journal, 'truncate'):
        if post.tileset.uniform:
            continue
        old = [tile for tile in post.tiles()
               if journal.tiles.get((post.tileset, tile), post.sent) < post.sent - FILE_CLOCK]
        if old:
            yield f'task {post.task}: {len(old)} tiles, {min(old)} of {post.tileset}'


def tile_is_damaged(journal):
    """Every tile decodes and has its size."""
    yield from journal.damaged


def file_is_no_tile(journal):
    """Nothing lies in the cache but tiles."""
    yield from journal.strays


# The rest

def quota_is_wrong(journal):
    """A GET shows what the last answered PUT said, or one without an answer after it."""
    readings = [(reading.sent, reading.answered, reading.value) for reading in journal.quotas]
    readings.append((float('inf'), float('inf'), journal.quota))
    for sent, answered, value in readings:
        may = {LIMITS[1]}                   # httpd starts with it
        before = [put for put in journal.puts if put.sent < answered]
        for put in sorted(before, key=lambda put: put.sent):
            if put.status == 200 and put.answered < sent:
                may = {put.value}
            elif put.status in (200, None):
                may.add(put.value)
        if value not in may:
            yield f'{value} MiB where {sorted(may)} was set'


def limit_was_passed(journal):
    """The cache never takes more than the highest limit that there was; nor, in the end, than the
    last one."""
    highest = max([LIMITS[1], *(put.value for put in journal.puts)])
    for sample in journal.samples:
        if sample.used > highest << 20:
            yield (f'{sample.used} bytes at {sample.begun:.3f}, {sample.unfinished} of them in '
                   f'unfinished files, {highest} MiB were allowed')


def limits_in_force(first, puts, begun, ended):
    """The limits that may have been in force in a span, of the first and all later ones."""
    may = [first]
    for put in sorted(puts, key=lambda put: put[1]):
        limit, sent, answered, status = put
        if sent > ended or status not in (200, None):
            continue
        if answered and answered < begun:
            may = []
        may.append(limit)
    return may


def at_work_since(journal, time):
    """Since when a seeder has had nothing in its way; inf: there is none, or there is something."""
    since = max((birth for birth in journal.births if birth <= time), default=float('inf'))
    for event in journal.disturbances:
        if event.kind in NEW_SEEDERS and not event.bystander and since < event.begun <= time:
            return float('inf')
    return max([since, *((event.ended or float('inf')) + AGAIN for event in journal.disturbances
                         if event.kind in HINDRANCES and event.begun <= time)])


def too_much(journal, first, puts, samples):
    """Samples over what was allowed, although a seeder had the time to get down to it."""
    for sample in samples:
        begun = sample.begun - CLEAN_UPS
        highest = max(limits_in_force(first, puts, begun, sample.ended))
        if sample.used > highest and at_work_since(journal, sample.ended) <= begun:
            yield f'{sample.used} bytes at {sample.begun:.3f}, {highest} were allowed'


def changes_of_limit(journal):
    """(bytes, sent, answered, status) of all changes of the limit of everything."""
    return [(put.value << 20, put.sent, put.answered, put.status) for put in journal.puts]


def lowered_limit_was_not_reached(journal):
    """Two clean-ups after a change the cache takes no more than it says, whatever waits."""
    yield from too_much(journal, LIMITS[1] << 20, changes_of_limit(journal), journal.samples)
    for words in too_much(journal, float('inf'),
                          [(put.limit, put.sent, put.answered, put.status)
                           for put in journal.layer_puts], journal.layer_samples):
        yield f'of one layer {words}'


def limits_were_lifted(journal):
    """No client can make that limits are not in force."""
    for enforcement in journal.enforcements:
        if not enforcement.is_on:
            yield f'at {enforcement.sent:.3f}'


def too_many_tilesets(journal):
    """Reading makes no more tile sets than a layer may have, beside the default one."""
    if journal.open_tilesets > OPEN_MOST + 1:
        yield f'{journal.open_tilesets}, {OPEN_MOST} were allowed'


def ledger(journal):
    """After which tasks nothing older may be seen where, from when they were seen to be done."""
    ends = {}
    for look in sorted(journal.looks, key=lambda look: look.answered):
        if state_of(look.document) == 'DONE':
            ends.setdefault(look.task, look.answered)
    return Ledger(journal.history, [
        Line(f'{post.type} {post.task}', post.tileset, post.tiles(), given_up(journal, post),
             post.sent, ends.get(post.task, journal.rested))
        for post in done(journal, 'truncate', 'reseed', 'retry')
        if journal.documents[post.task]['type'].lower() != 'seed'])


def old_data_was_served(journal):
    """What is seen after a truncate or a reseed is of the data that there were before it, or
    younger, be it sent or said to be good still."""
    lines = ledger(journal)
    yield from first_of_each((
        (seen.tileset, f'{seen.tile} {seen.sent - journal.begun:.1f} s after the start, {seen.how}',
         lines.older(seen.tileset, seen.tile, seen.versions, seen.sent))
        for seen in sorted(journal.seen, key=lambda seen: seen.sent)))


def first_of_each(looks):
    """Sentences for what is too old, of each tile set and kind of task only so many."""
    told = collections.Counter()
    for tileset, what, words in looks:
        if words:
            kind = tileset, words.split(' after ')[1].split()[0]
            told[kind] += 1
            if told[kind] <= MOST_OLD:
                yield f'{tileset.layer} {tileset.extension} {what}: {words}'


def old_data_was_left(journal):
    """Nor is there older data in the end."""
    lines = ledger(journal)
    yield from first_of_each((tileset, tile, lines.older(tileset, tile, versions, math.inf))
                             for (tileset, tile), versions in sorted(journal.shown.items(),
                                                                     key=str))


def old_copy_was_confirmed(journal):
    """Nobody is told that a copy is good which another tile has replaced."""
    yield from journal.confirmed


def books_are_wrong(journal):
    """When all has come to rest the books say of each page what lies on the disk."""
    yield from journal.misbooked


def usage_does_not_add_up(journal):
    """What all take is what the tile sets take, and never less than nothing."""
    for *whole, tilesets in journal.usages:
        sums = [sum(column) for column in zip(*tilesets)] or [0, 0]
        if whole != sums or any(number < 0 for part in tilesets for number in part):
            yield f'{whole} of {tilesets}'


def served_tile_is_wrong(journal):
    """What is served as a tile is one."""
    for read in journal.reads:
        if read.wrong:
            yield f'{read.tileset} {read.tile}: {read.wrong}'
    yield from journal.unserved


def was_dropped(journal, failure):
    """Whether a connection was cut on which a child may have retired. Of those that it has accepted
    last, event drops one now and then without a look at it; it does so without any module. A child
    that has retired waits for no tile while no other one serves."""
    return (failure.status is None or ENDING in failure.text) and any(
        failure.sent <= time <= failure.ended for time in journal.retired)


def truncates_of_derived(journal):
    """(layer, from when until when a truncate may have gone on), of layers with derived tiles."""
    for post in journal.posts:
        if post.type == 'truncate' and post.tileset.derived >= 0:
            end = journal.documents.get(post.task, {}).get('finished')
            yield post.tileset.layer, post.sent, seconds(end) if end else math.inf


def is_amid_truncate(truncates, failure):
    """Whether a tile may have been refused because those that it is made of are being removed."""
    return failure.status == 503 and any(
        f'/tms/{layer}/' in failure.what and begun <= failure.ended and failure.sent <= end + SEAMS
        for layer, begun, end in truncates)


def is_for_want_of_room(journal, failure):
    """Whether a tile was refused because the limit was lower than what is at work."""
    return failure.status == 503 and NO_ROOM in failure.text and max(TINY_LIMITS) << 20 >= min(
        limits_in_force(LIMITS[1] << 20, changes_of_limit(journal), failure.sent, failure.ended))


def request_failed_for_no_reason(journal):
    """A connection that was cut, or a change that was refused, has a disturbance behind it."""
    truncates = list(truncates_of_derived(journal))
    for failure in journal.failures:
        kinds = {None: CUTS, 503: REFUSALS, 507: REFUSALS}.get(failure.status, ())
        seams = SEAMS
        if failure.what.startswith('GET /tiles') and failure.status == 503:
            kinds, seams = MISSES, BACK_OFF
            if len(journal.hosts) > 1:
                continue        # a host that stands by makes no tile
        if was_dropped(journal, failure) or is_amid_truncate(truncates, failure) or \
                is_for_want_of_room(journal, failure):
            continue
        if not any(event.kind in kinds and event.begun <= failure.ended
                   and failure.sent <= (event.ended or failure.sent) + seams
                   for event in journal.disturbances):
            yield f'{failure.what}: {failure.status} {failure.text}'


def process_crashed(journal):
    """No process dies of a signal that nobody sent."""
    yield from journal.crashes


def something_is_left(journal):
    """After the end there is no process, socket or segment."""
    yield from journal.leftovers


CHECKS = (accepted_task_is_lost, task_has_no_good_end, id_is_wrong, task_from_nowhere,
          terminated_task_came_back, terminated_task_wrote, counts_went_back, counts_do_not_add_up,
          unfinished_task_is_not_listed, end_was_taken_back, tile_of_finished_seed_is_missing,
          tile_outlived_its_truncate, tile_is_damaged, file_is_no_tile, quota_is_wrong,
          limit_was_passed, lowered_limit_was_not_reached, limits_were_lifted, too_many_tilesets,
          old_data_was_served, old_data_was_left, old_copy_was_confirmed, books_are_wrong,
          usage_does_not_add_up, served_tile_is_wrong, request_failed_for_no_reason,
          process_crashed, something_is_left)


def violations(journal):
    """A line for everything that is wrong."""
    return [f'{check.__name__.replace("_", " ")}: {words}'
            for check in CHECKS for words in check(journal)]
