# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The script conf/wms2conf: what it writes of a WMS is a configuration that seeds."""
import contextlib
import re
import socket
import subprocess
from xml.sax.saxutils import escape

import pytest

from seeding import REST, counts, done
from test_configtest import configtest
from tileseed_httpd import TOP, one_mpm
from upstream import Upstream

# WMS 1.1.1: systems, styles and bounds are inherited (OGC 01-068r3, 7.1.4.5 and its table 5).
OLD = '''<?xml version="1.0"?>
<!DOCTYPE WMT_MS_Capabilities SYSTEM "http://schemas.opengis.net/wms/1.1.1/capabilities_1_1_1.dtd">
<WMT_MS_Capabilities version="1.1.1"><Capability><Request><GetMap><Format>image/png</Format>
</GetMap></Request><Layer><Title>All</Title><SRS>EPSG:4326 EPSG:900913</SRS>
<LatLonBoundingBox minx="5" miny="47" maxx="15" maxy="55"/>
<Style><Name>day</Name></Style>
<Layer opaque="1"><Name>topp:say "hi"</Name><Title>Two
 lines</Title><Style><Name>night</Name></Style></Layer>
<Layer><Name>a/b</Name></Layer>
<Layer><Name>far</Name><LatLonBoundingBox minx="-180" miny="-90" maxx="180" maxy="90"/></Layer>
</Layer></Capability></WMT_MS_Capabilities>'''


def written(url, *arguments):
    """What the script writes."""
    return subprocess.run([TOP / 'conf/wms2conf', *arguments, url], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


@contextlib.contextmanager
def serving(text):
    """The address of a service whose capabilities are a text."""
    with Upstream() as upstream:
        upstream.capabilities = text
        yield upstream.url


@one_mpm
def test_a_real_service(httpd):
    """MapServer's layers can be seeded as they are written."""
    httpd.start(REST)
    text = written(httpd.url('/wms'), '--store', '@ROOT@/cache')
    assert '<TileSeedLayer "world">' in text
    httpd.stop()
    httpd.start(REST + text)
    document = done(httpd, 'world', gridSetId='EPSG:4326', zoomStop=1)
    assert counts(document) == (document['tilesTotal'], 0, 0, 0)
    assert document['tilesTotal'] > 0


def test_an_old_service(tmp_path):
    """Names, titles and inherited members of WMS 1.1.1."""
    with serving(OLD) as url:
        text = re.sub('(127.0.0.1)-[0-9a-f]{6}', r'\1-@', written(url))
    assert '# Two lines\n<TileSeedLayer "topp:say \\"hi\\"">' in text
    assert ('TileSeedSource wms "upstream:127.0.0.1-@" layers="topp:say \\"hi\\"" version=1.1.1\n'
            '    TileSeedGrid EPSG:3857 zoom=0-18 extent=556597.45,5942074.1,1669792.4,7361866.1 '
            'srs=EPSG:900913\n'
            '    TileSeedGrid EPSG:4326 zoom=0-18 extent=5,47,15,55\n'
            '    TileSeedFormat image/png\n'
            '    TileSeedParameter STYLES value="day" value="night"\n') in text
    assert "# left out: 'a/b': a layer's name has no '/'\n" in text
    assert 'layers="far" version=1.1.1 transparent=true\n    TileSeedGrid EPSG:3857 ' in text
    assert configtest(tmp_path, text.encode()) == (0, 'Syntax OK\n')


def test_no_service():
    """One line says what is wrong."""
    with serving('<html/>') as page:
        for url in page, 'http://127.0.0.1:1/wms':
            run = subprocess.run([TOP / 'conf/wms2conf', url], check=False, text=True,
                                 capture_output=True)
            assert run.returncode == 1 and not run.stdout
            assert run.stderr.startswith('wms2conf: ') and run.stderr.count('\n') == 1


def refused(*arguments):
    """What the script says of arguments that it can't use."""
    run = subprocess.run([TOP / 'conf/wms2conf', *arguments, 'http://127.0.0.1:1/wms'], check=False,
                         text=True, capture_output=True)
    assert run.returncode == 2 and not run.stdout
    return run.stderr


def test_options():
    """Each is explained, and one that is not understood says what is."""
    text = subprocess.run([TOP / 'conf/wms2conf', '--help'], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    text = ' '.join(text.split())
    assert '--store DIR the directory of TileSeedStore file (/var/cache/tiles)' in text
    assert '--metatile WxH the tiles across and down of a TileSeedMetatile (auto)' in text
    for wrong in 'swiss', 'swiss=2056', 'swiss=', '=EPSG:2056', 'EPSG:':
        message = refused('--gridset', wrong)
        assert (f'argument --gridset: {wrong!r} names no reference system: NAME=EPSG:N is expected'
                in message), message
    for wrong in '4', '0x4', '4x', 'x':
        message = refused('--metatile', wrong)
        assert f'argument --metatile: {wrong!r} is neither auto nor a WxH, such as 4x4' in message


def test_gridsets_that_no_layer_is_offered_in():
    """Each layer says which ones were looked for."""
    with serving(OLD) as url:
        text = written(url, '--gridset', 'swiss=EPSG:2056', '--gridset', 'EPSG:3035')
    assert text.count('the service does not offer it in EPSG:2056, EPSG:3035\n') == 2, text
    with serving(OLD.replace('EPSG:4326 EPSG:900913', 'EPSG:2056')) as url:
        text = written(url)
    assert text.count('not offer it in EPSG:3857 or EPSG:4326, and no --gridset is given\n') == 2


# What a service may say, and what the configuration must not become by it.
RUNS = '\nCustomLog "|/bin/touch @ROOT@/was-here" plain\n#'
EVIL = (f'\\{RUNS}', f'"{RUNS}', f'\\"{RUNS}', f'x{RUNS}', 'a\rb', 'a\x85b', 'a\u2028b', 'a\tb',
        'x\\', 'x\\\\', '${HOME}', '"${HOME}"', '$${HOME}')
LINE = re.compile(r'(#.*|</TileSeedLayer>|<TileSeedLayer ".*">|'
                  r'(    )?TileSeed(Upstream|Source|Grid|Format|Parameter|Store|Metatile) .*)?')


def service(*layers):
    """A description of layers: (name, title, styles)."""
    def element(tag, text):
        return f'<{tag}>{escape(text, {chr(13): "&#13;"})}</{tag}>'
    return OLD[:OLD.index('<Style>')] + ''.join(
        '<Layer>' + element('Name', name) + element('Title', title)
        + ''.join(f'<Style>{element("Name", style)}</Style>' for style in styles) + '</Layer>'
        for name, title, styles in layers) + '</Layer></Capability></WMT_MS_Capabilities>'


def test_a_service_writes_no_directives(tmp_path):
    """Names and styles of a hostile service are left out; what is written is sound."""
    layers = [('good', 'Good', ['day', 'night'])]
    for number, text in enumerate(EVIL):
        layers += [(text, 'Title', []), (f'style{number}', '', ['day', text, 'night']),
                   (f'title{number}', text, ['day', 'night'])]
    with serving(service(*layers)) as url:
        text = written(url)
    for line in text.split('\n'):
        assert LINE.fullmatch(line) and not line.endswith('\\') and '${' not in line, line
    assert text.count('# left out: ') == 2 * len(EVIL)
    assert text.count('<TileSeedLayer "') == 1 + len(EVIL)
    assert all(f'<TileSeedLayer "title{number}">' in text for number in range(len(EVIL)))
    assert configtest(tmp_path, text.encode()) == (0, 'Syntax OK\n')


def test_what_is_left_out_says_why():
    """The reason, with the value in ASCII."""
    with serving(service(('a\x85b', '', []), ('x', '', ['${HOME}', 'y']))) as url:
        text = written(url)
    assert "# left out: 'a\\x85b': 'a\\x85b' has a control character\n" in text
    assert "# left out: 'x': '$ {HOME}' has $ {, which httpd takes for a variable\n" in text


def test_two_layers_of_one_folder(tmp_path):
    """The second is left out; so is what no line can hold, and what turns what is read around."""
    with serving(service(('a:b', '', []), ('a_b', '', []), ('c', '', ['x' * (17 << 20), 'y']),
                         ('d\u202ee', 'f\u2066g', []))) as url:
        text = written(url)
    assert text.count('<TileSeedLayer "') == 1 and '<TileSeedLayer "a:b">' in text
    assert "# left out: 'a_b': its files would be those of 'a:b'\n" in text
    assert text.count('# left out: ') == 3
    assert configtest(tmp_path, text.encode()) == (0, 'Syntax OK\n')


def test_errors_are_sentences():
    """What a service says instead of an answer reaches the terminal without its escapes."""
    for answer in (b'HTTP/1.1 500 \x1b[31mred\r\n\r\n', b'nonsense\r\n\r\n',
                   b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<a/>',
                   b'HTTP/1.1 200 OK\r\n\r\n<?xml version="1.0" encoding="x-none"?><a/>'):
        with socket.create_server(('127.0.0.1', 0)) as server:
            command = [TOP / 'conf/wms2conf', f'http://127.0.0.1:{server.getsockname()[1]}/wms']
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
                with server.accept()[0] as client:
                    client.recv(4096)
                    client.sendall(answer)
                errors = run.communicate()[1]
        assert run.returncode == 1 and errors.startswith('wms2conf: '), errors
        assert errors.count('\n') == 1 and '\x1b' not in errors


def test_arguments_pass_the_gate():
    """What the administrator asks for is refused as what a service says is."""
    with serving(OLD) as url:
        for arguments in (['--upstream', 'a\nb'], ['--upstream', '${HOME}'],
                          ['--metatile', '4x4\nX']):
            run = subprocess.run([TOP / 'conf/wms2conf', *arguments, url], check=False, text=True,
                                 capture_output=True)
            assert run.returncode and not run.stdout and 'Traceback' not in run.stderr


def test_boxes_that_are_none(tmp_path):
    """A service whose boxes are no numbers has none."""
    for number in 'nan', 'inf', 'x', '':
        with serving(OLD.replace('minx="5"', f'minx="{number}"')) as url:
            text = written(url)
        assert ('TileSeedGrid EPSG:3857 zoom=0-18 srs=EPSG:900913\n'
                '    TileSeedGrid EPSG:4326 zoom=0-18\n') in text
        assert configtest(tmp_path, text.encode()) == (0, 'Syntax OK\n')


def test_two_services_together(tmp_path):
    """Several outputs can be included together, with options for names and grid sets."""
    own = ('<TileSeedGridSet "swiss">\nTileSeedSRS 2056\nTileSeedLevels 12\n'
           'TileSeedExtent 2420000 1030000 2900000 1350000\n</TileSeedGridSet>\n')
    with serving(OLD) as one, serving(OLD.replace('EPSG:4326', 'EPSG:2056')) as other:
        texts = [written(one), written(other + '?map=a', '--prefix', 'a:', '--store', '/x y'),
                 written(other + '?map=b', '--prefix', 'b:', '--upstream', 'third',
                         '--gridset', 'swiss=EPSG:2056', '--gridset', 'EPSG:900913')]
    assert '<TileSeedLayer "a:far">' in texts[1] and 'TileSeedStore file "/x y"' in texts[1]
    assert 'TileSeedUpstream "third" ' in texts[2]
    assert '    TileSeedGrid "swiss"\n    TileSeedGrid "EPSG:900913"\n' in texts[2]
    assert configtest(tmp_path, (own + ''.join(texts)).encode()) == (0, 'Syntax OK\n')


@pytest.mark.parametrize('names', [('.x', '%2Ex'), ('..', '%2E.'), ('.x y', '%2Ex_y')])
def test_names_with_a_dot(names):
    """A dot that a name begins with is written otherwise in the name of its directory."""
    layers = ''.join(f'<Layer opaque="1"><Name>{name}</Name></Layer>' for name in names)
    text = OLD.replace('<Layer><Name>a/b</Name></Layer>', layers)
    with serving(text) as url:
        left = f"# left out: '{names[1]}': its files would be those of '{names[0]}'\n"
        assert left in written(url)
        assert f'<TileSeedLayer "p{names[1]}">' in written(url, '--prefix', 'p')


def test_layer_of_one_point():
    """What is left of a box when it is written decides whether it is one."""
    point = '<LatLonBoundingBox minx="5" miny="45" maxx="5.000000001" maxy="46"/>'
    layer = f'<Layer opaque="1"><Name>point</Name>{point}</Layer>'
    with serving(OLD.replace('<Layer><Name>a/b</Name></Layer>', layer)) as url:
        block = written(url).split('<TileSeedLayer "point">')[1].split('</TileSeedLayer>')[0]
    assert 'TileSeedGrid EPSG:4326' in block and 'extent=' not in block


@pytest.mark.parametrize('west, east, begin', [
    ('5,25', '10.5', 'EPSG:4326 zoom=0-18 extent=5.25,'),
    ('170', '-170', 'EPSG:4326 zoom=0-18 extent=-180,'),
    ('nan', '10.5', 'EPSG:4326 zoom=0-18\n')])
def test_odd_boxes(west, east, begin):
    """Decimal commas, a box over the antimeridian, behind a line end before the declaration."""
    text = re.sub('minx="5"', f'minx="{west}"', OLD, count=1)
    text = re.sub('(<LatLonBoundingBox[^>]* maxx=)"[^"]*"', rf'\1"{east}"', text, count=1)
    with serving('\r\n' + text) as url:
        assert f'TileSeedGrid {begin}' in written(url)
