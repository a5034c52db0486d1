# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The layers of the REST tests, and a client that checks what every answer must have."""
import contextlib
import http.client
import json
import socket
import urllib.parse

from seeding import REST, layer
from tileseed_httpd import PATIENCE, Answer
from upstream import Fault

XML = ('text/xml', 'ISO-8859-1')
JSON = ('application/json', 'ISO-8859-1')
HTML = ('text/html', 'ISO-8859-1')
PLAIN = ('text/plain', 'ISO-8859-1')

STATES = ('TileSeedGrid EPSG:4326', 'TileSeedGrid EPSG:900913 zoom=2-20',
          'TileSeedFormat image/png', 'TileSeedFormat image/jpeg',
          'TileSeedParameter STYLES "default=" value=population value=outline')
ROADS = ('TileSeedGrid EPSG:900913', 'TileSeedGrid EPSG:3857')

BASIC = ('AuthType Basic', 'AuthName tiles', 'AuthBasicProvider file',
         'AuthUserFile "@ROOT@/users"')

EMPTY_LIST = '{"long-array-array":[]}'

# What a seed request needs at least, by suffix.
LEAST = {'xml': '<seedRequest/>', 'json': '{"seedRequest":{}}'}


def location(path, *lines):
    """A location of the REST interface."""
    inside = '\n'.join(f'    {line}' for line in lines or ('Require local',))
    return f'<Location "{path}">\n    TileSeedRest on\n{inside}\n</Location>\n'


def layers(upstream, **named):
    """Layers over the stub upstream, by their names; their lines are those of their grids."""
    source = f'TileSeedUpstream stub {upstream.url} connections=8\n'
    return source + ''.join(
        layer(name, 'TileSeedSource wms upstream:stub layers=any', *lines)
        for name, lines in named.items())


def states(upstream):
    """The layers topp:states, with everything that a layer may have, and roads."""
    return layers(upstream, **{'topp:states': STATES, 'roads': ROADS})


def serve(httpd, upstream, *snippets, rest=REST):
    """Starts a server with both layers, whose upstream never answers: tasks stay as they are."""
    upstream.always = upstream.always or Fault('hang')
    httpd.start(rest + states(upstream) + '\n'.join(snippets))
    return httpd


def kind(answer):
    """(type, charset) of an answer."""
    content_type, _, charset = answer.headers['Content-Type'].partition(';charset=')
    return content_type, charset


def checked(answer, head=False):
    """What every answer has: a charset, no caching, ASCII, its length, one line if an error."""
    what = (answer.status, answer.body)
    assert kind(answer) in (XML, JSON, HTML, PLAIN), what
    assert answer.headers['Cache-Control'] == ('no-cache' if answer.headers['ETag'] else
                                               'no-store'), what
    assert answer.body.isascii(), what
    assert head or int(answer.headers['Content-Length']) == len(answer.body), what
    if answer.status >= 400 and not head:
        assert kind(answer) == PLAIN, what
        assert answer.body.strip() == answer.body != b'', what
        assert b'tileseed-test-' not in answer.body and b'<html' not in answer.body, what
    return answer


def is_busy(answer):
    """Whether somebody else held the database for seconds: a commit on a disk under load."""
    return answer.status == 503 and b'nothing was changed, send it again' in answer.body


def ask(httpd, method, path, body=None, status=200, **more):
    """A request whose answer must have a status; returns the checked answer. A busy database is
    asked again, as its answer says."""
    answer = httpd.request(method, path, body, **more)
    for _ in range(10):
        if status == 503 or not is_busy(answer):
            break
        answer = httpd.request(method, path, body, **more)
    assert answer.status == status, (method, path, body, answer.status, answer.body)
    return checked(answer, head=method == 'HEAD')


def seed(httpd, name, body='{"seedRequest":{}}', suffix='json', base='/rest', **more):
    """Posts a seed request; returns the answer."""
    return ask(httpd, 'POST', f'{base}/seed/{urllib.parse.quote(name)}.{suffix}', body, **more)


def number_of(answer):
    """The id of the task that was accepted."""
    return int(answer.headers['TileSeed-Task'])


def listed(httpd, path='/rest/seed.json', **more):
    """The ids of a status list, in its order."""
    return [row[3] for row in ask(httpd, 'GET', path, **more).json()['long-array-array']]


def refused(httpd, status, method, path, body=None, **more):
    """A request that is refused and changes neither tasks nor quota; returns the sentence."""
    before = listed(httpd), httpd.get('/rest/diskquota.xml').body
    answer = ask(httpd, method, path, body, status, **more)
    assert (listed(httpd), httpd.get('/rest/diskquota.xml').body) == before
    assert 'TileSeed-Task' not in answer.headers
    return answer.text


def unknown(name, meant=None, base='/rest'):
    """The sentence about a layer that a location does not have."""
    return f'Unknown layer: {name}' + (
        f'. Is {meant} meant?' if meant else f'; {base}/layers.json lists the layers')


@contextlib.contextmanager
def begun(httpd, method, path, body):
    """A request whose child has its head and waits for its body; gives what sends the rest."""
    with contextlib.closing(socket.create_connection(('127.0.0.1', httpd.port), 30)) as client:
        client.sendall(f'{method} {path} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n'
                       f'Content-Length: {len(body)}\r\n\r\n'.encode())
        assert client.recv(100).startswith(b'HTTP/1.1 100 ')    # the handler reads

        def end():
            client.sendall(body.encode())
            response = http.client.HTTPResponse(client)
            response.begin()
            return Answer(response)
        yield end


class Client:
    """A client that keeps its connection, and so, on prefork, its child."""

    def __init__(self, httpd):
        self.connection = http.client.HTTPConnection('127.0.0.1', httpd.port, timeout=PATIENCE)

    def __enter__(self):
        self.connection.connect()
        return self

    def __exit__(self, *_exception):
        self.connection.close()

    def request(self, method, path, body=None, headers=None):
        """One request, read to its end; returns the response and its body. A server may close a
        kept connection at any time, so one that is found closed is opened again, once."""
        try:
            return self.send(method, path, body, headers)
        except (ConnectionResetError, BrokenPipeError):     # http.client's own is one of them
            self.connection.close()
            return self.send(method, path, body, headers)

    def send(self, method, path, body, headers):
        """One request over the connection as it is."""
        self.connection.request(method, path, body, headers or {})
        response = self.connection.getresponse()
        return response, response.read()

    def listed(self):
        """The ids of the status list."""
        response, body = self.request('GET', '/rest/seed.json')
        assert response.status == 200, body
        return [row[3] for row in json.loads(body)['long-array-array']]
