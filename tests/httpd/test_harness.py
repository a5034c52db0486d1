# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The harness itself: MapServer answers in it, and it notices what a server leaves behind."""
import contextlib
import http.client
import io
import os
import signal
import subprocess
import urllib.parse
import urllib.request

import pytest
from PIL import Image

import crashes
from tileseed_httpd import TOP, one_mpm, wait_until
from upstream import Fault, picture

WORLD = '-20037508.34,-20037508.34,20037508.34,20037508.34'


def getmap(bbox=WORLD, style='political', size=256, **more):
    """The query of a GetMap."""
    return urllib.parse.urlencode({
        'service': 'WMS', 'version': '1.1.1', 'request': 'GetMap', 'layers': 'world',
        'styles': style, 'srs': 'EPSG:3857', 'bbox': bbox, 'width': size, 'height': size,
        'format': 'image/png', **more})


def image_of(answer):
    """The picture in an answer."""
    assert answer.status == 200, answer.body
    assert answer.headers['Content-Type'] == 'image/png', answer.body
    return Image.open(io.BytesIO(answer.body)).convert('RGB')


def test_mapserver_draws_both_styles(plain_httpd):
    """Land and sea have the colours of conf/demo/world.map."""
    plain_httpd.start()
    day = image_of(plain_httpd.get('/wms?' + getmap()))
    night = image_of(plain_httpd.get('/wms?' + getmap(style='night')))
    assert day.size == night.size == (256, 256)
    atlantic, brazil = (100, 120), (92, 135)
    assert day.getpixel(atlantic) == (168, 205, 226)
    assert day.getpixel(brazil) == (222, 208, 228)
    assert night.getpixel(atlantic) == (16, 24, 40)
    assert night.getpixel(brazil) == (52, 66, 88)


@one_mpm
@pytest.mark.parametrize('srs, bbox', [
    ('EPSG:4326', '-180,-90,180,90'), ('EPSG:900913', WORLD), ('EPSG:3857', WORLD)])
def test_mapserver_knows_the_grid_sets(plain_httpd, srs, bbox):
    """The systems of the built-in grid sets."""
    plain_httpd.start()
    image = image_of(plain_httpd.get('/wms?' + getmap(bbox=bbox, srs=srs)))
    assert len(image.getcolors(65536)) > 5


@one_mpm
def test_mapserver_reads_no_other_map(plain_httpd):
    """Whatever file a client names."""
    other = plain_httpd.path('other-world.map')
    other.write_text((TOP / 'conf/demo/world.map').read_text())
    other.chmod(0o644)
    plain_httpd.start()
    for name in (other, TOP / 'conf/demo/world.map', 'world.map'):
        answer = plain_httpd.get('/wms?' + getmap(map=str(name)))
        assert answer.headers['Content-Type'] != 'image/png' and b'not found' in answer.body
    assert plain_httpd.get('/wms?' + getmap()).headers['Content-Type'] == 'image/png'


def test_restarts_and_stop(plain_httpd):
    """The server answers after each kind of restart and leaves nobody behind."""
    plain_httpd.start()
    plain_httpd.graceful()
    assert plain_httpd.get('/nothing').status == 403
    plain_httpd.restart()
    assert plain_httpd.get('/nothing').status == 403
    plain_httpd.stop()
    assert not plain_httpd.processes()
    plain_httpd.expect('AH01630')


def test_children_are_ordinary_users(plain_httpd):
    """Root's httpd serves as somebody else."""
    plain_httpd.start()
    parent = plain_httpd.process.pid
    children = wait_until(lambda: [pid for pid in plain_httpd.processes() if pid != parent])
    if os.geteuid() == 0:
        wait_until(lambda: any(os.stat(f'/proc/{pid}').st_uid != 0 for pid in children))
    else:
        assert all(os.stat(f'/proc/{pid}').st_uid == os.geteuid() for pid in children)


@one_mpm
def test_an_unexpected_line_is_a_complaint(plain_httpd):
    """A refusal is logged as an error and must have been expected."""
    plain_httpd.start()
    assert plain_httpd.get('/nothing').status == 403
    plain_httpd.stop()
    assert any('AH01630' in line for line in plain_httpd.complaints())
    plain_httpd.expect('AH01630')
    assert not plain_httpd.complaints()


def test_the_module_loads(httpd):
    """Without a layer it is there, does nothing, and survives a graceful restart."""
    httpd.start()
    assert b'tileseed_module' in subprocess.run(
        httpd.command('-M'), env=httpd.environment(), capture_output=True, check=True).stdout
    httpd.graceful()
    assert httpd.get('/wms?' + getmap()).status == 200


@one_mpm
def test_a_process_left_behind_is_a_complaint(plain_httpd):
    """What stays in the server's session is found and ended."""
    plain_httpd.start()
    plain_httpd.stop()
    with subprocess.Popen(['sleep', '60'], start_new_session=True) as stray:
        plain_httpd.sessions.append(stray.pid)
        plain_httpd.note_leftovers()
        assert stray.wait(5) != 0
    assert plain_httpd.complaints() == [f'left behind: process {stray.pid} (sleep)']
    plain_httpd.leftovers.clear()


@one_mpm
@pytest.mark.parametrize('name', ['core', 'sanitizer/report.4711'])
def test_a_trace_of_a_crash_is_a_complaint(plain_httpd, name):
    """Cores and reports of sanitizers lie in the server's folder."""
    trace = plain_httpd.path(name)
    trace.write_text('heap-use-after-free')
    assert any(name in line for line in plain_httpd.complaints())
    trace.unlink()


OURSELVES = '''signal {} in thread 7
/tmp/crashes.so(+0x1282)[0x7efc6341a282]
/tmp/crashes.so(+0x12b2)[0x7efc6341a2b2]
/lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7efc63160050]
'''
# as httpd 2.4.71 wrote them, without the module
CLOSES_SOCKETS = OURSELVES.format(11) + '''\
/lib/x86_64-linux-gnu/libapr-1.so.0(apr_os_sock_get+0x0)[0x7efc6332e180]
/usr/lib/apache2/modules/mod_mpm_event.so(+0x606c)[0x7efc6305006c]
/usr/sbin/apache2(ap_run_mpm+0x50)[0x558ac89d1850]
'''
DIES_IN_HANDLER = OURSELVES.format(6) + '''\
/lib/x86_64-linux-gnu/libc.so.6(abort+0xd3)[0x7f7b3cae6472]
/lib/x86_64-linux-gnu/libc.so.6(__libc_free+0x6f)[0x7f7b3cb58f5f]
/usr/lib/apache2/modules/mod_mpm_event.so(+0x5d2b)[0x7f7b3c9e9d2b]
/lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7efc63160050]
/lib/x86_64-linux-gnu/libc.so.6(__libc_calloc+0x161)[0x7f7b3cb59841]
/usr/sbin/apache2(ap_run_mpm+0x50)[0x563f7c6f2850]
'''


def test_only_faults_of_httpd_are_excused():
    """The calls must show the fault, and nothing of the module; one word of the C library goes
    with each."""
    crash = '[core:notice] [pid 1:tid 1] AH00051: child pid {} exit signal Aborted (6), possible'
    kill = '[core:error] [pid 1:tid 1] AH00046: child process {} still did not exit, sending'
    log = [crash.format(7), 'corrupted double-linked list', kill.format(8), 'free(): invalid size']
    assert crashes.excused_lines(log, {7: DIES_IN_HANDLER, 8: DIES_IN_HANDLER}) == {0, 1, 2}
    assert crashes.excused_lines(log, {7: CLOSES_SOCKETS}) == {0, 1}
    assert crashes.excused_lines(log, {}) == set()
    for calls in ('', OURSELVES.format(6),
                  CLOSES_SOCKETS.replace('mod_mpm_event', 'mod_ssl'),
                  CLOSES_SOCKETS + '/usr/lib/apache2/modules/mod_tileseed.so(+0x1)[0x7efc6306006c]',
                  DIES_IN_HANDLER.replace('mod_mpm_event', 'mod_tileseed'),
                  DIES_IN_HANDLER.replace('0x7efc63160050', '0x7efc63160051', 1)):
        assert not crashes.is_fault_of_httpd(calls), calls


@one_mpm
def test_crashes_leave_their_calls(plain_httpd):
    """A crash that nobody caused is a complaint, with what the process was at; so a process can be
    asked as well."""
    plain_httpd.start()
    plain_httpd.await_children()
    plain_httpd.ask_for_calls()
    child = wait_until(lambda: next((pid for pid, calls in plain_httpd.calls().items()
                                     if 'ap_queue_pop_something' in calls), None))
    os.kill(child, signal.SIGSEGV)
    wait_until(lambda: 'AH00052' in plain_httpd.error_log())
    told = '\n'.join(plain_httpd.complaints())
    assert f'child pid {child} exit signal Segmentation' in told
    assert f'process {child}:\nsignal {crashes.CALLS_SIGNAL} in thread {child}\n' in told
    assert 'signal 11 in thread' in told and 'ap_run_mpm' in told
    plain_httpd.expect('AH00052')


@one_mpm
def test_configtest_names_file_and_line(plain_httpd):
    """A mistake in the test's snippet is found without a start."""
    assert plain_httpd.configtest() == (0, 'Syntax OK\n')
    status, words = plain_httpd.configtest('UseCanonicalName on\nNoSuchDirective on\n')
    assert status == 1
    assert f'line 2 of {plain_httpd.path("test.conf")}' in words


def fetch(url):
    """The status and the body of one request to the stub."""
    with urllib.request.urlopen(url, timeout=5) as response:
        return response.status, response.read()


def test_upstream_stub_follows_its_script(upstream):
    """Each fault is what it is called, and good answers follow."""
    url = upstream.url + '?' + getmap(size=64)
    upstream.faults = [Fault('xml'), Fault('empty'), Fault('size'), Fault('short'), None]
    assert b'ServiceException' in fetch(url)[1]
    assert fetch(url) == (200, b'')
    assert Image.open(io.BytesIO(fetch(url)[1])).size == (63, 63)
    with pytest.raises(http.client.IncompleteRead):
        fetch(url)
    good = fetch(url)[1]
    assert good == picture([float(number) for number in WORLD.split(',')], 64, 64)
    assert Image.open(io.BytesIO(good)).size == (64, 64)
    assert [asked['STYLES'] for asked in upstream.requests] == ['political'] * 5


def test_nobody_else_gets_at_the_private_server(postgres):
    """Other accounts of this machine can't enter the folder of the tests' server, which asks
    everybody for a password; httpd's role can do nothing to the machine."""
    psycopg2 = pytest.importorskip('psycopg2', reason='python3-psycopg2 is not installed')
    folder = postgres.folder
    socket = next(folder.glob('.s.PGSQL.*[0-9]'))
    assert [path.stat().st_mode & 0o007 for path in (folder, socket)] == [0, 0]
    for name in ('admin', 'passfile', 'data'):
        assert (folder / name).stat().st_mode & 0o077 == 0, name
    with pytest.raises(psycopg2.OperationalError, match='no password supplied'):
        psycopg2.connect(host=str(folder), user='tileseed', dbname='tileseed', passfile='/nowhere')
    with contextlib.closing(psycopg2.connect(postgres.params('tileseed'))) as connection:
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            connection.cursor().execute("COPY (SELECT 1) TO PROGRAM 'true'")
