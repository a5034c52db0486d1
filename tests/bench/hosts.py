# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""Hosts that share a PostgreSQL and a store, behind an upstream whose answers are late: how much
faster three and four of them are than one."""
import contextlib

from database import Missing, Postgres
from rig import Case
from rows import ZOOM, verdict
from seeders import Tileseed
from tileseed_httpd import wait_until

WANTED = {3: 2.9, 4: 3.8}       # hosts -> times the tiles/s of one
THREADS = 64                    # of the task; the connections of all hosts are fewer


class Host(Tileseed):
    """The next one of hosts."""

    def __init__(self, rig, case, server, hosts):
        first = hosts[0] if hosts else None
        name = f'web{len(hosts) + 1}'
        super().__init__(rig, case, lambda _cache: f'TileSeedHost {name}\n', server,
                         first and first.cache)
        if first:
            self.httpd.database = first.httpd.database

    def is_there(self):
        """Whether it works or stands by."""
        seeder = self.httpd.get('/rest/overview.json').json()['seeder']
        return seeder['state'] in ('WORKING', 'STANDBY')


def speed(rig, case, server, count):
    """The tiles a second of so many hosts."""
    with contextlib.ExitStack() as stack:
        hosts = []
        for _ in range(count):
            hosts.append(stack.enter_context(Host(rig, case, server, hosts)))
            wait_until(hosts[-1].is_there, what='a host that works or stands by')
        found = rig.finish(case, hosts[0].seed(threadCount=THREADS))
    return found.tiles / found.seconds


def fleet(rig):
    """One host, then three, then four."""
    try:
        server = Postgres(is_own=True).start(settings=('fsync=on',))
    except Missing as missing:
        yield f'-      {missing}'
        return
    case = Case('plain', ZOOM + 1, links=True, delay=200, in_flight=4)
    try:
        speeds = {count: speed(rig, case, server, count) for count in (1, *WANTED)}
    finally:
        server.end()
    yield '       fleet        ' + ', '.join(f'{count}: {found:.0f} tiles/s'
                                              for count, found in speeds.items())
    for count, wanted in WANTED.items():
        yield verdict('fleet', f'tiles/s of one host, by {count}', speeds[count] / speeds[1],
                      wanted, True)
