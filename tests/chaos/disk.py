# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""The cache as it lies on the disk, translated back into tiles."""
import collections
import os

from clients import ALL_LAYERS, ALL_TILESETS, LAST
from journal import tiles_between
from seeding import geowebcache_path
from truth import Wrong

LEFTOVER = '.tseed-'        # what a worker that was killed leaves; the next one takes it over
HIDDEN = '.tileseed'        # what the store keeps for itself, by layers as well
PAGE = 32                   # tiles on a side
BLOCK = 4096                # bytes


def path_of(tileset, tile):
    """Where a tile lies below the cache."""
    parameters = {'STYLES': tileset.style} if tileset.style else None
    return geowebcache_path(tileset.layer, 'small', tileset.extension, tile, parameters)


class Disk:
    """The cache of a run. Its files may come and go while it is read."""

    def __init__(self, cache):
        self.cache = str(cache)
        self.owner = {path_of(tileset, tile): (tileset, tile)
                      for tileset in ALL_TILESETS for tile in tiles_between(0, LAST, None)}

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
        layers = [layer] if layer else ALL_LAYERS
        return {self.owner[path]: status.st_ctime for path, status in self.files(layers)
                if path in self.owner}

    def used(self, layer=None):
        """Bytes of files that were all there at one instant."""
        return self.survey(layer)[0]

    def survey(self, layer=None):
        """(bytes of files that were all there at one instant: those that are found twice; how many
        of these are in unfinished ones)"""
        first = self.allocated(layer)
        there = [found for file, found in self.allocated(layer).items() if file in first]
        return (sum(bytes_ for bytes_, _ in there),
                sum(bytes_ for bytes_, is_unfinished in there if is_unfinished))

    def allocated(self, layer):
        """{what tells a file from one that comes after it: (bytes on the disk, whether it has no
        name yet)}"""
        return {(status.st_ino, status.st_mtime_ns):
                (status.st_blocks * 512, os.path.basename(path).startswith(LEFTOVER))
                for path, status in self.files([layer] if layer else os.listdir(self.cache))}

    def pages(self):
        """What the books should have: {(tile set, page): [tiles, files, bytes, in blocks]}, for
        the files that tiles share with page None."""
        found = collections.defaultdict(lambda: [0, 0, 0, 0])
        for path, status in self.files(ALL_LAYERS):
            if path in self.owner:
                tileset, (z, x, y) = self.owner[path]
                found[tileset, (z, x // PAGE, y // PAGE)][0] += 1
                if status.st_nlink == 1:
                    add_file(found[tileset, (z, x // PAGE, y // PAGE)], status)
        for path, status in self.files([HIDDEN + '/links']):
            tileset = next((tileset for tileset in ALL_TILESETS
                            if f'/{tileset.layer}/' in path
                            and f'/{tileset.extension}/' in path), None)
            add_file(found[tileset, None], status)
        return dict(found)

    def strays(self):
        """What is no tile and nothing that a killed worker may leave."""
        return [path for path, _ in self.files(sorted({*os.listdir(self.cache)} - {HIDDEN, 'open'}))
                if path not in self.owner and not os.path.basename(path).startswith(LEFTOVER)]

    def shown(self, history):
        """({(tile set, tile): versions of its cells}, what is wrong with the others)"""
        found, wrong = {}, []
        for path, _ in self.files(ALL_LAYERS):
            if path in self.owner:
                with open(os.path.join(self.cache, path), 'rb') as file:
                    try:
                        found[self.owner[path]] = history.versions_of(*self.owner[path],
                                                                      file.read())
                    except Wrong as error:
                        wrong.append(f'{path}: {error}')
        return found, wrong


def add_file(sums, status):
    """Adds a file to what a page holds."""
    sums[1] += 1
    sums[2] += status.st_size
    sums[3] += -(-status.st_size // BLOCK) * BLOCK
