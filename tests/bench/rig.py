# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What every seeder is measured on: the stub upstream, a place in memory, the kernel's counts."""
import contextlib
import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from upstreams import Stub

MEMORY = Path('/dev/shm')
DISK = os.environ.get('BENCH_DISK', '')


@dataclasses.dataclass
class Case:
    """What is seeded: the pyramid from level 0 in web mercator, in tiles of 256 x 256."""
    kind: str                   # of the stub's pictures
    zoom: int = 6               # the last level
    extension: str = 'png'
    level: int = 0              # of compression; 0: each seeder's own default
    meta: int = 4
    gutter: int = 0
    links: bool = False         # one file for all tiles of one colour
    delay: float = 0            # of the upstream, in ms
    pixel: float = 0            # and for each pixel, in ns
    in_flight: int = 16         # requests at once, for those who tell it from workers
    workers: int = 2            # of everybody, unless a peer has its own number
    peers: dict = dataclasses.field(default_factory=dict)
    metatile: str = ''          # another TileSeedMetatile than meta and gutter say; "default"
    prune: str = 'off'          # TileSeedPrune
    sync: bool = True           # what a checkpoint counts is on the disk before

    @property
    def tiles(self):
        """How many there are."""
        return sum(4 ** z for z in range(self.zoom + 1))

    @property
    def metatiles(self):
        """How many metatiles they make."""
        return sum(max(1, 2 ** z // self.meta) ** 2 for z in range(self.zoom + 1))

    @property
    def mime(self):
        """The format of answers and tiles."""
        return 'image/jpeg' if self.extension == 'jpeg' else 'image/png'


@dataclasses.dataclass
class Result:
    """What one run took."""
    tiles: int
    seconds: float
    cpu: float                  # seconds of all its processes
    memory: float               # MB at the peak
    size: int = 0               # of the tiles, in bytes; a link counts once
    requests: int = 0
    connections: int = 0
    upstream: float = 0         # CPU seconds of the upstream


class Rig:
    """The upstream and the caches; close() leaves nothing behind."""

    def __init__(self, stub, drawn):
        wanted = ('.done', 'land-0-256x256', 'plain-0-4096x4096')
        if not all((drawn / name).exists() for name in wanted):
            print('# drawing the pictures', flush=True)
            draw = Path(__file__).with_name('pictures.py')
            subprocess.run([sys.executable, draw, drawn], check=True)
        self.drawn = drawn
        self.programs = Path(stub).resolve().parent
        self.upstream = Stub(stub, drawn)
        self.folder = Path(tempfile.mkdtemp(prefix='tileseed-bench-', dir=MEMORY))
        self.folder.chmod(0o755)    # the seeder isn't root

    def close(self):
        """Ends the upstream and removes all files."""
        self.upstream.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, case):
        """The upstream's address for a case."""
        return self.upstream.url(case)

    def counts(self):
        """The upstream's counts since the last call."""
        return self.upstream.counts()

    @contextlib.contextmanager
    def behind(self, upstream):
        """Lets another upstream answer meanwhile, and ends it."""
        stub, self.upstream = self.upstream, upstream
        try:
            yield
        finally:
            self.upstream = stub
            upstream.close()

    def cache(self):
        """An empty folder in place of the one before."""
        path = self.folder / 'cache'
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path

    @contextlib.contextmanager
    def on_disk(self):
        """Lets the caches lie below BENCH_DISK."""
        memory = self.folder
        with tempfile.TemporaryDirectory(prefix='tileseed-bench-', dir=DISK) as folder:
            self.folder = Path(folder)
            self.folder.chmod(0o755)
            yield
        self.folder = memory

    def finish(self, case, result):
        """Adds to a result what upstream and disk say; a run that isn't whole is an error."""
        counts = self.counts()
        result.requests, result.connections = counts['requests'], counts['connections']
        result.upstream = counts['cpu']
        names, result.size = inventory(self.folder / 'cache')
        if names < case.tiles or counts['missing']:
            raise RuntimeError(f'{names} tiles of {case.tiles}, '
                               f'{counts["missing"]} requests for pictures that are not there')
        return result


def inventory(path):
    """(names, bytes) of the tiles below a folder; only names that a seeder shows as tiles count."""
    names, sizes = 0, {}
    for folder, _, files in os.walk(path):
        for name in files:
            if name.endswith(('.png', '.jpeg', '.jpg')) and not name.startswith('.'):
                names += 1
                status = os.stat(os.path.join(folder, name))
                sizes[status.st_ino] = status.st_size
    return names, sum(sizes.values())


def peak_of(pid):
    """The most memory a process has had, in MB."""
    status = Path(f'/proc/{pid}/status').read_text(encoding='ascii')
    return int(status.split('VmHWM:')[1].split()[0]) / 1024
