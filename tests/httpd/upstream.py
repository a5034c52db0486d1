# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""A stub WMS for the tests: an image whose pixels tell where they lie, and faults on demand.

    with Upstream() as upstream:
        upstream.faults = [Fault('xml'), None, Fault('delay', 2)]

scripts the next answers in order of arrival (None: a good one); `always` is the fault of all the
rest, unless `decide` finds one for what is asked. What was asked is kept in `requests`, as one
dictionary of upper-case keys a request, its headers in `headers`, when in `times`, and how many
were under way in `busy`.
GetCapabilities is answered with `capabilities`, or 404, whatever the script says.
"""
import contextlib
import dataclasses
import email.utils
import functools
import gzip
import hashlib
import http.server
import io
import os
import random
import socket
import struct
import threading
import time
import urllib.parse

from PIL import Image

EXCEPTION = (b'<?xml version="1.0"?>\n<ServiceExceptionReport version="1.1.1">'
             b'<ServiceException>the stub was told to fail</ServiceException>'
             b'</ServiceExceptionReport>\n')


@dataclasses.dataclass
class Fault:
    """What goes wrong: a name of Handler.FAULTS, and its number (seconds or a status)."""
    name: str
    number: float = 0


@functools.lru_cache(512)
def gradients(blue, width, height, kind):
    """An image in which red counts columns and green rows. Many requests have the same one, and to
    draw it takes longer than all else that the stub does."""
    image = Image.merge('RGB', (
        Image.linear_gradient('L').rotate(90).resize((width, height)),
        Image.linear_gradient('L').resize((width, height)),
        Image.new('L', (width, height), blue)))
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def picture(bbox, width, height, kind='PNG'):
    """An image in which red counts columns and green rows, and blue depends on the bounds."""
    return gradients(int(sum(abs(number) for number in bbox) * 7) % 256, width, height, kind)


def ground(bbox, width, height):
    """An image whose pixels depend on where they lie alone, whatever else the image shows."""
    scale = (bbox[2] - bbox[0]) / width
    left, bottom = round(bbox[0] / scale), round(bbox[1] / scale)
    row = Image.frombytes('L', (width, 1), bytes((left + i) * 7 % 251 for i in range(width)))
    column = Image.frombytes('L', (1, height),
                             bytes((bottom + height - i) * 5 % 241 for i in range(height)))
    buffer = io.BytesIO()
    Image.merge('RGB', (row.resize((width, height)), column.resize((width, height)),
                        Image.new('L', (width, height), 7))).save(buffer, 'PNG')
    return buffer.getvalue()


def plain(shade, width, height, kind='PNG'):
    """An image of one grey."""
    buffer = io.BytesIO()
    Image.new('RGB', (width, height), (shade, shade, shade)).save(buffer, kind)
    return buffer.getvalue()


@functools.lru_cache(4)
def noise(width, height):
    """An image that takes as many bytes as its pixels."""
    buffer = io.BytesIO()
    pixels = random.Random(1).randbytes(3 * width * height)
    Image.frombytes('RGB', (width, height), pixels).save(buffer, 'PNG')
    return buffer.getvalue()


def islands(lands, bbox, width, height):
    """A sea of one grey with land: boxes (minx, miny, maxx, maxy, finest), in units of the map; a
    land is drawn where a pixel has at most `finest` units, and shows the ground there."""
    image = Image.new('RGB', (width, height), (190, 190, 190))
    unit = (bbox[2] - bbox[0]) / width
    for land in lands:
        left, bottom = (round((land[i] - bbox[i]) / unit) for i in (0, 1))
        right, top = (round((land[i] - bbox[i - 2]) / unit) for i in (2, 3))
        box = (max(left, 0), height - min(top, height), min(right, width), height - max(bottom, 0))
        if unit <= land[4] and box[0] < box[2] and box[1] < box[3]:
            image.paste(Image.open(io.BytesIO(ground(bbox, width, height))).crop(box), box[:2])
    buffer = io.BytesIO()
    image.save(buffer, 'PNG')
    return buffer.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers GetMap, as well or as badly as the script says."""
    protocol_version = 'HTTP/1.1'

    def setup(self):
        """A connection that may be torn down from outside."""
        super().setup()
        self.server.owner.connections.add(self.connection)

    def finish(self):
        """It has ended."""
        self.server.owner.connections.discard(self.connection)
        super().finish()

    def do_GET(self):  # pylint: disable=invalid-name
        """One GetMap."""
        query = urllib.parse.urlsplit(self.path).query
        asked = {key.upper(): value for key, value in
                 urllib.parse.parse_qsl(query, keep_blank_values=True)}
        if asked.get('REQUEST') == 'GetCapabilities':
            self.answer_capabilities()
            return
        self.server.owner.headers.append(self.headers)
        with self.server.owner.counted():
            fault = self.server.owner.next_fault(asked)
            if fault is None:
                self.answer_well(asked)
            else:
                self.FAULTS[fault.name](self, asked, fault.number)

    def answer_well(self, asked, wait=lambda: None):
        """The picture, or 304 to one who has it, if the stub offers to ask for that; after a wait,
        which makes the picture old."""
        owner = self.server.owner
        body = self.image(asked)
        wait()
        digest = hashlib.md5(body).hexdigest()
        offers = {'etag': ('ETag', 'If-None-Match', f'"{digest}"'),
                  'modified': ('Last-Modified', 'If-Modified-Since',
                               email.utils.formatdate(10**9 + int(digest[:7], 16), usegmt=True))}
        name, condition, value = offers.get(owner.offer, ('', '', ''))
        status = 304 if name and self.headers.get(condition) == value else 200
        owner.statuses.append(status)
        self.answer(b'' if status == 304 else body, self.mime(asked), status, more={name: value})

    def answer_capabilities(self):
        """What the service says of itself, if it does; no part of the script."""
        owner = self.server.owner
        owner.capabilities_requests += 1
        owner.capabilities_headers.append(self.headers)
        if owner.capabilities_requests <= owner.refuse_capabilities:
            self.answer(b'later', 'text/plain', status=503)
        elif owner.capabilities:
            self.answer(owner.capabilities.encode(), 'text/xml')
        else:
            self.answer(b'nothing', 'text/plain', status=404)

    def mime(self, asked):
        """The format that was asked for."""
        return asked.get('FORMAT', 'image/png')

    def image(self, asked, smaller=0):
        """The picture that was asked for."""
        bbox = [float(number) for number in asked.get('BBOX', '0,0,1,1').split(',')]
        size = [int(asked.get(key, '256')) - smaller for key in ('WIDTH', 'HEIGHT')]
        owner = self.server.owner
        if owner.shade is not None:
            return plain(owner.shade, *size, kind='JPEG' if 'jpeg' in self.mime(asked) else 'PNG')
        if owner.lands is not None:
            return islands(owner.lands, bbox, *size)
        if owner.is_ground:
            return ground(bbox, *size)
        if owner.is_noise:
            return noise(*size)
        if owner.repaint_all or tuple(bbox) in owner.repainted:
            bbox = [number + 1 for number in bbox]
        return picture(bbox, *size, kind='JPEG' if 'jpeg' in self.mime(asked) else 'PNG')

    def answer(self, body, mime, status=200, claimed=None, more=None):
        """One whole answer; `claimed` is another Content-Length than the true one."""
        self.send_response(status)
        for name, value in (more or {}).items():
            if name:
                self.send_header(name, value)
        self.send_header('Content-Type', mime)
        self.send_header('Content-Length', str(len(body) if claimed is None else claimed))
        self.end_headers()
        self.wfile.write(body)
        if claimed is not None:
            self.close_connection = True

    def fault_delay(self, asked, number):
        """A good answer after some seconds."""
        self.server.owner.ended.wait(number)
        self.answer_well(asked)

    def fault_old_news(self, asked, number):
        """A good answer that is some seconds old when it comes."""
        self.answer_well(asked, lambda: self.server.owner.ended.wait(number))

    def fault_held_news(self, asked, _number):
        """A good answer that the test releases when it is old."""
        self.answer_well(asked, lambda: self.server.owner.released.wait(60))

    def fault_held(self, asked, _number):
        """A good answer when the test releases it."""
        self.server.owner.released.wait(60)
        self.answer_well(asked)

    def fault_hang(self, _asked, _number):
        """No answer before the test ends."""
        self.server.owner.ended.wait()
        self.close_connection = True

    def fault_xml(self, _asked, _number):
        """A service exception under 200."""
        self.answer(EXCEPTION, 'application/vnd.ogc.se_xml')

    def fault_layer(self, _asked, _number):
        """The service exception of a layer that is not there."""
        self.answer(EXCEPTION.replace(b'<ServiceException>',
                                      b'<ServiceException code="LayerNotDefined">'),
                    'application/vnd.ogc.se_xml')

    def fault_login(self, _asked, _number):
        """A page for people."""
        self.answer(b'<!DOCTYPE html><html><title>Log in</title></html>', 'text/html')

    def fault_disguised(self, asked, _number):
        """A service exception that is called an image."""
        self.answer(EXCEPTION, self.mime(asked))

    def fault_empty(self, asked, _number):
        """An empty body under 200."""
        self.answer(b'', self.mime(asked))

    def fault_short(self, asked, _number):
        """A connection that breaks in the middle of the image."""
        body = self.image(asked)
        self.answer(body[:len(body) // 2], self.mime(asked), claimed=len(body))

    def fault_truncated(self, asked, _number):
        """Half an image with a fitting length."""
        body = self.image(asked)
        self.answer(body[:len(body) // 2], self.mime(asked))

    def fault_broken(self, asked, _number):
        """An image with a damaged middle."""
        body = bytearray(self.image(asked))
        middle = len(body) // 2
        body[middle:middle + 16] = bytes(16)
        self.answer(bytes(body), self.mime(asked))

    def fault_size(self, asked, _number):
        """An image that is smaller than asked for."""
        self.answer(self.image(asked, smaller=1), self.mime(asked))

    def fault_status(self, _asked, number):
        """An error status with a text."""
        said = b'' if number == 204 else b'the stub was told to fail\n'
        self.answer(said, 'text/plain', status=int(number))

    def fault_echo(self, _asked, number):
        """An error status, and what was asked."""
        self.answer(f'no {self.path} for you'.encode(), 'text/plain', status=int(number))

    def fault_later(self, _asked, number):
        """429, to be asked again after some seconds."""
        self.refuse(429, str(int(number)))

    def fault_until(self, _asked, number):
        """503, to be asked again at some time: the number is in seconds from now."""
        self.refuse(503, email.utils.formatdate(time.time() + number, usegmt=True))

    def fault_busy(self, asked, number):
        """503, to be asked again after some seconds, and what was asked."""
        self.answer(f'no {asked["LAYERS"]} now'.encode(), 'text/plain', status=503,
                    more={'Retry-After': str(int(number))})

    def refuse(self, status, retry_after):
        """An error status with Retry-After."""
        self.send_response(status)
        self.send_header('Retry-After', retry_after)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def fault_drip(self, asked, number):
        """An image, one byte after the other with some seconds between them."""
        body = self.image(asked)
        self.send_response(200)
        self.send_header('Content-Type', self.mime(asked))
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        for byte in body:
            self.wfile.write(bytes([byte]))
            if self.server.owner.ended.wait(number):
                break
        self.close_connection = True

    def fault_reset(self, _asked, _number):
        """A connection that is torn down."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        os.close(self.connection.detach())
        self.close_connection = True

    def fault_mistyped(self, asked, _number):
        """An image that is called a text."""
        self.answer(self.image(asked), 'text/plain')

    def fault_huge(self, asked, number):
        """So many bytes without a length."""
        self.begin_unbounded(self.mime(asked))
        for _ in range(int(number) >> 20):
            self.wfile.write(bytes(1 << 20))

    def fault_loop(self, _asked, _number):
        """A redirect to the very same address."""
        self.redirect(self.path)

    def fault_redirect(self, _asked, _number):
        """A redirect to another server."""
        self.redirect(self.server.owner.elsewhere + '?' + urllib.parse.urlsplit(self.path).query)

    def redirect(self, location):
        """An answer that leads to another address."""
        self.send_response(302)
        self.send_header('Location', location)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def fault_gzip(self, asked, _number):
        """A good answer, compressed."""
        body = gzip.compress(self.image(asked))
        self.send_response(200)
        self.send_header('Content-Type', self.mime(asked))
        self.send_header('Content-Encoding', 'gzip')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fault_bomb(self, asked, number):
        """So many zeros, compressed to a thousandth."""
        body = gzip.compress(bytes(int(number)))
        self.answer(body, self.mime(asked), more={'Content-Encoding': 'gzip'})

    def fault_old(self, asked, _number):
        """A good answer of HTTP/1.0, which ends with the connection."""
        self.protocol_version = 'HTTP/1.0'
        self.fault_unbounded(asked, 0)

    def fault_unbounded(self, asked, _number):
        """A good answer that ends with the connection."""
        body = self.image(asked)
        self.begin_unbounded(self.mime(asked))
        self.wfile.write(body)

    def begin_unbounded(self, mime):
        """The head of an answer that ends with the connection."""
        self.send_response(200)
        self.send_header('Content-Type', mime)
        self.send_header('Connection', 'close')
        self.end_headers()
        self.close_connection = True

    def fault_close(self, _asked, _number):
        """A connection that is closed without a word."""
        self.close_connection = True

    def log_message(self, *_args):  # pylint: disable=arguments-differ
        """The stub is silent."""

    FAULTS = {name[len('fault_'):]: method for name, method in list(locals().items())
              if name.startswith('fault_')}


class Server(http.server.ThreadingHTTPServer):
    """Its threads do not keep the tests from ending; clients that go away are no news."""
    daemon_threads = True
    request_queue_size = 128
    owner = None

    def handle_error(self, request, client_address):
        """A client that closed its connection."""


class Upstream:
    """The stub, listening on a free port of 127.0.0.1 between __enter__ and __exit__."""

    def __init__(self, context=None):
        self.faults = []
        self.always = None
        self.requests = []
        self.headers = []
        self.times = []
        self.busy = []
        self.offer = ''             # to tell what changed: by 'etag' or 'modified'
        self.statuses = []          # of good answers
        self.repainted = set()      # bounds whose picture is another one now
        self.repaint_all = False
        self.shade = None               # of grey, instead of a picture
        self.lands = None               # a sea with these, instead of a picture; see islands()
        self.is_ground = False          # pictures of parts are parts of pictures
        self.is_noise = False           # tiles are large
        self.capabilities = None
        self.refuse_capabilities = 0    # so many times at first
        self.capabilities_requests = 0
        self.capabilities_headers = []
        self.under_way = 0
        self.decide = lambda asked: None
        self.ended = threading.Event()
        self.released = threading.Event()
        self.lock = threading.Lock()
        self.connections = set()
        self.context = context
        self.server = self.bind(0)
        scheme = 'https' if context else 'http'
        self.url = f'{scheme}://127.0.0.1:{self.server.server_address[1]}/wms'
        self.elsewhere = None       # where redirects lead to, with the same query

    def bind(self, port):
        """A server that listens on a port; 0: on a free one."""
        server = Server(('127.0.0.1', port), Handler)
        server.owner = self
        if self.context:
            server.socket = self.context.wrap_socket(server.socket, server_side=True)
        return server

    def serve(self):
        """Answers from now on."""
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def leave(self):
        """Goes away: what is connected is torn down, and connections are refused."""
        self.server.shutdown()
        self.server.server_close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def come_back(self):
        """Is there again, where it was."""
        self.server = self.bind(self.server.server_address[1])
        self.serve()

    @contextlib.contextmanager
    def counted(self):
        """Counts the requests that are under way."""
        with self.lock:
            self.under_way += 1
        try:
            yield
        finally:
            with self.lock:
                self.under_way -= 1

    def next_fault(self, asked):
        """Notes a request and takes the next line of the script."""
        with self.lock:
            self.requests.append(asked)
            self.times.append(time.monotonic())
            self.busy.append(self.under_way)
            if self.faults:
                return self.faults.pop(0)
            return self.decide(asked) or self.always

    def __enter__(self):
        self.serve()
        return self

    def __exit__(self, *_exception):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
