# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A private httpd on a free loopback port, with MapServer in it, for one test.

Everything it writes lies in a folder of its own. It runs in the foreground in a session of its own,
so that whatever it leaves behind can be found; finish() says what that was.
"""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import socket
import string
import struct
import subprocess
import tempfile
import threading
import time

import pytest

import crashes

TOP = pathlib.Path(__file__).resolve().parents[2]
HTTPD = os.environ.get('HTTPD', '/usr/sbin/apache2')
MODULES = pathlib.Path(os.environ.get('HTTPD_MODULES', '/usr/lib/apache2/modules'))
MODULE = pathlib.Path(os.environ.get('TILESEED_MODULE', TOP / 'build/.libs/mod_tileseed.so'))
MAPSERV = shutil.which('mapserv') or '/usr/lib/cgi-bin/mapserv'
SANITIZED = bool(os.environ.get('TILESEED_SANITIZE'))
ALONE = bool(os.environ.get('TILESEED_WITHOUT_FLEET'))     # a build for one host
REPORTS = 'sanitizer'                  # the folder of the sanitizers' reports
TRACES = 'traces'                      # the folder of the calls of processes that crash
MPMS = [mpm for mpm in ('event', 'worker', 'prefork')
        if (MODULES / f'mod_mpm_{mpm}.so').exists()]
NO_FLEET = 'this build has no fleet (configure --without-fleet)'
needs_fleet = pytest.mark.skipif(ALONE, reason=NO_FLEET)
one_mpm = pytest.mark.parametrize('mpm', MPMS[:1])   # for tests that no MPM can change
PORTS = range(10000, 32000)     # below those of clients, see ip_local_port_range
START_TIMEOUT = 60
STOP_TIMEOUT = 60
SLOW_END = 5        # seconds: then children are asked what they are at
LEAVE_TIMEOUT = 30
PATIENCE = 300      # seconds that a test waits for an event, however busy the machine is
LAST_LINES = 40     # of the error log, told with a complaint: who died, and of what

# A line is expected when it is no worse than a notice, or one of these. httpd notices only that a
# child has crashed.
HARMLESS_LEVEL = re.compile(r'^\[[^\]]+\] \[[\w-]*:(?:notice|info|debug|trace\d)\] '
                            r'(?!.* exit signal (?:Segmentation|Abort|Bus|Illegal))')
HARMLESS = (
    r'AH00557|AH00558',                 # the host has no name of its own
    r'AH03092|AH03093',                 # event closes its pollset before its last connections
    r'AH10159|AH00287',                 # MaxRequestWorkers, where much comes at once
    r'AH00045',                         # children are slow to end on a busy machine
    r'AH01243|AH01244',                 # cgid's socket, when one reload follows another
    r'AH10246: .* failed reading PID from cgi daemon',  # cgid's daemon has ended before its handler
    r'the upstream \S+ has not answered for',   # the stub, on a machine that does other work
    # a disk that is slow because much else writes
    r'TS0028: .* has been writing for', r'TS0057: .* database is locked',
    # how tasks with losses have ended, which tests look at
    r'\[tileseed:warn\].* task \d+ of layer .* done after', r'aborted after .*: nothing was made: ',
    r'takes values that are not listed',    # test_tilesets.py
    r'^$',
)

CONFIG = string.Template('''\
Define DEMO_DIR "$root/demo"
Define DEMO_RUN "$root"
Define MODULES "$modules"
Define MAPSERV "$mapserv"
ServerName localhost
ServerRoot "$root"
Listen 127.0.0.1:$port
DefaultRuntimeDir "$root"
PidFile "$root/httpd.pid"
ErrorLog "$root/error.log"
CoreDumpDirectory "$root"
LogLevel notice
StartServers 2
Timeout 30
GracefulShutdownTimeout 5
$user
$load
TypesConfig /etc/mime.types
LogFormat "%h %u \\"%r\\" %>s %b" plain
CustomLog "$root/access.log" plain
<Directory />
    Require all denied
</Directory>
Include "$root/demo/wms.conf"
IncludeOptional "$root/test.conf"
''')
LOADED = ('authn_core', 'authn_file', 'authz_core', 'authz_groupfile', 'authz_host', 'authz_user',
          'auth_basic', 'access_compat', 'alias', 'env', 'headers', 'macro', 'mime', 'status')


class Answer:
    """What the server said to one request."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def text(self):
        """The body, which is ASCII in every answer of the module."""
        return self.body.decode('ascii')

    def json(self):
        """The body read as JSON."""
        return json.loads(self.body)


def wait_until(condition, timeout=PATIENCE, what='the condition', longest=0.3):
    """Waits until condition() is true and returns what it returned. To ask costs time that all
    tests share, so the longer a wait the longer the pause, up to the longest: that is short for a
    condition that becomes false again."""
    start = time.monotonic()
    while True:
        result = condition()
        if result:
            return result
        waited = time.monotonic() - start
        assert waited < timeout, f'{what} did not come true within {timeout} s'
        time.sleep(min(max(0.02, waited / 10), longest))


def folder_elsewhere():
    """A new folder on another file system than that of the tests' folders."""
    here = os.stat(tempfile.gettempdir()).st_dev
    place = next(place for place in ('/dev/shm', '/tmp', '/var/tmp', TOP)
                 if os.stat(place).st_dev != here)
    return pathlib.Path(tempfile.mkdtemp(dir=place, prefix='tileseed-test-'))


def free_port():
    """A port of 127.0.0.1 that nobody listens on, and that the kernel gives to no client while an
    httpd is away for a moment."""
    for port in random.SystemRandom().sample(PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind(('127.0.0.1', port))
            except OSError:
                continue
            return port
    raise AssertionError('no port is free')


def ordinary_user():
    """The account of a root's children: (name, uid, gid), or None for everybody else."""
    if os.geteuid() != 0:
        return None
    for name in ('www-data', 'nobody'):
        try:
            entry = pwd.getpwnam(name)
            return name, entry.pw_uid, entry.pw_gid
        except KeyError:
            pass
    raise RuntimeError('no ordinary user for the children: neither www-data nor nobody exists')


def session_processes(session):
    """The processes of a session that still live, as {pid: name}. Every process of the machine is
    asked for its session, so that is a system call and no file."""
    found = {}
    for pid in map(int, filter(str.isdigit, os.listdir('/proc'))):
        try:
            if os.getsid(pid) != session:
                continue
            stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
        except OSError:
            continue
        name, fields = stat.split(' (', 1)[1].rsplit(') ', 1)
        if fields[0] != 'Z':
            found[pid] = name
    return found


def is_starting(pid, mpm):
    """Whether a child of httpd has not come to its requests yet. Its signal handler is that of the
    start until it has threads. The daemon of CGI, which ignores SIGCHLD, and children of prefork
    never have them: they are starting while they run as httpd was started, or for a moment, or
    while they are busy a few seconds later."""
    try:
        status = pathlib.Path(f'/proc/{pid}/status').read_text()
        fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(') ', 1)[1].split()
        uptime = float(pathlib.Path('/proc/uptime').read_text().split()[0])
    except (OSError, IndexError):
        return False
    has_one_thread = fields[17] == '1'
    ignored = int(re.search(r'^SigIgn:\s+(\w+)', status, re.M).group(1), 16)
    if mpm != 'prefork' and not ignored >> (signal.SIGCHLD - 1) & 1:
        return has_one_thread
    age = uptime - int(fields[19]) / os.sysconf('SC_CLK_TCK')
    is_root = re.search(r'^Uid:\s+(\d+)', status, re.M).group(1) == '0'
    is_young = age < (5 if is_root or fields[0] != 'S' else 0.3)
    return is_young and (is_root or has_one_thread)


def is_at_work(pid):
    """Whether a thread of a process runs, or waits for a disk."""
    states = set()
    for stat in pathlib.Path(f'/proc/{pid}/task').glob('*/stat'):
        try:
            states.add(stat.read_text().rsplit(') ', 1)[1][0])
        except (OSError, IndexError):
            continue
    return bool(states & {'R', 'D'})


class Beside:
    """Threads that run beside a test within a `with`. They end when `stopped` is set."""

    def __init__(self, *targets):
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=target) for target in targets]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_exception):
        self.stopped.set()
        for thread in self.threads:
            thread.join()


class Mischief:
    """What preload.c does to the processes of an httpd that is started afterwards."""
    LAYOUT = struct.Struct('13q256s')

    def __init__(self, root):
        self.library = root / 'preload.so'
        self.file = root / 'mischief'
        self.numbers = [0] * 13
        self.directory = b''
        subprocess.run(['cc', '-shared', '-fPIC', '-O1', '-D_GNU_SOURCE', '-o', str(self.library),
                        str(pathlib.Path(__file__).with_name('preload.c'))], check=True)
        self.file.write_bytes(bytes(self.LAYOUT.size))

    def environment(self):
        """What has to be in httpd's environment."""
        return {'LD_PRELOAD': str(self.library), 'TILESEED_MISCHIEF': str(self.file)}

    def write(self, at, number, directory=None):
        """Changes one of the numbers, in all processes at once."""
        self.numbers[at] = number
        self.directory = str(directory).encode() if directory else self.directory
        with open(self.file, 'r+b', buffering=0) as file:
            file.write(self.LAYOUT.pack(*self.numbers, self.directory))

    def set_clock(self, seconds):
        """Sets the wall clock ahead, or back."""
        self.write(0, seconds)

    def fill(self, directory, error):
        """Writes below a directory fail from now on with an error; 0: no longer."""
        self.write(1, error, directory)

    def overflow(self, directory, on):
        """Whether a worker that writes below a directory runs out of stack."""
        self.write(2, int(on), directory)

    def slow(self, directory, seconds):
        """What waits for a disk, below a directory, takes that long from now on."""
        self.write(3, int(seconds * 1e6), directory)

    def kill_at_truncate(self, on):
        """Whether a seeder dies when it has renamed a level away."""
        self.write(4, int(on))

    def hold_syncs(self, directory, how):
        """What a syncfs below a directory does from now on: waits (1), fails (2), or works (0)."""
        self.write(5, how, directory)

    def linger(self, directory, seconds):
        """Who has read a directory below one, and the directories in it, takes that long to close
        it: others write there meanwhile."""
        self.write(6, int(seconds * 1e6), directory)

    def kill_at_answer(self, size):
        """Processes die once they have written that many bytes to sockets; 0: they don't."""
        self.write(7, size)

    def freeze(self, directory, how):
        """What can't be done below a directory from now on: files keep their names (1) and their
        length as well (2), or all can be done (0)."""
        self.write(8, how, directory)

    def behave_as_nfs(self, directory, stale, repeated):
        """Of so many files that are opened below a directory one is said to be stale, and of so
        many renames one is sent twice; 0: none."""
        self.write(9, stale, directory)
        self.write(10, repeated)

    def hang(self, directory, on):
        """Whether changes below a directory wait, as those of a hard mount whose server is away."""
        self.write(11, int(on), directory)

    def name_slowly(self, directory, seconds):
        """A link or a rename below a directory takes that long from now on, as over a network."""
        self.write(12, int(seconds * 1e6), directory)


def sanitizer_environment(root):
    """What Debian's httpd needs to run a module built with sanitizers."""
    libraries = [subprocess.run(['gcc', f'-print-file-name=lib{name}.so'], check=True, text=True,
                                capture_output=True).stdout.strip() for name in ('asan', 'ubsan')]
    return {
        'LD_PRELOAD': ' '.join(libraries),
        'ASAN_OPTIONS': f'detect_leaks=0:abort_on_error=0:log_path={root}/{REPORTS}/report',
        'UBSAN_OPTIONS': f'print_stacktrace=1:log_path={root}/{REPORTS}/report',
    }


class Httpd:
    """One private httpd. start() and stop() may be called several times, finish() once."""

    def __init__(self, mpm, with_module=True, postgres=None):
        self.mpm = mpm
        self.with_module = with_module
        self.postgres = postgres        # None: the state is a file of SQLite
        self.database = postgres.database() if postgres else None
        self.user = ordinary_user()
        self.root = pathlib.Path(tempfile.mkdtemp(prefix='tileseed-test-'))
        self.root.chmod(0o755)
        for name in (REPORTS, TRACES):
            self.path(name).mkdir()
            self.path(name).chmod(0o777)    # the children write as their own user
        self.port = free_port()
        self.process = None
        self.sessions = []
        self.over = set()           # of the sessions
        self.leftovers = {}
        self.resumed_before = 0         # the last start
        self.mischief = None
        self.snippet = ''               # the test's own part of the configuration
        self.expected = list(HARMLESS)
        shutil.copytree(TOP / 'conf/demo', self.root / 'demo')
        shutil.copytree(TOP / 'mod_tileseed/page', self.root / 'page')
        for path in [self.root / 'demo', *self.root.glob('demo/*'), self.root / 'page',
                     *self.root.glob('page/*')]:
            path.chmod(0o755 if path.is_dir() else 0o644)

    # Configuration

    def write_config(self, snippet=''):
        """Writes httpd.conf, and the test's own part as test.conf."""
        self.snippet = snippet
        modules = [f'mpm_{self.mpm}', *LOADED]
        load = [f'LoadModule {name}_module {MODULES}/mod_{name}.so' for name in modules]
        if self.with_module:
            load.append(f'LoadModule tileseed_module "{MODULE}"\nLogLevel tileseed:info')
        if self.with_module and self.postgres:
            load.append(f'TileSeedDatabase pgsql "{self.postgres.params(self.database)}"')
            load.append('TileSeedLease 15s')    # a busy machine gets its time
        user = f'User {self.user[0]}\nGroup #{self.user[2]}' if self.user else ''
        self.path('httpd.conf').write_text(CONFIG.substitute(
            root=self.root, modules=MODULES, mapserv=MAPSERV, port=self.port, user=user,
            load='\n'.join(load)))
        self.path('test.conf').write_text(self.fill(snippet))

    def fill(self, snippet):
        """A snippet with @ROOT@, @PORT@ and @WMS@ replaced."""
        return (snippet.replace('@ROOT@', str(self.root)).replace('@PORT@', str(self.port))
                .replace('@WMS@', f'http://127.0.0.1:{self.port}/wms'))

    def path(self, name):
        """A path below the server's folder."""
        return self.root / name

    def folder(self, name):
        """Makes a folder below the server's that its children may write to."""
        made = self.path(name)
        made.mkdir()
        if self.user:
            os.chown(made, self.user[1], self.user[2])
        return made

    def users(self, **passwords):
        """Writes the file `users` for AuthUserFile; returns its path."""
        file = self.path('users')
        file.unlink(missing_ok=True)
        for number, (name, password) in enumerate(passwords.items()):
            flags = '-ib' if number else '-ic'
            subprocess.run(['htpasswd', flags.replace('b', ''), str(file), name],
                           input=password, text=True, check=True, capture_output=True)
        file.chmod(0o644)
        return file

    def configtest(self, snippet=''):
        """Runs httpd -t over a configuration: (exit status, its words)."""
        self.write_config(snippet)
        done = subprocess.run(self.command('-t'), capture_output=True, text=True, check=False,
                              env=self.environment())
        return done.returncode, done.stdout + done.stderr

    # Life

    def command(self, *more):
        """The command line of this httpd."""
        return [HTTPD, '-f', str(self.path('httpd.conf')), *more]

    def environment(self):
        """httpd's environment. Sanitizers tell of crashes themselves."""
        if SANITIZED and self.with_module:
            parts = [sanitizer_environment(self.root)]
        else:
            parts = [{'LD_PRELOAD': str(crashes.library()),
                      'TILESEED_TRACES': str(self.path(TRACES))}]
        if self.mischief:
            parts.append(self.mischief.environment())
        found = dict(os.environ)
        for part in parts:
            found.update(part)
        return {**found, 'LD_PRELOAD': ' '.join(part['LD_PRELOAD'] for part in parts)}

    def make_mischief(self):
        """What can go wrong in the processes of httpd; to be asked for before its start."""
        self.mischief = Mischief(self.root)
        return self.mischief

    def start(self, snippet=None):
        """Starts httpd with a snippet (None: the one before) and waits until it answers."""
        if snippet is not None or not self.path('httpd.conf').exists():
            self.write_config(snippet or '')
        for _ in range(3):
            if self.try_start():
                return self
            self.port = free_port()     # somebody took it between the probe and the bind
            self.write_config(self.snippet)
        raise AssertionError(f'httpd found no port:\n{self.error_log()}')

    def try_start(self):
        """False when the port was taken."""
        self.resumed_before = self.resumed()
        with open(self.path('output'), 'ab') as output:
            self.process = subprocess.Popen(
                self.command('-DFOREGROUND'), stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True, env=self.environment())
        self.sessions.append(self.process.pid)
        self.over.discard(self.process.pid)
        # its second reading of the configuration opens the port anew, and resets who was early
        wait_until(lambda: self.process.poll() is not None or
                   (self.resumed() > self.resumed_before and self.listens() and self.has_cgi()),
                   START_TIMEOUT, 'the start of httpd')
        if self.process.poll() is None:
            return True
        words = self.path('output').read_text() + self.error_log()
        assert 'AH00072' in words, f'httpd did not start:\n{words}'
        return False

    def listens(self):
        """Whether something accepts connections on the port."""
        with socket.socket() as probe:
            return probe.connect_ex(('127.0.0.1', self.port)) == 0

    def has_cgi(self):
        """Whether children may use the socket of mod_cgid: its daemon makes it, and then gives it
        to httpd's User."""
        path = self.path(f'cgid.sock.{self.process.pid}')
        try:
            return self.mpm == 'prefork' or not self.user or path.stat().st_uid == self.user[1]
        except FileNotFoundError:
            return False

    def send_signal(self, number):
        """Sends a signal to the parent."""
        self.process.send_signal(number)

    def graceful(self, snippet=None):
        """A graceful restart, with another snippet if there is one; returns when it is done."""
        self.reload(signal.SIGUSR1, snippet)

    def restart(self, snippet=None):
        """A restart that ends the requests under way."""
        self.reload(signal.SIGHUP, snippet)

    def reload(self, number, snippet):
        """Sends the signal and waits for the line with which httpd says that it goes on. Before it
        has said so once the signal would be its end."""
        if snippet is not None:
            self.path('test.conf').write_text(self.fill(snippet))
        wait_until(lambda: self.resumed() > self.resumed_before, START_TIMEOUT,
                   'the start of httpd')
        before = self.resumed()
        if number == signal.SIGHUP:
            self.end_children(number)
        else:
            self.send_signal(number)
        self.await_end(lambda: self.resumed() > before, START_TIMEOUT, 'the restart of httpd')

    def children(self):
        """The children of httpd that serve requests, and its daemon of CGI."""
        return {pid for pid, name in self.processes().items()
                if pid != self.process.pid and name == pathlib.Path(HTTPD).name}

    def await_children(self):
        """Waits until no child is just starting, ten seconds at most, nor serves a request, three
        seconds at most: a signal that ends httpd's children finds two faults of httpd there
        (crashes.py)."""
        begin = time.monotonic()
        while (seconds := time.monotonic() - begin) < 10 and any(
                is_starting(pid, self.mpm) or (seconds < 3 and is_at_work(pid))
                for pid in self.children()):
            time.sleep(0.02)

    def end_children(self, number):
        """Sends a signal with which httpd ends its children at once."""
        self.await_children()
        self.send_signal(number)

    def await_end(self, condition, timeout, what):
        """Waits until a signal has had its effect. Children that don't end are asked for their
        calls: httpd kills them after nine seconds."""
        try:
            wait_until(condition, SLOW_END, what)
        except AssertionError:
            self.ask_for_calls()
            wait_until(condition, timeout, what)

    def ask_for_calls(self):
        """Has the children write their calls."""
        for pid in filter(crashes.can_be_asked, self.children()):
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                crashes.ask(pid, self.path(TRACES))

    def resumed(self):
        """How often httpd has said that it goes on."""
        return self.error_log().count('resuming normal operations')

    def stop(self, number=signal.SIGTERM):
        """Stops httpd and notes who did not end with it."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.end_children(number)
        try:
            self.await_end(lambda: self.process.poll() is not None, STOP_TIMEOUT, 'the stop')
        except AssertionError:
            self.leftovers[self.process.pid] = 'httpd itself'
        self.process = None
        self.note_leftovers()

    def note_leftovers(self):
        """Children get a moment to see that their parent has gone; then they are ended."""
        deadline = time.monotonic() + LEAVE_TIMEOUT
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.leftovers.update(self.kill_processes())

    def kill_processes(self):
        """Ends every process at once: {pid: name}. One may end by itself just before that."""
        found = self.processes()
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return found

    def processes(self):
        """Every living process that this httpd started, and itself: {pid: name}. A session that
        has lost its last one is over: its number may be a stranger's next."""
        found = {}
        for session in set(self.sessions) - self.over:
            processes = session_processes(session)
            found.update(processes)
            if not processes:
                self.over.add(session)
        return found

    # Requests

    def request(self, method, path, body=None, headers=None, auth=None):
        """One request on a connection of its own; auth is (user, password)."""
        sent = dict(headers or {})
        if auth:
            sent['Authorization'] = 'Basic ' + base64.b64encode(':'.join(auth).encode()).decode()
        if isinstance(body, str):
            body = body.encode()
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body=body, headers=sent)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **more):
        """GET."""
        return self.request('GET', path, **more)

    def post(self, path, body=b'', **more):
        """POST."""
        return self.request('POST', path, body=body, **more)

    def put(self, path, body=b'', **more):
        """PUT."""
        return self.request('PUT', path, body=body, **more)

    def url(self, path):
        """The address of a path, for curl."""
        return f'http://127.0.0.1:{self.port}{path}'

    # What it left behind

    def error_log(self):
        """The error log so far."""
        file = self.path('error.log')
        return file.read_text(errors='replace') if file.exists() else ''

    def expect(self, pattern):
        """Allows lines of the error log that match a regular expression."""
        self.expected.append(pattern)

    def calls(self):
        """Those of processes that crashed or did not end: {pid: text}."""
        return crashes.read_calls(self.path(TRACES))

    def unexpected_lines(self):
        """Lines of the error log, worse than a notice, that no test has allowed."""
        allowed = re.compile('|'.join(f'(?:{pattern})' for pattern in self.expected))
        log = self.error_log().splitlines()
        excused = crashes.excused_lines(log, self.calls())
        return [line for at, line in enumerate(log) if at not in excused and
                not HARMLESS_LEVEL.search(line) and not allowed.search(line)]

    def complaints(self):
        """Everything that is wrong after the end."""
        found = [f'left behind: process {pid} ({name})' for pid, name in self.leftovers.items()]
        found += [f'error log: {line}' for line in self.unexpected_lines()]
        if found:
            found += [f'process {pid}:\n{calls}' for pid, calls in self.calls().items()]
        found += [f'core dump: {path.name}' for path in self.root.glob('core*')]
        found += self.reports()
        return found

    def reports(self):
        """What the sanitizers of any process have reported."""
        return [f'{path.relative_to(self.root)}:\n{path.read_text(errors="replace")}'
                for path in self.path(REPORTS).glob('*')]

    def finish(self):
        """Stops, removes the folder, and fails when something is wrong."""
        self.stop()
        found = self.complaints()
        last = self.error_log().splitlines()[-LAST_LINES:]
        shutil.rmtree(self.root, ignore_errors=True)
        assert not found, '\n'.join([*found, 'the end of the error log:', *last])
