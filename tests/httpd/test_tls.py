# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Upstreams that speak TLS: verified, and never left for plain HTTP."""
import shutil
import ssl
import subprocess

import pytest

from seeding import REST, begin, counts, done, failures, files, stub, task, terminate
from tileseed_httpd import one_mpm, wait_until
from upstream import Fault, Upstream

pytestmark = pytest.mark.skipif(not shutil.which('openssl'), reason='openssl makes certificates')
SUMMARY = 'failed answers of the upstream'


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
def test_no_way_back_to_plain_http(httpd, secure, upstream, certificate):
    """A redirect from https to http is a failure, and the other is not asked."""
    httpd.expect(SUMMARY)
    secure.always = Fault('redirect')
    secure.elsewhere = upstream.url
    httpd.start(REST + 'TileSeedRetries 0\n' + stub(secure, polite=trust(httpd, certificate)))
    document = done(httpd, 'stub', zoomStop=1)
    assert counts(document) == (0, 0, 0, 5)
    assert {cause for *_, cause, _ in failures(httpd, document['id'])} == {
        'redirected from https to http, to ' + upstream.url.split('/')[2]}
    assert not upstream.requests


@one_mpm
def test_the_way_to_tls(httpd, secure, upstream, certificate):
    """A redirect from http to https is followed."""
    upstream.always = Fault('redirect')
    upstream.elsewhere = secure.url
    httpd.start(REST + stub(upstream, polite=trust(httpd, certificate)))
    assert counts(done(httpd, 'stub', zoomStop=1)) == (5, 0, 0, 0)
