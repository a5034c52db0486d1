# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The dump of `httpd -t -D DUMP_TILESEED`: httpd takes it, a dump of it is the same text, and it
has what was configured."""
import os
import random
import re
import subprocess

import pytest

from seeding import REST, SMALL_GRID, layer
from test_tiles import TILES
from tileseed_httpd import ALONE, needs_fleet, one_mpm

CONFIGURATIONS = 40
NAMES = ('roads', 'topp:states', 'two words', 'Größe', 'a"b', "it's", 'back\\slash', 'ends\\', '#1',
         '${nobody}', 'a>b', '100%', '<img src=x onerror=alert(1)>')


def dump(httpd, snippet):
    """(what a dump of a configuration says, or None; the words of httpd)."""
    httpd.write_config(snippet)
    done = subprocess.run(httpd.command('-t', '-D', 'DUMP_TILESEED'), capture_output=True,
                          text=True, check=False, env=httpd.environment())
    return done.stdout if done.returncode == 0 else None, done.stderr


def dumped(httpd, snippet):
    """The dump of a configuration, after a round trip."""
    first, words = dump(httpd, snippet)
    assert first is not None, f'{words}\n{snippet}'
    second, words = dump(httpd, first)
    assert second is not None, f'{words}\n{first}'
    assert second == first, snippet
    return first


# Random configurations

class Chance:
    """Draws what a configuration has."""

    def __init__(self, seed, root):
        self.random = random.Random(seed)
        self.root = root

    def one(self, *values):
        """One of the values."""
        return self.random.choice(values)

    def maybe(self, text, share=0.5):
        """A text, or none."""
        return text if self.random.random() < share else ''

    def number(self, low, high):
        """A whole number."""
        return self.random.randint(low, high)

    def duration(self, low=1, high=3600):
        """A duration within so many seconds."""
        return self.one(f'{self.number(low, high)}', f'{self.number(low, high)}s',
                        f'{self.number(low * 1000, high * 1000)}ms',
                        f'{self.random.uniform(low, high)}s', f'{max(low, 60) // 60}m')

    def size(self):
        """A size."""
        return self.one(f'{self.number(2000, 10**7)}', f'{self.number(2, 50)}KiB', '1.5MB',
                        '"3 MiB"')

    def word(self, text):
        """A word as somebody may write it."""
        quoted = text.replace('\\', '\\\\').replace('"', '\\"')
        return text if re.fullmatch(r'[\w.:/%-]+', text) and self.number(0, 1) else f'"{quoted}"'

    def names(self, most):
        """Some names."""
        return self.random.sample(NAMES, self.number(1, most))

    def some(self, lines, share=0.5):
        """Some of the lines, in any order."""
        kept = [line for line in lines if self.random.random() < share]
        self.random.shuffle(kept)
        return kept


def server(chance):
    """Settings of the server."""
    return chance.some([
        'TileSeedStateDir some/where', f'TileSeedThreads {chance.number(1, 256)}',
        'TileSeedDatabase sqlite3 "@ROOT@/a file.db"', f'TileSeedWorkers {chance.number(1, 256)}',
        f'TileSeedMaxTasks {chance.number(1, 10**6)}', f'TileSeedHistory 7 {chance.duration()}',
        f'TileSeedMaxRequestBody {chance.size()}', f'TileSeedNice {chance.number(0, 19)}',
        f'TileSeedMissWaiters {chance.number(1, 99)} {chance.maybe("layer=3")} '
        f'{chance.maybe("client=2")}', f'TileSeedStopTimeout {chance.number(10, 10000)}ms',
        'TileSeedServerStatus off',
        '' if ALONE else f'TileSeedHost web{chance.number(1, 9)}.example',
        '' if ALONE else f'TileSeedLease {chance.number(3, 600)}s',
        f'TileSeedSync {chance.one("on", "OFF")}', f'TileSeedHangTimeout {chance.duration(5)}',
        f'TileSeedGiveUp {chance.duration()}', f'TileSeedDiskQuotaFiles {chance.number(1, 10**18)}',
        f'TileSeedDiskQuotaGrace {chance.duration()}', f'TileSeedMinFree {chance.size()}',
        f'TileSeedDiskQuota {chance.one("off", "on")} "10 GiB" policy=lfu every=2min',
        'TileSeedDiskQuota off'])


def upstream(chance, name):
    """An upstream."""
    options = chance.some([
        f'connections={chance.number(1, 256)}', f'timeout={chance.duration()}',
        f'connect-timeout={chance.duration()}', f'first-byte-timeout={chance.duration()}',
        f'rate={chance.random.uniform(0.01, 900)}/{chance.one("s", "min")}',
        'auth="@ROOT@/secret"', 'header="X-Key: a \\"b\\" \\\\ c"', 'header=\'Referer: "x"\'',
        'header-file="@ROOT@/secret"',
        'redirect=host', 'redirect=a.example.org,b.example.org', 'ca=@ROOT@/secret',
        'proxy=http://proxy.example.org:3128'])
    return f'TileSeedUpstream {chance.word(name)} http://u.example.org/wms?a=b {" ".join(options)}'


def gridset(chance, name):
    """A grid set of one's own, 1000 units wide."""
    low = chance.random.uniform(-1e7, 1e7)
    levels = sorted({chance.random.uniform(0.01, 5) for _ in range(chance.number(1, 20))})[::-1]
    text = ' '.join(map(str, levels))
    lines = [f'TileSeedSRS {chance.number(32601, 32660)}',
             f'TileSeedExtent {low} {low} {low + 1000} {low + 1000.1}',
             chance.one(f'TileSeedLevels {chance.number(1, 20)}', f'TileSeedResolutions {text}',
                        f'TileSeedScaleDenominators {text}'),
             *chance.some([f'TileSeedTileSize {chance.number(10, 512)}x{chance.number(10, 512)}',
                           f'TileSeedMetersPerUnit {chance.random.uniform(0.1, 3)}',
                           f'TileSeedAxisOrder {chance.one("en", "ne")}',
                           f'TileSeedOrigin {chance.one("top-left", "bottom-left")}',
                           'TileSeedWGS84Box -1.5 -2 3 4.25'])]
    return '\n'.join([f'<TileSeedGridSet {chance.word(name)}>', *lines, '</TileSeedGridSet>'])


def source(chance, upstreams):
    """A source of pictures: (is it one of single tiles, the line)."""
    named = [chance.word(f'upstream:{name}') for name in upstreams]
    address = chance.one('http://h.example.org:80/wms', 'https://H.example.org/map?map=a%20b',
                         *named)
    second = chance.maybe(f'{chance.one("http://i.example.org/wms", *named)} '
                          f'{chance.maybe("mode=share")}', 0.3)
    if chance.number(0, 3):
        more = ' '.join(chance.some(['styles="a b"', 'transparent=true', 'missing=x', 'time=""']))
        return False, f'TileSeedSource wms {address} {second} layers=any {more}'
    return True, ('TileSeedSource xyz http://h.example.org/{z}/{x}/{-y}.png '
                  f'{chance.maybe("missing=empty")}')


def formats(chance):
    """Formats of a layer."""
    return chance.some([
        f'TileSeedFormat image/png level={chance.number(1, 12)} '
        f'palette={chance.one("AUTO", "none")}',
        'TileSeedFormat IMAGE/PNG8 from="image/png; mode=8bit"',
        f'TileSeedFormat image/jpeg quality={chance.number(1, 100)}',
        f'TileSeedFormat image/webp '
        f'{chance.one("lossless=on level=3", "quality=50", "lossless=off")}',
        'TileSeedFormat image/vnd.jpeg-png'])


def parameters(chance):
    """Parameters that clients may choose."""
    return chance.some([
        'TileSeedParameter styles default=a value=b "value=c d" value=',
        'TileSeedParameter TIME "regex=\\\\d{4}(-\\"x\\")?" case=upper',
        'TileSeedParameter elevation',
        'TileSeedParameter CQL_FILTER default="name=\'x\' and \\"y\\"" case=Lower'])


def limits(chance):
    """What a layer, or the defaults, may say."""
    return chance.some([
        f'TileSeedKeep zoom={chance.one("0-3", "5", "0-63", "60-63")}',
        f'TileSeedReseed {chance.one("all", "changed")}',
        # a layer has one of them only
        'TileSeed' + chance.one('Derive off', 'Derive zoom=60-62', 'Prune off', 'Prune uniform',
                                'Prune uniform check=7%', 'Prune uniform=2 sparse=on check=0.5'),
        f'TileSeedRetries {chance.number(0, 1000)}',
        f'TileSeedFailureLimit {chance.one("-1", "0", "5%", "100%", "123456789012")}',
        f'TileSeedExpires {chance.duration()}', f'TileSeedMaxTileSets {chance.number(0, 10**6)}',
        f'TileSeedOnMiss {chance.one("fetch", "404", "Empty")}'])


def store(chance, number):
    """A store."""
    layout = chance.one('geowebcache', 'xyz', 'tms', 'arcgis', 'tilecache',
                        '{layer}/{gridset}/{hash}/{z}/{x}-{y}.{ext}')
    return (f'TileSeedStore file "@ROOT@/some cache {number}/" "layout={layout}" ' + ' '.join(
        chance.some(['link-uniform=off', 'mode=0640', 'dirmode=2775'])))


def tiles(chance, number, name, upstreams, gridsets):
    """A layer, which writes every line that it needs."""
    is_tiled, line = source(chance, upstreams)
    lines = [line, store(chance, number), *limits(chance), *formats(chance), *parameters(chance)]
    if not is_tiled:
        size = f'{chance.number(1, 8)}x{chance.number(1, 8)}'
        size = chance.random.choice([size, 'auto', f'auto max={size}'])
        lines += chance.some([f'TileSeedMetatile {size} '
                              f'{chance.maybe("gutter=7")} {chance.maybe("edge=ask")}'])
    lines += [f'TileSeedGrid {chance.word(one)}' for one in gridsets if chance.number(0, 1)]
    lines += chance.some(['TileSeedGrid EPSG:4326 zoom=2-7 extent=-10.5,-20,30.25,40.1',
                          'TileSeedGrid EPSG:900913 srs=EPSG:3857'])
    chance.random.shuffle(lines)
    lines += chance.some(['TileSeedWGS84Box -10 -20 30 40'], 0.2)
    return '\n'.join([f'<TileSeedLayer {chance.word(name)}>', *lines, '</TileSeedLayer>'])


def locations(chance, names):
    """Sections of httpd."""
    return '\n'.join(chance.some([
        '<Location "/rest">\nTileSeedRest on\nTileSeedDialect geowebcache\nRequire local\n'
        '</Location>',
        '<Location "/a b">\nTileSeedTiles on\n'
        f'TileSeedLayers {chance.word(names[0])}\n</Location>',
        '<VirtualHost *:80>\nServerName x\n<Location "/t">\nTileSeedTiles on\n'
        'TileSeedPublicURL https://x.example.org/t\n</Location>\n</VirtualHost>',
        '<IfModule tileseed_module>\n<Directory "/nowhere">\nTileSeedTiles count\n</Directory>\n'
        '</IfModule>',
        '<Location "/o">\nTileSeedRest on\nTileSeedCheckOrigin https://a.example.org\n'
        '</Location>']))


def configuration(seed, root):
    """A configuration drawn at random."""
    chance = Chance(seed, root)
    upstreams, gridsets, names = chance.names(3), chance.names(2), chance.names(4)
    parts = [*server(chance), *(upstream(chance, name) for name in upstreams),
             *(gridset(chance, name) for name in gridsets)]
    chance.random.shuffle(parts)
    parts += limits(chance)
    parts += [tiles(chance, number, name, upstreams, gridsets) for number, name in enumerate(names)]
    return '\n'.join([*parts, locations(chance, names)])


@one_mpm
def test_round_trip_of_random_configurations(httpd):
    """Whatever is configured, httpd takes its dump, and a dump of that is the same text."""
    httpd.path('secret').write_text('map:xyzzy\n')
    start = int(os.environ.get('TILESEED_SEED', random.SystemRandom().randrange(10**9)))
    print(f'TILESEED_SEED={start}')
    taken = 0
    for seed in range(start, start + CONFIGURATIONS):
        snippet = configuration(seed, httpd.root)
        first, words = dump(httpd, snippet)
        if first is None:       # two parts of it may exclude each other
            print(seed, words.strip())
            continue
        taken += 1
        second, words = dump(httpd, first)
        assert second is not None, f'{seed}: {words}\n{first}'
        assert second == first, f'{seed}: {snippet}'
        assert 'xyzzy' not in first
    assert taken > CONFIGURATIONS / 2


# What a dump says

@pytest.mark.sqlite
@one_mpm
def test_dump_without_a_layer(httpd):
    """Every default is there, and nothing else."""
    text = dumped(httpd, '')
    for line in ('TileSeedThreads 16', 'TileSeedHistory 10000 30d', 'TileSeedStopTimeout 500ms',
                 'TileSeedDatabase sqlite3', 'TileSeedSync on', 'TileSeedMaxRequestBody 65536',
                 *([] if ALONE else ['TileSeedLease 5s',
                                     f'TileSeedHost "{os.uname().nodename}"'])):
        assert f'\n{line}\n' in text
    assert 'TileSeedDiskQuota ' not in text and '<' not in text


@needs_fleet
@one_mpm
def test_dump_has_no_password(httpd):
    """Of the database's parameters all the rest is there, in the order in which it was written."""
    text = dumped(httpd, 'TileSeedDatabase pgsql "host=db password=\'my secret\' user=a\\ b '
                         'sslpassword=secret"\n')
    assert '\nTileSeedDatabase pgsql "host=db password=*** user=\'a b\' sslpassword=***"\n' in text
    assert 'secret' not in text


@one_mpm
def test_dump_of_a_layer(httpd):
    """Defaults of the server's part and of the module are filled in, upstreams keep their names."""
    httpd.path('secret').write_text('map:xyzzy\n')
    text = dumped(httpd, REST + TILES + 'TileSeedRetries 7\n' + SMALL_GRID +
                  'TileSeedUpstream up http://up.example.org/wms auth=@ROOT@/secret rate=20/s '
                  'header="X-A: b" header-file=@ROOT@/secret\n' +
                  layer('roads', 'TileSeedGrid small',
                        'TileSeedSource wms upstream:up http://two.example.org/wms layers=r'))
    root = httpd.root
    assert text.partition('TileSeedUpstream ')[2].splitlines() == [
        f'"up" "http://up.example.org/wms" connections=4 timeout=1m connect-timeout=10s '
        f'first-byte-timeout=1m rate=20/s auth="{root}/secret" header="X-A: b" '
        f'header-file="{root}/secret"',
        '<TileSeedGridSet "small">', '    TileSeedSRS 32632', '    TileSeedExtent 0 0 1000 1000',
        '    TileSeedOrigin bottom-left 0 0',
        '    TileSeedResolutions 62.5 31.25 15.625 7.8125 3.90625 1.953125 0.9765625 0.48828125',
        '    TileSeedTileSize 16x16', '    TileSeedMetersPerUnit 1', '    TileSeedAxisOrder en',
        '</TileSeedGridSet>', '<TileSeedLayer "roads">',
        '    TileSeedSource wms "upstream:up" "http://two.example.org/wms" mode=fallback '
        'LAYERS="r"',
        '    TileSeedGrid "small" zoom=0-7 extent=0,0,1000,1000 srs="EPSG:32632"',
        '    TileSeedFormat "image/png" from="image/png" level=1 palette="auto"',
        '    TileSeedMetatile auto max=16x16 gutter=0 edge=cut',
        f'    TileSeedStore file "{root}/cache" layout="geowebcache" link-uniform=on mode=0644 '
        'dirmode=0755', '    TileSeedDerive off', '    TileSeedReseed changed',
        '    TileSeedPrune off', '    TileSeedRetries 7',
        '    TileSeedFailureLimit 1000', '    TileSeedMaxTileSets 256', '    TileSeedOnMiss fetch',
        '</TileSeedLayer>', '<Location "/rest">', '    TileSeedRest on', '</Location>',
        '<Location "/tiles">', '    TileSeedTiles on', '</Location>']
    assert 'xyzzy' not in text


@one_mpm
def test_no_dump_of_a_mistake(httpd):
    """A configuration with a mistake is not dumped, and no dump is made without the word for it."""
    assert dump(httpd, 'TileSeedThreads 0')[0] is None
    status, words = httpd.configtest('TileSeedThreads 3')
    assert status == 0 and 'TileSeedThreads' not in words
