"""A short notation for histories of one partition.

    history(send(1, at=0), poll("c", (0, 1)), assign("c"), poll("c", (1, 2)), audit=Bounds(0, 2, True))

Operation number i starts at 10 * i and lasts 5 ns, or `lasts` steps of 10 ns more. A value is the
plain sequence, of producer 0 unless told otherwise. Received times are the end of the poll.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from chaoskit.contract.checkers.checker import FINDINGS, Part, PartitionSetting
from chaoskit.model.audit import Audit
from chaoskit.model.compaction import Compaction
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.tables import MESSAGES, OBSERVATIONS, OPERATIONS
from checkers.log.logs import LogChecker

Row = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One operation, with the messages that it sent or received; it is numbered by its place."""

    client: str
    f: str
    outcome: str = "ok"
    messages: tuple[Row, ...] = ()
    lasts: int = 0
    completes: bool = True
    error: str | None = None


@dataclass(frozen=True)
class History:
    """Rows of `MESSAGES` and `OPERATIONS`, and what the final read knew."""

    messages: list[Row] = field(default_factory=list)
    operations: list[Row] = field(default_factory=list)
    setting: PartitionSetting = field(default_factory=lambda: PartitionSetting("t", 0))

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """Return both tables, each in one chunk."""
        return (
            pa.Table.from_pylist(self.messages, MESSAGES),
            pa.Table.from_pylist(self.operations, OPERATIONS),
        )

    def check(self) -> list[Row]:
        """Return what the checker finds."""
        rows: list[Row] = check(*self.tables(), self.setting).to_pylist()
        return rows

    def anomalies(self) -> dict[str, list[int]]:
        """Return the values of the findings by anomaly, for tests that need no more.

        Without sequence-jump, which accompanies several others and has tests of its own.
        """
        values: dict[str, list[int]] = {}
        for row in self.check():
            if row["anomaly"] != "sequence-jump":
                values.setdefault(row["anomaly"], []).append(row["value"])
        return values

    def only(self, anomaly: str) -> list[Row]:
        """Return the findings of one anomaly without the columns that are the same for all."""
        return [
            {name: value for name, value in row.items() if name not in ("anomaly", "topic", "partition")}
            for row in self.check()
            if row["anomaly"] == anomaly
        ]


def check(messages: pa.Table, operations: pa.Table, setting: PartitionSetting) -> pa.Table:
    """Return what the checker of logs finds."""
    return LogChecker().check(Part(setting, messages, operations, OBSERVATIONS.empty_table()))


def value_of(sequence: int, producer: int = 0) -> int:
    """Return the value of a producer's message."""
    return producer << PRODUCER_SHIFT | sequence


def send(
    sequence: int,
    outcome: str = "ok",
    *,
    at: int | None = None,
    producer: int = 0,
    key: str | None = None,
    lasts: int = 0,
    error: str | None = None,
    deletes: bool = False,
) -> Step:
    """Send one message, acknowledged `at` a position or without one; it may delete its key."""
    message = {"direction": "sent", "key": key, "value": value_of(sequence, producer), "position": at}
    return Step(f"p{producer}", "delete" if deletes else "send", outcome, (message,), lasts, error=error)


def poll(client: str, *received: tuple[Any, ...], lasts: int = 0, completes: bool = True) -> Step:
    """Receive messages: (position, value) or (position, value, payload)."""
    messages = tuple(
        {
            "direction": "received",
            "position": position,
            "value": value,
            "payload": payload[0] if payload else "ok",
        }
        for position, value, *payload in received
    )
    return Step(client, "poll", messages=messages, lasts=lasts, completes=completes)


def assign(client: str) -> Step:
    """Give a consumer new partitions."""
    return Step(client, "assign")


def seek(client: str) -> Step:
    """Move a consumer."""
    return Step(client, "seek")


def history(*steps: Step, audit: Audit | None = None, compaction: Compaction | None = None) -> History:
    """Number the steps and lay out their rows."""
    imposed = tuple(compaction.settings.items()) if compaction else ()
    built = History(setting=PartitionSetting("t", 0, audit=audit, imposed=imposed))
    clients = list(dict.fromkeys(step.client for step in steps))
    for op, step in enumerate(steps):
        end_ns = 10 * op + 5 + 10 * step.lasts if step.completes else None
        built.operations.append(
            {
                "op": op,
                "process": clients.index(step.client),
                "client": step.client,
                "f": step.f,
                "start_ns": 10 * op,
                "end_ns": end_ns,
                "outcome": step.outcome if step.completes else "info",
                "error": step.error,
            }
        )
        built.messages.extend(_message_rows(op, step, end_ns))
    return built


def finding(**columns: Any) -> Row:
    """Return a finding as `History.only` gives it; columns left out are null."""
    names = [name for name in FINDINGS.names if name not in ("anomaly", "topic", "partition")]
    return {name: columns.get(name) for name in names}


def _message_rows(op: int, step: Step, end_ns: int | None) -> Iterable[Row]:
    common = {"op": op, "topic": "t", "partition": 0, "payload": "ok"}
    for message in step.messages:
        received_ns = end_ns if message["direction"] == "received" else None
        yield {**common, "received_ns": received_ns, **message}
