# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Our module, its two peers and a roofline program: each seeds a case and says what it took."""
import contextlib
import datetime
import json
import os
import shutil
import string
import subprocess
import time
from pathlib import Path

from rig import Result, peak_of
from seeding import seeder_of
from tileseed_httpd import MPMS, Httpd, wait_until
from upstreams import cpu_of

TIMEOUT = int(os.environ.get('BENCH_TIMEOUT', 600))     # seconds after which a run has failed

TILESEED = string.Template('''
TileSeedStateDir "@ROOT@/state"
TileSeedWorkers $workers
TileSeedThreads 64
TileSeedNice 0
TileSeedSync $sync
TileSeedUpstream bench $url connections=$in_flight
<Location "/rest">
    TileSeedRest on
    Require local
</Location>
<TileSeedLayer "bench">
    TileSeedSource wms upstream:bench layers=world
    TileSeedGrid EPSG:3857
    TileSeedFormat $mime $level
    $metatile
    TileSeedPrune $prune
    TileSeedStore file "$cache" link-uniform=$links
</TileSeedLayer>
Alias "/static" "@ROOT@/static"
<Directory "@ROOT@/static">
    Require all granted
</Directory>
''')


def metatile_line(case):
    """Our directive for the size of metatiles, or none."""
    if case.metatile == 'default':
        return ''
    return f'TileSeedMetatile {case.metatile or f"{case.meta}x{case.meta} gutter={case.gutter}"}'


class Tileseed:
    """A private httpd with the module over one empty cache. The start and the end of httpd are not
    measured."""

    def __init__(self, rig, case, more=lambda cache: '', postgres=None, cache=None):
        self.rig, self.case, self.cache, self.more = rig, case, cache or rig.cache(), more
        self.httpd = Httpd(MPMS[0], postgres=postgres)
        self.pid = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_exception):
        self.stop()

    def start(self):
        """Starts httpd and waits for its seeder."""
        case = self.case
        if self.httpd.user:
            os.chown(self.cache, *self.httpd.user[1:])
        values = vars(case) | {name: 'on' if getattr(case, name) else 'off'
                               for name in ('links', 'sync')}
        self.httpd.start(TILESEED.substitute(
            values, url=self.rig.url(case), mime=case.mime, cache=self.cache,
            metatile=metatile_line(case),
            level=f'level={case.level}' if case.level else '') + self.more(self.cache))
        self.pid = wait_until(lambda: seeder_of(self.httpd))
        self.rig.counts()

    def stop(self):
        """Ends httpd, and a task that still runs with it."""
        self.httpd.stop()
        shutil.rmtree(self.httpd.root, ignore_errors=True)

    def post(self, **members):
        """Sends a seed request; returns the task's id."""
        body = {'gridSetId': 'EPSG:3857', 'zoomStart': 0, 'zoomStop': self.case.zoom,
                'threadCount': self.case.in_flight, **members}
        answer = self.httpd.post('/rest/seed/bench.json', json.dumps({'seedRequest': body}))
        if answer.status != 200:
            raise RuntimeError(answer.text)
        return int(answer.headers['TileSeed-Task'])

    def is_idle(self):
        """Whether no task is left."""
        return not self.httpd.get('/rest/seed.json').json()['long-array-array']

    def seed(self, **members):
        """One task, from the POST to the end that its record names. Who asked for the list more
        often than this to see the end would take a part of the cores from it."""
        before, begun = cpu_of(self.pid), time.time()
        number = self.post(**members)
        while not self.is_idle():
            if time.time() - begun > TIMEOUT:
                raise RuntimeError('the task does not end')
            time.sleep(.1)
        cpu = cpu_of(self.pid) - before
        document = self.httpd.get(f'/rest/tasks/{number}.json').json()
        if document['state'] != 'DONE' or document['tilesFailed']:
            raise RuntimeError(f'{document}\n{self.httpd.error_log()}')
        ended = datetime.datetime.fromisoformat(document['finished']).timestamp()
        return Result(self.case.tiles, ended - begun, cpu, peak_of(self.pid))


def run_tileseed(rig, case):
    """A seeder of our own, fresh from its start."""
    with Tileseed(rig, case) as ours, profiled(ours.pid):
        return rig.finish(case, ours.seed())


@contextlib.contextmanager
def profiled(pid):
    """Lets perf watch a process when BENCH_PROFILE says where its record goes."""
    target = os.environ.get('BENCH_PROFILE')
    if not target:
        yield
        return
    with subprocess.Popen(['perf', 'record', '-q', '-p', str(pid), '-o', target]) as perf:
        try:
            yield
        finally:
            perf.terminate()


MAPCACHE = string.Template('''<mapcache>
  <service type="tms" enabled="true"/><service type="wmts" enabled="true"/>
  <cache name="disk" type="disk"><base>$cache</base>$blank</cache>
  <format name="tiles" type="$type">$options</format>
  <source name="source" type="wms">
    <getmap><params><FORMAT>$mime</FORMAT><LAYERS>world</LAYERS></params></getmap>
    <http><url>$url</url><connection_timeout>60</connection_timeout></http>
  </source>
  <tileset name="bench">
    <source>source</source><cache>disk</cache><grid>GoogleMapsCompatible</grid>
    <format>tiles</format>
    <metatile>$meta $meta</metatile><metabuffer>$gutter</metabuffer>
  </tileset>
  <lock_dir>$locks</lock_dir>
</mapcache>
''')


def write_mapcache(rig, case, cache):
    """The configuration of mapcache_seed and mod_mapcache; returns its path. The compression is
    zlib's default unless said otherwise."""
    is_jpeg = case.extension == 'jpeg'
    config = rig.folder / 'mapcache.xml'
    config.write_text(MAPCACHE.substitute(
        vars(case), url=rig.url(case), mime=case.mime, cache=cache, locks=rig.folder,
        type='JPEG' if is_jpeg else 'PNG', options='<quality>85</quality>' if is_jpeg else '',
        blank='<symlink_blank/>' if case.links else ''), encoding='ascii')
    return config


def command_of_mapcache(rig, case, cache):
    """mapcache_seed."""
    config = write_mapcache(rig, case, cache)
    return ['mapcache_seed', '-q', '-c', config, '-t', 'bench', '-g', 'GoogleMapsCompatible',
            '-z', f'0,{case.zoom}', '-n', str(case.peers.get('mapcache', case.workers))]


def command_of_mapproxy(rig, case, cache):
    """mapproxy-seed; JSON is YAML as well."""
    config, tasks = rig.folder / 'mapproxy.yaml', rig.folder / 'seed.yaml'
    config.write_text(json.dumps({
        'globals': {
            'cache': {'base_dir': str(cache), 'lock_dir': str(rig.folder / 'locks'),
                      'tile_lock_dir': str(rig.folder / 'locks'),
                      'meta_size': [case.meta, case.meta], 'meta_buffer': case.gutter},
            'image': {'paletted': False,
                      'formats': {'image/jpeg': {'encoding_options': {'jpeg_quality': 85}}}}},
        'services': {'tms': None},
        'grids': {'world': {'base': 'GLOBAL_WEBMERCATOR'}},
        'sources': {'source': {
            'type': 'wms', 'supported_srs': ['EPSG:3857', 'EPSG:900913'],
            'image': {'format': case.mime},
            'req': {'url': rig.url(case), 'layers': 'world',
                    'transparent': case.kind not in ('palette', 'photo', 'map')}}},
        'caches': {'bench': {
            'grids': ['world'], 'sources': ['source'], 'format': case.mime,
            'request_format': case.mime, 'link_single_color_images': case.links,
            'cache': {'type': 'file', 'directory_layout': 'tc'}}}}), encoding='ascii')
    tasks.write_text(json.dumps({'seeds': {'all': {
        'caches': ['bench'], 'grids': ['world'], 'levels': {'from': 0, 'to': case.zoom}}}}),
        encoding='ascii')
    return ['mapproxy-seed', '-q', '-f', config, '-s', tasks, '--seed=all',
            '-c', str(case.peers.get('mapproxy', case.workers))]


def command_of_roofline(rig, case, cache):
    """The program `roofline` of BENCH_LIMITS, which takes its settings from the environment."""
    settings = {'URL': rig.url(case), 'CACHE': cache, 'FORMAT': case.extension,
                'SRCFORMAT': case.mime, 'THREADS': case.workers, 'META': case.meta,
                'BUFFER': case.gutter, 'Z0': 0, 'Z1': case.zoom, 'LEVEL': case.level or 1,
                'INFLIGHT': case.in_flight, 'BLANK': '1' if case.links else ''}
    return ['env', *(f'TS_{name}={value}' for name, value in settings.items()),
            rig.folder / 'roofline']


def run_command(command_of, rig, case):
    """A seeder that is a command, from its start to its end."""
    return rig.finish(case, timed(command_of(rig, case, rig.cache()), case.tiles))


def timed(command, tiles):
    """What a command takes, with all processes that it waited for."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    try:
        errors = process.stderr.read()
    except BaseException:
        process.kill()
        process.wait()
        raise
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begun
    if process.returncode:
        raise RuntimeError(f'{command[0]}: {errors.decode(errors="replace")[-500:]}')
    return Result(tiles, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


PEERS = {'mapcache': ('mapcache_seed', command_of_mapcache),
         'mapproxy': ('mapproxy-seed', command_of_mapproxy)}


def find_seeders(rig):
    """{name: how to run a case}, of those that are installed."""
    found = {'tileseed': run_tileseed}
    for name, (program, command_of) in PEERS.items():
        if shutil.which(program):
            found[name] = bind(command_of)
        else:
            print(f'# {program} is not installed: its rows are left out')
    limits = os.environ.get('BENCH_LIMITS')
    if limits:
        target = Path(rig.folder / 'roofline')
        subprocess.run(['make', '-s', '-C', limits, f'OUT={rig.folder}', target], check=True)
        found['roofline'] = bind(command_of_roofline)
    return found


def bind(command_of):
    """How to run a case with a command."""
    return lambda rig, case: run_command(command_of, rig, case)
