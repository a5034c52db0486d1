# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What must be refused: each with its exact status and sentence, and nothing changed afterwards.

The table of documents is that of the unit tests, tests/data/malformed.json.
"""
import json
import socket
import threading
import time

import pytest

from rest import (EMPTY_LIST, PLAIN, ask, checked, kind, listed, number_of, refused, seed, serve,
                  unknown)
from tileseed_httpd import MPMS, TOP, Httpd, one_mpm
from upstream import Upstream

TABLE = json.loads((TOP / 'tests/data/malformed.json').read_text())['requests']
LIMIT = 65536
TOO_LONG = 'the body is longer than 65536 bytes, the limit of TileSeedMaxRequestBody'


@pytest.fixture(scope='module')
def shared():
    """One server for the whole table, with its state as it was at the start."""
    with Upstream() as upstream:
        server = Httpd(MPMS[0])
        try:
            serve(server, upstream)
            server.quota = server.get('/rest/diskquota.xml').body
            yield server
        finally:
            server.finish()


def title(row):
    """The name of a row's test."""
    return f"{row['address'].rsplit('/', 1)[-1]} {row['body'][:40]!r}"


@pytest.mark.xdist_group('malformed')     # one server for all rows
@pytest.mark.parametrize('row', TABLE, ids=title)
def test_table(shared, row):  # pylint: disable=redefined-outer-name
    """Status and message are those of the table; there is no task, and the quota is as before."""
    answer = shared.request(row['method'], '/rest' + row['address'], row['body'].encode())
    assert (answer.status, answer.body.decode()) == (row['status'], row['message'])
    assert kind(checked(answer)) == PLAIN
    assert 'TileSeed-Task' not in answer.headers
    assert shared.get('/rest/seed.json').text == EMPTY_LIST
    assert shared.get('/rest/diskquota.xml').body == shared.quota


def test_table_is_long_enough():
    """At least 60, of every kind."""
    assert len(TABLE) >= 60
    assert {row['address'].split('/')[1].split('.')[0] for row in TABLE} == {'seed', 'diskquota'}
    assert len({json.dumps([row[key] for key in ('method', 'address', 'body')])
                for row in TABLE}) == len(TABLE)


BOMBS = {
    'deep_xml': ('xml', b'<a>' * 20000, 'Elements are nested deeper than 16 levels'),
    'deep_json': ('json', b'{"a":' * 12000, 'nested deeper than 16 levels'),
    'deep_lists': ('json', b'{"seedRequest":{"a":' + b'[' * 60000, 'a list within a list'),
    'laughs': ('xml', b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "' + b'&a;' * 1000
               + b'"><!ENTITY c "' + b'&b;' * 1000 + b'">]><seedRequest><type>&c;</type>'
               b'</seedRequest>', 'A DOCTYPE is not allowed in a request'),
    'external': ('xml', b'<!DOCTYPE s SYSTEM "http://127.0.0.1:1/x.dtd"><seedRequest/>',
                 'A DOCTYPE is not allowed in a request'),
    'parameter_entity': ('xml', b'<!DOCTYPE s [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>'
                         b'<seedRequest/>', 'A DOCTYPE is not allowed in a request'),
    'attributes': ('xml', b'<seedRequest ' + b'a="" ' * 10000 + b'/>', 'more than 1000 attributes'),
    'nul': ('xml', b'<seedRequest>\0</seedRequest>', 'not well-formed XML'),
    'nul_in_json': ('json', b'{"seedRequest":{"type":"se\0ed"}}', 'not well-formed JSON'),
    'no_utf8': ('xml', b'<seedRequest><type>\xff\xfe</type></seedRequest>',
                'not well-formed XML'),
    'no_utf8_in_json': ('json', b'{"seedRequest":{"type":"\xff\xfe"}}', ''),
    'unknown_encoding': ('xml', b'<?xml version="1.0" encoding="x-none"?><seedRequest/>',
                         'not well-formed XML'),
    'random': ('json', bytes(range(256)) * 16, 'not well-formed JSON'),
    'random_xml': ('xml', bytes(range(1, 256)) * 16, 'not well-formed XML'),
}


@one_mpm
def test_bombs(httpd, upstream):
    """Deep, long and strange documents are refused."""
    serve(httpd, upstream)
    for name, (suffix, body, sentence) in BOMBS.items():
        for path in (f'/rest/seed/roads.{suffix}', f'/rest/diskquota.{suffix}'):
            method = 'POST' if 'seed' in path else 'PUT'
            text = refused(httpd, 400, method, path, body)
            assert sentence in text or 'The root m' in text, (name, text)
            assert len(text) < 1000, name
    assert not upstream.requests


def padded(size):
    """A seed request of exactly that many bytes."""
    return b'<seedRequest>' + b' ' * (size - 27) + b'</seedRequest>'


@one_mpm
def test_longest_body(httpd, upstream):
    """64 KiB are taken and one byte more is 413, with a length or chunked, on every address."""
    serve(httpd, upstream)
    assert len(padded(LIMIT)) == LIMIT
    for sent in (padded, lambda size: iter([padded(size)[:1000], padded(size)[1000:]])):
        seed(httpd, 'roads', sent(LIMIT), 'xml')
        for method, address in (('POST', 'seed/roads.xml'), ('POST', 'seed/roads'),
                                ('POST', 'seed'), ('PUT', 'diskquota.xml')):
            assert refused(httpd, 413, method, f'/rest/{address}', sent(LIMIT + 1)) == TOO_LONG
    form = b'a=' + b'x' * (LIMIT - 15) + b'&kill_all=all'
    assert len(form) == LIMIT
    assert '[1: roads' in ask(httpd, 'POST', '/rest/seed', form).text


@one_mpm
def test_limit_of_the_directive(httpd, upstream):
    """Another limit; httpd's own LimitRequestBody stays what it is."""
    serve(httpd, upstream, 'TileSeedMaxRequestBody 1KiB\n')
    seed(httpd, 'roads', padded(1024), 'xml')
    assert '1024 bytes' in refused(httpd, 413, 'POST', '/rest/seed/roads.xml', padded(1025))


def exchange(httpd, head, *parts, pause=0.0):
    """Sends a request piece by piece over a socket; returns the bytes that came back."""
    with socket.create_connection(('127.0.0.1', httpd.port), timeout=30) as wire:
        wire.sendall(head.replace('\n', '\r\n').encode())
        for part in parts:
            time.sleep(pause)
            try:
                wire.sendall(part)
            except OSError:     # the server has said enough
                break
        answer = b''
        try:
            while chunk := wire.recv(65536):
                answer += chunk
        except ConnectionResetError:
            pass
        return answer


@one_mpm
def test_huge_bodies_are_not_read(httpd, upstream):
    """A refusal comes although gigabytes are announced, which never come, or keep coming."""
    serve(httpd, upstream)
    head = 'POST /rest/seed/roads.xml HTTP/1.1\nHost: x\n'
    answer = exchange(httpd, head + 'Content-Length: 9000000000\n\n', b' ' * 70000)
    assert answer.startswith(b'HTTP/1.1 413 ') and b'Connection: close' in answer
    for asked in '', 'Expect: 100-continue\n':       # nothing is sent: the head is enough
        answer = exchange(httpd, head + asked + 'Content-Length: 65537\n\n')
        assert answer.startswith(b'HTTP/1.1 413 ') and b'HTTP/1.1 100' not in answer
        assert b'X-Content-Type-Options: nosniff' in answer
    chunk = b'2000\r\n' + b' ' * 0x2000 + b'\r\n'
    answer = exchange(httpd, head + 'Transfer-Encoding: chunked\n\n', *[chunk] * 20)
    assert answer.startswith(b'HTTP/1.1 413 ')
    assert listed(httpd) == []


@one_mpm
def test_expect_continue(httpd, upstream):
    """A client that waits for it gets 100 before the body is read, but not where it has no say."""
    serve(httpd, upstream)
    body = padded(2000)
    head = f'Host: x\nExpect: 100-continue\nContent-Length: {len(body)}\nConnection: close\n\n'
    answer = exchange(httpd, 'POST /rest/seed/roads.xml HTTP/1.1\n' + head, body, pause=0.1)
    assert answer.startswith(b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n')
    answer = exchange(httpd, 'PATCH /rest/seed/roads.xml HTTP/1.1\n' + head)
    assert answer.startswith(b'HTTP/1.1 405 ')
    assert listed(httpd) == [1]


@one_mpm
def test_slow_body(httpd, upstream):
    """A body that comes byte by byte is complete in the end; other clients do not wait for it."""
    serve(httpd, upstream)
    body = b'{"seedRequest":{"type":"reseed"}}'
    head = f'Host: x\nContent-Length: {len(body)}\nConnection: close\n\n'
    answers = []
    slow = threading.Thread(target=lambda: answers.append(exchange(
        httpd, 'POST /rest/seed/roads.json HTTP/1.1\n' + head,
        *[body[at:at + 1] for at in range(len(body))], pause=0.02)))
    slow.start()
    assert number_of(seed(httpd, 'roads')) == 1
    slow.join()
    assert answers[0].startswith(b'HTTP/1.1 200 OK') and b'TileSeed-Task: 2\r\n' in answers[0]


@one_mpm
def test_broken_bodies(httpd, upstream):
    """A body that stops in the middle, a chunk that is none, a client that goes: no task."""
    serve(httpd, upstream)
    head = 'POST /rest/seed/roads.xml HTTP/1.1\nHost: x\n'
    with socket.create_connection(('127.0.0.1', httpd.port)) as wire:
        wire.sendall((head + 'Content-Length: 100\n\n').replace('\n', '\r\n').encode()
                     + b'<seedRequest/>')
        wire.shutdown(socket.SHUT_WR)
        answer = wire.recv(65536)
    assert not answer or answer.startswith(b'HTTP/1.1 400 ')
    answer = exchange(httpd, head + 'Transfer-Encoding: chunked\n\n', b'xyz\r\n<seedRequest/>\r\n')
    assert answer.startswith(b'HTTP/1.1 400 ')
    answer = exchange(httpd, head + 'Content-Length: 5\nContent-Length: 6\n\n', b'<a/>12')
    assert answer.startswith(b'HTTP/1.1 400 ')
    answer = exchange(httpd, head + 'Transfer-Encoding: gzip\n\n', b'<seedRequest/>')
    assert answer.startswith((b'HTTP/1.1 400 ', b'HTTP/1.1 501 '))
    assert listed(httpd) == []


@one_mpm
def test_long_addresses(httpd, upstream):
    """A name as long as httpd's walk over the file system takes is unknown, and quoted in part."""
    serve(httpd, upstream)
    for length in (191, 192, 200, 201, 250):
        text = refused(httpd, 400, 'GET', f'/rest/seed/{"x" * length}.json')
        assert text == unknown('x' * min(length, 200))
        assert refused(httpd, 400, 'POST', f'/rest/seed/{"x" * length}', 'kill_all=all') == text
    ask(httpd, 'GET', f'/rest/{"y/" * 300}', status=404)
    ask(httpd, 'GET', f'/rest/tasks/{"9" * 200}.json', status=404)
