# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What httpd -t says: every mistake with file and line, nothing about what is right, no traces."""
import os
import pathlib
import re
import subprocess

import pytest

import mistakes
from mistakes import SOURCE, STORE, gridset, layer, location

TOP = pathlib.Path(__file__).resolve().parents[2]
HTTPD = os.environ.get('HTTPD', '/usr/sbin/apache2')
MODULES = pathlib.Path(os.environ.get('HTTPD_MODULES', '/usr/lib/apache2/modules'))
ALONE = bool(os.environ.get('TILESEED_WITHOUT_FLEET'))
MODULE = os.environ.get('TILESEED_MODULE', str(TOP / 'build/.libs/mod_tileseed.so'))
LOADED = ('mpm_event', 'authn_core', 'authn_file', 'authz_core', 'authz_user', 'auth_basic',
          'macro')
SWISS = gridset('TileSeedSRS EPSG:2056', 'TileSeedExtent 2420000 1030000 2900000 1350000',
                'TileSeedOrigin top-left', 'TileSeedScaleDenominators 1000000 500000 1e5')


def sanitizers():
    """What an unmodified httpd needs to load a module built with sanitizers."""
    if not os.environ.get('TILESEED_SANITIZE'):
        return {}
    libraries = [subprocess.run(['gcc', f'-print-file-name=lib{name}.so'], check=True, text=True,
                                capture_output=True).stdout.strip() for name in ('asan', 'ubsan')]
    return {'LD_PRELOAD': ' '.join(libraries), 'ASAN_OPTIONS': 'detect_leaks=0'}


def configtest(root, ours):
    """Runs httpd -t with the file ours.conf of these bytes: (exit status, what it says)."""
    (root / 'empty').touch()
    (root / 'ours.conf').write_bytes(ours)
    load = ''.join(f'LoadModule {name}_module {MODULES}/mod_{name}.so\n' for name in LOADED)
    (root / 'httpd.conf').write_text(
        f'ServerName localhost\nServerRoot "{root}"\nListen 127.0.0.1:9\nErrorLog "{root}/log"\n'
        f'PidFile "{root}/pid"\n{load}LoadModule tileseed_module "{MODULE}"\n'
        f'TileSeedStateDir "{root}/state"\nIncludeOptional "{root}/ours*.conf"\n')
    done = subprocess.run([HTTPD, '-t', '-f', str(root / 'httpd.conf')], capture_output=True,
                          text=True, check=False, env={**os.environ, **sanitizers()})
    return done.returncode, done.stderr


def complaints(stderr):
    """The mistakes named: (line of ours.conf, message) each."""
    return [(int(line), message) for line, message in re.findall(
        r'^(?:AH00526: )?Syntax error on line (\d+) of \S+/ours\.conf:\n(.*)$', stderr, re.M)]


def encode(configuration, root):
    """Bytes of a configuration of the table: some are not UTF-8."""
    if isinstance(configuration, str):
        configuration = configuration.encode()
    return configuration.replace(b'@ROOT@', str(root).encode())


# What a build without the fleet says of the directives that are for several hosts
OF_FLEET = re.compile('!(?:TileSeedHost|TileSeedLease|TileSeedDatabase pgsql) ?')
NO_FLEET_SAID = ('this module was built for one host alone (configure --without-fleet), and knows '
                 'no other')


@pytest.mark.parametrize('marked, message', mistakes.ALL,
                         ids=[f'{number}-{message.split(":")[0].strip("<>")}'
                              for number, (_, message) in enumerate(mistakes.ALL)])
def test_mistake(tmp_path, marked, message):
    """Each mistake of the table is refused with its line and its message, and nothing else."""
    if ALONE and OF_FLEET.match(marked if isinstance(marked, str) else ''):
        message = message.partition(':')[0] + ': ' + (
            'several hosts may share PostgreSQL; ' if 'Database' in message else '') + NO_FLEET_SAID
    before, _, after = encode(marked, tmp_path).partition(b'!')
    status, said = configtest(tmp_path, before + after)
    assert status != 0
    assert complaints(said) == [(before.count(b'\n') + 1,
                                 message.replace('@ROOT@', str(tmp_path)))], said


@pytest.mark.parametrize('right', [
    layer(),
    layer(name='topp:states.v2'),
    layer(name='Straßen und Wege'),
    layer(name='ü' * 95),
    layer(name="it's"),
    layer('TileSeedGrid g zoom=2') + SWISS,
    layer('TileSeedGrid EPSG:3857 extent=-20037508.342789244,0,20037508.342789244,1'),
    layer('TileSeedGrid EPSG:4326 srs=CRS:84 zoom=0-0'),
    layer('TileSeedFormat image/png', 'TileSeedFormat image/png8', 'TileSeedFormat image/jpeg'),
    layer('TileSeedFormat image/webp lossless=on level=6 from=image/webp',
          'TileSeedFormat image/png level=12 palette=none', 'TileSeedFormat image/png8 level=2',
          'TileSeedFormat image/vnd.jpeg-png palette=keep level=3 quality=60',
          'TileSeedFormat image/vnd.jpeg-png8 quality=70'),
    layer('tileseedmetatile 1X32 GUTTER=0'), layer('TileSeedMetatile Auto Max=4X32 gutter=3'),
    layer('TileSeedParameter TIME regex="[0-9]{4}-[0-9]{2}" default="2026 01" case=Lower'),
    layer('TileSeedParameter STYLES value=a value=b value="c d"'),
    layer('TileSeedFailureLimit -1', 'TileSeedRetries 0'),
    layer('tileseedprune OFF'), layer('TileSeedPrune Uniform=0 sparse=On check=0.25'),
    'TileSeedPrune uniform\n' + layer('TileSeedPrune uniform=30 check=100'),
    layer(source='TileSeedSource wms "upstream:my ows" layers=a styles= version=1.3.0\n')
    + 'TileSeedUpstream "my ows" https://h:8443/wms?map=x header="X-Key: a \\"b\\""\n',
    layer(store='TileSeedStore file relative/tiles layout={layer}/{z}/{x}/{-y}.{ext}\n'),
    # a default for those that don't say it themselves
    SOURCE + STORE + layer(source='', store='') + layer(source='', store='', name='b'),
    # two layers may share a directory as long as their levels differ
    layer('TileSeedGrid EPSG:3857 zoom=0-4',
          store='TileSeedStore file /tiles layout={z}/{x}/{y}.{ext}\n')
    + layer('TileSeedGrid EPSG:3857 zoom=5-9', name='b',
            store='TileSeedStore file /tiles layout={z}/{x}/{y}.{ext}\n'),
    '<Macro L $n>\n' + layer(name='$n') + '</Macro>\nUse L roads\nUse L "big rivers"\n',
    'TileSeedKeep zoom=0-63\n' + layer('TileSeedKeep zoom=4'),
    'TileSeedDerive zoom=0-20\n' + layer('TileSeedDerive off', 'TileSeedGrid EPSG:3857 zoom=0-5'),
    layer('TileSeedDerive zoom=3', 'TileSeedGrid EPSG:3857 zoom=0-4', 'TileSeedGrid EPSG:4326'),
    layer('TileSeedDerive zoom=0-4', 'TileSeedGrid EPSG:3857 zoom=5-9'),
    'TileSeedDiskQuotaFiles 1000000\nTileSeedDiskQuotaGrace 0\nTileSeedMinFree 10GiB\n',
    'TileSeedDiskQuota off\nTileSeedDiskQuota on 1.5TiB policy=lru every=0 blocksize=4KiB\n',
    layer() + '<VirtualHost *:80>\n' + location('TileSeedRest on', 'TileSeedLayers a',
                                                'TileSeedDialect GeoWebCache') + '</VirtualHost>\n',
    location('TileSeedPublicURL https://a.example:8443/x%20y/', 'TileSeedPublicURL http://b'),
    location('TileSeedPublicURL https://[::1]:65535/.../a..b/.c/%2e.../'),
    location('TileSeedCheckOrigin http://a.example https://b.example:8443', 'TileSeedRest off'),
    location('TileSeedMetrics On', 'SetHandler tileseed-metrics', 'TileSeedMetrics off'),
    '<IfModule tileseed_module>\n' + layer() + '</IfModule>\n',
])
def test_right(tmp_path, right):
    """What is right is accepted without a word."""
    assert configtest(tmp_path, right.encode()) == (0, 'Syntax OK\n')


def test_chroot_is_warned_of(tmp_path):
    """What a changed root means for seeder and children is said, and no mistake."""
    status, said = configtest(tmp_path, (layer() + f'ChrootDir {tmp_path}\n').encode())
    assert status == 0
    assert f'ChrootDir {tmp_path}: TileSeedStateDir and the stores lie below it' in said, said


def test_all_wrong_layers_are_named(tmp_path):
    """Mistakes that show when all is read are named together."""
    wrong = layer('TileSeedGrid x') + layer('TileSeedGrid y', name='b') + location(
        'TileSeedLayers a c')
    status, said = configtest(tmp_path, wrong.encode())
    assert status != 0
    assert [line for line, _ in complaints(said)] == [4, 9, 12]


def test_credentials_must_be_readable(tmp_path):
    """auth=FILE is read when the configuration is."""
    (tmp_path / 'secret').write_text('me:it\'s secret\nmore\n')
    line = 'TileSeedUpstream ows http://h/wms auth=secret\n'
    assert configtest(tmp_path, line.encode())[0] == 0


def test_nothing_is_touched(tmp_path):
    """No state directory, no store, no log, no process."""
    ours = layer(store=f'TileSeedStore file {tmp_path}/tiles\n') + location('TileSeedRest on')
    assert configtest(tmp_path, ours.encode())[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ['empty', 'httpd.conf', 'ours.conf']


def test_shipped_configuration(tmp_path):
    """conf/tileseed.conf is right as it is, and with what is commented out once."""
    shipped = (TOP / 'conf/tileseed.conf').read_text()
    (tmp_path / 'wms.auth').write_text('me:secret\n')
    full = re.sub(r'(?m)^( *)#( *<?/?TileSeed| +header=| +redirect=| +first)', r'\1\2', shipped)
    full = full.replace('/etc/apache2/wms.auth', 'wms.auth').replace('/etc/ssl/wms.pem', 'empty')
    for text in shipped, full:
        assert configtest(tmp_path, text.encode()) == (0, 'Syntax OK\n')
    assert full.count('\nTileSeed') > 12
