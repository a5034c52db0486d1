# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A cache that is moved while a task is under way."""
import os

import pytest

from quota import known, usage
from seeding import REST, begin, counts, done, ended, files, stub, task
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

MOVED = ('@ROOT@/cache', '@ROOT@/moved')


def contents(top):
    """Path -> bytes of every tile below a directory."""
    return {os.path.relpath(os.path.join(folder, name), top):
            open(os.path.join(folder, name), 'rb').read()     # pylint: disable=R1732
            for folder, _, names in os.walk(top) for name in names if '/.tileseed' not in folder}


def stand_still(httpd, upstream):
    """A task that has skipped what is there and waits for an upstream that hangs; returns its id
    and the tiles that there are in the end."""
    httpd.expect('failed answers? of the upstream|no answer|is away|aborted|can.t go on')
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=4, threadCount=4)
    right = contents(httpd.path('cache'))
    done(httpd, 'stub', type='truncate', zoomStart=4, zoomStop=4)
    upstream.always = Fault('hang')
    before = len(upstream.requests)
    number = begin(httpd, 'stub', zoomStop=4)
    wait_until(lambda: len(upstream.requests) > before
               and counts(task(httpd, number)) == (0, 85, 0, 0))
    return number, right


@one_mpm
@pytest.mark.parametrize('how', ['graceful', 'stopped'])
def test_a_task_follows_its_store(httpd, upstream, how):
    """It goes on in the new directory, and its tiles are what they would have been."""
    number, right = stand_still(httpd, upstream)
    snippet = (REST + stub(upstream)).replace(*MOVED)
    if how == 'stopped':
        httpd.stop()
    os.rename(httpd.path('cache'), httpd.path('moved'))
    upstream.always = None
    if how == 'stopped':
        httpd.start(snippet)
    else:
        httpd.graceful(snippet)
    document = ended(httpd, number)
    assert document['state'] == 'DONE', document
    assert counts(document) == (256, 85, 0, 0)
    assert contents(httpd.path('moved')) == right and not files(httpd)
    known(httpd)
    wait_until(lambda: usage(httpd)['tiles'] == len(right))


@one_mpm
def test_a_task_does_not_follow_another_layout(httpd, upstream):
    """It ends, and says why."""
    number, _ = stand_still(httpd, upstream)
    upstream.always = None
    httpd.graceful(REST + stub(upstream, store='xyz'))
    document = ended(httpd, number)
    assert document['state'] == 'ABORTED'
    assert document['reason'] == ("the layout of layer stub's store has changed since the task was "
                                  'accepted: send the request again')
