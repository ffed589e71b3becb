"""A checker detects anomalies in the recorded history of one partition.

Checkers are pure, deterministic and vectorised. The same function runs in process and in Spark
tasks; there is no second implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.contract.workloads.datamodel import LOG, DataModel
from chaoskit.model.audit import Audit, Bounds

View = TypeVar("View")

FINDINGS = pa.schema(
    [
        pa.field("anomaly", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("value", pa.int64()),
        pa.field("position", pa.int64()),
        pa.field("op", pa.int64()),
        pa.field("other_value", pa.int64()),
        pa.field("other_position", pa.int64()),
        pa.field("other_op", pa.int64()),
        pa.field("at_ns", pa.int64()),
        pa.field("detail", pa.dictionary(pa.int32(), pa.string())),
        pa.field("written_ns", pa.int64()),
        pa.field("acked_ns", pa.int64()),
        pa.field("other_written_ns", pa.int64()),
        pa.field("other_acked_ns", pa.int64()),
        pa.field("since_ns", pa.int64()),
        pa.field("other_ops", pa.list_(pa.int64())),
    ]
)
"""One row per finding. `value`, `position` and `op` identify the message or operation it is about; the
`other_` columns identify what contradicts it; `at_ns` is when it occurred (for a lost message: when it
was acknowledged); `detail` is the reason in words, from a small fixed set per anomaly. `written_ns` and
`acked_ns` are when the first send of `value` to this partition began and when the last one was acknowledged;
checkers leave them null, and so the `other_` ones. `since_ns` is when what was violated at `at_ns` had come to hold,
for example when a message that was delivered again had been settled; null if that is when it was written. `other_ops`
are further operations like `other_op`: of a message that several subscriptions lack, those that began the others; of
what an application did, the one by which the instance that is to blame ended, or else had begun."""


@dataclass(frozen=True, slots=True)
class FaultWindow:
    """The interval of a fault, in ns since the start of the run.

    `effective_ns` and `healed_ns` are None if the effect, or its end, was not proved.

    Attributes:
        targets: the hosts or clients that it hit; empty if that is not known.
        on_hosts: whether they are hosts; otherwise clients.
        delays: whether they may have been late for others, or silent.
        elsewhere: whether it is known to have hit no host that stored or led the partition, and no link.
        damages: whether it may have taken data from its hosts, be it only what was not fsynced.
        undone_ns: when its undoing began; None if that is not known.
        holds: whether its clients do nothing while it lasts, and go on afterwards.
    """

    number: int
    kind: str
    start_ns: int
    effective_ns: int | None
    healed_ns: int | None
    targets: tuple[str, ...] = ()
    on_hosts: bool = True
    delays: bool = True
    elsewhere: bool = False
    damages: bool = False
    undone_ns: int | None = None
    holds: bool = False


@dataclass(frozen=True, slots=True)
class PartitionSetting:
    """Context of a partition, in addition to its rows.

    Attributes:
        topic: the partition's topic.
        partition: its number.
        model: the data model of its topic.
        audit: the result of its final read; None if there was none.
        faults: the faults of the run, by number.
        bound_ns: time after a healing within which the system must serve again.
        load_end_ns: until when sends were due; None if that is not known.
        stuck_ns: from when on sends were due until then and none was made; None if that was not so.
        load_start_ns: since when sends were due; what was sent before warmed the clients up.
        apart_ns: by how much the times of two clients may be wrong against each other; 0 if one clock told all.
        imposed: settings of a queue, or of a compacted log, that the workload did not declare; see
            `chaoskit.contract.systems.system.Imposing`.
        clocks: the clients of each machine that has a clock of its own.
        proved: transactions whose outcome nobody knows, but of which a message was read.
    """

    topic: str
    partition: int
    model: DataModel = LOG
    audit: Audit | None = None
    faults: tuple[FaultWindow, ...] = ()
    bound_ns: int = 60_000_000_000
    load_end_ns: int | None = None
    stuck_ns: int | None = None
    load_start_ns: int = 0
    apart_ns: int = 0
    imposed: tuple[tuple[str, int], ...] = ()
    clocks: tuple[tuple[str, ...], ...] = ()
    proved: tuple[int, ...] = ()

    @property
    def bounds(self) -> Bounds | None:
        """The audit of a log or a ledger."""
        return self.audit if isinstance(self.audit, Bounds) else None


@dataclass(frozen=True, slots=True)
class Part:
    """The input of a checker: one topic partition, or queue.

    Attributes:
        setting: its context.
        messages: rows of this partition, schema `MESSAGES`, in `op` order.
        operations: schema `OPERATIONS`, sorted by `op`; at least those that the rows refer to, all whose `f` is not
            in `operation.CARRYING`, every `receive` that failed, and of those in `operation.ASKING` one every 10 s of
            each process.
        observations: rows of this partition, schema `OBSERVATIONS`, in `op` order.
    """

    setting: PartitionSetting
    messages: pa.Table
    operations: pa.Table
    observations: pa.Table
    _views: dict[Any, Any] = field(default_factory=dict)

    def view(self, build: Callable[[Part], View]) -> View:
        """Return `build(self)`; the result is cached and shared by all checkers."""
        if build not in self._views:
            self._views[build] = build(self)
        view: View = self._views[build]
        return view


class Checker(Protocol):
    """Detects a family of anomalies in one (run, topic, partition).

    Attributes:
        anomalies: the anomalies that it detects, in the order of its findings.
        models: the topic models that it handles; it is not called for others.
    """

    @property
    def anomalies(self) -> tuple[Anomaly, ...]: ...
    @property
    def models(self) -> Collection[DataModel]: ...

    def check(self, part: Part) -> pa.Table:
        """Return the findings, with schema `FINDINGS`."""
        ...


@runtime_checkable
class Settling(Protocol):
    """Optional power: decide findings that need data of other partitions."""

    def open_values(self, findings: pa.Table) -> pa.Array:
        """Return the distinct values (int64) whose send must be looked up in other partitions."""
        ...

    def sent_here(self, messages: pa.Table, values: pa.Array) -> pa.Table:
        """Return the subset of `values` that was sent to this partition: columns value, topic, partition, op."""
        ...

    def settle(self, findings: pa.Table, found: pa.Table) -> pa.Table:
        """Return the findings with all open ones decided; `found` holds the `sent_here` rows of all partitions."""
        ...


@runtime_checkable
class Spanning(Protocol):
    """Optional power: detect anomalies that span partitions, from a compact extract of each."""

    def extract(self, part: Part) -> pa.Table:
        """Return the data of this partition that `conclude` needs."""
        ...

    def conclude(self, extracts: pa.Table, operations: pa.Table) -> pa.Table:
        """Return the findings that span partitions.

        Args:
            extracts: the extracts of all partitions, concatenated in any order of partitions.
            operations: all operations of the run.
        """
        ...
