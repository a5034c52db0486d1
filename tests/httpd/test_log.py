# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What an administrator reads in the error log: one line an event, none a tile."""
import re

from seeding import REST, begin, ended, stub, terminate
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault

AUTHENTICATED = REST.replace('Require local', '''AuthType Basic
    AuthName "tile seeding"
    AuthBasicProvider file
    AuthUserFile "@ROOT@/users"
    Require valid-user''')


class As:
    """An httpd that a certain user speaks to."""

    def __init__(self, httpd, *auth):
        self.httpd = httpd
        self.auth = auth

    def get(self, path):
        """GET."""
        return self.httpd.get(path, auth=self.auth)

    def post(self, path, body):
        """POST."""
        return self.httpd.post(path, body, auth=self.auth)


def lines(httpd, *words):
    """The lines of the log with all these words."""
    return [line for line in httpd.error_log().splitlines() if all(word in line for word in words)]


def one_line(httpd, *words):
    """The only such line, when it is there."""
    wait_until(lambda: lines(httpd, *words), what=f'a line with {words}')
    found = lines(httpd, *words)
    assert len(found) == 1, found
    return found[0]


@one_mpm
def test_a_line_for_each_step_of_a_task(httpd, upstream):
    """Accepted, started, ended, with counts, seconds and who asked."""
    httpd.users(ada='engine', ben='rope')
    httpd.start(AUTHENTICATED + stub(upstream))
    ada = As(httpd, 'ada', 'engine')
    number = begin(ada, 'stub', zoomStop=2)
    ended(ada, number)
    name = f'task {number} '
    line = one_line(httpd, name, 'accepted')
    assert all(word in line for word in ('seed', "'stub'", 'ada', 'small', '21 tiles')), line
    line = one_line(httpd, name, 'started')
    assert all(word in line for word in ('seed', "'stub'", '21 tiles')), line
    line = one_line(httpd, name, 'done')
    assert re.search(r"layer 'stub' \(seed by ada\) done after \d+\.\d s: 21 tiles made, "
                     r'0 skipped, 0 removed, 0 failed of 21, 6 requests$', line), line
    assert len(lines(httpd, name)) == 3
    assert all('[tileseed:info]' in line for line in lines(httpd, name))


@one_mpm
def test_a_line_for_a_termination(httpd, upstream):
    """Who terminated it, and how far it had come."""
    httpd.users(ada='engine', ben='rope')
    upstream.always = Fault('hang')
    httpd.start(AUTHENTICATED + stub(upstream))
    number = begin(As(httpd, 'ada', 'engine'), 'stub', zoomStop=2)
    wait_until(lambda: upstream.requests)
    terminate(As(httpd, 'ben', 'rope'))
    assert 'terminated by ben' in one_line(httpd, f'task {number} ', 'was terminated')
    line = one_line(httpd, f'task {number} ', 'by ada) terminated after')
    assert '0 tiles made' in line and 'of 21' in line, line


@one_mpm
def test_upstream_errors_are_summarised(httpd, upstream):
    """A thousand errors of one kind are a line or two, with how many there were."""
    httpd.expect('failed answers? of the upstream')
    upstream.always = Fault('status', 500)
    httpd.start(REST + 'TileSeedRetries 1\n' + stub(upstream, meta='1x1'))
    number = begin(httpd, 'stub', zoomStop=4, threadCount=8, tileFailureRetryWaitTime=1)
    document = ended(httpd, number)
    assert (document['state'], document['tilesFailed']) == ('ABORTED', 341)
    assert len(upstream.requests) == 2 * 341
    found = lines(httpd, 'of the upstream, the last one: ')
    assert 1 <= len(found) <= 3, found
    assert 'HTTP 500' in found[0] or '500' in found[0], found[0]
    assert sum(int(re.search(r'(\d+) failed answers?', line)[1]) for line in found) == 682
    assert '341 failed of 341' in one_line(httpd, f'task {number} ', 'aborted after')


@one_mpm
def test_no_secret_in_the_log(httpd, upstream):
    """Neither the upstream's password nor the client's is written anywhere."""
    httpd.users(ada='engine')
    httpd.expect('failed answers? of the upstream')
    secret = httpd.path('secret')
    secret.write_text('map:xyzzy\n')
    secret.chmod(0o600)
    upstream.always = Fault('status', 401)
    snippet = stub(upstream).replace('connections=', 'auth="@ROOT@/secret" connections=')
    httpd.start(AUTHENTICATED + 'LogLevel tileseed:trace8\nTileSeedRetries 0\n' + snippet)
    document = ended(As(httpd, 'ada', 'engine'),
                     begin(As(httpd, 'ada', 'engine'), 'stub', zoomStop=1))
    assert document['tilesFailed'] == 5
    assert 'xyzzy' not in httpd.error_log() and 'engine' not in httpd.error_log()
