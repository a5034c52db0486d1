# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Several httpds with one PostgreSQL and one store, for the tests of hosts."""
import contextlib
import os
import pathlib
import re
import signal
import socket
import threading

from seeding import REST, seeder_of, stub
from tileseed_httpd import Httpd, wait_until


class Proxy:
    """A connection to PostgreSQL that can stall: what is sent then arrives when it goes on."""

    def __init__(self, postgres):
        self.target = next(postgres.folder.glob('.s.PGSQL.*[0-9]'))
        self.flows = threading.Event()
        self.flows.set()
        self.sockets = []
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        """Takes connections until the listener is closed."""
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.socket(socket.AF_UNIX)
                self.sockets += [client, server]
                try:
                    server.connect(str(self.target))
                except OSError:
                    client.close()
                    continue
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self.pump, args=ends, daemon=True).start()

    def pump(self, source, sink):
        """Passes on what comes, as long as it flows."""
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.flows.wait()
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def stall(self):
        """Nothing arrives from now on."""
        self.flows.clear()

    def go_on(self):
        """Everything arrives."""
        self.flows.set()

    def close(self):
        """Ends all connections."""
        self.go_on()
        for one in (self.listener, *self.sockets):
            one.close()


class Cutter(Proxy):
    """Cuts all connections when a transaction that has written the role is about to be committed,
    and lets nobody through until it goes on."""

    def __init__(self, postgres):
        self.armed = threading.Event()
        self.happened = threading.Event()
        self.names = set()          # of the prepared statement, in each connection
        super().__init__(postgres)

    def writes_role(self, data):
        """Whether a statement that writes the role is among what is sent, alone or in a text."""
        self.names.update(re.findall(rb'PREPARE (t\d+) [^\0]*AS UPDATE role SET host', data))
        return any(b'\0' + name + b'\0' in data or b'EXECUTE ' + name + b'(' in data
                   for name in self.names)

    def cut(self):
        """Ends all connections."""
        self.flows.clear()
        self.happened.set()
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def pump(self, source, sink):
        wrote = False
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                wrote = wrote or self.writes_role(data)
                if wrote and b'COMMIT\0' in data:
                    wrote = False
                    if self.armed.is_set() and not self.happened.is_set():
                        self.cut()
                        return
                self.flows.wait()
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class Fleet:
    """Hosts web1, web2 … of one database and one store."""

    def __init__(self, mpm, postgres, upstream, lease='15s'):
        self.postgres = postgres
        self.upstream = upstream
        self.lease = lease
        self.hosts = []
        self.mpm = mpm
        self.store = None
        self.lines = ()             # of the layer
        self.polite = ''            # of the upstream
        self.meta = '2x2'

    def add(self, name=None, proxy=None, more='', prepare=lambda httpd: None):
        """Makes the next host, starts it, and waits until it works or stands by."""
        httpd = Httpd(self.mpm)
        prepare(httpd)
        httpd.postgres = self.postgres
        httpd.database = self.hosts[0].database if self.hosts else self.postgres.database()
        self.store = self.store or httpd.folder('shared')
        self.hosts.append(httpd)
        httpd.name = name or f'web{len(self.hosts)}'
        httpd.start(self.config(httpd.name, proxy and
                                f'host=127.0.0.1 port={proxy.port} {self.postgres.user()} '
                                f'dbname={httpd.database}') + more)
        if name is None:
            wait_until(lambda: self.state(httpd) in ('WORKING', 'STANDBY'),
                       what=f'{httpd.name} at work or standing by')
        return httpd

    def config(self, name, params=None):
        """The configuration of a host."""
        text = REST + stub(self.upstream, *self.lines, polite=self.polite, meta=self.meta) + (
            f'TileSeedHost {name}\nTileSeedLease {self.lease}\nTileSeedNice 0\n')
        if params:
            text += f'TileSeedDatabase pgsql "{params}"\n'
        return text.replace('@ROOT@/cache', str(self.store))

    @staticmethod
    def seeder(httpd):
        """What a host says of its seeder."""
        return httpd.get('/rest/overview.json').json()['seeder']

    def state(self, httpd):
        """The state of a host's seeder."""
        return self.seeder(httpd)['state']

    def works(self, httpd):
        """Waits until a host works."""
        wait_until(lambda: self.state(httpd) == 'WORKING', what=f'{httpd.name} at work')

    def stands_by(self, httpd):
        """Waits until a host stands by."""
        wait_until(lambda: self.state(httpd) == 'STANDBY', what=f'{httpd.name} standing by')

    def tiles(self):
        """What the store holds: path -> what tells a file from another."""
        found = {}
        for folder, _, names in os.walk(self.store):
            for name in names:
                path = pathlib.Path(folder, name)
                with contextlib.suppress(FileNotFoundError):
                    st = path.stat()
                    found[str(path.relative_to(self.store))] = (st.st_ino, st.st_mtime_ns,
                                                                st.st_size)
        return found

    @staticmethod
    def kill(httpd):
        """Ends all processes of a host at once, as if its machine had lost its power."""
        httpd.kill_processes()
        httpd.process.wait()
        wait_until(lambda: not httpd.processes(), what='the end of all processes')
        httpd.process = None

    @staticmethod
    def pause(httpd):
        """Stops the seeder of a host where it is; returns its pid."""
        pid = seeder_of(httpd)
        os.kill(pid, signal.SIGSTOP)
        return pid

    def finish(self):
        """Ends all hosts, with what is wrong with any of them."""
        with contextlib.ExitStack() as stack:
            for httpd in self.hosts:
                stack.callback(httpd.finish)
