# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What chaos has found: when a cause is gone, so is its effect, and what was told stays true."""
import os
import pathlib
import signal

import pytest

from rest import listed, number_of, seed
from seeding import (REST, begin, done, ended, halt, layer, seeder_of, stub, task, terminate)
from tileseed_httpd import SANITIZED, one_mpm, wait_until
from upstream import Fault


def change_state(httpd, directory, file):
    """Sets the modes of the state directory and of what is in it."""
    state = httpd.path('state')
    for path in state.iterdir():
        path.chmod(file)
    state.chmod(directory)


@pytest.mark.sqlite
@one_mpm
def test_state_that_was_readonly(httpd, upstream):
    """A child that opened the database while it could not be written changes it afterwards."""
    httpd.expect('readonly|read-only|Permission denied|state dir|state database')
    httpd.start(REST + stub(upstream))
    begin(httpd, 'stub', zoomStop=0)
    change_state(httpd, 0o500, 0o400)
    httpd.graceful()
    refused = [seed(httpd, 'stub', status=503) for _ in range(4)]
    assert all('Retry-After' in answer.headers for answer in refused)
    mine = httpd.user[1] if httpd.user else os.getuid()
    wait_until(lambda: f'tileseed.db belongs to uid {mine} and has the mode 0400, so that httpd\'s '
               f'User (uid {mine}) may not write to it' in httpd.error_log())
    assert 'Read-only file system' not in httpd.error_log()
    change_state(httpd, 0o700, 0o600)
    numbers = [number_of(seed(httpd, 'stub')) for _ in range(4)]
    assert numbers == [2, 3, 4, 5]


@pytest.mark.pgsql
@one_mpm
def test_termination_while_the_seeder_hangs(httpd, upstream):
    """What was read of a task stays true when it is terminated and no seeder can say the last
    word; the next one finds it on the board."""
    httpd.expect('no sign of life|ended unexpectedly|AH00052')
    upstream.always = Fault('delay', 0.1)
    httpd.start(REST + stub(upstream))
    number = begin(httpd, 'stub', zoomStop=6, threadCount=8)
    wait_until(lambda: task(httpd, number)['tilesMade'] > 20)
    old = seeder_of(httpd)
    halt(httpd, old)
    shown = task(httpd, number)
    assert f'[{number}: ' in terminate(httpd)
    while_hanging = task(httpd, number)
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: seeder_of(httpd) not in (None, old))
    begin(httpd, 'stub', type='truncate', zoomStop=0)
    wait_until(lambda: not listed(httpd))
    for document in (while_hanging, task(httpd, number)):
        assert document['state'] == 'ABORTED'
        assert document['tilesMade'] == shown['tilesMade'], (document, shown)


@pytest.mark.skipif(SANITIZED, reason='a sanitizer reports the overflow before it is one')
@pytest.mark.usefixtures('no_core')
@one_mpm
def test_worker_that_runs_out_of_stack(httpd, upstream):
    """Its handler has a stack of its own: the task is blamed, and others go on."""
    httpd.expect('ended unexpectedly|AH00052|aborted')
    mischief = httpd.make_mischief()
    mischief.overflow(httpd.path('cache/bad'), True)
    httpd.start(REST + stub(upstream, name='bad') + layer(
        'good', 'TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small'))
    number = begin(httpd, 'bad', zoomStop=1)
    document = ended(httpd, number)
    assert document['state'] == 'ABORTED' and 'crashed three times' in document['reason'], document
    done(httpd, 'good', zoomStop=1)


def test_seeder_that_hangs_before_it_begins(httpd, upstream):
    """One that stands still while it waits after two quick deaths is found out as well."""
    httpd.expect('no sign of life|ended unexpectedly|AH00052')
    upstream.always = Fault('hang')
    httpd.start(REST + stub(upstream) + 'TileSeedHangTimeout 5s\n')
    number = begin(httpd, 'stub', zoomStop=0)
    for _ in range(2):
        old = seeder_of(httpd)
        os.kill(old, signal.SIGKILL)
        wait_until(lambda: seeder_of(httpd) not in (None, old))  # pylint: disable=W0640
    waiting = seeder_of(httpd)
    os.kill(waiting, signal.SIGSTOP)
    assert listed(httpd) == [number]
    wait_until(lambda: seeder_of(httpd) not in (None, waiting), what='a new seeder')
