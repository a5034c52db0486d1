# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Mistakes of administrators and what httpd -t says about them, for test_configtest.py.

Each row is a configuration and its message; the first '!' stands in front of the line that the
message must name. In both, @ROOT@ is the server's root, which holds an empty file `empty`.
"""
import pathlib
import re

LAYER_H = pathlib.Path(__file__).parents[2] / 'mod_tileseed/layer/tseed_layer.h'
MIMES = re.findall(r'(?m)^    X\(\w+, "(.*?)"', LAYER_H.read_text())
SOURCE = 'TileSeedSource wms http://127.0.0.1:1/wms layers=a\n'
STORE = 'TileSeedStore file /tiles\n'


def section(head, lines):
    """A section with some lines."""
    return f'<{head}>\n' + ''.join(line + '\n' for line in lines) + f'</{head.split()[0]}>\n'


def layer(*lines, name='a', source=SOURCE, store=STORE):
    """A layer that has what it needs, and some lines."""
    return section(f'TileSeedLayer "{name}"', [*source.splitlines(), *store.splitlines(), *lines])


def gridset(*lines):
    """A grid set of these lines alone."""
    return section('TileSeedGridSet g', lines)


def location(*lines, section_head='Location "/rest"'):
    """A location, or another section, of these lines alone."""
    return section(section_head, lines)


TILES = [
    ('<Location "/tiles">\n!TileSeedTiles count\n</Location>',
     'TileSeedTiles: count is for the <Directory> of a store, on or off is expected'),
    ('<Directory "/tiles">\n!TileSeedTiles on\n</Directory>',
     'TileSeedTiles: on is for a <Location>, count or off is expected'),
]

SERVER = [
    ('!TileSeedThreads 0',
     "TileSeedThreads: '0' is not possible, a whole number from 1 to 256 is expected"),
    ('!TileSeedThreads sixteen',
     "TileSeedThreads: 'sixteen' is not possible, a whole number from 1 to 256 is expected"),
    ('!TileSeedThreads',
     'TileSeedThreads: too few arguments, expected is: N, seeding threads that all tasks '
     'share'),
    ('!TileSeedThreads 1 2',
     'TileSeedThreads: too many arguments, expected is: N, seeding threads that all tasks '
     'share'),
    ('!TileSeedWorkers 257',
     "TileSeedWorkers: '257' is not possible, a whole number from 1 to 256 is expected"),
    ('!TileSeedMaxTasks 1000001',
     "TileSeedMaxTasks: '1000001' is not possible, a whole number from 1 to 1000000 is "
     'expected'),
    ('!TileSeedNice 20',
     "TileSeedNice: '20' is not possible, a whole number from 0 to 19 is expected"),
    ('!TileSeedNice -1',
     "TileSeedNice: '-1' is not possible, a whole number from 0 to 19 is expected"),
    ('!TileSeedHistory 100',
     'TileSeedHistory: too few arguments, expected is: N AGE, how many finished tasks are '
     'kept, and for how long'),
    ('!TileSeedHistory 100 soon',
     "TileSeedHistory: 'soon' is no duration: a number with ms, s, m, h or d is expected"),
    ('!TileSeedHistory -1 30d',
     "TileSeedHistory: '-1' is not possible, a whole number from 0 to 10000000 is expected"),
    ('!TileSeedMaxRequestBody 10 apples',
     'TileSeedMaxRequestBody: too many arguments, expected is: SIZE, longest body of a '
     'request'),
    ('!TileSeedMaxRequestBody 1',
     "TileSeedMaxRequestBody: '1' is not possible, 1024 to 67108864 bytes are expected"),
    ('!TileSeedMaxRequestBody 64XiB',
     "TileSeedMaxRequestBody: '64XiB' is no size: a number with B, KiB, MiB, GiB or TiB "
     'is expected'),
    ('!TileSeedStopTimeout 1h',
     "TileSeedStopTimeout: '1h' is not possible, 10ms to 10s is expected"),
    ('!TileSeedGiveUp 0',
     "TileSeedGiveUp: '0' is not possible, 1s to 365d is expected"),
    ('!TileSeedHost "web 1"',
     "TileSeedHost: 'web 1' is not possible, a name of at most 63 letters, digits, '-', '_' and "
     "'.' is expected, such as web1"),
    ('!TileSeedLease 2s',
     "TileSeedLease: '2s' is not possible, 3s to 10m is expected"),
    ('!TileSeedHangTimeout 1s',
     "TileSeedHangTimeout: '1s' is not possible, 5s to 1d is expected"),
    ('!TileSeedDatabase oracle',
     "TileSeedDatabase: the driver 'oracle' can't keep the tasks, sqlite3 or pgsql is expected"),
    ('!TileSeedDatabase pgsql',
     "TileSeedDatabase: pgsql needs parameters, such as 'host=db.example dbname=tileseed "
     "user=tileseed passfile=/etc/apache2/tileseed.pgpass'"),
    ('!TileSeedDatabase pgsql "host=db dbnme=tileseed"',
     "TileSeedDatabase: 'dbnme' is no parameter of a connection to PostgreSQL"),
    ('!TileSeedDatabase pgsql "password=my secret"',
     'TileSeedDatabase: keyword=value is expected for each parameter, such as host=db.example '
     'dbname=tileseed; a value with blanks stands in single quotes'),
    ('!TileSeedDatabase pgsql "password=\'my secret"',
     'TileSeedDatabase: the quotes of the value of password are not closed'),
    ('!TileSeedDatabase pgsql "host=db port=543210"',
     'TileSeedDatabase: the value of port must be a whole number from 1 to 65535, or several '
     'with commas between them'),
    ('!TileSeedDatabase pgsql "connect_timeout=soon"',
     'TileSeedDatabase: the value of connect_timeout must be a whole number'),
    ('!TileSeedDatabase pgsql "client_encoding=LATIN1"',
     'TileSeedDatabase: the value of client_encoding must be UTF8'),
    ('!TileSeedDatabase pgsql postgresql://me:secret@db/tileseed?sslmode=require',
     'TileSeedDatabase: keyword=value is expected for each parameter, such as host=db.example '
     'dbname=tileseed; a value with blanks stands in single quotes'),
    ('!TileSeedStateDir',
     'TileSeedStateDir: too few arguments, expected is: DIR, where state database and '
     'locks are kept'),
    ('!TileSeedTiles on',
     'TileSeedTiles: it can\'t stand outside of all sections, only in <Directory "/path"> or in '
     '<Location "/path">'),
    ('!TileSeedExpires soon',
     "TileSeedExpires: 'soon' is no duration: a number with ms, s, m, h or d is expected"),
    ('!TileSeedExpires 366d',
     "TileSeedExpires: '366d' is not possible, 0d to 365d is expected"),
    ('!TileSeedOnMiss 500',
     "TileSeedOnMiss: '500' is unknown, fetch, 404 or empty is expected"),
    ('!TileSeedStateDir "/var/lib/x',
     'TileSeedStateDir: a quote " has no partner'),
]

QUOTA = [
    ('!TileSeedDiskQuota maybe 1GiB',
     "TileSeedDiskQuota: 'maybe' is unknown, off or on is expected"),
    ('!TileSeedDiskQuota on',
     "TileSeedDiskQuota: on needs a limit, such as 'on 500GiB'"),
    ('!TileSeedDiskQuota on lots',
     "TileSeedDiskQuota: 'lots' is no size: a number with B, KiB, MiB, GiB or TiB is "
     'expected'),
    ('!TileSeedDiskQuota on 1GiB policy=FIFO',
     "TileSeedDiskQuota: policy=: 'FIFO' is unknown, LRU or LFU is expected"),
    ('!TileSeedDiskQuota on 1GiB every=500ms',
     "TileSeedDiskQuota: every=: '500ms' is not possible, a whole number with s, m, h or "
     'd is expected'),
    ('!TileSeedDiskQuota on 1GiB every=1.5h',
     "TileSeedDiskQuota: every=: '1.5h' is not possible, a whole number with s, m, h or d "
     'is expected'),
    ('!TileSeedDiskQuota on 1GiB cleanups=0',
     "TileSeedDiskQuota: cleanups=: '0' is not possible, a whole number from 1 to "
     '2147483647 is expected'),
    ('!TileSeedDiskQuota on 1GiB size=1',
     'TileSeedDiskQuota: the option size= is unknown, policy=, every=, cleanups= or '
     'blocksize= is expected'),
    ('!TileSeedDiskQuota on 1GiB LRU',
     "TileSeedDiskQuota: 'LRU' is not understood, policy=, every=, cleanups= or "
     'blocksize= is expected'),
    ('!TileSeedDiskQuota on 1GiB policy=LRU policy=LFU',
     'TileSeedDiskQuota: policy= is there twice, once is expected'),
    ('!TileSeedDiskQuotaFiles 0',
     "TileSeedDiskQuotaFiles: '0' is not possible, a whole number from 1 to "
     '9223372036854775807 is expected'),
    ('!TileSeedDiskQuotaGrace soon',
     "TileSeedDiskQuotaGrace: 'soon' is no duration: a number with ms, s, m, h or d is "
     'expected'),
    ('!TileSeedMinFree 5 GiB',
     'TileSeedMinFree: too many arguments, expected is: SIZE, what is left free on the file '
     'systems of the stores'),
]

UPSTREAMS = [
    ('!TileSeedUpstream ows',
     'TileSeedUpstream: too few arguments, expected is: NAME URL [connections=4] '
     '[rate=N/s] [timeout=60s] [connect-timeout=10s] [first-byte-timeout=60s] [auth=FILE] '
     '[header="NAME: VALUE"] [header-file=FILE] [redirect=host|HOST[:PORT],...] [ca=FILE] '
     '[proxy=URL]'),
    ('!TileSeedUpstream http://h/wms rate=1/s',
     'TileSeedUpstream: expected is: NAME URL [option=value ...], but the first word is an '
     "address: 'http://h/wms'"),
    ('!TileSeedUpstream ows ftp://h/wms',
     'TileSeedUpstream: an address is written as http://host:port/path or '
     'https://host:port/path'),
    ('!TileSeedUpstream ows http://me:secret@h/wms',
     "TileSeedUpstream: user and password don't belong into the address: write "
     'user:password into a file and name it with auth=FILE'),
    ('!TileSeedUpstream ows http://h/wms speed=10/s',
     'TileSeedUpstream: the option speed= is unknown, connections=, timeout=, '
     'connect-timeout=, first-byte-timeout=, rate=, auth=, header=, header-file=, redirect=, '
     'ca= or proxy= is expected'),
    ('!TileSeedUpstream ows http://h/wms redirect=http://other/',
     "TileSeedUpstream: redirect=: 'http://other/' is no name of a host: 'host' for any other "
     'host, or names such as cdn.example.org or cdn.example.org:8080 with commas between them '
     'are expected'),
    *((f'!TileSeedUpstream ows http://h/wms rate={rate}',
       f"TileSeedUpstream: rate=: '{rate}' is not possible, requests a second or minute such as "
       '20/s or 30/min are expected, from 1 in an hour to 10000 in a second')
      for rate in ('10', '0/s', '-1/s', '10/h', 'x/s', '20000/s', '0.0001/s')),
    ('!TileSeedUpstream ows http://h/wms connections=0',
     "TileSeedUpstream: connections=: '0' is not possible, a whole number from 1 to 256 "
     'is expected'),
    ('!TileSeedUpstream ows http://h/wms timeout=0',
     "TileSeedUpstream: timeout=: '0' is not possible, 1ms to 1d is expected"),
    ('!TileSeedUpstream ows http://h/wms auth=missing',
     "TileSeedUpstream: auth=: the file @ROOT@/missing can't be found: No such file or "
     'directory'),
    ('!TileSeedUpstream ows http://h/wms auth=empty',
     'TileSeedUpstream: auth=: the first line of @ROOT@/empty must be USER:PASSWORD'),
    ('!TileSeedUpstream ows http://h/wms ca=/etc',
     'TileSeedUpstream: ca=: /etc is no file'),
    ('!TileSeedUpstream ows http://h/wms header="X Key"',
     'TileSeedUpstream: header=: \'X Key\' is no header, "NAME: VALUE" is expected'),
    ('!TileSeedUpstream ows http://h/wms header-file=ours.conf',
     'TileSeedUpstream: header-file=: each line of @ROOT@/ours.conf must be NAME: VALUE'),
    ('!TileSeedUpstream ows http://h/wms proxy=p:3128',
     'TileSeedUpstream: proxy=: this is no address of a proxy, http://HOST:PORT is expected'),
    ('!TileSeedUpstream a/b http://h/wms',
     "TileSeedUpstream: the name of an upstream must not have control characters or '/'"),
    ('TileSeedUpstream ows http://h/wms\n!TileSeedUpstream ows http://h/ows',
     "TileSeedUpstream: there is an upstream 'ows' already"),
]

PLACES = [
    (location('!TileSeedThreads 4'),
     'TileSeedThreads: it can\'t stand in <Location "/rest">, only outside of all sections'),
    ('<VirtualHost *:80>\n!TileSeedThreads 4\n</VirtualHost>',
     "TileSeedThreads: it can't stand in <VirtualHost *:80>, only outside of all sections"),
    ('<VirtualHost *:80>\n!<TileSeedLayer a>\n</TileSeedLayer>\n</VirtualHost>',
     "<TileSeedLayer>: it can't stand in <VirtualHost *:80>, only outside of all sections"),
    (layer('!TileSeedThreads 4'),
     'TileSeedThreads: it can\'t stand in <TileSeedLayer "a">, only outside of all sections'),
    (layer('!TileSeedSRS 4326'),
     'TileSeedSRS: it can\'t stand in <TileSeedLayer "a">, only in <TileSeedGridSet>'),
    (layer('!ServerAdmin me@example.org'),
     "ServerAdmin can't stand in <TileSeedLayer>, only directives of the module can"),
    (layer('!<TileSeedLayer b>', '</TileSeedLayer>'),
     '<TileSeedLayer>: it can\'t stand in <TileSeedLayer "a">, only outside of all sections'),
    (layer('!<Location "/x">', "</Location>"),
     "<Location> can't stand in <TileSeedLayer>, only directives of the module can"),
    ('!TileSeedSRS 4326',
     "TileSeedSRS: it can't stand outside of all sections, only in <TileSeedGridSet>"),
    ('!TileSeedRest on',
     'TileSeedRest: it can\'t stand outside of all sections, only in <Location "/path">'),
    (layer('!TileSeedRest on'),
     'TileSeedRest: it can\'t stand in <TileSeedLayer "a">, only in <Location "/path">'),
    (location("!TileSeedRest on", section_head='LocationMatch "^/rest"'),
     'TileSeedRest: it can\'t stand in <LocationMatch "^/rest">, only in <Location "/path">'),
    (location("!TileSeedRest on", section_head='Location ~ "^/rest"'),
     'TileSeedRest: it can\'t stand in <Location ~ "^/rest">, only in <Location "/path">'),
    (location("!TileSeedRest on", section_head='Location "/*/rest"'),
     'TileSeedRest: it can\'t stand in <Location "/*/rest">, only in <Location "/path">'),
    (location("!TileSeedRest on", section_head='Directory "/tmp"'),
     'TileSeedRest: it can\'t stand in <Directory "/tmp">, only in <Location "/path">'),
    (location("!TileSeedRest on", section_head='Files "a"'),
     'TileSeedRest: it can\'t stand in <Files "a">, only in <Location "/path">'),
    (location('!TileSeedFormat image/png'),
     'TileSeedFormat: it can\'t stand in <Location "/rest">, only in <TileSeedLayer> or '
     'outside of all sections'),
]

GRIDSETS = [
    ('!<TileSeedGridSet>\n</TileSeedGridSet>',
     '<TileSeedGridSet>: too few arguments, expected is: NAME, a grid set of your own'),
    ('!<TileSeedGridSet a/b>\n</TileSeedGridSet>',
     "<TileSeedGridSet>: the name of a grid set must not have control characters or '/'"),
    ('!' + gridset(),
     '<TileSeedGridSet>: TileSeedSRS is missing inside'),
    ('!' + gridset('TileSeedSRS 4326'),
     '<TileSeedGridSet>: TileSeedExtent is missing inside'),
    ('!' + gridset('TileSeedSRS 4326', 'TileSeedExtent 0 0 1 1'),
     '<TileSeedGridSet>: TileSeedLevels, TileSeedResolutions or TileSeedScaleDenominators '
     'is missing inside'),
    (gridset('!TileSeedSRS WGS84'),
     "TileSeedSRS: 'WGS84' is not possible, a whole number from 1 to 2147483647 is "
     'expected'),
    (gridset('!TileSeedExtent 0 0 1'),
     'TileSeedExtent: too few arguments, expected is: minx miny maxx maxy, in units of '
     'the reference system'),
    (gridset('!TileSeedExtent 0 0 1 one'),
     "TileSeedExtent: 'one' is not possible, a number is expected"),
    (gridset('!TileSeedOrigin centre'),
     "TileSeedOrigin: 'centre' is unknown, bottom-left or top-left is expected"),
    (gridset('!TileSeedOrigin top-left 0'),
     'TileSeedOrigin: behind the corner two numbers x y are expected, or nothing'),
    (gridset('!TileSeedLevels 65'),
     "TileSeedLevels: '65' is not possible, a whole number from 1 to 64 is expected"),
    (gridset('TileSeedLevels 4', '!TileSeedResolutions 4 2 1'),
     'TileSeedResolutions: TileSeedLevels has given the levels already'),
    (gridset('!TileSeedResolutions 4 x 1'),
     "TileSeedResolutions: 'x' is not possible, a number is expected"),
    (gridset('!TileSeedScaleDenominators' + ' 9' * 65),
     'TileSeedScaleDenominators: 65 levels are not possible, 1 to 64 are'),
    (gridset('!TileSeedTileSize 256'),
     "TileSeedTileSize: '256' is not possible, 1x1 to 4096x4096 is expected"),
    (gridset('!TileSeedTileSize 0x256'),
     "TileSeedTileSize: '0x256' is not possible, 1x1 to 4096x4096 is expected"),
    ('!' + gridset('TileSeedSRS 4326', 'TileSeedExtent 0 0 500000 600000', 'TileSeedLevels 3'),
     '<TileSeedGridSet>: the extent reaches beyond 360, and EPSG:4326 is in degrees: write it in '
     'degrees, or the TileSeedSRS that it is of'),
    (gridset('!TileSeedMetersPerUnit 0'),
     "TileSeedMetersPerUnit: '0' is not possible, a number above 0 is expected"),
    (gridset('!TileSeedAxisOrder xy'),
     "TileSeedAxisOrder: 'xy' is unknown, en or ne is expected"),
    (gridset('!TileSeedWGS84Box 11 45 5 48'),
     "TileSeedWGS84Box: '11 45 5 48' is not possible, west south east north in degrees with west "
     '< east within -180 to 180 and south < north within -90 to 90 is expected'),
    (gridset('TileSeedWGS84Box 5 45 11 48', '!TileSeedWGS84Box 5 45 11 48'),
     'TileSeedWGS84Box: it is there twice, once is expected'),
    ('!TileSeedWGS84Box 5 45 11 48',
     "TileSeedWGS84Box: it can't stand outside of all sections, only in <TileSeedGridSet> or in "
     '<TileSeedLayer>'),
    (layer('!TileSeedWGS84Box 5 45 11 x'),
     "TileSeedWGS84Box: '5 45 11 x' is not possible, west south east north in degrees with west "
     '< east within -180 to 180 and south < north within -90 to 90 is expected'),
    ('!' + gridset('TileSeedSRS 4326', 'TileSeedExtent 1 0 0 1', 'TileSeedLevels 3'),
     '<TileSeedGridSet>: the extent 1 0 0 1 is empty, minx miny maxx maxy with minx < '
     'maxx and miny < maxy is expected'),
    ('!' + gridset('TileSeedSRS 4326', 'TileSeedExtent 0 0 1 1', 'TileSeedResolutions 1 2'),
     '<TileSeedGridSet>: the resolution 2 of level 1 is not below the 1 of level 0, '
     'levels go from coarse to fine'),
    ('!' + gridset('TileSeedSRS 4326', 'TileSeedExtent 0 0 1 1', 'TileSeedLevels 40'),
     '<TileSeedGridSet>: levels 0 to 32 have more than 2^63-1 tiles: leave level 32 and '
     'finer ones out'),
    ('!' + gridset('TileSeedSRS 4326', 'TileSeedExtent 0 0 1 1', 'TileSeedLevels 4',
     'TileSeedOrigin top-left 2 2'),
     '<TileSeedGridSet>: tiles from the top-left origin 2 2 do not cover the extent, x 0 '
     'or less and y 1 or more is expected'),
    (gridset('TileSeedSRS 4326', 'TileSeedExtent 0 0 1 1', 'TileSeedLevels 4') + '!' + gridset(),
     "<TileSeedGridSet>: there is a grid set 'g' already"),
]

LAYERS = [
    ('!<TileSeedLayer>\n</TileSeedLayer>',
     '<TileSeedLayer>: too few arguments, expected is: NAME, a layer'),
    ('!<TileSeedLayer a b>\n</TileSeedLayer>',
     '<TileSeedLayer>: too many arguments, expected is: NAME, a layer'),
    ('!<TileSeedLayer "">\n</TileSeedLayer>',
     '<TileSeedLayer>: the name of a layer has 1 to 191 bytes, not 0'),
    ('!<TileSeedLayer "a\tb">\n</TileSeedLayer>',
     "<TileSeedLayer>: the name of a layer must not have control characters or '/'"),
    ('!<TileSeedLayer "a/b">\n</TileSeedLayer>',
     "<TileSeedLayer>: the name of a layer must not have control characters or '/'"),
    (b'!<TileSeedLayer "a\xff">\n</TileSeedLayer>',
     '<TileSeedLayer>: the name of a layer must be UTF-8'),
    ('!<TileSeedLayer "%s">\n</TileSeedLayer>' % ('ü'*96),
     '<TileSeedLayer>: the name of a layer has 1 to 191 bytes, not 192'),
    (layer() + '!' + layer(),
     "<TileSeedLayer>: there is a layer 'a' already, on line 1 of @ROOT@/ours.conf"),
    ('!' + layer(source=''),
     '<TileSeedLayer>: the layer has no source, such as TileSeedSource wms '
     'http://HOST/PATH layers=NAME'),
    ('!' + layer(store=''),
     '<TileSeedLayer>: the layer has no store, such as TileSeedStore file /var/cache/tiles'),
    (layer() + '!TileSeedMetatile 4x4',
     'TileSeedMetatile: a default for all layers must stand before the first '
     '<TileSeedLayer>, which is on line 1 of @ROOT@/ours.conf'),
]

SOURCES = [
    (layer('!'+SOURCE, store=STORE),
     'TileSeedSource: it is there twice, the first is on line 2 of @ROOT@/ours.conf'),
    (layer(source='!TileSeedSource tms http://h/{z}/{x}/{y}.png\n'),
     "TileSeedSource: 'tms' is unknown, wms, xyz or wmts is expected"),
    (layer(source='!TileSeedSource xyz http://h/${z}/${x}/${y}.png\n'),
     'TileSeedSource: a placeholder in the address is written {z}, without the $ of a script'),
    (layer(source='!TileSeedSource xyz http://h/{z}/{x}.png\n'),
     'TileSeedSource: the address does not say which tile: it needs {z}, {x} and one of {y} '
     '{-y}, or {quadkey}, or {bbox}'),
    (layer(source='!TileSeedSource xyz http://h/{z}/{x}/{y} http://i/{z}/{x}\n'),
     'TileSeedSource: the address does not say which tile: it needs {z}, {x} and one of {y} '
     '{-y}, or {quadkey}, or {bbox}'),
    (layer(source='!TileSeedSource wmts http://h/?SERVICE=WMTS&REQUEST=GetCapabilities layer=a\n'),
     'TileSeedSource: the address has SERVICE in its query: leave it out, each request brings its '
     'own'),
    (layer(source='!TileSeedSource wmts http://h/x?map=a&tilematrix=1 layer=a\n'),
     'TileSeedSource: the address has tilematrix in its query: leave it out there and write it '
     'behind the address as tilematrix=VALUE'),
    (layer(source='!TileSeedSource xyz https://{s}.example.org/{z}/{x}/{y}.png\n'),
     'TileSeedSource: {s} in the host is not possible: write the address once for each host, one '
     'behind the other, and mode=share'),
    (layer(source='!TileSeedSource wmts http://{s}.b.org/{TileMatrix}/{TileRow}/{TileCol}\n'),
     'TileSeedSource: {s} in the host is not possible: write the address once for each host, one '
     'behind the other, and mode=share'),
    (layer(source='!TileSeedSource wmts http://h/x layer=a tilematrix={z:2}\n'),
     'TileSeedSource: {z:2} in TILEMATRIX= is unknown, {gridset}, {z}, {z:02} or {z-1} is '
     'expected'),
    (layer(source='!TileSeedSource wmts http://h/wmts\n'),
     'TileSeedSource: layer= is missing: it names the layer of the WMTS'),
    (layer('!TileSeedMetatile 2x2', source='TileSeedSource xyz http://h/{z}/{x}/{y}\n'),
     "TileSeedMetatile: a source of single tiles can't draw metatiles or a gutter, 1x1 is "
     'expected'),
    (layer(source='!TileSeedSource wms http://h/a http://h/b mode=best layers=a\n'),
     "TileSeedSource: 'best' is unknown, fallback or share is expected"),
    (layer(source=f'!TileSeedSource wms {"http://h/a " * 9} layers=a\n'),
     'TileSeedSource: there are more than 8 addresses'),
    (layer(source='!TileSeedSource wms\n'),
     'TileSeedSource: too few arguments, expected is: wms|wmts|xyz URL|upstream:NAME [URL ...] '
     '[mode=fallback|share] [missing=error|empty|LIST] [NAME=VALUE ...]'),
    (layer(source='!TileSeedSource xyz http://h/{z}/{x}/{y} missing=404,500\n'),
     "TileSeedSource: missing= has '500'; error, empty, or a list like 404,403,empty-body,"
     'TileOutOfRange is expected: statuses 204 and 4xx but 429, empty-body, and codes of OGC '
     'exceptions'),
    (layer(source='!TileSeedSource xyz http://h/{z}/{x}/{y} missing=emty\n'),
     "TileSeedSource: missing= has 'emty'; error, empty, or a list like 404,403,empty-body,"
     'TileOutOfRange is expected: statuses 204 and 4xx but 429, empty-body, and codes of OGC '
     'exceptions'),
    (layer(source='!TileSeedSource xyz http://h/{z}/{x}/{y} missing=404,Empty\n'),
     "TileSeedSource: missing= has 'Empty'; error, empty, or a list like 404,403,empty-body,"
     'TileOutOfRange is expected: statuses 204 and 4xx but 429, empty-body, and codes of OGC '
     'exceptions'),
    (layer(source='!TileSeedSource wms ftp://h/wms layers=a\n'),
     'TileSeedSource: the address of a source is written as http://host:port/path or '
     'https://host:port/path'),
    (layer(source='!TileSeedSource wms http://h/wms\n'),
     'TileSeedSource: layers= is missing: it names the layers of the WMS that are drawn'),
    (layer(source='!TileSeedSource wms http://h/wms layers=a version=1.2\n'),
     'TileSeedSource: version=1.2 is none that is spoken: 1.1.0, 1.1.1 or 1.3.0'),
    (layer(source='!TileSeedSource wms http://h/wms layers=a bbox=1,2,3,4\n'),
     "TileSeedSource: BBOX can't be set: it follows from the tiles that are asked for"),
    (layer(source='!TileSeedSource wms http://h/wms layers=a LAYERS=b\n'),
     'TileSeedSource: LAYERS= is there twice, once is expected'),
    (layer(source='!TileSeedSource wms http://h/wms layers\n'),
     "TileSeedSource: 'layers' is not understood, NAME=VALUE is expected"),
    (layer(source='!TileSeedSource wms upstream:none layers=a\n'),
     "TileSeedSource: the upstream 'none' is unknown, the name of a TileSeedUpstream is "
     'expected'),
    (layer(source='!TileSeedSource wms http://me:secret@h/wms layers=a\n'),
     "TileSeedSource: user and password don't belong into the address: write "
     'user:password into a file and name it with auth=FILE of TileSeedUpstream'),
    ('!'+SOURCE.replace('layers=a', 'styles=') + layer(source=''),
     'TileSeedSource: layers= is missing: it names the layers of the WMS that are drawn'),
]

GRIDS = [
    (layer('!TileSeedGrid'),
     'TileSeedGrid: too few arguments, expected is: GRIDSET [zoom=FIRST-LAST] '
     '[extent=minx,miny,maxx,maxy] [srs=EPSG:N]'),
    (layer('!TileSeedGrid EPSG:25832'),
     "TileSeedGrid: the grid set 'EPSG:25832' is unknown, one of EPSG:3857, EPSG:900913, "
     'EPSG:4326 is expected'),
    (layer('!TileSeedGrid EPSG:4326 zoom=0-22'),
     'TileSeedGrid: zoom=0-22 is not possible, FIRST-LAST within the levels 0 to 21 of '
     "'EPSG:4326' is expected"),
    (layer('!TileSeedGrid EPSG:4326 zoom=5-3'),
     'TileSeedGrid: zoom=5-3 is not possible, FIRST-LAST within the levels 0 to 21 of '
     "'EPSG:4326' is expected"),
    (layer('!TileSeedGrid EPSG:4326 zoom=all'),
     'TileSeedGrid: zoom=all is not possible, FIRST-LAST within the levels 0 to 21 of '
     "'EPSG:4326' is expected"),
    (layer('!TileSeedGrid EPSG:4326 zoom=1-2-3'),
     'TileSeedGrid: zoom=1-2-3 is not possible, FIRST-LAST within the levels 0 to 21 of '
     "'EPSG:4326' is expected"),
    (layer('!TileSeedGrid EPSG:4326 extent=-180,-90,180'),
     'TileSeedGrid: extent=-180,-90,180 is not possible, minx,miny,maxx,maxy within '
     "-180,-90,180,90 of 'EPSG:4326' is expected"),
    (layer('!TileSeedGrid EPSG:4326 extent=-180,-90,180,91'),
     'TileSeedGrid: extent=-180,-90,180,91 is not possible, minx,miny,maxx,maxy within '
     "-180,-90,180,90 of 'EPSG:4326' is expected"),
    (layer('!TileSeedGrid EPSG:4326 extent=10,10,5,20'),
     'TileSeedGrid: extent=10,10,5,20 is not possible, minx,miny,maxx,maxy within '
     "-180,-90,180,90 of 'EPSG:4326' is expected"),
    (layer('!TileSeedGrid EPSG:4326 srs=4326'),
     'TileSeedGrid: srs=4326 is not possible, a name such as EPSG:4326 is expected'),
    (layer('!TileSeedGrid EPSG:4326 levels=3'),
     'TileSeedGrid: the option levels= is unknown, zoom=, extent= or srs= is expected'),
    (layer('TileSeedGrid EPSG:4326', '!TileSeedGrid EPSG:4326'),
     "TileSeedGrid: the layer has the grid set 'EPSG:4326' already"),
]

FORMATS = [
    (layer('!TileSeedFormat image/gif'),
     f"TileSeedFormat: format 'image/gif' is unknown, one of {', '.join(MIMES)} is expected"),
    (layer('!TileSeedFormat image/png lossless=on'),
     'TileSeedFormat: lossless=on is for image/webp, not for image/png'),
    (layer('!TileSeedFormat image/jpeg lossless=off'),
     'TileSeedFormat: lossless=off is for image/webp, not for image/jpeg'),
    (layer('!TileSeedFormat image/png quality=85'),
     'TileSeedFormat: quality=85 is for image/jpeg, image/webp and the mixes, not for image/png'),
    (layer('!TileSeedFormat image/png8 quality=85'),
     'TileSeedFormat: quality=85 is for image/jpeg, image/webp and the mixes, not for image/png8'),
    (layer('!TileSeedFormat image/webp quality=85 lossless=on'),
     'TileSeedFormat: quality=85 means nothing with lossless=on'),
    (layer('!TileSeedFormat image/jpeg level=6'),
     'TileSeedFormat: level=6 is for image/png, image/png8, image/webp and the mixes, not for '
     'image/jpeg'),
    *((layer(f'!TileSeedFormat {mime} palette=keep'),
       f'TileSeedFormat: palette=keep is for image/png and image/vnd.jpeg-png, not for {mime}')
      for mime in ('image/png8', 'image/jpeg', 'image/webp', 'image/vnd.jpeg-png8')),
    (layer('!TileSeedFormat image/webp lossless=yes'),
     "TileSeedFormat: lossless=: 'yes' is unknown, off or on is expected"),
    (layer('!TileSeedFormat image/jpeg quality=0'),
     "TileSeedFormat: quality=: '0' is not possible, a whole number from 1 to 100 is "
     'expected'),
    (layer('!TileSeedFormat image/png level=13'),
     "TileSeedFormat: level=: '13' is not possible, a whole number from 1 to 12 is "
     'expected'),
    (layer('!TileSeedFormat image/png palette=256'),
     "TileSeedFormat: palette=: '256' is unknown, keep, auto or none is expected"),
    (layer('!TileSeedFormat image/png from=png'),
     "TileSeedFormat: from=: 'png' is no type of an image, such as image/png"),
    (layer('TileSeedFormat image/png', '!TileSeedFormat IMAGE/PNG'),
     'TileSeedFormat: the layer has the format image/png already'),
]

METATILES = [
    (layer('!TileSeedMetatile 4'),
     "TileSeedMetatile: '4' is not possible, 1x1 to 32x32 is expected, or auto"),
    (layer('!TileSeedMetatile 33x4'),
     "TileSeedMetatile: '33x4' is not possible, 1x1 to 32x32 is expected, or auto"),
    (layer('!TileSeedMetatile 4x4 gutter=-1'),
     "TileSeedMetatile: gutter=: '-1' is not possible, a whole number from 0 to 1024 is "
     'expected'),
    (layer('!TileSeedMetatile 4x4 8'),
     "TileSeedMetatile: '8' is not understood, max=, gutter= or edge= is expected"),
    (layer('!TileSeedMetatile 4x4 max=8x8'),
     'TileSeedMetatile: max=8x8 says how large auto may become, and 4x4 is fixed'),
    (layer('!TileSeedMetatile auto max=33x8'),
     "TileSeedMetatile: '33x8' is not possible, 1x1 to 32x32 is expected"),
    (layer('!TileSeedMetatile auto 8x8'),
     "TileSeedMetatile: '8x8' stands alone, max=8x8 is expected"),
    (layer('!TileSeedMetatile auto max=8x2'),
     'TileSeedMetatile: max=8x2 is smaller than a metatile of auto, 4x4: max=4x4 to max=32x32 is '
     'expected, or the fixed size 8x2 instead of auto'),
    (gridset('TileSeedSRS 1', 'TileSeedExtent 0 0 1 1', 'TileSeedLevels 2',
     'TileSeedTileSize 4096x4096') + layer('TileSeedMetatile 8x8', '!TileSeedGrid g'),
     'TileSeedGrid: metatiles of 8x8 tiles with gutter 0 would be pictures of 32768x32768 '
     "pixels in 'g', at most 16384 on a side and 75759616 in all are possible"),
]

PARAMETERS = [
    (layer('!TileSeedParameter "MY STYLE"'),
     "TileSeedParameter: 'MY STYLE' is no name of a parameter, letters, digits and _-.: "
     'are expected'),
    (layer('!TileSeedParameter BBOX'),
     "TileSeedParameter: BBOX can't be set: it follows from the tiles that are asked for"),
    (layer('!TileSeedParameter STYLES regex="("'),
     "TileSeedParameter: the regex '(' of parameter STYLES is not a POSIX extended one: "
     'Unmatched ( or \\\\('),
    (layer('!TileSeedParameter STYLES case=title'),
     "TileSeedParameter: case=: 'title' is unknown, keep, upper or lower is expected"),
    (layer('!TileSeedParameter STYLES values=a'),
     'TileSeedParameter: the option values= is unknown, default=, value=, regex=, max= or case= '
     'is expected'),
    (layer('TileSeedParameter STYLES', '!TileSeedParameter styles'),
     'TileSeedParameter: the layer has the parameter STYLES already'),
]

STORES = [
    (layer(store='!TileSeedStore /tiles\n'),
     'TileSeedStore: too few arguments, expected is: file DIR [layout=geowebcache] '
     '[link-uniform=on] [mode=0644] [dirmode=0755]'),
    (layer(store='!TileSeedStore s3 bucket\n'),
     "TileSeedStore: the store 's3' is unknown, file is expected"),
    (layer(store='!TileSeedStore file /tiles layout=mp\n'),
     "TileSeedStore: layout=: 'mp' is unknown, geowebcache, xyz, tms, arcgis, quadkey, "
     'tilecache or a template such as {layer}/{z}/{x}/{y}.{ext} is expected'),
    (layer(store='!TileSeedStore file /tiles layout={z}/{x}.{ext}\n'),
     "TileSeedStore: the path template '{z}/{x}.{ext}' does not give each tile a file of "
     'its own: it needs {z}, {x} and one of {y} {-y}, or {quadkey}'),
    (layer(store='!TileSeedStore file /tiles layout=../{z}/{x}/{y}.{ext}\n'),
     "TileSeedStore: the path template '../{z}/{x}/{y}.{ext}' must be relative to the "
     "store's directory, without empty parts, '.' and '..'"),
    (layer(store='!TileSeedStore file /tiles layout={z}/{x}/{row}.{ext}\n'),
     "TileSeedStore: the path template '{z}/{x}/{row}.{ext}' has the unknown placeholder "
     '{row}; there are {layer} {gridset} {hash} {ext} {z} {x} {y} {-y} {quadkey}'),
    (layer(store='!TileSeedStore file /tiles mode=0888\n'),
     "TileSeedStore: mode=: '0888' is not possible, octal permission bits from 0400 to "
     '0777 are expected'),
    (layer(store='!TileSeedStore file /tiles dirmode=0644\n'),
     "TileSeedStore: dirmode=: '0644' is not possible, octal permission bits from 0700 to "
     '07777 are expected'),
    (layer(store='!TileSeedStore file /tiles link-uniform=yes\n'),
     "TileSeedStore: link-uniform=: 'yes' is unknown, off or on is expected"),
    (layer('TileSeedParameter STYLES',
           store='!TileSeedStore file /tiles layout={z}/{x}/{y}.{ext}\n'),
     "TileSeedStore: layer 'a' has parameters, so its path template '{z}/{x}/{y}.{ext}' "
     'needs {hash} to keep their tiles apart'),
    (layer('TileSeedGrid EPSG:4326', store='!TileSeedStore file /tiles layout=quadkey\n'),
     "TileSeedStore: layer 'a' can't use quadkeys with grid set 'EPSG:4326': level 0 has "
     '2 x 1 tiles, quadkeys tell at most 2^0 x 2^0 apart'),
    (layer(store='TileSeedStore file /tiles\n',
           name='a:b') + layer(store='!TileSeedStore file /tiles\n', name='a_b'),
     "TileSeedStore: layer 'a_b' would write the files of layer 'a:b', such as "
     '/tiles/a_b/EPSG_3857_00/0_0/00_00.png: give it another directory or name'),
]

LIMITS = [
    (layer('!TileSeedKeep zoom=7-64'),
     "TileSeedKeep: zoom=: '7-64' is not possible, FIRST-LAST within 0 to 63 is expected"),
    (layer('!TileSeedKeep 0-7'),
     "TileSeedKeep: '0-7' stands alone, zoom=0-7 is expected"),
    (layer('TileSeedKeep zoom=1', '!TileSeedKeep zoom=2-3'),
     'TileSeedKeep: it is there twice, the first is on line 4 of @ROOT@/ours.conf'),
    (layer('!TileSeedDerive zoom=4-63'),
     "TileSeedDerive: zoom=: '4-63' is not possible, FIRST-LAST within 0 to 62 is expected"),
    (layer('!TileSeedDerive on'),
     "TileSeedDerive: 'on' is not understood, zoom= is expected"),
    (layer('!TileSeedDerive 0-3'),
     "TileSeedDerive: '0-3' stands alone, zoom=0-3 is expected"),
    (layer('!TileSeedDerive zoom=2-6', 'TileSeedGrid EPSG:3857 zoom=0-6'),
     "TileSeedDerive: level 6 can't be derived, because it is the last one that the layer has in "
     "'EPSG:3857': levels below 6 are expected"),
    ('<TileSeedGridSet g>\n    TileSeedSRS 32632\n    TileSeedExtent 0 0 1000 1000\n'
     '    TileSeedResolutions 4 2 0.8\n</TileSeedGridSet>\n'
     + layer('TileSeedGrid g', '!TileSeedDerive zoom=0-1'),
     "TileSeedDerive: a tile must be made of four: the resolution of grid set 'g' does not halve "
     'from level 1 to level 2'),
    (layer('TileSeedPrune uniform', '!TileSeedDerive zoom=0-2'),
     'TileSeedDerive: derived levels are made of tiles of the store, which pruned tiles are not '
     'in: TileSeedPrune off is expected in this layer'),
    (layer('!TileSeedRetries -1'),
     "TileSeedRetries: '-1' is not possible, a whole number from 0 to 1000 is expected"),
    (layer('TileSeedRetries 1', '!TileSeedRetries 2'),
     'TileSeedRetries: it is there twice, the first is on line 4 of @ROOT@/ours.conf'),
    (layer('!TileSeedMaxTileSets -1'),
     "TileSeedMaxTileSets: '-1' is not possible, a whole number from 0 to 1000000 is expected"),
    (layer('!TileSeedPrune on'),
     "TileSeedPrune: 'on' is not possible, off, uniform or uniform=3 is expected"),
    (layer('!TileSeedPrune uniform=31'),
     "TileSeedPrune: '31' is not possible, a whole number from 0 to 30 is expected"),
    (layer('!TileSeedPrune uniform check=101'),
     "TileSeedPrune: check=: '101' is not possible, a percentage from 0 to 100 is expected"),
    (layer('!TileSeedPrune uniform 3'),
     "TileSeedPrune: '3' stands alone, uniform=3 is expected"),
    (layer('!TileSeedPrune off sparse=on'), 'TileSeedPrune: off takes no options'),
    (layer('!TileSeedPrune uniform sparse=maybe'),
     "TileSeedPrune: sparse=: 'maybe' is unknown, off or on is expected"),
    (layer('!TileSeedFailureLimit -2'),
     "TileSeedFailureLimit: '-2' is not possible, a whole number from -1 to "
     '9223372036854775807 is expected'),
    (layer('!TileSeedFailureLimit 101%'),
     "TileSeedFailureLimit: '101%' is not possible, a share from 0% to 100% is expected"),
]

LOCATIONS = [
    (location('!TileSeedPage page'),
     "TileSeedPage: 'page' is unknown, on, off or the path of a directory is expected"),
    (location('!TileSeedRest yes'),
     "TileSeedRest: 'yes' is unknown, off or on is expected"),
    (location('!TileSeedDialect mapcache'),
     "TileSeedDialect: 'mapcache' is unknown, document or geowebcache is expected"),
    (location('!TileSeedLayers a'),
     "TileSeedLayers: the layer 'a' is unknown, the name of a <TileSeedLayer> is expected"),
    (location('!TileSeedPublicURL maps.example.org'),
     "TileSeedPublicURL: 'maps.example.org': an address is written as http://host:port/path or "
     'https://host:port/path'),
    (location('!TileSeedPublicURL https://a.example/tiles?map=x'),
     "TileSeedPublicURL: 'https://a.example/tiles?map=x': the address ends in front of a '?' and "
     'has none of the characters that an address escapes'),
    (location('!TileSeedPublicURL https://a.example/<tiles>'),
     "TileSeedPublicURL: 'https://a.example/<tiles>': the address ends in front of a '?' and has "
     'none of the characters that an address escapes'),
    *((location(f'!TileSeedPublicURL {address}'),
       f"TileSeedPublicURL: '{address}': the port of an address is a number from 1 to 65535")
      for address in ('https://[::1]:99999/a', 'https://a.example:0/', 'https://a.example:-5/')),
    *((location(f'!TileSeedPublicURL https://a.example{path}'),
       f"TileSeedPublicURL: 'https://a.example{path}': the path of the address has no segment '.' "
       "or '..'") for path in ('/a/../..', '/a/..', '/./a', '/%2E./a', '/.%2e')),
    (location('!TileSeedMetrics always'),
     "TileSeedMetrics: 'always' is unknown, off or on is expected"),
    (location('!TileSeedCheckOrigin maybe'),
     "TileSeedCheckOrigin: 'maybe' is unknown, on, off or origins such as "
     'https://maps.example.org are expected'),
    (location('!TileSeedCheckOrigin https://a.example/path'),
     "TileSeedCheckOrigin: 'https://a.example/path' is unknown, on, off or origins such "
     'as https://maps.example.org are expected'),
    (location('!TileSeedCheckOrigin on https://a.example'),
     "TileSeedCheckOrigin: 'on' is unknown, on, off or origins such as "
     'https://maps.example.org are expected'),
]

ALL = [
    *SERVER, *TILES, *QUOTA, *UPSTREAMS, *PLACES, *GRIDSETS, *LAYERS, *SOURCES, *GRIDS, *FORMATS,
    *METATILES, *PARAMETERS, *STORES, *LIMITS, *LOCATIONS,
]
