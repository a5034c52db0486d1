# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""An upstream with imagery: whatever the size of a pixel, it shows the mean of the light that falls
on it. So a level that is averaged from finer ones can be compared with what the upstream draws.

The light of each colour is a sum of waves, whose mean over a pixel is known in closed form. Nothing
of the module is used here.
"""
import functools
import io
import math

from PIL import Image

import upstream as stub

SIDE = 1000                 # of the world, as of the small grid set
# Of red, green and blue: (amplitude, waves across, waves up, phase). The finest are two pixels long
# at level 4 of tiles of 16 pixels.
WAVES = (((0.20, 3, 1, 0.3), (0.16, 40, 23, 1.1), (0.12, 110, 127, 0.4)),
         ((0.22, 2, 2, 1.9), (0.15, 17, 51, 0.2), (0.12, 128, 90, 2.0)),
         ((0.15, 1, 4, 0.8), (0.20, 33, 29, 2.7), (0.12, 77, 101, 1.5)))


def signal(light):
    """sRGB, IEC 61966-2-1."""
    light = min(max(light, 0), 1)
    value = 12.92 * light if light <= 0.0031308 else 1.055 * light ** (1 / 2.4) - 0.055
    return round(255 * value)


def light(shade):
    """The other way round."""
    value = shade / 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


@functools.lru_cache(maxsize=None)
def signals():
    """The curve, for light in steps of 1/65536."""
    return bytes(signal(i / 65536) for i in range(65537))


def means(low, high, count, waves, phase):
    """The mean of a sine over each of some pixels."""
    turn = 2 * math.pi * waves / SIDE
    edges = [math.cos(turn * (low + (high - low) * i / count) + phase) for i in range(count + 1)]
    width = turn * (high - low) / count
    return [(edges[i] - edges[i + 1]) / width for i in range(count)]


def draw(bbox, width, height):
    """The picture of a box."""
    curve = signals()
    bands = []
    for waves in WAVES:
        parts = [([amplitude * value for value in means(bbox[0], bbox[2], width, across, phase)],
                  means(bbox[1], bbox[3], height, up, phase)[::-1])
                 for amplitude, across, up, phase in waves]
        pixels = bytearray()
        for y in range(height):
            rows = [(row, up[y]) for row, up in parts]
            pixels += bytes(curve[int(65536 * (0.5 + sum(row[x] * up for row, up in rows)))]
                            for x in range(width))
        bands.append(Image.frombytes('L', (width, height), bytes(pixels)))
    return Image.merge('RGB', bands)


class Handler(stub.Handler):
    """Draws the imagery, or a darker one."""

    def image(self, asked, smaller=0):
        """The picture that was asked for."""
        bbox = [float(number) for number in asked['BBOX'].split(',')]
        picture = draw(bbox, int(asked['WIDTH']) - smaller, int(asked['HEIGHT']) - smaller)
        if tuple(bbox) in self.server.owner.repainted:
            picture = picture.point(lambda shade: shade // 2)
        buffer = io.BytesIO()
        picture.save(buffer, 'PNG')
        return buffer.getvalue()


class Imagery(stub.Upstream):
    """The upstream."""

    def bind(self, port):
        """A server that listens on a port; 0: on a free one."""
        server = super().bind(port)
        server.RequestHandlerClass = Handler
        return server


def psnr(one, other):
    """How near two pictures are, in dB."""
    pairs = zip(one.convert('RGB').tobytes(), other.convert('RGB').tobytes())
    squares = [(a - b) ** 2 for a, b in pairs]
    mean = sum(squares) / len(squares)
    return 10 * math.log10(255 ** 2 / mean) if mean else math.inf
