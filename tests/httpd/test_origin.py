# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Pages of other sites, the names of our own, and locations that nothing guards."""
import re

import pages    # of tests/lint, see conftest.py
from rest import BASIC, LEAST, ask, listed, location, number_of, refused, seed, serve
from tileseed_httpd import MODULES, TOP, free_port, one_mpm

CHANGES = (('POST', '/rest/seed/roads.json', LEAST['json']), ('POST', '/rest/seed', 'kill_all=all'),
           ('POST', '/rest/seed/roads', 'kill_all=all'),
           ('PUT', '/rest/diskquota.json', '{"cacheQuotaConfiguration":{"enabled":true}}'))


@one_mpm
def test_other_sites_are_kept_out(httpd, upstream):
    """A page of another site cannot change anything with the browser's credentials; reading it
    would not be allowed to, and so is no harm."""
    serve(httpd, upstream)
    number = number_of(seed(httpd, 'roads'))
    for origin in ('http://evil.example', 'https://evil.example:8443', 'null', '', 'file://',
                   'http://localhost.evil.example', f'http://evil.example/127.0.0.1:{httpd.port}',
                   f'http://127.0.0.1:{httpd.port}@evil.example', 'nonsense',
                   f'http://127.0.0.1:{httpd.port}.evil.example'):
        headers = {'Origin': origin}
        for method, address, body in CHANGES:
            assert 'TileSeedCheckOrigin' in refused(httpd, 403, method, address, body,
                                                    headers=headers), origin
        assert listed(httpd, headers=headers) == [number]


NAMED = ('Listen 127.0.0.1:{0}\n<VirtualHost 127.0.0.1:{0}>\nServerName maps.example.org\n'
         'ServerAlias tiles.example.org *.wild.example\n</VirtualHost>\n')


@one_mpm
def test_our_own_pages_may(httpd, upstream):
    """The server's own host as the client calls it, also behind a proxy that ends TLS."""
    port = free_port()
    serve(httpd, upstream, NAMED.format(port))
    httpd.port = port
    own = f'127.0.0.1:{port}'
    for origin, host in ((f'http://{own}', own), (f'https://{own}', own),
                         ('http://maps.example.org', 'maps.example.org'),
                         ('https://maps.example.org', 'maps.example.org'),
                         ('https://Maps.Example.org', 'maps.example.org'),
                         ('https://maps.example.org', 'maps.example.org:443'),
                         ('http://maps.example.org:80', 'maps.example.org'),
                         ('https://maps.example.org:8443', 'maps.example.org:8443'),
                         ('https://tiles.example.org', 'tiles.example.org'),
                         ('https://any.wild.example', 'any.wild.example'),
                         ('http://localhost', 'localhost'),
                         ('http://[::1]:8080', '[::1]:8080')):
        seed(httpd, 'roads', headers={'Origin': origin, 'Host': host})
    for origin, host in (('https://maps.example.org:8443', 'maps.example.org'),
                         ('http://example.org', 'maps.example.org')):
        seed(httpd, 'roads', headers={'Origin': origin, 'Host': host}, status=403)


@one_mpm
def test_names_that_are_not_ours(httpd, upstream):
    """A page whose name was made to point here is no page of ours, unless somebody has logged in:
    a browser has no login of ours for that name."""
    httpd.users(ada='secret')
    serve(httpd, upstream, location('/login/rest', *BASIC, 'Require valid-user'))
    for origin, host in (('http://evil.example', 'evil.example'),
                         ('http://evil.example:8080', 'evil.example:8080'),
                         ('http://127.0.0.1.evil.example', '127.0.0.1.evil.example'),
                         ('http://localhost.evil.example', 'localhost.evil.example')):
        headers = {'Origin': origin, 'Host': host}
        for method, address, body in CHANGES:
            text = refused(httpd, 403, method, address, body, headers=headers)
            assert 'ServerName' in text and origin in text
        seed(httpd, 'roads', base='/login/rest', headers=headers, auth=('ada', 'secret'))
        browser = {'Host': host, 'User-Agent': 'Mozilla/5.0'}
        for address in ('/rest/seed.json', '/rest/tasks.json', '/rest/'):
            answer = httpd.get(address, headers=browser)
            assert answer.status == 403 and b'ServerName' in answer.body, address
        assert httpd.get('/login/rest/seed.json', headers=browser,
                         auth=('ada', 'secret')).status == 200
        assert httpd.get('/rest/seed.json', headers={'Host': host}).status == 200
    for host in ('127.0.0.1', f'localhost:{httpd.port}', '[::1]:80'):
        assert httpd.get('/rest/seed.json', headers=browser | {'Host': host}).status == 200


@one_mpm
def test_what_the_browser_says(httpd, upstream):
    """Sec-Fetch-Site keeps other sites out where there is no Origin, or one that may be ours."""
    serve(httpd, upstream, location('/two/rest', 'Require local',
                                    'TileSeedCheckOrigin https://maps.example.org'))
    own = {'Origin': f'http://127.0.0.1:{httpd.port}'}
    for site, more, status in (('cross-site', {}, 403), ('same-site', {}, 403),
                               ('same-origin', {}, 200), ('none', {}, 200),
                               ('cross-site', own, 403), ('same-origin', own, 200),
                               ('none', own, 200)):
        seed(httpd, 'roads', headers={'Sec-Fetch-Site': site, **more}, status=status)
    listed(httpd, headers={'Sec-Fetch-Site': 'cross-site'})
    seed(httpd, 'roads', base='/two/rest', headers={'Sec-Fetch-Site': 'cross-site',
                                                    'Origin': 'https://maps.example.org'})


@one_mpm
def test_public_address(httpd, upstream):
    """Behind a proxy with another scheme, name and path, headers name what clients can reach, and
    pages of that site may send requests."""
    serve(httpd, upstream, location('/gwc/rest'), location('/other/rest'),
          '<Location "/gwc">\nTileSeedPublicURL https://Maps.example.org:8443/x%20y/\n'
          '</Location>\n')
    public = 'https://Maps.example.org:8443/x%20y/rest'
    number = number_of(seed(httpd, 'roads'))
    answer = seed(httpd, 'roads', base='/gwc/rest',
                  headers={'Origin': 'https://maps.example.org:8443'})
    assert answer.headers['Link'] == f'<{public}/tasks/{number + 1}.json>; rel="monitor"'
    answer = ask(httpd, 'GET', '/gwc/rest/tasks.json?limit=1')
    assert answer.headers['Link'] == (
        f'<{public}/tasks.json?limit=1&before={number + 1}>; rel="next"')
    for origin in ('http://maps.example.org:8443', 'https://maps.example.org',
                   'https://evil.example'):
        seed(httpd, 'roads', base='/gwc/rest', headers={'Origin': origin}, status=403)
    seed(httpd, 'roads', base='/other/rest', headers={'Origin': 'https://maps.example.org:8443'},
         status=403)


@one_mpm
def test_canonical_name(httpd, upstream):
    """ServerName with its scheme, and UseCanonicalName: pages of that site may send requests."""
    serve(httpd, upstream, 'ServerName https://maps.example.org\n<Location "/rest">\n'
          'UseCanonicalName On\n</Location>\n', location('/off/rest'))
    headers = {'Origin': 'https://maps.example.org'}
    seed(httpd, 'roads', headers=headers)
    seed(httpd, 'roads', headers={'Origin': 'http://maps.example.org'}, status=403)
    seed(httpd, 'roads', base='/off/rest', headers=headers, status=403)


@one_mpm
def test_open_locations_are_named(httpd, upstream):
    """The warning at the start: what keeps nobody away from changes is no guard."""
    sections = {
        '/a': ('Require all granted',), '/b': ('<Limit GET>', 'Require local', '</Limit>'),
        '/c': ('<LimitExcept GET>', 'Require local', '</LimitExcept>'),
        '/d': ('<Limit POST PUT DELETE>', 'Require local', '</Limit>'),
        '/e': ('<Limit POST>', 'Require local', '</Limit>'), '/f': ('Require local',),
        '/g': ('<Limit POST>', 'Require local', '</Limit>', '<Limit PUT DELETE>', 'Require local',
               '</Limit>'),
        '/h': ('<LimitExcept POST>', 'Require local', '</LimitExcept>'),
        '/i': ('Require local', 'Require all granted'),         # one is enough
        '/j': ('<RequireAny>', 'Require local', 'Require all granted', '</RequireAny>'),
        '/k': ('<RequireAll>', 'Require local', 'Require all granted', '</RequireAll>'),
        '/l': ('Require method GET POST',), '/m': ('Require method GET',),
        '/n': ('<RequireAny>', 'Require method GET', 'Require local', '</RequireAny>'),
        '/o': ('TileSeedCheckOrigin on',), '/p': ('TileSeedCheckOrigin on',),
        '/s': ('Require expr true',), '/t': ('Require local', 'Satisfy any'),
        '/u': ('Require local', 'Satisfy any', 'Order allow,deny', 'Deny from all'),
        '/q': ('Require all granted',), '/r': ('AuthMerging And', 'Require all granted')}
    around = ''.join(f'<{section}>\nRequire local\n</{section.split()[0]}>\n' for section in (
        'LocationMatch "^/o/"', 'LocationMatch "^/p/seed/"', 'Location "/q"', 'Location ~ "^/r"'))
    serve(httpd, upstream,
          around, *[location(path, *lines) for path, lines in sections.items()])
    found = re.findall(r'nothing in <Location "(/.)"> says who may seed', httpd.error_log())
    assert sorted(set(found)) == ['/a', '/b', '/e', '/h', '/i', '/j', '/l', '/p', '/q',
                                  '/s', '/t']
    httpd.expect('says who may seed')


@one_mpm
def test_origins_that_are_let_in(httpd, upstream):
    """TileSeedCheckOrigin names more, or switches the check off."""
    serve(httpd, upstream, location('/open/rest', 'Require local', 'TileSeedCheckOrigin off'),
          location('/two/rest', 'Require local',
                   'TileSeedCheckOrigin https://maps.example.org http://b.example:8080'))
    for origin, base, status in (('http://evil.example', '/open/rest', 200),
                                 ('https://maps.example.org', '/two/rest', 200),
                                 ('http://b.example:8080', '/two/rest', 200),
                                 ('http://b.example', '/two/rest', 403),
                                 ('http://maps.example.org', '/two/rest', 403),
                                 (f'http://127.0.0.1:{httpd.port}', '/two/rest', 200),
                                 ('https://maps.example.org', '/rest', 403)):
        seed(httpd, 'roads', base=base, headers={'Origin': origin}, status=status)


def recipe():
    """The manual's lines about CORS: those of a file of one's own, those of the virtual host."""
    blocks = pages.split((TOP / 'mod_tileseed/manual/security.md').read_text(encoding='utf-8'))[1]
    parts = [block.text for block in blocks
             if 'Header always set Access-Control' in block.text or 'RewriteCond' in block.text]
    assert len(parts) == 2, parts
    return '\n'.join(parts)


def allowed(answer):
    """What a browser lets a page do: origin, methods, headers, whether with credentials."""
    names = ('Origin', 'Methods', 'Headers', 'Credentials')
    found = [answer.headers.get_all(f'Access-Control-Allow-{name}') for name in names]
    assert all(one is None or len(one) == 1 for one in found), found
    return [one and one[0] for one in found]


@one_mpm
def test_pages_of_other_sites_as_the_manual_says(httpd, upstream):
    """Browsers ask first without credentials; what they send then passes, from one site alone."""
    site = 'https://maps.example.org'
    httpd.users(me='secret')
    serve(httpd, upstream,
          '<Location "/tiles">\nTileSeedTiles on\nRequire all granted\n</Location>',
          f'LoadModule rewrite_module "{MODULES}/mod_rewrite.so"', recipe(),
          rest='TileSeedStateDir "@ROOT@/state"\n'
          + location('/rest', *BASIC, 'Require valid-user'))
    path = '/rest/seed/roads.json'
    asked = {'Origin': site, 'Access-Control-Request-Method': 'POST',
             'Access-Control-Request-Headers': 'authorization,content-type'}
    for address in (path, '/rest/seed', '/rest/diskquota.json', '/rest/tasks/1.json'):
        answer = httpd.request('OPTIONS', address, headers=asked)
        assert (answer.status, answer.body) == (204, b'')
        origin, methods, headers, credentials = allowed(answer)
        assert (origin, credentials) == (site, 'true')
        assert {'POST', 'DELETE'} <= set(methods.split(', '))
        assert {'Authorization', 'Content-Type'} <= set(headers.split(', '))
    me = ('me', 'secret')
    answer = httpd.request('POST', path, LEAST['json'], headers={'Origin': site}, auth=me)
    assert answer.status == 200 and allowed(answer)[0] == site
    assert 'TileSeed-Task' in answer.headers['Access-Control-Expose-Headers']
    for headers, auth, status in (({'Origin': site}, None, 401), ({'Origin': site}, me, 400),
                                  ({'Origin': 'https://evil.example'}, me, 403)):
        answer = httpd.request('POST', path, '{"seedRequest":{"type":"x"}}', headers, auth)
        assert answer.status == status and allowed(answer)[0] == site
    assert httpd.request('OPTIONS', path).status == 401        # nobody's question before another
    tile = '/tiles/roads/EPSG:3857/0/0/0.png'
    answer = httpd.request('GET', '/tiles/tms/1.0.0', headers={'Origin': 'https://any.example'})
    assert answer.status == 200 and allowed(answer)[0] == '*'
    answer = httpd.request('OPTIONS', tile, headers={**asked, 'Origin': 'https://any.example'})
    assert answer.status == 204 and allowed(answer)[0] == '*'
