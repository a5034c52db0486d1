# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What the seeders ask: the stub, or a real WMS over the map of the demo in an httpd of its own.

Each upstream has url(case), counts() and close(). counts() says what happened since its last call:
requests for maps, the connections that brought them, those for pictures that are not there, and the
CPU seconds of all processes of the upstream.

The httpd of a real WMS is prefork: its children wait for the CGI programs that they start, so that
the CPU seconds of programs that have ended stand with httpd's processes. A daemon of mod_cgid
doesn't wait, and nobody would know.
"""
import concurrent.futures
import io
import json
import os
import re
import shutil
import string
import subprocess
import urllib.request
from pathlib import Path

from PIL import Image

from tileseed_httpd import MODULES, Httpd, session_processes, wait_until

TICKS = os.sysconf('SC_CLK_TCK')
HERE = Path(__file__).parent
QGIS = '/usr/lib/cgi-bin/qgis_mapserv.fcgi'
PROCESSES = 4                   # of a FastCGI program; a seeder has not more requests under way
WORLD = 20037508.342789244
MAP = ('SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&LAYERS=world&STYLES=&SRS=EPSG:3857&BBOX='
       f'-{WORLD},-{WORLD},{WORLD},{WORLD}&WIDTH=256&HEIGHT=256&FORMAT=image/png')
SPENT = slice(11, 15)           # of /proc/PID/stat: CPU of the process, and of whom it waited for

# A line of the log: the request's number on its connection, and the address
LOG = '''
<Location "/status">
    SetHandler server-status
    Require all granted
</Location>
LogFormat "%k %U%q" bench
CustomLog "@ROOT@/bench.log" bench
'''
FASTCGI = string.Template('''
LoadModule fcgid_module "$modules/mod_fcgid.so"
FcgidIPCDir "@ROOT@/fcgid"
FcgidProcessTableFile "@ROOT@/fcgid.shm"
FcgidMaxProcessesPerClass $processes
FcgidMinProcessesPerClass $processes
FcgidSpawnScoreUpLimit 1000
FcgidIdleTimeout 0
FcgidProcessLifeTime 0
FcgidBusyTimeout 600
FcgidIOTimeout 600
FcgidInitialEnv MAPSERVER_CONFIG_FILE "@ROOT@/demo/mapserver.conf"
FcgidInitialEnv QGIS_PROJECT_FILE "@ROOT@/demo/world.qgs"
FcgidInitialEnv QT_QPA_PLATFORM offscreen
FcgidInitialEnv HOME "@ROOT@/home"
FcgidInitialEnv XDG_RUNTIME_DIR "@ROOT@/home"
Alias "/fcgi" "$program"
<Location "/fcgi">
    SetHandler fcgid-script
    SetEnv MS_MAPFILE "@ROOT@/demo/world.map"
    Options +ExecCGI
    Require all granted
</Location>
''')
WSGI = string.Template('''
LoadModule wsgi_module "$modules/mod_wsgi.so"
WSGISocketPrefix "@ROOT@/wsgi"
WSGIDaemonProcess mapproxy processes=$processes threads=1 display-name=mapproxy
WSGIScriptAlias "/mapproxy" "@ROOT@/demo/mapproxy.wsgi" process-group=mapproxy \\
    application-group=%{GLOBAL}
<Location "/mapproxy">
    Require all granted
</Location>
''')
WSGI_SCRIPT = string.Template('''from mapproxy.wsgiapp import make_wsgi_app
application = make_wsgi_app('$config')
''')


class Stub:
    """The program stub.c over pictures drawn beforehand."""

    def __init__(self, program, drawn):
        self.process = subprocess.Popen([program, drawn], stdout=subprocess.PIPE, text=True)
        self.base = f'http://127.0.0.1:{int(self.process.stdout.readline())}'
        self.cpu = cpu_of(self.process.pid)

    def url(self, case):
        """The address for a case."""
        return f'{self.base}/{case.kind}/{case.delay:g}/{case.pixel:g}?'

    def counts(self):
        """The counts since the last call."""
        before, self.cpu = self.cpu, cpu_of(self.process.pid)
        with urllib.request.urlopen(f'{self.base}/counts') as answer:
            return json.load(answer) | {'cpu': self.cpu - before}

    def close(self):
        """Ends it."""
        self.process.terminate()
        self.process.wait()


class Wms:
    """An httpd with a real WMS at a path."""
    path = '/wms'
    programs = {'mapserv': 'mapserv'}   # {what it needs: where that is, a command or a path}
    modules = ()                # of httpd

    @classmethod
    def lacks(cls):
        """What isn't installed of what it needs, or None."""
        missing = [name for name, place in cls.programs.items() if not shutil.which(place)]
        missing += [f'mod_{name}' for name in ('mpm_prefork', *cls.modules)
                    if not (MODULES / f'mod_{name}.so').exists()]
        return missing[0] if missing else None

    def __init__(self):
        self.httpd = Httpd('prefork', with_module=False)
        self.read, self.cpu = 0, 0
        try:
            self.prepare()
            self.httpd.start(LOG + self.configuration())
            self.warm_up()
        except BaseException:
            self.close()
            raise
        self.counts()

    def prepare(self):
        """Writes what it reads."""

    def configuration(self):
        """The part of httpd's configuration that starts it."""
        return ''

    def warm_up(self):
        """Has a few maps drawn at once, so that its processes are there; each must show a map."""
        def ask(_):
            with urllib.request.urlopen(self.url(None) + MAP, timeout=120) as answer:
                return answer.read()
        with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
            for body in pool.map(ask, range(4 * PROCESSES)):
                if not body.startswith(b'\x89PNG') or not shows_a_map(body):
                    raise RuntimeError(f'{type(self).__name__} draws no map: {body[:500]}\n'
                                       f'{self.httpd.error_log()}')

    def url(self, _case):
        """Its address."""
        return self.httpd.url(self.path + '?')

    def counts(self):
        """The counts since the last call."""
        wait_until(self.is_idle, what='the end of all requests')
        lines = self.httpd.path('bench.log').read_text(encoding='utf-8').splitlines()
        asked = [line.split(' ', 1) for line in lines[self.read:]
                 if f' {self.path}?' in line and re.search('request=getmap', line, re.I)]
        before, self.read, self.cpu = self.cpu, len(lines), self.spent()
        return {'requests': len(asked), 'connections': sum(number == '0' for number, *_ in asked),
                'missing': 0, 'cpu': self.cpu - before}

    def is_idle(self):
        """Whether only the request that asks for this is under way: answers that have arrived are
        in the log a moment later, and the CPU of their programs stands with httpd."""
        board = re.search('Scoreboard: (.*)', self.httpd.get('/status?auto').text)[1]
        return len(re.findall('[RWL]', board)) == 1

    def spent(self):
        """CPU seconds of all its processes so far, those of ended ones with who waited for them."""
        return sum(sum(map(int, fields[SPENT])) for fields in map(stat_of, self.httpd.processes())
                   ) / TICKS

    def close(self):
        """Ends httpd and removes its files."""
        for session in self.httpd.sessions:
            for pid, name in session_processes(session).items():
                if name in ('mapserv', 'qgis_mapserv.fc'):  # TERM ends it at its next request
                    os.kill(pid, 9)
        self.httpd.stop()
        shutil.rmtree(self.httpd.root, ignore_errors=True)


class Fcgi(Wms):
    """MapServer whose processes stay."""
    path = '/fcgi'
    modules = ('fcgid',)

    def prepare(self):
        """The folders of its processes."""
        self.httpd.folder('fcgid')
        self.httpd.folder('home')

    def configuration(self):
        """mod_fcgid with its program."""
        program = next(reversed(self.programs.values()))
        return FASTCGI.substitute(modules=MODULES, processes=PROCESSES,
                                  program=shutil.which(program))


class Qgis(Fcgi):
    """QGIS Server over the same countries."""
    programs = {'qgis-server': QGIS}

    def prepare(self):
        """Its project lies beside the data."""
        super().prepare()
        shutil.copy(HERE / 'world.qgs', self.httpd.path('demo'))


class MapProxy(Fcgi):
    """MapProxy that passes requests on to MapServer and keeps nothing."""
    path = '/mapproxy/service'
    programs = {'mapproxy': 'mapproxy-util', **Wms.programs}
    modules = ('fcgid', 'wsgi')

    def configuration(self):
        """MapProxy and its upstream in the same httpd."""
        return super().configuration() + WSGI.substitute(modules=MODULES, processes=PROCESSES)

    def prepare(self):
        """One layer over one source."""
        super().prepare()
        config, script = (self.httpd.path(f'demo/mapproxy.{kind}') for kind in ('yaml', 'wsgi'))
        script.write_text(WSGI_SCRIPT.substitute(config=config), encoding='ascii')
        config.write_text(json.dumps({
            'globals': {'cache': {'base_dir': str(self.httpd.path('home')),
                                  'lock_dir': str(self.httpd.path('home'))}},
            'services': {'wms': {'srs': ['EPSG:3857', 'EPSG:4326']}},
            'layers': [{'name': 'world', 'title': 'world', 'sources': ['mapserver']}],
            'sources': {'mapserver': {'type': 'wms', 'req': {
                'url': self.httpd.url('/fcgi?'), 'layers': 'world'}}}}), encoding='ascii')


UPSTREAMS = {'mapserver': Wms, 'mapserver-fcgi': Fcgi, 'qgis': Qgis, 'mapproxy-wms': MapProxy}


def shows_a_map(body):
    """Whether a picture has more than one colour."""
    return len(Image.open(io.BytesIO(body)).convert('RGB').getcolors(1 << 16)) > 1


def stat_of(pid):
    """What the kernel says of a process from its state on; zeros when it has just ended."""
    try:
        text = Path(f'/proc/{pid}/stat').read_text(encoding='ascii')
    except OSError:
        return ['0'] * SPENT.stop
    return text.rsplit(') ', 1)[1].split()


def cpu_of(pid):
    """CPU seconds of a process so far."""
    return sum(map(int, stat_of(pid)[SPENT][:2])) / TICKS
