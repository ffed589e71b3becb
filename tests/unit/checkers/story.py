"""A notation for whole histories: several partitions, transactions, consumer groups.

    story = Story()
    story.op("a", "begin", txn=0)
    story.op("a", "send", sent("t/0", 1, 0), txn=0)

Operations are numbered as they come; each starts at 10 * op and ends 5 later unless told otherwise, in
`unit_ns`. A client is a process of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from chaoskit.contract.checkers.checker import FaultWindow, Part, PartitionSetting
from chaoskit.contract.installed import anomalies
from chaoskit.contract.workloads.datamodel import LOG, DataModel
from chaoskit.judge.findings.checking import found_in
from chaoskit.model.audit import Audit
from chaoskit.model.compaction import Compaction
from chaoskit.model.observations.subscription import SUBSCRIPTION_TYPES
from chaoskit.model.tables import MESSAGES, OBSERVATIONS, OPERATIONS

Row = dict[str, Any]


def sent(place: str, value: int, position: int | None = None, **more: Any) -> Row:
    """A message sent to TOPIC/PARTITION, acknowledged at a position."""
    return {"direction": "sent", **_at(place), "value": value, "position": position, **more}


def received(place: str, value: int, position: int | None, **more: Any) -> Row:
    """A message received from TOPIC/PARTITION."""
    return {"direction": "received", **_at(place), "value": value, "position": position, **more}


def committed(place: str, position: int, group: str = "g", generation: int | None = None) -> Row:
    """The position that a group committed: the next one to be read."""
    return {"kind": "committed", **_at(place), "name": group, "value": generation, "position": position}


def assigned(place: str, group: str = "g", generation: int | None = None) -> Row:
    """A partition that a member of a group was given."""
    return {"kind": "assigned", **_at(place), "name": group, "value": generation, "position": None}


def subscribed(place: str, kind: str, name: str = "s") -> Row:
    """A consumer of a subscription of this type."""
    number = SUBSCRIPTION_TYPES.index(kind)
    return {"kind": "subscribed", **_at(place), "name": name, "value": number, "position": None}


def unreadable(place: str, first: int, until: int) -> Row:
    """Positions that the system said it cannot read."""
    return {"kind": "unreadable", **_at(place), "name": None, "value": until, "position": first}


def sought(place: str, position: int | None) -> Row:
    """Where a consumer that went back must be at the latest."""
    return {"kind": "sought", **_at(place), "name": "time", "value": 1, "position": position}


def counted(place: str, count: int) -> Row:
    """How many partitions a producer learned that the topic has."""
    return {"kind": "partitions", **_at(place), "name": None, "value": count, "position": None}


def seen_by(kind: str, place: str) -> Row:
    """What a client was told about a partition."""
    return {"kind": kind, **_at(place), "name": None, "value": None, "position": None}


def settled(kind: str, place: str, position: int, name: str = "s") -> Row:
    """A message that was `acked` or `nacked`."""
    return {"kind": kind, **_at(place), "name": name, "value": None, "position": position}


def _at(place: str) -> Row:
    topic, _, partition = place.partition("/")
    return {"topic": topic, "partition": int(partition)}


@dataclass
class Story:
    """A history in the making."""

    audits: dict[str, Audit] = field(default_factory=dict)
    faults: tuple[FaultWindow, ...] = ()
    bound_ns: int = 100
    unit_ns: int = 1
    model: DataModel = LOG
    load_end_ns: int | None = None
    stuck_ns: int | None = None
    load_start_ns: int = 0
    compaction: Compaction | None = None
    operations: list[Row] = field(default_factory=list)
    messages: list[Row] = field(default_factory=list)
    observations: list[Row] = field(default_factory=list)

    def op(
        self,
        client: str,
        f: str,
        *rows: Row,
        outcome: str = "ok",
        txn: int | None = None,
        start: int | None = None,
        lasts: int = 5,
        error: str | None = None,
    ) -> int:
        """Add an operation with its messages and observations, and return its number."""
        op = len(self.operations)
        start_ns = self.unit_ns * (10 * op if start is None else start)
        clients = list(dict.fromkeys([*(row["client"] for row in self.operations), client]))
        end_ns = start_ns + self.unit_ns * lasts if lasts else None
        times = {"op": op, "start_ns": start_ns, "end_ns": end_ns, "process": clients.index(client)}
        self.operations.append({**times, "client": client, "f": f, "outcome": outcome, "error": error, "txn": txn})
        for row in rows:
            if "kind" in row:
                self.observations.append({"op": op, **row})
            else:
                received_ns = end_ns if row["direction"] == "received" else None
                self.messages.append({"op": op, "payload": "ok", "received_ns": received_ns, **row})
        return op

    def check(self) -> list[Row]:
        """Return what all checkers find, null columns left out."""
        return [{name: value for name, value in row.items() if value is not None} for row in self.table().to_pylist()]

    def table(self) -> pa.Table:
        """Return what all checkers find."""
        return found_in(self.parts())

    def parts(self) -> list[Part]:
        """Return each partition, as checkers see it."""
        operations = pa.Table.from_pylist(self.operations, OPERATIONS)

        def at(place: tuple[str, int], rows: list[Row], schema: pa.Schema) -> pa.Table:
            return pa.Table.from_pylist([row for row in rows if (row["topic"], row["partition"]) == place], schema)

        places = sorted({(row["topic"], row["partition"]) for row in (*self.messages, *self.observations)})
        return [
            Part(
                self._setting(*place),
                at(place, self.messages, MESSAGES),
                operations,
                at(place, self.observations, OBSERVATIONS),
            )
            for place in places
        ]

    def _setting(self, topic: str, partition: int) -> PartitionSetting:
        return PartitionSetting(
            topic,
            partition,
            self.model,
            self.audits.get(f"{topic}/{partition}"),
            self.faults,
            self.bound_ns,
            self.load_end_ns,
            self.stuck_ns,
            self.load_start_ns,
            imposed=tuple(self.compaction.settings.items()) if self.compaction else (),
        )

    def only(self, anomaly: str) -> list[Row]:
        """Return the findings of one anomaly."""
        return [row for row in self.check() if row["anomaly"] == anomaly]

    def names(self) -> set[str]:
        """Return the names of all that was found."""
        return {row["anomaly"] for row in self.check()}


def names_of_all() -> set[str]:
    """Return the names of all anomalies that the installed checkers know."""
    return set(anomalies())
