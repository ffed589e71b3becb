"""A checker decides from the recorded history of one partition which anomalies occurred.

Checkers are pure, deterministic and vectorised. The same function is called in process and inside
Spark tasks; there is no second implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from chaoskit.contract.anomaly import Anomaly
from chaoskit.history.audits import Audit, Bounds
from chaoskit.history.models import DataModel

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
    ]
)
"""One row an anomaly. `value`, `position` and `op` are what the finding is about; the `other_`
columns name what contradicts it; `at_ns` is when it came about (for a lost message: when it was
acknowledged); `detail` is the reason in words, drawn from a small fixed set per anomaly."""


@dataclass(frozen=True, slots=True)
class FaultWindow:
    """When a fault was under way, ns since the start of the run.

    `effective_ns` and `healed_ns` are None where the effect, or its end, was never proved.
    """

    number: int
    kind: str
    start_ns: int
    effective_ns: int | None
    healed_ns: int | None


@dataclass(frozen=True, slots=True)
class Setting:
    """What a checker may know of a partition besides its rows.

    Attributes:
        topic: the partition's topic.
        partition: its number.
        model: what its topic is.
        audit: how its final read ended; None without one.
        faults: what was done to the cluster, by number.
        bound_ns: within what time of a healing the system must serve again.
    """

    topic: str
    partition: int
    model: DataModel = DataModel.LOG
    audit: Audit | None = None
    faults: tuple[FaultWindow, ...] = ()
    bound_ns: int = 60_000_000_000

    @property
    def bounds(self) -> Bounds | None:
        """The audit of a log or a ledger."""
        return self.audit if isinstance(self.audit, Bounds) else None


@dataclass(frozen=True, slots=True)
class Part:
    """One topic-partition, or queue, as checkers see it.

    Attributes:
        setting: what is known of it besides its rows.
        messages: rows of this partition, schema `MESSAGES`, in `op` order.
        operations: schema `OPERATIONS`, sorted by `op`; at least those that the rows name, and all whose `f` is none
            of `schema.CARRYING`.
        observations: rows of this partition, schema `OBSERVATIONS`, in `op` order.
    """

    setting: Setting
    messages: pa.Table
    operations: pa.Table
    observations: pa.Table
    _views: dict[Any, Any] = field(default_factory=dict)

    def view(self, build: Callable[[Part], View]) -> View:
        """Return what `build` makes of this part; built once for all checkers."""
        if build not in self._views:
            self._views[build] = build(self)
        view: View = self._views[build]
        return view


class Checker(Protocol):
    """A family of anomalies, decided for one (run, topic, partition).

    Attributes:
        anomalies: what it finds, in the order of its findings.
        models: the topics that it judges; it is not asked about others.
    """

    anomalies: tuple[Anomaly, ...]
    models: Collection[DataModel]

    def check(self, part: Part) -> pa.Table:
        """Return the findings, with schema `FINDINGS`."""
        ...


@runtime_checkable
class Settling(Protocol):
    """Optional power: settle, across partitions, what one partition alone cannot decide."""

    def open_values(self, findings: pa.Table) -> pa.Array:
        """Return the distinct values (int64) whose sender must be looked for in other partitions."""
        ...

    def sent_here(self, messages: pa.Table, values: pa.Array) -> pa.Table:
        """Return those of `values` that were sent to this partition: columns value, topic, partition, op."""
        ...

    def settle(self, findings: pa.Table, found: pa.Table) -> pa.Table:
        """Return the findings with every open one decided, given all rows of `sent_here`."""
        ...


@runtime_checkable
class Spanning(Protocol):
    """Optional power: find what shows only across partitions, from a compact extract of each."""

    def extract(self, part: Part) -> pa.Table:
        """Return what `conclude` must know of this partition."""
        ...

    def conclude(self, extracts: pa.Table, operations: pa.Table) -> pa.Table:
        """Return the findings that show only across partitions.

        Args:
            extracts: those of all partitions, one after the other, in any order of partitions.
            operations: all operations of the run.
        """
        ...
