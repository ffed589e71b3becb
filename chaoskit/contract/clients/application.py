"""What chaoskit needs to watch an application of the user's: what it reads and writes, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from chaoskit.model.place import Place


class ReadRecord(NamedTuple):
    """A message as an application wrote it. `topic` is its name in the system."""

    topic: str
    partition: int
    position: int
    key: bytes | None
    value: bytes
    headers: Mapping[str, bytes]


class RecordReader(Protocol):
    """Reads partitions from their beginning, as somebody does who sees only what is committed."""

    def poll(self, timeout_s: float) -> tuple[list[ReadRecord], str | None]:
        """Return what arrived, in order by partition, and an error, if any."""
        ...

    def bounds(self, place: Place, timeout_s: float) -> tuple[int, int]:
        """Return the first readable position of a partition, and its end (one past the last readable).

        Raises:
            ChaoskitError: the system does not tell it in time.
        """
        ...

    def reached(self, place: Place) -> int:
        """Return the next position to read of a partition."""
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


class Progressed(NamedTuple):
    """A position that a group of the application's committed.

    Attributes:
        group: its name.
        place: the partition.
        next_position: the next position to read.
        at_ms: when, UNIX time, as the system recorded it.
        first_position: where what is committed begins, if not everything before `next_position` is.
    """

    group: str
    place: Place
    next_position: int
    at_ms: int
    first_position: int | None = None


class PartitionOwner(NamedTuple):
    """Who owns a partition of a group, or shares it with others.

    Attributes:
        group: its name.
        place: the partition.
        member: the member, by the name of its host, or its address.
        held: of a partition that is shared, how many messages were delivered to the member and are not settled.
    """

    group: str
    place: Place
    member: str
    held: int | None = None


class GroupObserver(Protocol):
    """Observes the groups that read some partitions, without being a member of one."""

    def committed(self, timeout_s: float) -> list[Progressed]:
        """Return the commits since the last call, in order; wait for the first one."""
        ...

    def owners(self) -> list[PartitionOwner] | None:
        """Return who owns what now; None if nobody answers."""
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


@runtime_checkable
class ApplicationClients(Protocol):
    """Optional power of a system's clients: watch an application."""

    def records(self, places: Sequence[Place]) -> RecordReader:
        """Connect a reader of partitions."""
        ...

    def group_observer(self, topics: Sequence[str]) -> GroupObserver:
        """Connect an observer of the groups that read some topics, except chaoskit's own."""
        ...
