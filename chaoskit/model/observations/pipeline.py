"""What is known of an application under test: its inputs, its commits, who owned what, and its ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from chaoskit.base.columns import Ints, integers, places_in
from chaoskit.model.observations.row import Row, of_kinds

FED, OUTPUTS, PROGRESSED, OWNED, ACTED = "fed", "outputs", "progressed", "owned", "acted"
UNORDERED, GONE, LEAST, MOST = "unordered", "gone", "least-outputs", "most-outputs"
DATABASE_HOST, DATABASE_SETTING = "database-host", "database-setting"

ACTS = ("given", "auto-ack", "ack", "nack", "reject", "published", "confirmed")
"""What may pass between an instance and a queue; see `chaoskit.contract.clients.traffic.Act`."""

START, EXIT = "start", "exit"
"""Operations of an instance of the application: it was started; it ended, and the error says how."""

UNIDENTIFIED = (1 << 62) - 1
"""The value of an output in which no input's id was found."""


@dataclass(frozen=True, slots=True)
class Fed:
    """A partition is fed to an application (`feed`).

    Attributes:
        ordered: whether each message has a key, whose order outputs must keep.
        within_ns: how long after an input its outputs may come; None: nobody said.
    """

    ordered: bool
    within_ns: int | None

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(FED, value=int(self.ordered), position=self.within_ns)

    @staticmethod
    def read(observations: pa.Table) -> Fed | None:
        """Return it; None if the partition is fed to nobody."""
        rows = of_kinds(observations, FED).to_pylist()
        return Fed(bool(rows[0]["value"]), rows[0]["position"]) if rows else None


@dataclass(frozen=True, slots=True)
class Outputs:
    """How many outputs each input must have in a partition's topic (`collect`).

    Attributes:
        least, most: the bounds, of inputs that have none of their own (`OwnOutputs`).
        ordered: whether positions tell which of two outputs came first.
    """

    least: int
    most: int
    ordered: bool = True

    def rows(self) -> Iterator[Row]:
        """Yield its rows."""
        yield Row(OUTPUTS, value=self.least, position=self.most)
        if not self.ordered:
            yield Row(UNORDERED)

    @staticmethod
    def read(observations: pa.Table) -> Outputs | None:
        """Return the bounds; None if nobody said them."""
        rows = of_kinds(observations, OUTPUTS).to_pylist()
        ordered = not of_kinds(observations, UNORDERED).num_rows
        return Outputs(rows[0]["value"], rows[0]["position"], ordered) if rows else None


@dataclass(frozen=True, slots=True)
class OwnOutputs:
    """How many outputs one input must have (its `send`).

    Attributes:
        value: the input.
        least, most: the bounds.
    """

    value: int
    least: int
    most: int

    def rows(self) -> Iterator[Row]:
        """Yield its rows."""
        yield Row(LEAST, value=self.value, position=self.least)
        yield Row(MOST, value=self.value, position=self.most)


class OwnBounds(NamedTuple):
    """All `OwnOutputs` of a partition: the inputs, and the bounds of each."""

    value: Ints
    least: Ints
    most: Ints

    @classmethod
    def read(cls, observations: pa.Table) -> OwnBounds:
        """Read them from the observations of a partition."""
        least, most = of_kinds(observations, LEAST), of_kinds(observations, MOST)
        return cls(integers(least["value"]), integers(least["position"]), integers(most["position"]))


@dataclass(frozen=True, slots=True)
class OutputGone:
    """An output that was read before is there no more (`look`).

    Attributes:
        position: where it was.
    """

    position: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(GONE, position=self.position)


class GoneOutputs(NamedTuple):
    """All `OutputGone` of a partition, in order of `op`: the operation that missed it, and its position."""

    op: Ints
    position: Ints

    @classmethod
    def read(cls, observations: pa.Table) -> GoneOutputs:
        """Read them from the observations of a partition."""
        rows = of_kinds(observations, GONE)
        return cls(integers(rows["op"]), integers(rows["position"]))


@dataclass(frozen=True, slots=True)
class DatabaseSink:
    """The outputs are rows of a database (`collect`).

    Attributes:
        host: the host of the lab on which it runs; empty: it is somebody else's.
        forgets: its setting by which it loses in a power cut what it has committed, such as `fsync: off`; empty: it has
            none, or nobody knows.
    """

    host: str
    forgets: str

    def rows(self) -> Iterator[Row]:
        """Yield its rows."""
        yield Row(DATABASE_HOST, name=self.host)
        yield Row(DATABASE_SETTING, name=self.forgets)

    @staticmethod
    def read(observations: pa.Table) -> DatabaseSink | None:
        """Return it; None if the outputs are no rows."""
        hosts = of_kinds(observations, DATABASE_HOST)["name"].to_pylist()
        settings = of_kinds(observations, DATABASE_SETTING)["name"].to_pylist()
        return DatabaseSink(hosts[0] or "", settings[0] or "") if hosts else None


@dataclass(frozen=True, slots=True)
class ProgressCommitted:
    """A group of the application's committed a position (`commit-seen`, at the time that the system recorded).

    Attributes:
        group: its name.
        next_position: the next position to read.
        first_position: where what is committed begins, if not everything before `next_position` is.
    """

    group: str
    next_position: int
    first_position: int | None = None

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(PROGRESSED, name=self.group, value=self.first_position, position=self.next_position)


@dataclass(frozen=True, slots=True)
class PartitionOwned:
    """An instance owns the partition from now on, or shares it with those of the same operation (`owner-seen`).

    Attributes:
        instance: its number; None: nobody that is known.
        held: of a partition that is shared, how many messages were delivered to it and are not settled.
    """

    instance: int | None
    held: int | None = None

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(OWNED, value=self.instance, position=self.held)


class ApplicationCommits(NamedTuple):
    """All commits of a partition, in order of `op`.

    Attributes:
        op: the operation.
        first_position: where what is committed begins; `NONE`: everything before is.
        next_position: the next position to read.
    """

    op: Ints
    first_position: Ints
    next_position: Ints

    @classmethod
    def read(cls, observations: pa.Table) -> ApplicationCommits:
        """Read them from the observations of a partition."""
        rows = of_kinds(observations, PROGRESSED)
        return cls(integers(rows["op"]), integers(rows["value"]), integers(rows["position"]))


class Owners(NamedTuple):
    """The owners of a partition, in order of `op`.

    Attributes:
        op: the operation that saw it; those who share a partition have the same one.
        instance: the instance; `NONE`: nobody that is known.
        held: how many messages an instance that shares the partition had and had not settled; else `NONE`.
    """

    op: Ints
    instance: Ints
    held: Ints

    @classmethod
    def read(cls, observations: pa.Table) -> Owners:
        """Read them from the observations of a partition."""
        rows = of_kinds(observations, OWNED)
        return cls(integers(rows["op"]), integers(rows["value"]), integers(rows["position"]))


@dataclass(frozen=True, slots=True)
class InstanceActed:
    """A message passed a connection of an instance with a queue (`receive`, `ack`, `nack`, `reject`, `publish-seen`,
    `confirm-seen`, at the time that it passed).

    Attributes:
        act: one of `ACTS`.
        value: the input, or that of the output.
        instance: number of the instance.
    """

    act: str
    value: int
    instance: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(ACTED, name=self.act, value=self.value, position=self.instance)


class InstanceActs(NamedTuple):
    """All that passed between instances and a queue, in order of `op`.

    Attributes:
        op: the operation.
        act: index into `ACTS`.
        value: the input.
        instance: number of the instance.
    """

    op: Ints
    act: Ints
    value: Ints
    instance: Ints

    @classmethod
    def read(cls, observations: pa.Table) -> InstanceActs:
        """Read them from the observations of a queue."""
        rows = of_kinds(observations, ACTED)
        return cls(
            integers(rows["op"]), places_in(ACTS, rows["name"]), integers(rows["value"]), integers(rows["position"])
        )
