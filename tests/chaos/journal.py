# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
"""What happened in a run of chaos: what was asked and answered, what was disturbed, what was left.

Times are seconds since 1970, as the files of the cache have them. An answer that never came has
`answered` None: what was asked for may have happened or not. Lists are only appended to, which
threads may do without a lock.
"""
import dataclasses
import functools

from truth import GRID, History, Tileset

tiles_between = functools.cache(GRID.between)


@dataclasses.dataclass
class Post:
    """A seed request, or a retry of what has failed. `task` is the id that its answer named."""
    tileset: Tileset
    type: str
    start: int
    stop: int
    bounds: tuple
    sent: float
    answered: float = None
    status: int = None
    task: int = None
    retry_of: int = None
    failed: frozenset = frozenset()     # the tiles that a retry makes

    def tiles(self):
        """Every tile of the request."""
        return self.failed if self.retry_of else tiles_between(self.start, self.stop, self.bounds)


@dataclasses.dataclass
class Kill:
    """A termination; layer None: of all layers. The ids are those that its answer listed."""
    layer: str
    code: str
    sent: float
    answered: float = None
    status: int = None
    terminated: tuple = ()
    unconfirmed: tuple = ()


@dataclasses.dataclass
class Put:
    """A change of the quota's limit to so many MiB."""
    value: int
    sent: float
    answered: float = None
    status: int = None


@dataclasses.dataclass
class Reading:
    """A status list of a layer (None: of all) as {id: (processed, total, remaining, status)}."""
    layer: str
    sent: float
    answered: float
    rows: dict
    host: str = None


@dataclasses.dataclass
class Look:
    """A task's document; None: there is no such task."""
    task: int
    sent: float
    answered: float
    document: dict
    host: str = None


@dataclasses.dataclass
class QuotaReading:
    """The limit in MiB that a GET showed."""
    value: int
    sent: float
    answered: float


@dataclasses.dataclass
class Read:
    """A tile that was asked for; `wrong` says why the answer is no picture of one."""
    tileset: Tileset
    tile: tuple
    sent: float
    answered: float = None
    wrong: str = ''


@dataclasses.dataclass
class Sample:
    """So many bytes lay in the cache at some instant between two times, at least."""
    begun: float
    ended: float
    used: int
    unfinished: int = 0     # of these, in files that have no name yet


@dataclasses.dataclass
class Write:
    """A tile that was seen on the disk, and when it got its name."""
    tileset: Tileset
    tile: tuple
    time: float


@dataclasses.dataclass
class Seen:
    """A client has seen a tile whose cells are of those versions, sent or confirmed."""
    tileset: Tileset
    tile: tuple
    versions: tuple
    sent: float
    how: str = 'sent'


@dataclasses.dataclass
class LayerPut:
    """A change of a layer's quota to so many bytes."""
    limit: int
    sent: float
    answered: float = None
    status: int = None


class LayerSample(Sample):
    """Likewise, of that layer."""


@dataclasses.dataclass
class Enforcement:
    """Whether the usage said that the limits are in force."""
    sent: float
    answered: float
    is_on: bool


@dataclasses.dataclass
class Failure:
    """A request without an answer (status None) or with one that refused it."""
    what: str
    sent: float
    ended: float
    status: int = None
    text: str = ''


@dataclasses.dataclass
class Disturbance:
    """What the killer did, from when until when it may be felt; to a bystander, a host without a
    seeder at work, or to others."""
    kind: str
    begun: float
    ended: float = None
    bystander: bool = False


@dataclasses.dataclass
class Journal:
    """All of it. The second half is looked up when everything has come to rest."""
    hosts: list = dataclasses.field(default_factory=lambda: [None])     # their names
    posts: list = dataclasses.field(default_factory=list)
    kills: list = dataclasses.field(default_factory=list)
    puts: list = dataclasses.field(default_factory=list)
    readings: list = dataclasses.field(default_factory=list)
    looks: list = dataclasses.field(default_factory=list)
    quotas: list = dataclasses.field(default_factory=list)
    reads: list = dataclasses.field(default_factory=list)
    usages: list = dataclasses.field(default_factory=list)  # (bytes, files, [those of tile sets])
    samples: list = dataclasses.field(default_factory=list)
    writes: list = dataclasses.field(default_factory=list)
    history: History = dataclasses.field(default_factory=lambda: History({}))   # of the data
    seen: list = dataclasses.field(default_factory=list)
    layer_puts: list = dataclasses.field(default_factory=list)
    layer_samples: list = dataclasses.field(default_factory=list)
    enforcements: list = dataclasses.field(default_factory=list)
    failures: list = dataclasses.field(default_factory=list)
    disturbances: list = dataclasses.field(default_factory=list)
    tides: list = dataclasses.field(default_factory=list)   # seconds until a limit was reached
    requests: list = dataclasses.field(default_factory=list)       # (sent, seconds, what)

    documents: dict = dataclasses.field(default_factory=dict)      # {id: document}
    given_up: dict = dataclasses.field(default_factory=dict)       # {id: first tiles of metatiles}
    tiles: dict = dataclasses.field(default_factory=dict)          # {(tile set, tile): time}
    evictions: list = dataclasses.field(default_factory=list)      # (time, tile set, page)
    misbooked: list = dataclasses.field(default_factory=list)      # where books and disk differ
    damaged: list = dataclasses.field(default_factory=list)        # paths that are no whole tile
    strays: list = dataclasses.field(default_factory=list)         # paths of no tile at all
    crashes: list = dataclasses.field(default_factory=list)        # that nobody here caused
    leftovers: list = dataclasses.field(default_factory=list)      # processes, sockets, segments
    shown: dict = dataclasses.field(default_factory=dict)          # {(tile set, tile): versions}
    unserved: list = dataclasses.field(default_factory=list)       # what is wrong at rest
    confirmed: list = dataclasses.field(default_factory=list)      # copies that were old
    begun: float = 0                                               # when the run began
    rested: float = 0                                              # when all tasks had ended
    retired: list = dataclasses.field(default_factory=list)        # when children of event were
    births: list = dataclasses.field(default_factory=list)         # when seeders had their books
    standbys: list = dataclasses.field(default_factory=list)       # (host, when it says so)
    open_tilesets: int = 0                                         # of the open parameter
    quota: int = None
