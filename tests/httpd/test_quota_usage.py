# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The disk usage over REST, and the reconcile: what is said, to whom, and what is mended."""
import os
import shutil
import signal
import subprocess

import pytest

from database import opened
from quota import agrees, disk, known, put, size, usage
from rest import JSON, ask, kind
from seeding import (FEW, GRIDS, REST, done, empty_folders, files, geowebcache_path, halt, layer,
                     parameter_hash, seeder_of, stub, world)
from tileseed_httpd import folder_elsewhere, one_mpm, wait_until

OTHER = ('TileSeedSource wms upstream:stub layers=any', 'TileSeedGrid small',
         'TileSeedMetatile 2x2')


def reconciled(httpd):
    """Has the books compared with the disk; returns what usage.json says of it."""
    assert ask(httpd, 'POST', '/rest/diskquota/reconcile').body == b''
    before = usage(httpd)['reconcile']['requested']

    def result():
        found = usage(httpd)['reconcile']
        return found if found['state'] == 'done' and found['requested'] == before else None
    return wait_until(result, what='the end of the reconcile')


def difference(found):
    """(bytes, files, tiles)."""
    return found['bytes'], found['files'], found['tiles']


@one_mpm
def test_methods(httpd, upstream):
    """HEAD, and 405 for what else is sent."""
    httpd.start(REST + stub(upstream))
    answer = ask(httpd, 'GET', '/rest/diskquota/usage.json')
    assert kind(answer) == JSON
    ask(httpd, 'HEAD', '/rest/diskquota/usage.json')
    for method in ('POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'):
        answer = ask(httpd, method, '/rest/diskquota/usage.json', status=405)
        assert answer.headers['Allow'] == 'GET, HEAD'
    for method in ('GET', 'PUT', 'DELETE'):
        answer = ask(httpd, method, '/rest/diskquota/reconcile', status=405)
        assert answer.headers['Allow'] == 'POST'
    for query in ('tileset=x', 'tileset=0', 'tileset=1&after=3', 'tileset=1&limit=0'):
        ask(httpd, 'GET', f'/rest/diskquota/usage.json?{query}', status=400)
    ask(httpd, 'GET', '/rest/diskquota/usage.json?tileset=99', status=404)


@pytest.mark.main_path
@one_mpm
def test_document(httpd, upstream):
    """Sums of all, of a layer, of a tile set and of its pages are what is on the disk."""
    httpd.start(REST + 'TileSeedDiskQuotaFiles 5000\nTileSeedMinFree 4KiB\n' + FEW +
                stub(upstream) + layer('other', *OTHER))
    known(httpd)
    put(httpd, enabled=True, globalQuota=size(100, 'MiB'), layerQuotas=[
        {'layer': 'other', 'expirationPolicyName': 'LRU', 'quota': size(50, 'MiB')}])
    done(httpd, 'stub', zoomStop=5, threadCount=4)
    done(httpd, 'other', zoomStop=1)
    found = agrees(httpd)
    assert found['enabled'] and found['enforced'] and found['complete']
    assert found['limit'] == {'bytes': 100 << 20, 'files': 5000, 'minFree': 4096}
    assert (found['policy'], found['diskBlockSize']) == ('LFU', os.statvfs(httpd.root).f_bsize)
    assert found['diskFree'] > 4096
    assert [found[name] for name in ('recount', 'walk', 'grace', 'lastCleanUp', 'reconcile')] == \
        5 * [None]
    other, main = found['layers']
    assert (other['layer'], other['limit'], other['policy']) == ('other', 50 << 20, 'LRU')
    assert (main['layer'], main['limit'], main['policy']) == ('stub', None, 'LFU')
    assert (main['bytes'], main['files']) == disk(httpd, 'stub')
    (tileset,) = main['tilesets']
    names = [name for name in files(httpd) if name.startswith('stub/')]
    assert tileset['tiles'] == len(names) == 1365
    assert tileset['store'] == str(httpd.path('cache'))
    assert tileset['contentBytes'] == sum(os.path.getsize(httpd.path('cache') / name)
                                          for name in names)
    assert tileset['configured'] and tileset['complete'] and tileset['pages'] == 6
    assert (tileset['gridSetId'], tileset['format']) == ('small', 'image/png')
    only = usage(httpd, base='/few/rest')
    assert [row['layer'] for row in only['layers']] == ['other']
    assert (only['bytes'], only['files']) == disk(httpd, 'other')
    ask(httpd, 'GET', f'/few/rest/diskquota/usage.json?tileset={tileset["id"]}', status=404)


def pages_of(httpd, tileset):
    """All pages of a tile set, four at a time."""
    address = f'/rest/diskquota/usage.json?tileset={tileset}&limit=4'
    pages = []
    while address:
        part = ask(httpd, 'GET', address).json()
        pages += part['pages']
        assert part['tileset']['id'] == tileset and len(part['pages']) <= 4
        address = part['next']
    return pages


@one_mpm
def test_pages(httpd, upstream):
    """Part by part, each page once."""
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=6, threadCount=4)
    (tileset,) = agrees(httpd)['layers'][0]['tilesets']
    wait_until(lambda: sum(page['tiles'] for page in pages_of(httpd, tileset['id'])) == 5461)
    pages = pages_of(httpd, tileset['id'])
    corners = [(page['z'], page['x'], page['y']) for page in pages]
    assert corners == [*((z, 0, 0) for z in range(6)),
                       *((6, x, y) for x in (0, 32) for y in (0, 32))]
    assert [page['tiles'] for page in pages] == [1, 4, 16, 64, 256, 1024, 1024, 1024, 1024, 1024]
    assert sum(page['bytes'] for page in pages) == tileset['bytes'] - tileset['shared']['bytes']
    assert all(page['accessed'] for page in pages)


@one_mpm
def test_unconfigured(httpd, upstream):
    """What was a layer once is shown, and not counted."""
    httpd.start(REST + stub(upstream) + layer('other', *OTHER))
    done(httpd, 'stub', zoomStop=2)
    done(httpd, 'other', zoomStop=1)
    agrees(httpd)
    httpd.stop()
    httpd.start(REST + stub(upstream))
    found = known(httpd)
    other, main = found['layers']
    assert not other['tilesets'][0]['configured'] and main['tilesets'][0]['configured']
    assert other['bytes'] == 0 < other['tilesets'][0]['bytes']
    assert (found['bytes'], found['files']) == disk(httpd, 'stub')


@one_mpm
def test_a_cache_beside_stores_that_cannot_be_read(httpd, upstream):
    """Each of them is tried again after a minute; what can be read is known without a wait."""
    httpd.expect("can't be read|can't be written by User|can't be reached|can't look|can't remove")
    ill = [layer(f'a{number}', *OTHER).replace('@ROOT@/cache', '@ROOT@/ill') for number in range(8)]
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=3)
    httpd.stop()
    shutil.rmtree(httpd.path('state'))
    httpd.folder('ill').chmod(0)
    httpd.start(REST + stub(upstream) + ''.join(ill))
    wait_until(lambda: rows(httpd).get('stub', [{'complete': False}])[0]['complete'])
    assert rows(httpd)['stub'][0]['files'] == 85
    httpd.path('ill').chmod(0o755)


def rows(httpd, base='/rest'):
    """layer -> its tile sets, of all that usage.json shows."""
    return {one['layer']: one['tilesets'] for one in usage(httpd, base)['layers']}


def wish_gone(httpd, number, status=200, base='/rest', query=''):
    """Has a tile set forgotten; returns what is said."""
    return ask(httpd, 'DELETE', f'{base}/diskquota/usage/{number}.json{query}', status=status).body


def remove_tiles(httpd, number, status=200, base='/rest'):
    """Has the tiles of a tile set removed; returns what is said."""
    return wish_gone(httpd, number, status, base, '?tiles=remove')


def lapsed(httpd):
    """(layer, format, STYLES) -> number of the tile sets that are configured no more."""
    return {(name, one['format'], one['parameters'].get('STYLES')): one['id']
            for name, tilesets in rows(httpd).items() for one in tilesets if not one['configured']}


@one_mpm
def test_forgetting(httpd, upstream):
    """A tile set that was configured leaves the books when asked to; its files stay."""
    three = [stub(upstream), layer('other', *OTHER), layer('third', *OTHER)]
    httpd.start(REST + ''.join(three))
    for name in ('stub', 'other', 'third'):
        done(httpd, name, zoomStop=1)
    agrees(httpd)
    httpd.stop()
    httpd.start(REST + FEW + three[0] + three[1].replace('@ROOT@/cache', '@ROOT@/moved'))
    wait_until(lambda: len(rows(httpd).get('other', ())) == 2 and usage(httpd)['complete'])
    (main,), (other, moved), (third,) = (
        [one['id'] for one in sorted(rows(httpd)[name], key=lambda one: one['configured'])]
        for name in ('stub', 'other', 'third'))
    kept = files(httpd)
    for configured, base in ((main, '/rest'), (moved, '/rest'), (moved, '/few/rest')):
        assert b'is configured: truncate it' in wish_gone(httpd, configured, 409, base)
    assert b'no tile set 99' in wish_gone(httpd, 99, 404)
    for hidden in (main, third, 99):
        assert b'TileSeedLayers' in wish_gone(httpd, hidden, 403, '/few/rest')
    assert wish_gone(httpd, other, base='/few/rest') == b''
    wait_until(lambda: [one['id'] for one in rows(httpd)['other']] == [moved])
    wish_gone(httpd, other, 404)
    assert wish_gone(httpd, third) == b''
    wait_until(lambda: set(rows(httpd)) == {'stub', 'other'})
    assert files(httpd) == kept


STYLES = 'TileSeedParameter STYLES default=day value=night'
PNG = 'TileSeedFormat image/png'
JPEG = 'TileSeedFormat image/jpeg'


@one_mpm
def test_removing_tiles(httpd, upstream):
    """The tiles of what is configured no more go when asked to, whatever their layout was: of a
    layer, of a value and of a format. All else stays, the shared files of others among it."""
    main = stub(upstream, STYLES, PNG, JPEG)
    httpd.start(REST + main + layer('other', *OTHER, store='xyz') + layer('third', *OTHER))
    done(httpd, 'stub', zoomStop=2)
    kept = files(httpd)
    done(httpd, 'stub', zoomStop=2, format='image/jpeg')
    done(httpd, 'stub', zoomStop=2, parameters={'entry': {'string': ['STYLES', 'night']}})
    for name in ('other', 'third'):
        done(httpd, name, zoomStop=3)
    agrees(httpd)
    with_third = {name for name in files(httpd) if name.startswith('third')} | kept
    httpd.stop()
    few = FEW.replace('other', 'stub')
    httpd.start(REST + few + stub(upstream, STYLES.replace('night', 'dusk'), PNG))
    wait_until(lambda: usage(httpd)['complete'])
    gone = lapsed(httpd)
    (main,) = {one['id'] for one in rows(httpd)['stub']} - set(gone.values())
    assert set(gone) == {('stub', 'image/jpeg', 'day'), ('stub', 'image/png', 'night'),
                         ('other', 'image/png', None), ('third', 'image/png', None)}
    third = gone.pop(('third', 'image/png', None))
    assert b'tiles must be keep or remove' in wish_gone(httpd, third, 400, query='?tiles=away')
    assert b'is configured: truncate it' in remove_tiles(httpd, main, 409)
    assert b'TileSeedLayers' in remove_tiles(httpd, third, 403, '/few/rest')
    for number in gone.values():
        assert remove_tiles(httpd, number) == b''
    wait_until(lambda: list(lapsed(httpd).values()) == [third])
    assert files(httpd) == with_third and not empty_folders(httpd)
    found = usage(httpd)
    assert (found['bytes'], found['files']) == disk(httpd, 'stub')
    assert wish_gone(httpd, third, query='?tiles=keep') == b''
    wait_until(lambda: set(rows(httpd)) == {'stub'})
    assert files(httpd) == with_third


def note(httpd, name):
    """What a note in the state database says."""
    with opened(httpd) as state:
        return state.execute('SELECT value FROM note WHERE name = ?', (name,)).fetchone()[0]


@one_mpm
def test_removing_goes_on(httpd, upstream):
    """A removal that fails says so, and goes on after the seeder was killed."""
    httpd.expect("TS0105: can't remove the tiles of tile set|seeder")
    httpd.start(REST + stub(upstream) + layer('other', *OTHER))
    done(httpd, 'other', zoomStop=3)
    agrees(httpd)
    httpd.stop()
    above = httpd.path('cache') / 'other' / 'small_03'
    (folder, *_) = above.iterdir()
    folder.chmod(0o555)
    httpd.start(REST + stub(upstream))
    wait_until(lambda: usage(httpd)['complete'])
    (number,) = lapsed(httpd).values()
    assert not rows(httpd)['other'][0]['removing']
    remove_tiles(httpd, number)
    wait_until(lambda: f"can't remove the tiles of tile set {number} of layer 'other'" in
               httpd.error_log() and str(folder) in httpd.error_log())
    assert rows(httpd)['other'][0]['removing']
    remove_tiles(httpd, number)                 # twice is once
    with opened(httpd) as state:                # as a request that came at the same moment
        state.execute("DELETE FROM note WHERE name = 'forget_wanted'")
        state.execute("INSERT INTO note VALUES ('forget_wanted', ?)", (f' {number}',))
        state.commit()
    remove_tiles(httpd, number)
    wait_until(lambda: not note(httpd, 'forget_wanted'))
    assert b'are being removed' in wish_gone(httpd, number, 409, '/rest', '')   # none is kept now
    assert b'twice' in wish_gone(httpd, number, 400, '/rest', '?tiles=remove&tiles=keep')
    assert rows(httpd)['other'][0]['removing']
    os.kill(seeder_of(httpd), signal.SIGKILL)
    folder.chmod(0o755)
    wait_until(lambda: set(rows(httpd)) == {'stub'})
    assert not files(httpd) and not empty_folders(httpd)


@one_mpm
def test_removing_no_tile_that_is_configured(httpd, upstream):
    """What a configured layer has in the same files is refused, by whatever name of the directory
    it is configured; so is a tile set whose files nobody knows."""
    shared = '{z}/{x}/{-y}.{ext}'
    httpd.start(REST + stub(upstream, store=shared) +
                layer('other', *OTHER, store='a/{z}/{x}/{y}.{ext}') + layer('third', *OTHER))
    for name in ('stub', 'other', 'third'):
        done(httpd, name, zoomStop=2)
    agrees(httpd)
    httpd.stop()
    os.symlink(httpd.path('cache'), httpd.path('alias'))
    before = files(httpd)
    httpd.start(REST + stub(upstream, name='new', store=shared).replace('@ROOT@/cache',
                                                                       '@ROOT@/alias/') +
                layer('newer', *OTHER, store='{z}/{x}/{-y}.{ext}').replace('@ROOT@/cache',
                                                                           '@ROOT@/cache/a'))
    wait_until(lambda: usage(httpd)['complete'])
    gone = {name: number for (name, *_), number in lapsed(httpd).items()}
    for name, owner in (('stub', b'new'), ('other', b'newer')):
        said = remove_tiles(httpd, gone[name], 409)
        assert b"are, or may be, tiles of layer '%s' as well" % owner in said, said
    httpd.stop()
    with opened(httpd) as state:
        state.execute("UPDATE tileset SET place = '' WHERE layer = 'third'")
        state.commit()
    httpd.start(REST + stub(upstream).replace('@ROOT@/cache', '@ROOT@/alias'))
    wait_until(lambda: usage(httpd)['complete'])
    said = remove_tiles(httpd, gone['third'], 409)
    assert b'an earlier version' in said and b'configure it once more as it was' in said
    assert files(httpd) == before
    remove_tiles(httpd, gone['other'])
    wait_until(lambda: gone['other'] not in lapsed(httpd).values())
    assert files(httpd) == {name for name in before if not name.startswith('a/')}


@one_mpm
def test_removing_links(httpd, upstream):
    """Tiles of one colour are links. Their shared files stay, and are counted once, as long as a
    configured layer has them as well; then they go."""
    grid = 'TileSeedGrid EPSG:3857'
    httpd.start(REST + world(grid))
    done(httpd, 'world', zoomStop=4)
    httpd.stop()
    httpd.start(REST + world(grid, store='xyz'))
    done(httpd, 'world', zoomStop=4)
    (number,) = lapsed(httpd).values()
    remove_tiles(httpd, number)
    wait_until(lambda: not lapsed(httpd))
    assert agrees(httpd)['layers'][0]['tilesets'][0]['shared']['files'] > 0
    assert reconciled(httpd)['pagesDiffering'] == 0
    httpd.stop()
    httpd.start(REST + stub(upstream))
    wait_until(lambda: usage(httpd)['complete'])
    (number,) = lapsed(httpd).values()
    remove_tiles(httpd, number)
    wait_until(lambda: not lapsed(httpd))
    assert disk(httpd) == (0, 0)


@one_mpm
def test_reconcile_drops_what_was_moved(httpd, upstream):
    """Tile sets of a directory that is gone leave the books, configured ones and others stay."""
    httpd.start(REST + stub(upstream) + layer('other', *OTHER))
    done(httpd, 'stub', zoomStop=2)
    done(httpd, 'other', zoomStop=1)
    agrees(httpd)
    httpd.stop()
    cache = httpd.path('cache')
    os.rename(cache, httpd.path('moved'))
    httpd.start(REST + stub(upstream).replace('@ROOT@/cache', '@ROOT@/moved'))
    wait_until(lambda: usage(httpd)['complete'] and len(rows(httpd).get('stub', ())) == 2)
    assert {one['store'] for one in rows(httpd)['stub']} == {str(cache), str(httpd.path('moved'))}
    os.mkdir(cache)
    reconciled(httpd)
    assert len(rows(httpd)['stub']) == 2 and 'other' in rows(httpd)
    (here,) = [one for one in rows(httpd)['stub'] if one['configured']]
    os.rmdir(cache)
    reconciled(httpd)
    assert rows(httpd) == {'stub': [here]} and here['tiles'] == 21


@one_mpm
def test_reconcile(httpd, upstream):
    """What somebody has put, removed and replaced is found, told and booked."""
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=5, threadCount=4)
    agrees(httpd)
    block = os.statvfs(httpd.root).f_bsize
    quiet = reconciled(httpd)
    assert (quiet['pagesDiffering'], quiet['pagesCounted']) == (0, 6)
    assert difference(quiet['found']) == difference(quiet['lost']) == (0, 0, 0)
    cache = httpd.path('cache')
    names = sorted(name for name in files(httpd) if '/small_05/' in name)
    for name in names[:10]:
        os.unlink(cache / name)
    (cache / names[20]).write_bytes(bytes(3 * block))
    far = cache / 'stub/small_07/04_04/0070_0075.png'
    far.parent.mkdir(parents=True)
    far.write_bytes(b'a tile of another page')
    found = reconciled(httpd)
    assert found['pagesDiffering'] == 2 and found['pagesCounted'] == 7
    assert difference(found['lost']) == (8 * block, 10, 10)     # net in a page: 10 less, 2 more
    assert difference(found['found']) == (block, 1, 1)
    agrees(httpd)
    log = httpd.error_log()
    assert 'the books of the disk usage are compared with the disk: 6 pages in 1 tile sets' in log
    assert '2 of 7 pages were corrected; 1 tiles' in log


@one_mpm
def test_reconcile_after_shared_files_were_removed(httpd):
    """Somebody has removed the hidden directory: tiles of one colour are links to one file as
    before, which is counted once, and goes when they go. A backup of links changes nothing."""
    httpd.start(REST + world('TileSeedGrid EPSG:3857'))
    done(httpd, 'world', zoomStop=5)
    shutil.copytree(httpd.path('cache'), httpd.path('backup'), copy_function=os.link)
    before = agrees(httpd)
    shared = before['layers'][0]['tilesets'][0]['shared']
    assert shared['files'] > 0
    shutil.rmtree(httpd.path('cache') / '.tileseed/links')
    reconciled(httpd)
    after = agrees(httpd)
    assert (after['bytes'], after['files']) == (before['bytes'], before['files'])
    assert after['layers'][0]['tilesets'][0]['shared'] == shared
    assert reconciled(httpd)['pagesDiffering'] == 0
    shutil.rmtree(httpd.path('backup'))
    done(httpd, 'world', type='truncate', zoomStop=5)
    wait_until(lambda: disk(httpd) == (0, 0), 30)
    agrees(httpd)


@pytest.fixture
def overlay(httpd):
    """The cache on an overlay of two file systems, where a directory's device is not its files'."""
    above = folder_elsewhere()
    below, cache = httpd.folder('below'), httpd.folder('cache')
    for name in ('upper', 'work'):
        (above / name).mkdir()
        shutil.copystat(cache, above / name)
        os.chown(above / name, cache.stat().st_uid, cache.stat().st_gid)
    options = f'lowerdir={below},upperdir={above}/upper,workdir={above}/work'
    mounted = subprocess.run(['mount', '-t', 'overlay', 'overlay', '-o', options, cache],
                             capture_output=True, check=False)
    if mounted.returncode == 0:
        yield
        httpd.stop()
        subprocess.run(['umount', cache], check=True)
    shutil.rmtree(above)
    if mounted.returncode != 0:
        pytest.skip(f'no overlay can be mounted here: {mounted.stderr.decode().strip()}')


@one_mpm
@pytest.mark.usefixtures('overlay')
def test_store_on_an_overlay(httpd):
    """Tiles of one colour are links there too, and are booked as such by every seeder."""
    config = REST + world('TileSeedGrid EPSG:3857')
    httpd.start(config)
    done(httpd, 'world', zoomStop=3)
    httpd.stop()
    httpd.start(config)
    done(httpd, 'world', zoomStop=4, type='reseed')
    assert agrees(httpd)['layers'][0]['tilesets'][0]['shared']['files'] > 0
    assert reconciled(httpd)['pagesDiffering'] == 0


def plant(httpd, **parameters):
    """Puts level 3 of a tile set there, as another program would have made it."""
    cache = httpd.path('cache')
    for tile in GRIDS['small'].between(3, 3):
        name = cache / geowebcache_path('stub', 'small', 'png', tile, parameters)
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_bytes(b'a tile')
    for folder, _, _ in os.walk(cache):
        os.chown(folder, *(httpd.user[1:] if httpd.user else (-1, -1)))


def with_parameters(found):
    """The tiles that are booked of each tile set with parameters."""
    return {tileset['parameters']['STYLES']: tileset['tiles']
            for row in found['layers'] for tileset in row['tilesets']
            if tileset['parameters'].get('STYLES')}


@one_mpm
def test_parameters_on_the_disk(httpd, upstream):
    """Tile sets with parameters that others have left are known from the start, or a reconcile,
    and make room like all others. What no filter lists is named once, and left alone."""
    plant(httpd, STYLES='polygon')
    httpd.start('TileSeedDiskQuotaGrace 0\n' + REST +
                stub(upstream, 'TileSeedParameter STYLES value=polygon value=pophatch regex=x.*'))
    known(httpd)
    assert with_parameters(agrees(httpd)) == {'polygon': 64}
    done(httpd, 'stub', zoomStop=0, parameters={'entry': {'string': ['STYLES', 'x1']}})
    plant(httpd, STYLES='pophatch')
    reconciled(httpd)
    before = agrees(httpd)
    assert with_parameters(before) == {'polygon': 64, 'pophatch': 64, 'x1': 1}
    assert before['files'] == 129 and before['complete']
    assert 'do not list' not in httpd.error_log()
    put(httpd, enabled=True, globalQuota=size(0), cacheCleanUpFrequency=1)
    wait_until(lambda: disk(httpd) == (0, 0))
    assert not any(with_parameters(agrees(httpd)).values())
    plant(httpd, STYLES='population')
    plant(httpd, STYLES='x 2')
    digest = parameter_hash({'STYLES': 'x 2'})
    about = httpd.path(f'cache/stub/parameters-{digest}.properties')
    about.write_text(f'#Parameters values for identifier: {digest}\nSTYLES=x 2\n')
    reconciled(httpd)
    wait_until(lambda: disk(httpd)[1] == 64 + 1)
    wait_until(lambda: not any(with_parameters(usage(httpd)).values()))
    assert usage(httpd)['files'] == 0
    log = httpd.error_log()
    assert log.count(parameter_hash({'STYLES': 'population'})) == 1
    assert "layer 'stub' has directories of grid set small" in log


@one_mpm
def test_reconcile_outlives_the_seeder(httpd, upstream):
    """What was answered with 200 is carried out, whoever dies."""
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=4, threadCount=4)
    agrees(httpd)
    halt(httpd, seeder_of(httpd))
    ask(httpd, 'POST', '/rest/diskquota/reconcile')
    assert usage(httpd)['reconcile']['state'] == 'waiting'
    os.kill(seeder_of(httpd), signal.SIGKILL)
    httpd.expect('seeder')
    wait_until(lambda: usage(httpd)['reconcile']['state'] == 'done')


@one_mpm
def test_block_size(httpd, upstream):
    """Another block size: all is counted again, and usage.json says so until it is done."""
    httpd.start(REST + stub(upstream))
    done(httpd, 'stub', zoomStop=4, threadCount=4)
    before = agrees(httpd)
    put(httpd, diskBlockSize=65536)
    found = wait_until(lambda: (lambda now: now if not now['recount'] and
                                now['bytes'] != before['bytes'] else None)(usage(httpd)))
    assert found['bytes'] == 65536 * found['files'] and found['files'] == before['files']
    with opened(httpd) as state:
        assert wait_until(lambda: state.execute(
            "SELECT value FROM note WHERE name = 'block'").fetchone() == ('65536',))
    assert 'diskBlockSize is 65536 now instead of' in httpd.error_log()
