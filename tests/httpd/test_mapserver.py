# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A real MapServer that dies, hangs, refuses large pictures, or draws labels across metatiles.

MapServer is a CGI program here: a script in its place does what the file `how` says, and is
MapServer otherwise. By FastCGI it is a process for many requests, which dies amid an answer.
"""
import os
import re
import signal

import pytest

from seeding import (GRIDS, REST, begin, counts, cut, done, ended, failures, files, layer, stands,
                     task)
from test_seed_map import compare, paths_of, same, stored
from tileseed_httpd import MAPSERV, MODULES, Mischief, one_mpm, wait_until

SUMMARY = 'failed answers? of the upstream'
DIED = ('End of script output before headers|Premature end of script headers|mapserver|'
        'Script timed out before returning headers|AH01259')       # httpd kills what hangs
GRID = 'EPSG:3857'
LAST = 2                # the last level, of 4 x 4 tiles
SCRIPT = '''#!/bin/sh
case $QUERY_STRING in *GetMap*) how=$(cat {root}/how 2>/dev/null) ;; esac
case $how in
    dies) kill -KILL $$ ;;
    dies-amid) {mapserv} | head -c 3000; kill -KILL $$ ;;
    hangs) kill -STOP $$ ;;
    hangs-amid) {mapserv} | (head -c 3000; kill -STOP $$; cat) ; exit ;;
esac
exec {mapserv}
'''
SICK = '''
ScriptAlias "/sick" "@ROOT@/sick"
<Location "/sick">
    Require all granted
    SetEnv MAPSERVER_CONFIG_FILE "@ROOT@/demo/mapserver.conf"
    SetEnv MS_MAPFILE "@ROOT@/demo/world.map"
</Location>
TileSeedUpstream sick http://127.0.0.1:@PORT@/sick connections=2 %s
'''

FASTCGI = '''
LoadModule fcgid_module @MODULES@/mod_fcgid.so
FcgidIPCDir "@ROOT@/fcgid"
FcgidProcessTableFile "@ROOT@/fcgid/table"
FcgidOutputBufferSize %s
FcgidSpawnScoreUpLimit 1000
FcgidInitialEnv MAPSERVER_CONFIG_FILE "@ROOT@/demo/mapserver.conf"
FcgidInitialEnv LD_PRELOAD "@ROOT@/preload.so"
FcgidInitialEnv TILESEED_MISCHIEF "@ROOT@/mischief"
<Location "/sick">
    SetHandler fcgid-script
</Location>
'''

# Towns at the edges of metatiles of 2 x 2 at level 3, with names that reach beyond them; the last
# one lies where four metatiles meet.
TOWNS = {'Greenwich upon the meridian': (-300000, 6000000),
         'West of ninety degrees east': (9800000, -3000000),
         'North of the equator': (3000000, 60000),
         'Four corners of the world': (-10150000, -80000)}
LABELS = '''
  LAYER
    NAME "towns"
    TYPE POINT
    STATUS ON
    PROJECTION "init=epsg:3857" END
    %s
    CLASS
      STYLE SYMBOL 0 SIZE 1 COLOR 160 0 0 END
      LABEL
        TYPE BITMAP
        SIZE MEDIUM
        COLOR 120 0 0
        POSITION CR
        FORCE TRUE
        PARTIALS TRUE
      END
    END
  END
END
'''


def sick_layer(*lines, polite='', layers='world'):
    """The configuration of a layer over the script."""
    return REST + SICK % polite + layer(
        'world', f'TileSeedSource wms upstream:sick layers={layers}', f'TileSeedGrid {GRID}',
        *lines)


@pytest.fixture(name='sick')
def fixture_sick(httpd):
    """An httpd with the script; `sick.how(word)` says what becomes of requests from now on."""
    script = httpd.path('sick')
    script.write_text(SCRIPT.format(root=httpd.root, mapserv=MAPSERV))
    script.chmod(0o755)

    def how(word):
        """Changes it at once, or never: a file is there or not."""
        fresh = httpd.path('how.new')
        fresh.write_text(word)
        fresh.chmod(0o644)
        fresh.rename(httpd.path('how'))
    httpd.how = how
    httpd.expect(SUMMARY)
    httpd.expect(DIED)
    return httpd


def stopped(httpd):
    """The scripts that hang."""
    return [pid for pid, name in httpd.processes().items() if name == 'sick' and stands(pid)]


def hang(httpd, count):
    """Waits until that many requests hang, and returns their scripts."""
    return wait_until(lambda: (lambda found: len(found) >= count and found)(stopped(httpd)))


def all_is_right(httpd, number, last=LAST):
    """The task is done without a failure, and every tile is the map."""
    document = ended(httpd, number)
    tiles = GRIDS[GRID].between(0, last)
    assert (document['state'], document['reason']) == ('DONE', None)
    assert counts(document) == (len(tiles), 0, 0, 0)
    assert not failures(httpd, number)
    paths = paths_of('world', GRID, tiles)
    assert files(httpd) == set(paths)
    compare(httpd, paths, GRID)
    return document


def failing(httpd, number, words):
    """Waits until a task says that its upstream is away, and of what."""
    wait_until(lambda: words in (task(httpd, number)['reason'] or ''), what=words)


@one_mpm
@pytest.mark.parametrize('how, words', [
    ('dies', '500 Internal Server Error'), ('dies-amid', 'png is cut off after [0-9]+ bytes')])
def test_a_mapserver_that_dies(sick, how, words):
    """Killed before its answer, or in the middle of one, which httpd ends as if it were whole: no
    half picture becomes tiles. All tiles are made when it is well again."""
    sick.start(sick_layer('TileSeedRetries 1000'))
    sick.how(how)
    number = begin(sick, 'world', zoomStop=LAST, threadCount=2, tileFailureRetryWaitTime=10)
    wait_until(lambda: task(sick, number)['upstreamRequests'] > 3)
    assert not files(sick)
    sick.how('well')
    all_is_right(sick, number)
    assert re.search(f'failed answers? of the upstream, the last one: .*{words}', sick.error_log())


@one_mpm
def test_a_mapserver_that_dies_of_each_picture(sick):
    """With the usual retries every metatile fails, and the task says why nothing was made."""
    sick.expect('aborted')
    sick.start(sick_layer())
    sick.how('dies')
    document = ended(sick, begin(sick, 'world', zoomStop=LAST, tileFailureRetryWaitTime=10))
    assert (document['state'], counts(document)) == ('ABORTED', (0, 0, 0, 21))
    assert document['upstreamRequests'] == 3 * (LAST + 1)
    assert document['reason'] == ('nothing was made: 3 metatiles failed, the last one: '
                                  '500 Internal Server Error')


@one_mpm
@pytest.mark.parametrize('how', ['hangs', 'hangs-amid'])
def test_a_mapserver_that_hangs_for_a_while(sick, how):
    """It goes on within the timeout: nothing is asked for twice."""
    sick.start(sick_layer())
    sick.how(how)
    number = begin(sick, 'world', zoomStop=LAST, threadCount=2)
    pids = hang(sick, 1)
    sick.how('well')
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: [os.kill(pid, signal.SIGCONT) for pid in stopped(sick)]
               or task(sick, number)['state'] == 'DONE')
    assert all_is_right(sick, number)['upstreamRequests'] == LAST + 1


@one_mpm
def test_a_mapserver_that_hangs_and_is_killed(sick):
    """The request has failed at once, and is sent again."""
    sick.start(sick_layer('TileSeedRetries 1000'))
    sick.how('hangs')
    number = begin(sick, 'world', zoomStop=LAST, threadCount=1, tileFailureRetryWaitTime=10)
    pids = hang(sick, 1)
    sick.how('well')
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert all_is_right(sick, number)['upstreamRequests'] == LAST + 2


@one_mpm
def test_a_mapserver_that_hangs_for_too_long(sick):
    """The task says so after first-byte-timeout, and goes on with the next one that answers."""
    sick.expect('the upstream sick is away')
    sick.start(sick_layer('TileSeedRetries 1000', polite='first-byte-timeout=10s'))
    sick.how('hangs')
    number = begin(sick, 'world', zoomStop=LAST, threadCount=2, tileFailureRetryWaitTime=10)
    failing(sick, number, 'no answer within 10 s')
    sick.how('well')
    for pid in stopped(sick):
        os.kill(pid, signal.SIGKILL)
    all_is_right(sick, number)


@one_mpm
@pytest.mark.skipif(not (MODULES / 'mod_fcgid.so').exists(),
                    reason='mod_fcgid of libapache2-mod-fcgid is missing')
@pytest.mark.parametrize('size, buffered', [(3000, 65536), (12000, 0)])
def test_a_mapserver_by_fastcgi_that_dies(sick, size, buffered):
    """Killed amid an answer, of which httpd has kept all or passed a part: no half picture becomes
    tiles, and the next process makes them all."""
    sick.expect('mod_fcgid')
    mischief = Mischief(sick.root)
    mischief.kill_at_answer(size)
    sick.folder('fcgid')
    sick.start(sick_layer('TileSeedRetries 1000').replace('@ROOT@/sick', str(MAPSERV))
               + (FASTCGI % buffered).replace('@MODULES@', str(MODULES)))
    number = begin(sick, 'world', zoomStop=LAST, threadCount=2, tileFailureRetryWaitTime=10)
    wait_until(lambda: task(sick, number)['upstreamRequests'] > 6)
    mischief.kill_at_answer(0)
    assert all_is_right(sick, number)['upstreamRequests'] > LAST + 1
    assert 'failed answer' in sick.error_log()


@one_mpm
def test_a_mapserver_that_refuses_large_pictures(sick):
    """Metatiles beyond MAXSIZE are failures with MapServer's own words; smaller ones are made."""
    sick.expect('done after')
    text = sick.path('demo/world.map').read_text()
    sick.path('demo/world.map').write_text(text.replace('MAXSIZE 8192', 'MAXSIZE 1024'))
    sick.start(sick_layer('TileSeedMetatile 16x16', 'TileSeedRetries 0'))
    document = done(sick, 'world', zoomStop=3)
    assert counts(document) == (21, 0, 0, 64)
    (*_, cause, _), = failures(sick, document['id'])
    assert 'Image size out of range' in cause and '1024' in cause
    assert cause in document['reason']
    paths = paths_of('world', GRID, GRIDS[GRID].between(0, 2))
    assert files(sick) == set(paths)
    compare(sick, paths, GRID)


def with_towns(httpd):
    """Puts towns with labels on the map."""
    path = httpd.path('demo/world.map')
    towns = '\n'.join(f'FEATURE POINTS {x} {y} END TEXT "{name}" END'
                      for name, (x, y) in TOWNS.items())
    text = path.read_text().rstrip()
    assert text.endswith('END')
    path.write_text(text[:-3] + LABELS % towns)


@one_mpm
@pytest.mark.parametrize('meta, gutter', [(2, 0), (2, 256), (8, 0)])
def test_labels_across_metatiles(sick, meta, gutter):
    """Every tile is what MapServer draws for its metatile. With a gutter as wide as the labels, and
    where a metatile is the whole level, that is the map without an edge: labels are whole."""
    with_towns(sick)
    sick.start(sick_layer(f'TileSeedMetatile {meta}x{meta} gutter={gutter}', layers='towns'))
    done(sick, 'world', zoomStart=3, zoomStop=3, threadCount=2)
    paths = paths_of('world', GRID, GRIDS[GRID].tiles(3))
    compare(sick, paths, GRID, meta=(meta, meta), gutter=gutter, layers='towns')
    broken = {tile for path, tile in paths.items()
              if not same(stored(sick, path), cut(sick, GRIDS[GRID], tile, meta=(8, 8),
                                                  layers='towns'))}
    assert bool(broken) == (meta == 2 and gutter == 0), broken
