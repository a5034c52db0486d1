# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The cache as it lies on the disk, translated back into tiles."""
import os

from PIL import Image

from clients import LAST, LAYERS, TILESETS
from journal import GRID, tiles_between
from seeding import geowebcache_path

EXTENSIONS = {'image/png': 'png', 'image/jpeg': 'jpeg'}
LEFTOVER = '.tseed-'        # what a worker that was killed leaves; the next one takes it over


def path_of(tileset, tile):
    """Where a tile lies below the cache."""
    parameters = {'STYLES': tileset.style} if tileset.style else None
    return geowebcache_path(tileset.layer, 'small', EXTENSIONS[tileset.format], tile, parameters)


class Disk:
    """The cache of a run. Its files may come and go while it is read."""

    def __init__(self, cache):
        self.cache = str(cache)
        self.owner = {path_of(tileset, tile): (tileset, tile)
                      for tileset in TILESETS for tile in tiles_between(0, LAST, None)}

    def files(self, layers):
        """(path, file system's record) of every file of some layers."""
        for layer in layers:
            for folder, _, names in os.walk(os.path.join(self.cache, layer)):
                for name in names:
                    path = os.path.join(folder, name)
                    try:
                        yield os.path.relpath(path, self.cache), os.stat(path)
                    except FileNotFoundError:
                        pass

    def tiles(self, layer=None):
        """{(tile set, tile): when it got its name}"""
        layers = [layer] if layer else LAYERS
        return {self.owner[path]: status.st_ctime for path, status in self.files(layers)
                if path in self.owner}

    def strays(self):
        """What is no tile and nothing that a killed worker may leave."""
        return [path for path, _ in self.files(sorted(os.listdir(self.cache)))
                if path not in self.owner and not os.path.basename(path).startswith(LEFTOVER)]

    def damaged(self):
        """Tiles that do not decode, or have another size."""
        found = []
        for path, _ in self.files(LAYERS):
            if path in self.owner:
                try:
                    with Image.open(os.path.join(self.cache, path)) as image:
                        image.load()
                        if image.size != (GRID.pixels, GRID.pixels):
                            found.append(f'{path} has {image.size} pixels')
                except (OSError, SyntaxError) as error:
                    found.append(f'{path}: {error}')
        return found
