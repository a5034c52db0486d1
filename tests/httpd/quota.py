# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What the disk quota is compared with: the cache as somebody from outside sees it."""
import json
import os
import signal
import threading

from rest import ask
from seeding import seeder_of, stands
from tileseed_httpd import Beside, wait_until


def put(httpd, **members):
    """Changes the disk quota."""
    ask(httpd, 'PUT', '/rest/diskquota.json',
        json.dumps({'cacheQuotaConfiguration': members}))


def size(number, units='KiB'):
    """A size as the document wants it."""
    return {'value': number, 'units': units}


def usage(httpd, base='/rest', query=''):
    """The document of the disk usage."""
    return ask(httpd, 'GET', f'{base}/diskquota/usage.json{query}').json()


def disk(httpd, below=''):
    """(bytes, files) of the cache as du counts: allocated blocks, a file once whatever its links.
    Directories cost nothing."""
    seen = {}
    for folder, _, names in os.walk(httpd.path('cache') / below):
        for name in names:
            try:
                info = os.lstat(os.path.join(folder, name))
            except FileNotFoundError:
                continue
            seen[info.st_ino] = info.st_blocks * 512
    return sum(seen.values()), len(seen)


def known(httpd):
    """Waits until all that is there is booked, and returns the usage."""
    def document():
        found = usage(httpd)
        return found if found['complete'] and found['layers'] else None
    return wait_until(document, what='the end of the walks')


def agrees(httpd, timeout=30):
    """Waits until the books equal the disk, and returns the usage; they are saved each second."""
    def document():
        found = usage(httpd)
        return found if (found['bytes'], found['files']) == disk(httpd) else None
    return wait_until(document, timeout, f'agreement of {usage(httpd)} with {disk(httpd)}')


def reconcile(httpd):
    """Has all files counted."""
    ask(httpd, 'POST', '/rest/diskquota/reconcile')
    requested = usage(httpd)['reconcile']['requested']
    wait_until(lambda: (lambda found: found['state'] == 'done' and found['requested'] == requested)(
        usage(httpd)['reconcile']))


class Du(Beside):
    """Somebody who runs du all the time. The seeder, which alone writes, stands still meanwhile:
    what is removed behind du and written before it would be counted twice. One reads at a time, or
    the first to end would let the seeder go on below the other."""
    turn = threading.Lock()

    def __init__(self, httpd, below=''):
        super().__init__(self.read)
        self.httpd = httpd
        self.below = below
        self.readings = []

    def read(self):
        """One reading after the other."""
        while not self.stopped.wait(0.05):
            seeder = seeder_of(self.httpd)
            try:
                with self.turn:
                    reading = self.look(seeder)
            except (AssertionError, OSError, TypeError):
                continue                                    # it is being replaced
            if seeder_of(self.httpd) == seeder:
                self.readings.append(reading)

    def look(self, seeder):
        """One reading, while the seeder stands."""
        os.kill(seeder, signal.SIGSTOP)
        try:
            wait_until(lambda: stands(seeder) or seeder_of(self.httpd) != seeder)   # it was killed
            return disk(self.httpd, self.below)
        finally:
            os.kill(seeder, signal.SIGCONT)

    def most(self):
        """The greatest that was seen: bytes, files."""
        return max(size for size, _ in self.readings), max(count for _, count in self.readings)
