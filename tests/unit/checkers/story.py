"""A notation for whole histories: several partitions, transactions, consumer groups.

    story = Story()
    story.op("a", "begin", txn=0)
    story.op("a", "send", sent("t/0", 1, 0), txn=0)

Operations are numbered as they come; each starts at 10 * op and ends 5 later unless told otherwise, in
`unit_ns`. A client is a process of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from chaoskit.contract.checker import Context, FaultWindow
from chaoskit.history.audits import Audit
from chaoskit.history.schema import MESSAGES, OPERATIONS, SUBSCRIPTION_TYPES
from chaoskit.judge.checking import check_partition, checkers, settle_and_conclude

Row = dict[str, Any]


def sent(place: str, value: int, position: int | None = None, **more: Any) -> Row:
    """A message sent to TOPIC/PARTITION, acknowledged at a position."""
    return {"direction": "sent", **_at(place), "value": value, "position": position, **more}


def received(place: str, value: int, position: int, **more: Any) -> Row:
    """A message received from TOPIC/PARTITION."""
    return {"direction": "received", **_at(place), "value": value, "position": position, **more}


def committed(place: str, position: int, group: str = "g", generation: int = -1) -> Row:
    """The position that a group committed: the next one to be read."""
    return {"direction": "committed", **_at(place), "key": group, "value": generation, "position": position}


def assigned(place: str, group: str = "g", generation: int = -1) -> Row:
    """A partition that a member of a group was given."""
    return {"direction": "assigned", **_at(place), "key": group, "value": generation, "position": None}


def subscribed(place: str, kind: str, name: str = "s") -> Row:
    """A consumer of a subscription of this type."""
    number = SUBSCRIPTION_TYPES.index(kind)
    return {"direction": "subscribed", **_at(place), "key": name, "value": number, "position": None}


def settled(direction: str, place: str, position: int, name: str = "s") -> Row:
    """A message that was `acked` or `nacked`."""
    return {"direction": direction, **_at(place), "key": name, "value": -1, "position": position}


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
    operations: list[Row] = field(default_factory=list)
    messages: list[Row] = field(default_factory=list)

    def op(
        self,
        client: str,
        f: str,
        *messages: Row,
        outcome: str = "ok",
        txn: int | None = None,
        start: int | None = None,
        lasts: int = 5,
        error: str | None = None,
    ) -> int:
        """Add an operation with its messages and return its number."""
        op = len(self.operations)
        start_ns = self.unit_ns * (10 * op if start is None else start)
        clients = list(dict.fromkeys([*(row["client"] for row in self.operations), client]))
        end_ns = start_ns + self.unit_ns * lasts if lasts else None
        times = {"op": op, "start_ns": start_ns, "end_ns": end_ns, "process": clients.index(client)}
        self.operations.append({**times, "client": client, "f": f, "outcome": outcome, "error": error, "txn": txn})
        for message in messages:
            received_ns = end_ns if message["direction"] == "received" else None
            self.messages.append({"op": op, "payload": "ok", "received_ns": received_ns, **message})
        return op

    def check(self) -> list[Row]:
        """Return what all checkers find, null columns left out."""
        return [{name: value for name, value in row.items() if value is not None} for row in self.table().to_pylist()]

    def table(self) -> pa.Table:
        """Return what all checkers find."""
        operations = pa.Table.from_pylist(self.operations, OPERATIONS)
        places = sorted({(row["topic"], row["partition"]) for row in self.messages})
        parts, checked = {}, []
        for topic, partition in places:
            rows = [row for row in self.messages if (row["topic"], row["partition"]) == (topic, partition)]
            parts[topic, partition] = pa.Table.from_pylist(rows, MESSAGES)
            context = Context(topic, partition, self.audits.get(f"{topic}/{partition}"))
            context = replace(context, faults=self.faults, bound_ns=self.bound_ns)
            checked.append(check_partition(parts[topic, partition], operations, context))
        return settle_and_conclude(
            checked,
            lambda checker, values: [checker.sent_here(part, values) for part in parts.values()],
            lambda: operations,
        )

    def only(self, anomaly: str) -> list[Row]:
        """Return the findings of one anomaly."""
        return [row for row in self.check() if row["anomaly"] == anomaly]

    def names(self) -> set[str]:
        """Return the names of all that was found."""
        return {row["anomaly"] for row in self.check()}


def names_of_all() -> set[str]:
    """Return the names of all anomalies that the installed checkers know."""
    return {name for checker in checkers() for name in checker.anomalies}
