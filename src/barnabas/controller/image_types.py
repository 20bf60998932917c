"""The immutable parts of a cluster image: brokers and partitions as they are at one moment."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

NO_LEADER = -1
"""The leader of a partition that has none."""
NO_LEADER_CHANGE = -2
"""In a partition change: the leader, and so its epoch, stays."""

UNKNOWN_DIRECTORY = bytes(16)
"""A replica that was placed before directories had ids."""
UNASSIGNED_DIRECTORY = bytes(15) + b"\x01"
"""A replica whose broker has not chosen a directory yet."""
LOST_DIRECTORY = bytes(15) + b"\x02"
"""A replica whose directory has failed."""


class ResourceType(enum.IntEnum):
    """What a configuration belongs to, as on the wire."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


QuotaEntity = tuple[tuple[str, str | None], ...]
"""Whom a quota is for: kinds (`user`, `client-id`, `ip`) in alphabetical order, with a name each;
None is everybody of that kind who has no entry of their own."""


class Endpoint(NamedTuple):
    """Where one listener of a broker is reached."""

    name: str
    host: str
    port: int
    security_protocol: int


class VersionRange(NamedTuple):
    """The levels of a feature that a node can work with, both included."""

    min: int
    max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerImage:
    """One registered broker.  `epoch` is that of its registration; a later one has a higher."""

    id: int
    epoch: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...] = ()
    features: dict[str, VersionRange] = field(default_factory=dict)
    rack: str | None = None
    fenced: bool = True
    """A fenced broker leads nothing, is in no ISR and is not told to clients."""
    in_controlled_shutdown: bool = False
    log_dirs: tuple[bytes, ...] = ()

    @property
    def is_active(self) -> bool:
        """May lead partitions and join in-sync sets."""
        return not self.fenced and not self.in_controlled_shutdown

    def endpoint(self, listener: str) -> Endpoint | None:
        """The endpoint of that listener name, if the broker has it."""
        return next((e for e in self.endpoints if e.name == listener), None)

    def has_directory(self, directory: bytes) -> bool:
        """Whether a replica that is said to be in that log directory can be used."""
        if directory == LOST_DIRECTORY:
            return False
        if directory in (UNKNOWN_DIRECTORY, UNASSIGNED_DIRECTORY) or not self.log_dirs:
            return True
        return directory in self.log_dirs

    def default_directory(self) -> bytes:
        """Where a new replica on this broker goes: its only directory, or one not chosen yet."""
        match self.log_dirs:
            case ():
                return UNKNOWN_DIRECTORY
            case (only,):
                return only
            case _:
                return UNASSIGNED_DIRECTORY


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionImage:
    """One partition: where its replicas are, who leads, and who is in sync.

    `leader_epoch` grows with every election, `partition_epoch` with every change of any field.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[bytes, ...] = ()
    """As long as `replicas`: the log directory of each."""
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    """Replicas out of the ISR that are still known to have every committed record."""
    last_known_elr: tuple[int, ...] = ()
    recovering: bool = False
    """The leader was elected uncleanly and has not finished its recovery."""


@dataclass(slots=True, kw_only=True)
class TopicImage:
    """One topic.  `partitions[i]` is partition i; there are no gaps.

    A topic belongs to the image that made it: only that image's replay changes the list.
    """

    name: str
    id: bytes
    partitions: list[PartitionImage] = field(default_factory=list)

    @property
    def replication_factor(self) -> int:
        """The replicas of partition 0, which new partitions get too."""
        return len(self.partitions[0].replicas) if self.partitions else 0


@dataclass(slots=True, kw_only=True)
class ImageChanges:
    """What a run of records changed, net: a topic made and deleted in the same run is not there.

    The values are what was *before* the run, so that a broker can compare; the image has the new.
    """

    topics_created: dict[bytes, TopicImage] = field(default_factory=dict)
    """By id.  The exception: these are the new topics themselves."""
    topics_deleted: dict[bytes, TopicImage] = field(default_factory=dict)
    partitions: dict[tuple[bytes, int], PartitionImage | None] = field(default_factory=dict)
    """By topic id and index, in order of first change; None: the partition is new."""
    configs: set[tuple[int, str]] = field(default_factory=set)
    """Resources of which a setting was set or removed."""
    brokers: dict[int, BrokerImage | None] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    """Level before; 0 where the feature was off."""
    producer_ids: bool = False
    quotas: bool = False
    """A quota of some client was set or removed."""

    def __bool__(self) -> bool:
        return bool(
            self.topics_created
            or self.topics_deleted
            or self.partitions
            or self.configs
            or self.brokers
            or self.features
            or self.producer_ids
            or self.quotas
        )
