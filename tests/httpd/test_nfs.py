# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A store on a file system that answers as NFS does."""
import pytest

from quota import agrees
from seeding import GRIDS, REST, counts, done, files, stub
from tileseed_httpd import one_mpm

LAST = 4
TILES = GRIDS['small'].between(0, LAST)

pytestmark = one_mpm


@pytest.mark.parametrize('stale, repeated', [(7, 0), (0, 1), (10, 1)])
def test_answers_of_nfs(httpd, upstream, stale, repeated):
    """Handles that are stale are opened again. A rename that was carried out and is sent again is
    no failure: tiles are counted once, and the books equal the disk."""
    httpd.expect('Stale file handle')
    mischief = httpd.make_mischief()
    upstream.is_noise = True
    httpd.start(REST + stub(upstream))
    assert counts(done(httpd, 'stub', zoomStop=0)) == (1, 0, 0, 0)
    agrees(httpd)
    mischief.behave_as_nfs(httpd.path('cache'), stale, repeated)
    assert counts(done(httpd, 'stub', zoomStop=LAST)) == (len(TILES) - 1, 1, 0, 0)
    agrees(httpd)
    upstream.is_noise = False
    assert counts(done(httpd, 'stub', zoomStop=LAST, type='reseed')) == (len(TILES), 0, 0, 0)
    agrees(httpd)
    assert len(files(httpd)) == len(TILES)
    document = done(httpd, 'stub', zoomStart=LAST, zoomStop=LAST, type='truncate')
    assert counts(document)[2] == 4 ** LAST
    agrees(httpd)
