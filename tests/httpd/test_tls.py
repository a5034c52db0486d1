# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Upstreams that speak TLS: verified, never left for plain HTTP, and asked over HTTP/2."""
import shutil
import ssl
import subprocess
import warnings

import pytest

from seeding import (REST, SMALL_GRID, begin, counts, done, ended, failures, files, layer, stub,
                     task, terminate)
from tileseed_httpd import MODULES, free_port, one_mpm, wait_until
from upstream import Fault, Upstream

pytestmark = pytest.mark.skipif(not shutil.which('openssl'), reason='openssl makes certificates')
SUMMARY = 'failed answers? of the upstream'


@pytest.fixture(name='certificate')
def fixture_certificate(tmp_path):
    """A certificate of 127.0.0.1 that nobody has signed but itself, and its key, in one file."""
    path = tmp_path / 'both.pem'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2',
                    '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1',
                    '-keyout', path, '-out', tmp_path / 'certificate.pem'],
                   check=True, capture_output=True)
    with path.open('a') as both:
        both.write((tmp_path / 'certificate.pem').read_text())
    tmp_path.chmod(0o755)
    return path


@pytest.fixture(name='secure')
def fixture_secure(certificate):
    """A stub that speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with Upstream(context) as server:
        yield server


def trust(httpd, certificate):
    """Where the seeder finds the certificate."""
    path = httpd.path('trusted.pem')
    path.write_text((certificate.parent / 'certificate.pem').read_text())
    path.chmod(0o644)
    return f'ca={path}'


@one_mpm
def test_a_certificate_that_is_trusted(httpd, secure, certificate):
    """Tiles are made."""
    httpd.start(REST + stub(secure, polite=trust(httpd, certificate)))
    assert counts(done(httpd, 'stub', zoomStop=2)) == (21, 0, 0, 0)


@one_mpm
def test_a_certificate_that_is_not(httpd, secure):
    """Nothing is asked; the task says why it waits."""
    httpd.expect(SUMMARY)
    httpd.expect('is away')
    httpd.start(REST + stub(secure))
    number = begin(httpd, 'stub', zoomStop=2)
    wait_until(lambda: 'no TLS with 127.0.0.1:' in (task(httpd, number)['reason'] or ''))
    terminate(httpd)
    assert not secure.requests
    assert not files(httpd)


@one_mpm
def test_a_port_without_tls_of_today(httpd, certificate, upstream):
    """The task says what the words of the TLS library mean: an upstream that is too old, one that
    speaks plain HTTP."""
    httpd.expect(SUMMARY)
    httpd.expect('is away')
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DeprecationWarning)
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers('ALL:@SECLEVEL=0')
    with Upstream(context) as old:
        plain = stub(upstream, name='plain').replace('stub http:', 'plain https:').replace(
            'upstream:stub', 'upstream:plain').replace(SMALL_GRID, '')
        httpd.start(REST + stub(old, polite=trust(httpd, certificate)) + plain)
        for name, meaning in (('stub', 'no TLS 1.2 or newer with 127.0.0.1:'),
                              ('plain', 'plain HTTP instead of TLS with 127.0.0.1:')):
            number = begin(httpd, name, zoomStop=0)
            wait_until(lambda: meaning in (task(httpd, number)['reason'] or ''))
        terminate(httpd)
    assert not old.requests and not files(httpd)


@one_mpm
def test_no_way_back_to_plain_http(httpd, secure, upstream, certificate):
    """A redirect from https to http is a failure, and the other is not asked."""
    httpd.expect(SUMMARY)
    secure.always = Fault('redirect')
    secure.elsewhere = upstream.url
    httpd.start(REST + 'TileSeedRetries 0\n' + stub(secure, polite=trust(httpd, certificate)))
    document = ended(httpd, begin(httpd, 'stub', zoomStop=1))
    assert counts(document) == (0, 0, 0, 5)
    assert {cause for *_, cause, _ in failures(httpd, document['id'])} == {
        'redirected from https to http, to ' + upstream.url.split('/')[2]}
    assert not upstream.requests


@one_mpm
def test_the_way_to_tls(httpd, secure, upstream, certificate):
    """A redirect from http to https is followed, to a port that is named."""
    upstream.always = Fault('redirect')
    upstream.elsewhere = secure.url
    named = ' redirect=' + secure.url.split('/')[2]
    httpd.start(REST + stub(upstream, polite=trust(httpd, certificate) + named))
    assert counts(done(httpd, 'stub', zoomStop=1)) == (5, 0, 0, 0)


HTTP2 = '''
LoadModule ssl_module "@MODULES@/mod_ssl.so"
LoadModule http2_module "@MODULES@/mod_http2.so"
Listen 127.0.0.1:@SECURE@
LogLevel ssl:error
LogFormat "%H %s %{remote}p %{SSL_SESSION_RESUMED}x %q" protocols
<VirtualHost 127.0.0.1:@SECURE@>
    SSLEngine on
    SSLCertificateFile "@ROOT@/both.pem"
    Protocols @PROTOCOLS@
    KeepAlive @KEEP@
    CustomLog "@ROOT@/protocols.log" protocols
</VirtualHost>
'''


def secured(plain_httpd, certificate, protocols, keep='On'):
    """The address of a MapServer behind an httpd that offers these protocols."""
    if not (MODULES / 'mod_http2.so').exists() or not (MODULES / 'mod_ssl.so').exists():
        pytest.skip('httpd has no mod_http2 or no mod_ssl')
    port = free_port()
    copy = plain_httpd.path('both.pem')
    copy.write_text(certificate.read_text())
    copy.chmod(0o600)
    plain_httpd.start(HTTP2.replace('@MODULES@', str(MODULES)).replace('@SECURE@', str(port))
                      .replace('@PROTOCOLS@', protocols).replace('@KEEP@', keep))
    return f'https://127.0.0.1:{port}/wms'


@pytest.fixture(name='http2')
def fixture_http2(plain_httpd, certificate):
    """The address of a MapServer behind an httpd that offers HTTP/2."""
    return secured(plain_httpd, certificate, 'h2 http/1.1')


def spoken(server):
    """What a server was asked for: (protocol, status) of each GetMap."""
    return [tuple(words[:2]) for words in logged(server)]


def logged(server):
    """(protocol, status, port of the client, TLS session, query) of each GetMap."""
    lines = server.path('protocols.log').read_text().splitlines()
    return [line.split() for line in lines if 'GetMap' in line]


@one_mpm
def test_http2_where_it_is_offered(httpd, plain_httpd, http2, certificate):
    """A seed is made over HTTP/2, with as many requests as the task counts, and can be ended."""
    httpd.start(REST + f'TileSeedUpstream new {http2} connections=4 {trust(httpd, certificate)}\n'
                + layer('world', 'TileSeedSource wms upstream:new layers=world',
                        'TileSeedGrid EPSG:4326', 'TileSeedReseed all', 'TileSeedMetatile 2x2'))
    document = done(httpd, 'world', zoomStop=3, threadCount=4)
    assert counts(document) == (sum(2 << 2 * z for z in range(4)), 0, 0, 0)
    wait_until(lambda: len(spoken(plain_httpd)) == document['upstreamRequests'])
    asked = spoken(plain_httpd)
    assert set(asked) == {('HTTP/2.0', '200')}
    # they share connections; the first four may open one each
    assert len({words[2] for words in logged(plain_httpd)}) <= 4
    number = begin(httpd, 'world', type='reseed', threadCount=4)
    wait_until(lambda: task(httpd, number)['tilesMade'])
    assert f'[{number}: world, RESEED, RUNNING]' in terminate(httpd)
    after = len(spoken(plain_httpd))
    assert counts(done(httpd, 'world', zoomStop=3, type='reseed')) == counts(document)
    # at the end each connection had a request under way, and one before it that was not logged yet
    assert len(spoken(plain_httpd)) <= after + len(asked) + 2 * 4


@one_mpm
def test_sessions_are_resumed(httpd, plain_httpd, certificate):
    """An upstream that ends each connection: the next one goes on with the session of the one
    before. One at a time, because OpenSSL uses a ticket of TLS 1.3 once: a connection that
    begins before another one has a new ticket makes a session of its own."""
    address = secured(plain_httpd, certificate, 'http/1.1', keep='Off')
    httpd.start(REST + f'TileSeedUpstream new {address} connections=1 {trust(httpd, certificate)}\n'
                + layer('world', 'TileSeedSource wms upstream:new layers=world',
                        'TileSeedGrid EPSG:4326', 'TileSeedMetatile 1x1'))
    document = done(httpd, 'world', zoomStop=1, threadCount=4)
    wait_until(lambda: len(logged(plain_httpd)) == document['upstreamRequests'])
    asked = logged(plain_httpd)
    assert {(words[0], words[1]) for words in asked} == {('HTTP/1.1', '200')}
    assert len({words[2] for words in asked}) == len(asked) == 10
    # the first connection may have served what was asked before the pictures
    assert [words[3] for words in asked].count('Resumed') >= 9, asked


@one_mpm
def test_pictures_are_not_asked_for_compressed(httpd, upstream):
    """Documents are. A picture that comes compressed all the same is taken."""
    httpd.expect('does not offer a layer')
    upstream.capabilities = '<WMT_MS_Capabilities/>'
    upstream.faults = [Fault('gzip')]
    httpd.start(REST + stub(upstream))
    assert counts(done(httpd, 'stub', zoomStop=1)) == (5, 0, 0, 0)
    assert {headers['Accept-Encoding'] for headers in upstream.headers} == {'identity'}
    wait_until(lambda: upstream.capabilities_headers)
    assert 'gzip' in upstream.capabilities_headers[0]['Accept-Encoding']
