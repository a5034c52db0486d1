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
    assert all(word in line for word in ('seed', "'stub'", "by 'ada' from 127.0.0.1", 'small',
                                         '21 tiles')), line
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
    assert "by 'ben' from" in one_line(httpd, f'1 task terminated: task {number} of')
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


# The audit

def audited(httpd, *words):
    """The only line about a change with these words: (level, the rest of it)."""
    line = one_line(httpd, *words)
    return re.fullmatch(r"\[[^\]]+\] \[tileseed:(\w+)\] \[pid [^\]]*\] (?:\[remote [^\]]*\] |"
                        r'\[client [^\]]*\] )TS\d{4}: (.*)', line).groups()


@one_mpm
def test_a_line_for_each_change(httpd, upstream):
    """Who has changed what from where."""
    httpd.users(ada='engine')
    httpd.start(AUTHENTICATED + 'LogFormat "%>s %m %U %{tileseed-result}n %{tileseed-layer}n '
                '%{tileseed-task}n %{tileseed-detail}n" rest\nCustomLog "@ROOT@/rest.log" rest\n' +
                stub(upstream))
    ada = As(httpd, 'ada', 'engine')
    number = begin(ada, 'stub', zoomStop=1)
    ended(ada, number)
    httpd.put('/rest/diskquota.json', '{"gwcQuotaConfiguration":{"enabled":true}}', auth=ada.auth)
    httpd.post('/rest/diskquota/reconcile', '', auth=ada.auth)
    ada.post('/rest/seed', 'kill_all=all')
    httpd.post('/rest/estimate/stub.json', '{"seedRequest":{"zoomStop":1}}', auth=ada.auth)
    who = "by 'ada' from 127.0.0.1: "
    for word, rest in (
            (f'task {number} accepted', f"POST '/rest/seed/stub.json' {who}task {number} accepted: "
             "seed of layer 'stub', small zoom 0 to 1, image/png, 5 tiles"),
            ('a reconcile', f"POST '/rest/diskquota/reconcile' {who}a reconcile was asked for"),
            ('tasks terminated', f"POST '/rest/seed' {who}0 tasks terminated")):
        assert audited(httpd, word) == ('info', rest)
    level, line = audited(httpd, "PUT '/rest/diskquota.json' " + who)
    assert level == 'info' and 'disk quota changed: ' in line
    assert not lines(httpd, 'estimate')
    log = httpd.path('rest.log').read_text()
    assert f'200 POST /rest/seed/stub.json done stub {number} task {number} accepted: ' in log
    assert '200 GET /rest/tasks/' in log and 'refused' not in log


@one_mpm
def test_a_line_for_each_change_that_was_refused(httpd, upstream):
    """Whoever refused it, httpd or the module; a client that is asked to log in is no news."""
    httpd.expect('AH01618|AH01617|AH01631')
    httpd.users(ada='engine', ben='rope')
    httpd.path('sorry.html').write_text('sorry')
    httpd.start(AUTHENTICATED.replace('Require valid-user', 'Require user ada\n'
                                      'ErrorDocument 401 /sorry.html') +
                'DocumentRoot "@ROOT@"\n<Files "sorry.html">\nRequire all granted\n</Files>\n' +
                stub(upstream))
    body = '{"seedRequest":{"zoomStop":1}}'
    for path, auth, status in (('/rest/seed/none.json', ('ada', 'engine'), 400),
                               ('/rest/nothing', ('ada', 'engine'), 404),
                               ('/rest/seed.json', ('ada', 'engine'), 405),
                               ('/rest/seed/stub.json', ('ben', 'rope'), 401),
                               ('/rest/seed/stub.xml', ('eve', 'rope'), 401),
                               ('/rest/seed/ask.xml', None, 401)):
        assert httpd.post(path, body, auth=auth).status == status, path
    refused = 'refused: POST '
    assert audited(httpd, 'none.json') == (
        'notice', refused + "'/rest/seed/none.json' by 'ada' from 127.0.0.1: 400 Unknown layer: "
        'none; /rest/layers.json lists the layers')
    assert audited(httpd, '/rest/nothing')[0] == 'notice'
    assert '405 POST is not possible here' in audited(httpd, '/rest/seed.json')[1]
    assert audited(httpd, refused, 'stub.json') == (
        'notice', refused + "'/rest/seed/stub.json' by 'ben' from 127.0.0.1: 401 ")
    assert audited(httpd, refused, 'stub.xml')[0] == 'notice'
    assert audited(httpd, 'ask.xml') == (
        'info', "asked for credentials: POST '/rest/seed/ask.xml' by anybody from 127.0.0.1: 401 ")


@one_mpm
def test_hostile_names_in_the_audit(httpd, upstream):
    """Nobody writes a line that looks like somebody else's."""
    httpd.start(REST + stub(upstream))
    forged = "x' by 'root' from ::1: task 1 accepted\n[notice] \x1b[31m"
    quoted = ''.join(f'%{byte:02x}' for byte in forged.encode())
    assert httpd.post(f'/rest/seed/{quoted}.json', '{}').status == 400
    level, line = audited(httpd, 'Unknown layer')
    assert level == 'notice' and '\x1b' not in line
    assert line.startswith(f"refused: POST '/rest/seed/{quoted}"[:200])
    assert not [line for line in httpd.error_log().splitlines() if line.startswith('[notice]')]


@one_mpm
def test_changes_that_never_reach_the_module(httpd, upstream):
    """A body that httpd cuts short, and an address that httpd leads elsewhere."""
    httpd.expect('AH01589|AH00589|LimitRequestBody')
    httpd.start(REST.replace('Require local', 'Require local\n    LimitRequestBody 100') +
                'Redirect /rest/old http://other.example.org/\n' + stub(upstream))
    body = '{"seedRequest":{"name":"' + 'x' * 200 + '"}}'
    assert httpd.post('/rest/seed/stub.json', body).status == 413
    assert httpd.request('POST', '/rest/seed/stub.xml', body=iter([body.encode()])).status == 413
    assert httpd.post('/rest/old', 'x').status == 302
    for name in ('stub.json', 'stub.xml'):
        level, line = audited(httpd, 'refused: ', f"/rest/seed/{name}'")
        assert level == 'notice' and ': 413 ' in line
    assert audited(httpd, "'/rest/old'") == (
        'info', "POST '/rest/old' by anybody from 127.0.0.1: httpd has answered 302")
