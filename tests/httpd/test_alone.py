# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A module that was built without the fleet says so where somebody asks for other hosts, and does
for one host what it always does."""
import pytest

from ctl import run
from seeding import REST, layer
from tileseed_httpd import ALONE, one_mpm

pytestmark = pytest.mark.skipif(not ALONE, reason='this build has the fleet')
SAYS = 'this module was built for one host alone (configure --without-fleet), and knows no other'


@one_mpm
def test_it_says_that_it_knows_no_other_host(httpd, upstream):
    """REST and the client say why; other documents and the health check are as ever."""
    httpd.start(REST + layer('few', f'TileSeedSource wms {upstream.url} layers=any'))
    assert httpd.get('/rest/overview.json').status == 200
    for answer in (httpd.get('/rest/hosts.json'),
                   httpd.put('/rest/hosts/web1', '{"state":"draining"}')):
        assert answer.status == 501 and SAYS in answer.text
    for words in (['hosts'], ['drain', 'web1'], ['undrain', 'web1']):
        said = run(*words, url=httpd.url('/rest'))
        assert said.returncode != 0 and SAYS in said.stderr
    assert run('check', url=httpd.url('/rest')).returncode == 0
