# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The operators' page as files: addresses, types, headers, size; what it does: test_page.py."""
import gzip
import re

import pytest

import tileseed_httpd
from rest import BASIC, ask, layers, location
from tileseed_httpd import TOP

one_mpm = pytest.mark.parametrize('mpm', tileseed_httpd.MPMS[:1], indirect=True)

FILES = sorted((TOP / 'mod_tileseed/page').iterdir())
TYPES = {'.html': 'text/html;charset=utf-8', '.css': 'text/css;charset=utf-8',
         '.js': 'text/javascript;charset=utf-8', '.svg': 'image/svg+xml'}
MOST = 28000        # bytes of all files, compressed one by one
PAGE = 'TileSeedPage "@ROOT@/page"'


def serve(httpd, upstream, *lines, base='/rest'):
    """A server with the page at a location."""
    httpd.start('TileSeedStateDir "@ROOT@/state"\n' +
                location(base, 'Require local', PAGE, *lines) + layers(upstream, roads=()))


@one_mpm
def test_each_file_has_its_type(httpd, upstream):
    """Exactly, because browsers are told not to guess; and nothing from elsewhere may be loaded."""
    serve(httpd, upstream)
    for file in FILES:
        address = '/rest/' if file.name == 'index.html' else f'/rest/page/{file.name}'
        answer = httpd.get(address)
        assert (answer.status, answer.body) == (200, file.read_bytes()), address
        assert answer.headers['Content-Type'] == TYPES[file.suffix]
        assert answer.headers['X-Content-Type-Options'] == 'nosniff'
        assert answer.headers['Cache-Control'] == 'no-cache'
        policy = answer.headers['Content-Security-Policy']
        assert policy.startswith("default-src 'self'; ") and 'unsafe' not in policy
        again = httpd.get(address, headers={'If-None-Match': answer.headers['ETag']})
        assert (again.status, again.body) == (304, b'')
        head = httpd.request('HEAD', address)
        assert (head.status, head.body) == (200, b'')
        assert head.headers['Content-Length'] == str(len(answer.body))


def test_all_files_are_small():
    """Compressed one by one, as httpd sends them with mod_deflate."""
    sizes = {file.name: len(gzip.compress(file.read_bytes(), 6)) for file in FILES}
    assert sum(sizes.values()) <= MOST, sizes


def test_files_name_no_other_host():
    """The page works where there is no other server."""
    for file in FILES:
        found = set(re.findall(r'https?://[^\'"`\s)]+', file.read_text()))
        assert found <= {'http://www.w3.org/2000/svg'}, (file, found)


def test_what_is_put_into_addresses():
    """One helper builds them: what others call a layer or a task never becomes a path."""
    for file in (TOP / 'mod_tileseed/page').glob('*.js'):
        text = file.read_text()
        assert not re.findall(r'(?:read|write|send|fetch)\([^`;]*(?<!address)`', text), file
        assert not re.findall(r"(?:read|write|send|fetch)\([^;()]*' \+", text), file


@one_mpm
def test_addresses_that_are_no_file(httpd, upstream):
    """404, whatever the name; other methods are not possible; the slash at the end is asked for."""
    serve(httpd, upstream)
    assert httpd.get('/rest').headers['Location'] == '/rest/'
    ask(httpd, 'GET', '/rest', status=301)
    for name in ('nothing.js', 'page', 'page.js/', 'index.htm', '.htaccess', '%2e%2e/page.js',
                 'Makefile.am'):
        ask(httpd, 'GET', f'/rest/page/{name}', status=404)
    for address in ('/rest', '/rest/', '/rest/page/page.js'):
        for method in ('POST', 'PUT', 'DELETE'):
            assert ask(httpd, method, address, status=405).headers['Allow'] == 'GET, HEAD'


@one_mpm
def test_page_of_other_locations(httpd, upstream):
    """Each location has a page of its own, with its own guard; off has none; nor has one whose
    files are not there."""
    httpd.users(me='secret')
    httpd.start('TileSeedStateDir "@ROOT@/state"\n' + location('/', 'Require local', PAGE) +
                location('/gwc/rest', 'Require local', PAGE,
                         'TileSeedPublicURL https://maps.example.org/a%20b/rest') +
                location('/guarded', *BASIC, 'Require valid-user', PAGE) +
                location('/off', 'Require local', 'TileSeedPage off') +
                location('/empty', 'Require local', 'TileSeedPage "@ROOT@/cache"') +
                layers(upstream, roads=()))
    assert '<title>' in httpd.get('/gwc/rest/').body.decode()
    assert httpd.get('/gwc/rest').headers['Location'] == 'https://maps.example.org/a%20b/rest/'
    assert httpd.get('/guarded/').status == httpd.get('/guarded/page/page.js').status == 401
    assert httpd.get('/guarded/', auth=('me', 'secret')).status == 200
    for method in ('GET', 'POST'):
        for address in ('/off', '/off/', '/off/page/page.js'):
            ask(httpd, method, address, status=404)
    ask(httpd, 'GET', '/empty/', status=404)
    assert httpd.get('/').status == httpd.get('/page/style.css').status == 200
