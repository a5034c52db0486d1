# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The script conf/wms2conf: what it writes of a WMS is a configuration that seeds."""
import contextlib
import http.server
import subprocess
import threading

from seeding import REST, counts, done
from test_configtest import configtest
from tileseed_httpd import TOP, one_mpm

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
    """The address of a server that answers everything with a text."""
    class Handler(http.server.BaseHTTPRequestHandler):
        """It says the same to everybody."""

        def do_GET(self):  # pylint: disable=invalid-name
            """One answer."""
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_args):  # pylint: disable=arguments-differ
            """Silence."""

    with http.server.HTTPServer(('127.0.0.1', 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f'http://127.0.0.1:{server.server_address[1]}/wms'
        server.shutdown()


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
        text = written(url)
    assert '# Two lines\n<TileSeedLayer "topp:say \\"hi\\"">' in text
    assert ('TileSeedSource wms upstream:wms layers="topp:say \\"hi\\"" version=1.1.1\n'
            '    TileSeedGrid EPSG:3857 extent=556597.45,5942074.1,1669792.4,7361866.1 '
            'srs=EPSG:900913\n'
            '    TileSeedGrid EPSG:4326 extent=5,47,15,55\n'
            '    TileSeedFormat image/png\n'
            '    TileSeedParameter STYLES value="day" value="night"\n') in text
    assert '# left out: a/b: its name is not possible' in text
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
