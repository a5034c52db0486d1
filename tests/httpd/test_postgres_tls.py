# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A PostgreSQL that speaks TLS: httpd and tileseed-copystate say what to do about each mistake."""
import os
import shutil
import subprocess

import pytest

from copystate import State, copy, refused
from seeding import REST, counts, done, stub
from test_tls import fixture_certificate, trust     # pylint: disable=unused-import
from tileseed_httpd import free_port, one_mpm, wait_until

pytestmark = pytest.mark.skipif(not shutil.which('openssl'), reason='openssl makes certificates')


@pytest.fixture(name='secure_postgres')
def fixture_secure_postgres(httpd, postgres, certificate, monkeypatch):
    """The PostgreSQL of an httpd, over TLS at 127.0.0.1: returns the parameters but for sslmode."""
    port = str(free_port())
    monkeypatch.setenv('PGPORT', port)      # httpd's and PostgreSQL's as well
    keys = postgres.folder / 'data/both.pem'
    keys.write_text(certificate.read_text())
    keys.chmod(0o600)
    owner = (postgres.folder / 'data').stat()
    os.chown(keys, owner.st_uid, owner.st_gid)
    postgres.crash()
    postgres.start(settings=('listen_addresses=127.0.0.1', 'ssl=on', f'ssl_cert_file={keys}',
                             f'ssl_key_file={keys}'))
    return f'port={port} {postgres.user()} dbname={httpd.database}'


@one_mpm
@pytest.mark.parametrize('database', ['pgsql'], indirect=True)
def test_a_database_over_tls(httpd, upstream, secure_postgres, certificate, monkeypatch):
    """Each mistake has its advice in the error log; without one tasks are done."""
    other = httpd.path('other.pem')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes',
                    '-subj', '/CN=other', '-keyout', httpd.path('key.pem'), '-out', other],
                   check=True, capture_output=True)
    other.chmod(0o644)
    right = trust(httpd, certificate).replace('ca=', 'sslrootcert=')
    locked = httpd.path('locked')
    locked.mkdir(0)
    httpd.expect(r'TS0040|TS0043|TS0057|state database')
    for home, host, root, advice in (
            (httpd.root, '127.0.0.1', '', '; sslrootcert= of TileSeedDatabase must name the'),
            (httpd.root, '127.0.0.1', f'sslrootcert={other}', 'verify failed; sslrootcert= of'),
            (httpd.root, 'localhost', right, '; host= of TileSeedDatabase must be a name that'),
            (locked, '127.0.0.1', right, '; libpq looks below HOME of who has started httpd')):
        monkeypatch.setenv('HOME', str(home))
        httpd.start(REST + stub(upstream) + f'TileSeedDatabase pgsql "host={host} '
                    f'{secure_postgres} sslmode=verify-full {root}"\n')
        wait_until(lambda words=advice: words in httpd.error_log(), what=advice)
        httpd.stop()
    monkeypatch.setenv('HOME', str(httpd.root))
    httpd.start(REST + stub(upstream) + f'TileSeedDatabase pgsql "host=127.0.0.1 '
                f'{secure_postgres} sslmode=verify-full {right}"\n')
    assert counts(done(httpd, 'stub', zoomStop=1)) == (5, 0, 0, 0)
    httpd.stop()
    copy_over_tls(httpd, f'host=127.0.0.1 {secure_postgres} sslmode=verify-full', right, other)


def copy_over_tls(httpd, params, right, other):
    """tileseed-copystate has the same advice. A root's HOME, which httpd's User can't enter, does
    not keep it from the database."""
    state = State()
    locked = httpd.path('locked')
    home = {'HOME': str(locked if state.user else httpd.root)}
    try:
        assert '; sslrootcert= must name the cert' in refused(params, state.file, **home)
        assert '; sslrootcert= must name the cert' in refused(f'{params} sslrootcert={other}',
                                                              state.file, **home)
        if state.user:
            other.chmod(0o600)
            assert 'sslrootcert= must name the cert' in refused(f'{params} sslrootcert={other}',
                                                                state.file, **home)
        assert '; host= must be a name that PostgreSQL' in refused(
            f'{params} {right}'.replace('127.0.0.1', 'localhost'), state.file, **home)
        done_well = copy(f'{params} {right}', state.file, **home)
        assert done_well.returncode == 0 and 'have the same rows' in done_well.stdout, done_well
    finally:
        state.remove()
