# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Draws what the stub upstream answers: the same pictures on every machine, from fixed seeds.

    rgba     a street map with alpha: smooth edges, names, transparent water
    palette  the same map reduced to 256 colours
    photo    hills with a camera's noise, JPEG of quality 85
    uniform  one colour, RGBA
    plain    one colour, a palette, in each size of up to 16 x 16 tiles that joined metatiles have
    land     fields, each of one colour: small files, so that millions of tiles fit into memory
    .ocean   where the world's sea is, for the stub: level by level, row by row from the bottom, a
             byte of 1 for a square without land, in Lambert's equal-area cylinder

A variant is one view of 1044 x 1044: a metatile of 1024 with a gutter of 10. A request without
gutter gets its middle, a smaller one a part of it.
"""
import itertools
import json
import math
import random
import sys
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw, ImageEnhance, ImageFont

WORLD = Path(__file__).parents[2] / 'conf/demo/world-110m.geojson'
OCEAN_LEVEL = 12
VARIANTS = 8
GUTTER, FULL = 10, 1044
PLAIN = (256, 512, 1024)
JOINED = (256, 512, 1024, 2048, 3072, 4096)
# With a gutter, which some seeders cut off at the end of the world
WITH_GUTTER = (256, 266, 276, 512, 522, 532, 1024, 1034, 1044)
OVERSAMPLING = 2
WATER, LAND = (0, 0, 0, 0), (242, 239, 233, 255)
AREAS = ((200, 235, 185, 255), (224, 223, 223, 255), (238, 240, 213, 255), (170, 211, 223, 160))
ROADS = (((255, 255, 255, 255), (190, 186, 180, 255), 5), ((254, 236, 170, 255),
         (200, 170, 110, 255), 9), ((233, 144, 160, 255), (190, 70, 95, 255), 13))


def wander(dice, steps, stride):
    """A crooked line across the view."""
    x, y = dice.uniform(0, FULL), dice.uniform(0, FULL)
    dx, dy = dice.choice(((stride, 0), (0, stride), (stride, stride), (stride, -stride)))
    points = [(x - dx * steps / 2, y - dy * steps / 2)]
    for _ in range(steps):
        x, y = points[-1]
        points.append((x + dx + dice.gauss(0, stride / 4), y + dy + dice.gauss(0, stride / 4)))
    return [(x * OVERSAMPLING, y * OVERSAMPLING) for x, y in points]


def blob(dice, size):
    """A crooked closed line."""
    x, y = dice.uniform(0, FULL), dice.uniform(0, FULL)
    turns = ((1, 0), (.7, .7), (0, 1), (-.7, .7), (-1, 0), (-.7, -.7), (0, -1), (.7, -.7))
    return [((x + a * dice.uniform(.5, 1) * size) * OVERSAMPLING,
             (y + b * dice.uniform(.5, 1) * size) * OVERSAMPLING) for a, b in turns]


def draw_names(picture, dice, count):
    """Smooth letters with a bright rim."""
    font = ImageFont.load_default()
    for _ in range(count):
        word = ''.join(dice.choice('aeinorstlmdb') for _ in range(dice.randint(5, 12))).title()
        stamp = Image.new('L', font.getbbox(word)[2:])
        ImageDraw.Draw(stamp).text((0, 0), word, 255, font)
        stamp = stamp.resize((stamp.width * 3 // 2, stamp.height * 3 // 2), Image.BICUBIC)
        x, y = dice.randrange(FULL - 80), dice.randrange(FULL - 20)
        for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            picture.paste((255, 255, 255, 255), (x + dx, y + dy), stamp)
        picture.paste((60, 55, 50, 255), (x, y), stamp)


def draw_map(seed):
    """A street map."""
    dice = random.Random(seed)
    picture = Image.new('RGBA', (FULL * OVERSAMPLING,) * 2, LAND)
    pen = ImageDraw.Draw(picture)
    for _ in range(6):
        pen.polygon(blob(dice, 160), WATER)
    for _ in range(35):
        pen.polygon(blob(dice, 60), dice.choice(AREAS), (150, 150, 150, 255))
    for _ in range(300):
        x, y = dice.randrange(FULL * OVERSAMPLING), dice.randrange(FULL * OVERSAMPLING)
        pen.rectangle((x, y, x + dice.randint(10, 40), y + dice.randint(10, 40)),
                      (217, 208, 201, 255), (190, 175, 165, 255))
    for number, (fill, rim, width) in zip((22, 6, 2), ROADS):
        lines = [wander(dice, 40, 40) for _ in range(number)]
        for colour, wide in ((rim, width + 4), (fill, width)):
            for line in lines:
                pen.line(line, colour, wide, joint='curve')
    picture = picture.resize((FULL, FULL), Image.LANCZOS)
    draw_names(picture, dice, 60)
    return picture


def draw_fields(seed):
    """Land that is drawn in little time: no part of 64 x 64 is of one colour."""
    dice = random.Random(seed)
    picture = Image.new('P', (FULL, FULL))
    picture.putpalette(bytes(value for colour in (LAND, *AREAS) for value in colour[:3]))
    pen = ImageDraw.Draw(picture)
    for x, y in itertools.product(range(0, FULL, 32), repeat=2):
        pen.rectangle((x, y, x + 31, y + 31), (x // 32 + y // 32) % 2 + 2 * dice.randrange(2))
    return picture


def flatten(picture):
    """A map without alpha: water is blue."""
    water = Image.new('RGBA', picture.size, AREAS[-1])
    return Image.alpha_composite(water, picture).convert('RGB')


def draw_noise(dice, side):
    """Grey values at random, enlarged smoothly."""
    grey = Image.frombytes('L', (side, side), dice.randbytes(side * side))
    return grey.resize((FULL, FULL), Image.BICUBIC)


def draw_photo(seed):
    """Hills from noise of several sizes."""
    dice = random.Random(seed)
    relief = draw_noise(dice, 4)
    for power, share in ((8, .4), (32, .25), (128, .15), (512, .08)):
        relief = Image.blend(relief, draw_noise(dice, power), share)
    shade = ImageChops.subtract(relief, ImageChops.offset(relief, 2, 2), .25, 128)
    bands = [ImageEnhance.Brightness(relief).enhance(factor) for factor in (1, 1.1, .8)]
    picture = Image.blend(Image.merge('RGB', bands), Image.merge('RGB', [shade] * 3), .4)
    grain = Image.merge('RGB', [draw_noise(dice, FULL) for _ in range(3)])
    return Image.blend(picture, grain, .06)


def middle(width, height):
    """The part of a view that a request of this size shows."""
    left = 0 if width == FULL else GUTTER
    top = 0 if height == FULL else GUTTER
    return left, top, left + width, top + height


def save(folder, kind, variant, picture, sizes):
    """Writes a view in every size that somebody asks for."""
    how = {'format': 'JPEG', 'quality': 85} if kind == 'photo' else {'format': 'PNG'}
    for width, height in itertools.product(sizes, sizes):
        picture.crop(middle(width, height)).save(folder / f'{kind}-{variant}-{width}x{height}',
                                                 **how)


def place(longitude, latitude, side):
    """A point of the earth in a square in which seven tenths are sea, as on the earth."""
    return (longitude + 180) / 360 * side, (.5 - math.sin(math.radians(latitude)) / 2) * side


def draw_land(side):
    """The land of the world: 255."""
    land = Image.new('L', (side, side))
    pen = ImageDraw.Draw(land)
    for feature in json.loads(WORLD.read_text())['features']:
        shape = feature['geometry']
        for rings in [shape['coordinates']] if shape['type'] == 'Polygon' else shape['coordinates']:
            for number, ring in enumerate(rings):
                pen.polygon([place(*point[:2], side) for point in ring], 0 if number else 255)
    return land


def draw_ocean(path):
    """Writes all levels of the sea."""
    levels = [draw_land(2 ** OCEAN_LEVEL)]
    while levels[-1].width > 1:
        levels.append(levels[-1].reduce(2).point(lambda grey: 255 if grey else 0))
    with path.open('wb') as file:
        for level in reversed(levels):
            file.write(level.transpose(Image.FLIP_TOP_BOTTOM).point(lambda grey: grey == 0)
                       .tobytes())


def draw_plain(width, height):
    """One colour of a palette."""
    picture = Image.new('P', (width, height))
    picture.putpalette([170, 211, 223])
    return picture


def draw(folder):
    """Draws all kinds into a folder, which has the file .done afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    for variant in range(VARIANTS):
        picture = draw_map(variant)
        save(folder, 'rgba', variant, picture, PLAIN)
        save(folder, 'palette', variant, flatten(picture).quantize(256), PLAIN)
        save(folder, 'land', variant, draw_fields(variant), PLAIN)
        save(folder, 'photo', variant, draw_photo(variant), WITH_GUTTER)
    save(folder, 'uniform', 0, Image.new('RGBA', (FULL, FULL), (170, 211, 223, 255)), PLAIN)
    for width, height in itertools.product(JOINED, JOINED):
        draw_plain(width, height).save(folder / f'plain-0-{width}x{height}', format='PNG')
    draw_ocean(folder / '.ocean')
    (folder / '.done').touch()


if __name__ == '__main__':
    draw(Path(sys.argv[1]))
