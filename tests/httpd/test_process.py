# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What belongs to the whole process, and another module of httpd changes: locale, umask, signals,
environment, working directory, descriptors. neighbour.c is that module.

The main path is gone once without it and once beside it; what clients, the upstream and the disk
see must be the same."""
import json
import os
import pathlib
import re
import shutil
import string
import subprocess
import tempfile

import pytest

from quota import agrees, known, put, size
from seeding import REST, coords, done, ended, files
from tileseed_httpd import one_mpm

APXS = os.environ.get('APXS', 'apxs')
pytestmark = one_mpm

# Decimal commas, and "I" and "i" are no pair, as in Turkish. localedef needs no more than this, and
# no files of other locales; see locale(5).
ODD = '''comment_char %
escape_char /
LC_CTYPE
upper @UPPER@
lower @LOWER@
space <U0009>;<U000A>;<U000B>;<U000C>;<U000D>;<U0020>
digit <U0030>;<U0031>;<U0032>;<U0033>;<U0034>;<U0035>;<U0036>;<U0037>;<U0038>;<U0039>
toupper @TOUPPER@
tolower @TOLOWER@
END LC_CTYPE
LC_NUMERIC
decimal_point "<U002C>"
thousands_sep "<U002E>"
grouping 3;3
END LC_NUMERIC
'''


def odd_locale():
    """The text of it."""
    pairs = [(f'<U{ord(one):04X}>', f'<U{ord(one) + 32:04X}>') for one in string.ascii_uppercase]
    texts = {'UPPER': ';'.join(upper for upper, _ in pairs),
             'LOWER': ';'.join(lower for _, lower in pairs),
             'TOUPPER': ';'.join(f'({lower},{upper})' for upper, lower in pairs
                                 if lower != '<U0069>'),
             'TOLOWER': ';'.join(f'({upper},{lower})' for upper, lower in pairs
                                 if lower != '<U0069>')}
    return re.sub('@([A-Z]+)@', lambda found: texts[found[1]], ODD)


LAYERS = REST + '''
<TileSeedGridSet "odd">
    TileSeedSRS 4258
    TileSeedExtent 5.25 45.5 11.75 48.25
    TileSeedResolutions 0.0175 0.00875 0.004375
    TileSeedTileSize 64x64
    TileSeedAxisOrder ne
    TileSeedMetersPerUnit 111319.49079327358
</TileSeedGridSet>
TileSeedStore file @ROOT@/cache layout=geowebcache mode=0640
TileSeedDiskQuota on 1.5GiB
TileSeedOnMiss fetch
<Location "/tiles">
    TileSeedTiles on
    Require local
</Location>
<Location "/metrics">
    SetHandler tileseed-metrics
    TileSeedMetrics on
    Require local
</Location>
'''


def made(upstream):
    """Two layers: of a WMS 1.3.0, and of templates."""
    base = upstream.url.rsplit('/', 1)[0]
    address = f'TileSeedUpstream stub {upstream.url} rate=1000.5/s timeout=1.5m\n'
    return LAYERS + address + '\n'.join((
        '<TileSeedLayer "first">', 'TileSeedSource wms upstream:stub Layers=any version=1.3.0 '
        'transparent=TRUE', 'TileSeedGrid odd extent=5.5,45.75,10.125,47.875',
        'TileSeedMetatile 2x2 gutter=3', 'TileSeedParameter STYLES default= value=night case=lower',
        '</TileSeedLayer>', '<TileSeedLayer "second">',
        f'TileSeedSource xyz {base}/{{z}}/{{x}}/{{-y}}.png?WIDTH=64&HEIGHT=64&BBOX={{bbox}}',
        'TileSeedGrid odd',
        'TileSeedMetatile 1x1', '</TileSeedLayer>', ''))


@pytest.fixture(scope='module')
def neighbour():
    """A folder with neighbour.c, compiled, and a locale that is odd; httpd's User may read it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix='tileseed-neighbour-'))
    folder.chmod(0o755)
    flags = [subprocess.run([APXS, '-q', name], capture_output=True, text=True,
                            check=True).stdout.strip()
             for name in ('INCLUDEDIR', 'APR_INCLUDEDIR', 'EXTRA_CPPFLAGS')]
    subprocess.run(['cc', '-shared', '-fPIC', '-Wall', '-Werror',
                    '-o', str(folder / 'neighbour.so'),
                    f'-I{flags[0]}', f'-I{flags[1]}', *flags[2].split(),
                    str(pathlib.Path(__file__).with_name('neighbour.c'))], check=True)
    (folder / 'source').write_text(odd_locale())
    # -c: the categories that are not there are warned about, exit status 1
    subprocess.run(['localedef', '-c', '-i', str(folder / 'source'), str(folder / 'odd')],
                   capture_output=True, check=False)
    assert (folder / 'odd/LC_NUMERIC').exists()
    yield folder
    shutil.rmtree(folder)


def plain(text):
    """A document without what is another thing at each run: times, ports, process ids, speeds."""
    text = re.sub(r'\d{4}-\d\d-\d\dT[\d:.]+Z', 'TIME', text)
    text = re.sub(r'127\.0\.0\.1:\d+', 'HOST', text)
    return re.sub(r'"\w*(?:[Ss]econds|Second|[Uu]sual|pid|bytes|[Ff]ree)\w*": ?[^,}]+', '""', text)


def modes(httpd):
    """The modes of what lies in store and state directory, by path."""
    found = {}
    for folder in ('cache', 'state'):
        for path in sorted(httpd.path(folder).rglob('*')):
            if path.name == 'ended-well':       # is there before a seeder begins, and at its end
                continue
            name = re.sub(r'\d{6,}', 'N', str(path.relative_to(httpd.root)))
            found[name] = oct(path.stat().st_mode & 0o7777)
    return found


def main_path(httpd, upstream):
    """Goes it, and returns what was seen."""
    seen = {}

    def note(name, answer):
        seen[name] = (answer.status, answer.headers['Content-Type'], plain(
            answer.body.decode() if 'image' not in (answer.headers['Content-Type'] or '')
            else answer.body.hex()))
    for path in ('/tiles/wmts?request=getcapabilities&service=wmts',
                 '/tiles/wms?service=wms&request=GetCapabilities&version=1.3.0',
                 '/tiles/wms?Service=Wms&Request=GETCAPABILITIES&Version=1.1.1',
                 '/tiles/tms/1.0.0', '/tiles/tms/1.0.0/first@odd@png', '/rest/layers.json',
                 '/rest/layers/first.xml', '/rest/diskquota.json', '/rest/diskquota.xml'):
        note(path, httpd.get(path))
    for asked in ('zoomStart=0&zoomStop=2&minX=5.75&minY=46.125&maxX=9.5&maxY=47.5&gridSetId=odd'
                  '&type=SEED&threadCount=2&tileFormat=image/png&parameter_STYLES=NIGHT',
                  'zoomStart=0&zoomStop=1&minX=&type=reseed&gridsetid=odd&tileformat=image%2fpng'):
        answer = httpd.post('/rest/seed/first', asked)
        number = answer.headers.get('TileSeed-Task')
        seen[asked] = (answer.status, number and plain(json.dumps(ended(httpd, int(number)))))
    for name, last in (('first', 2), ('second', 1)):
        seen[name] = plain(json.dumps(done(httpd, name, zoomStart=0, zoomStop=last, threadCount=2,
                                           bounds=coords(5.5, 45.75, 10.125, 47.875))))
    answer = httpd.post('/rest/estimate/first.json', json.dumps({'seedRequest': {
        'zoomStart': 0, 'zoomStop': 2, 'type': 'reseed'}}))
    seen['estimate'] = (answer.status, re.sub(r'[\d.]+', 'N', answer.text))
    known(httpd)
    put(httpd, globalQuota=size(1.25, 'GiB'))
    note('quota', httpd.get('/rest/diskquota.json'))
    seen['usage'] = agrees(httpd)['bytes']
    for path in ('/tiles/first/odd/1/1/1.png', '/tiles/wmts?service=wmts&request=gettile&'
                 'version=1.0.0&layer=first&style=&format=image/png&tilematrixset=odd&'
                 'tilematrix=odd:1&tilerow=1&tilecol=1',
                 '/tiles/wms?service=wms&request=getmap&version=1.3.0&layers=first&styles=&'
                 'crs=EPSG:4258&width=64&height=64&format=image/png&'
                 'bbox=46.62,6.37,47.74,7.49'):
        note(path, httpd.get(path))
    seen['asked'] = sorted(sorted(asked.items()) for asked in upstream.requests)
    note('coverage', httpd.get('/rest/layers/first/coverage.json?gridset=odd&z=1'
                               '&bbox=5.5,45.75,10.125,47.875'))
    numbers = httpd.get('/metrics').text
    seen['metrics'] = sorted(set(re.findall(r'^(tileseed_\w+)', numbers, re.M)))
    assert not re.findall(r'^[^#].* [\d]*,\d.*$', numbers, re.M)
    seen['truncate'] = plain(json.dumps(done(httpd, 'second', type='truncate', zoomStart=0,
                                             zoomStop=1, bounds=coords(5.5, 45.75, 10.1, 47.8))))
    httpd.graceful()
    seen['again'] = plain(json.dumps(done(httpd, 'second', zoomStart=0, zoomStop=1)))
    seen['miss'] = httpd.get('/tiles/first/odd/0/3/0.png').status
    httpd.stop()
    httpd.start()
    note('tasks', httpd.get('/rest/tasks.json?layer=second'))
    seen['files'] = len(files(httpd))
    seen['modes'] = modes(httpd)
    return seen


@pytest.fixture(scope='module')
def alone():
    """What was seen without a neighbour, by MPM."""
    return {}


@pytest.mark.parametrize('settings', [
    ('locale @FOLDER@',), ('umask 0',),
    ('umask 0077', 'signals', 'environment', 'directory', 'descriptors')],
    ids=['locale', 'open', 'all'])
def test_the_main_path_beside(httpd, upstream, neighbour, alone, settings):
    """What is seen beside it is what was seen alone."""
    if not alone:
        httpd.start(made(upstream))
        alone.update(main_path(httpd, upstream))
        httpd.stop()
        for folder in ('cache', 'state'):
            shutil.rmtree(httpd.path(folder))
        upstream.requests.clear()
    lines = ''.join(f'Neighbour {one}\n'.replace('@FOLDER@', str(neighbour)) for one in settings)
    httpd.start(f'LoadModule neighbour_module {neighbour}/neighbour.so\n{lines}' + made(upstream))
    beside = main_path(httpd, upstream)
    assert beside.keys() == alone.keys()
    for name, then in alone.items():
        assert beside[name] == then, name
