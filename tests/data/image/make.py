#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Makes the pictures beside this file with Pillow (python3-pil), for the tests of image/; and two
kinds of JPEG that Pillow does not write with cjpeg (libjpeg-turbo-progs).

They are 128 x 128: a map with soft edges, a map in a palette with transparent colours, and a photo
in the kinds of JPEG and WebP there are. It also prints how far Pillow's own median cut is from two of them:
tests/unit/test_palette.c holds ours against that.
"""
import pathlib
import random
import subprocess

from PIL import Image, ImageDraw

HERE = pathlib.Path(__file__).parent
SIZE = 128


def draw_map():
    """Land, water and roads, drawn at four times the size so that edges get many colours."""
    image = Image.new('RGBA', (4 * SIZE, 4 * SIZE), (170, 211, 223, 255))
    pen = ImageDraw.Draw(image)
    pen.polygon([(40, 60), (300, 20), (480, 200), (360, 470), (90, 400)], (242, 239, 233, 255))
    pen.ellipse([180, 120, 330, 260], (200, 225, 170, 255))
    pen.ellipse([60, 360, 200, 500], (120, 80, 200, 90))
    pen.rectangle([400, 380, 512, 512], (0, 0, 0, 0))
    for i in range(12):
        pen.line([(0, 40 * i), (512, 512 - 35 * i)], (250 - 15 * i, 120 + 9 * i, 20 * i, 255), 5)
    return image.resize((SIZE, SIZE), Image.Resampling.LANCZOS)


def draw_photo():
    """Slopes of light with a little noise, the same every time."""
    dice = random.Random(1)
    image = Image.new('RGB', (SIZE, SIZE))
    image.putdata([(min(255, 60 + x + dice.randrange(9)), min(255, 40 + y + dice.randrange(9)),
                    (x * y // 90 + dice.randrange(9)) % 256)
                   for y in range(SIZE) for x in range(SIZE)])
    return image


def distance(one, other):
    """The mean squared difference of a pixel, summed over red, green and blue."""
    pairs = zip(one.getdata(), other.getdata())
    return sum((a - b) ** 2 for p, q in pairs for a, b in zip(p, q)) / (SIZE * SIZE)


def main():
    """Writes all pictures."""
    drawn, photo = draw_map(), draw_photo()
    drawn.save(HERE / 'map-rgba.png')
    drawn.convert('RGB').save(HERE / 'map-rgb.png')
    drawn.quantize(40, method=Image.Quantize.FASTOCTREE).save(HERE / 'map-palette.png', bits=8)
    for sampling in ('4:4:4', '4:2:2', '4:2:0'):
        name = 'photo-' + sampling.replace(':', '') + '.jpg'
        photo.save(HERE / name, quality=80, subsampling=sampling)
    photo.save(HERE / 'photo-progressive.jpg', quality=80, progressive=True)
    photo.convert('L').save(HERE / 'photo-grey.jpg', quality=80)
    photo.convert('CMYK').save(HERE / 'photo-cmyk.jpg', quality=80)
    photo.save(HERE / 'photo.png')
    for name, kind in (('rare', '-sample 2x2,1x2,2x1'), ('arithmetic', '-arithmetic')):
        photo.save(HERE / 'photo.ppm')
        subprocess.run(['cjpeg', '-quality', '80', *kind.split(), '-outfile',
                        HERE / f'photo-{name}.jpg', HERE / 'photo.ppm'], check=True)
        (HERE / 'photo.ppm').unlink()
    photo.save(HERE / 'photo.webp', quality=80)
    drawn.save(HERE / 'map-rgba.webp', lossless=True, exact=True)
    photo.save(HERE / 'photo-moving.webp', save_all=True, append_images=[photo.rotate(180)])
    for name, image in (('map-rgb', drawn.convert('RGB')), ('photo', photo)):
        cut = image.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        print(f'{name}: {distance(image, cut.convert("RGB")):.3f}')


if __name__ == '__main__':
    main()
