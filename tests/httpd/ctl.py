# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The client tileseedctl for the tests: how it is run, and a stub server that says what a test
wants.

    with Stub({'GET tasks/7.json': [task(7, state='RUNNING'), task(7)]}) as stub:
        done = run('wait', '7', url=stub.url)

answers with the entries of a list one after the other, the last one for good. An entry is a
document, a pair of a status and a text or document, bytes, or a function of the handler.
"""
import http.server
import json
import os
import ssl
import subprocess
import threading

from tileseed_httpd import MODULE, PATIENCE

CTL = MODULE.parent.parent / 'tileseedctl'
NOBODY = '/nonexistent'     # a home without a .netrc


def environment(url=None, home=NOBODY, **more):
    """Nothing of the environment of whoever runs the tests but the path."""
    found = {'PATH': os.environ['PATH'], 'HOME': str(home), **more}
    return {**found, 'TILESEED_URL': url} if url else found


def run(*words, url=None, home=NOBODY, stdin=None, **more):
    """Runs tileseedctl to its end."""
    return subprocess.run([CTL, *map(str, words)], env=environment(url, home, **more), check=False,
                          input=stdin, capture_output=True, text=True, timeout=PATIENCE)


def private(path, text, mode=0o600):
    """A file with credentials."""
    path.write_text(text)
    path.chmod(mode)
    return path


def task(number=7, **members):
    """The document of a task that is done, but for some members."""
    return {'id': number, 'layer': 'world', 'gridSetId': 'EPSG:3857', 'format': 'image/png',
            'type': 'seed', 'bounds': [-20037508.34, -20037508.34, 20037508.34, 20037508.34],
            'zoomStart': 0, 'zoomStop': 1, 'threadCount': 1, 'parameters': {'STYLES': 'political'},
            'state': 'DONE', 'reason': None, 'reasonCode': None, 'tilesTotal': 5,
            'tilesProcessed': 5, 'tilesMade': 5,
            'tilesSkipped': 0, 'tilesUnchanged': 0, 'tilesRemoved': 0, 'tilesFailed': 0,
            'tilesPruned': 0, 'prunedMetatiles': 0, 'prunedChecked': 0, 'prunedWrong': 0,
            'prunedForgotten': 0, 'bytes': 91381,
            'upstreamRequests': 2, 'sharedRequests': 0, 'requestSize': None,
            'tilesPerSecond': 12.5, 'secondsRemaining': 0,
            'requestedBy': 'me', 'ignored': [], 'created': '2026-11-22T07:46:12.143Z',
            'started': '2026-11-22T07:46:12.609Z', 'finished': '2026-11-22T07:46:13.009Z',
            'retryOf': None, **members}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers what the script says."""

    def answer(self):
        """One request."""
        length = int(self.headers.get('Content-Length') or 0)
        body = self.rfile.read(length).decode()
        path, _, query = self.path.removeprefix('/rest/').partition('?')
        owner = self.server.owner
        owner.requests.append((self.command, path, query, body, dict(self.headers)))
        said = owner.next_answer(f'{self.command} {path}')
        if callable(said):
            said(self)
        elif isinstance(said, tuple):
            self.say(*said)
        else:
            self.say(200, said)

    def say(self, status, said=b'', **headers):
        """A whole answer: a document, a line of text, or bytes."""
        kind = 'application/json'
        if isinstance(said, str):
            kind = 'text/plain'
            said = said.encode()
        elif not isinstance(said, bytes):
            said = json.dumps(said, separators=(',', ':')).encode()
        self.send_response(status)
        for name, value in {'Content-Type': kind, 'Content-Length': str(len(said)),
                            **headers}.items():
            self.send_header(name.replace('_', '-'), value)
        self.end_headers()
        self.wfile.write(said)

    def hang_up(self):
        """The connection ends without an answer."""
        self.close_connection = True    # pylint: disable=attribute-defined-outside-init

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_args):  # pylint: disable=arguments-differ
        """Silence."""


class Stub:
    """A server that answers by a script, and keeps what it was asked; with a certificate by TLS."""

    def __init__(self, script=None, certificate=None):
        self.script = dict(script or {})
        self.requests = []
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.owner = self
        self.url = f'http://127.0.0.1:{self.server.server_address[1]}/rest'
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.url = self.url.replace('http', 'https', 1)

    def next_answer(self, what):
        """What the script has for a request; 404 as the module says it, without an entry."""
        said = self.script.get(what, (404, 'there is nothing at this address'))
        if isinstance(said, list):
            return said.pop(0) if len(said) > 1 else said[0]
        return said

    def asked(self, what):
        """The requests of a method and an address."""
        return [request for request in self.requests if f'{request[0]} {request[1]}' == what]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_error):
        self.server.shutdown()
        self.server.server_close()
