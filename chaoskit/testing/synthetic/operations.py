"""The operations of a history, chunk by chunk, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import OUTCOMES
from chaoskit.model.tables import OPERATIONS
from chaoskit.testing.synthetic.consumption import Consumption
from chaoskit.testing.synthetic.edits import Edits
from chaoskit.testing.synthetic.partition import AUDIT_POLL_NS
from chaoskit.testing.synthetic.rows import NONE, numbers, words
from chaoskit.testing.synthetic.sends import FAIL, INFO, SyntheticSender

CHUNK_OPERATIONS = 500_000

FS = (
    "send",
    "poll",
    "assign",
    "subscribe",
    "commit",
    "revoke",
    "close",
    "audit",
    "seek",
    "init",
    "begin",
    "end",
    "txn",
    "create",
    "add",
    "open",
    "recover",
    "lac",
    "read",
    "receive",
    "ack",
    "nack",
    "reject",
    "declare",
    "crash",
)
F = {name: number for number, name in enumerate(FS)}
ERRORS = ["NOT_ENOUGH_REPLICAS", "_MSG_TIMED_OUT"]
_SECOND_NS = 1_000_000_000


@dataclass(slots=True)
class Columns:
    """Operations as arrays; NONE stands for null."""

    process: np.ndarray
    client: np.ndarray
    f: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray
    outcome: np.ndarray
    error: np.ndarray
    txn: np.ndarray | None = None
    clients: list[str] | pa.Array = field(default_factory=list)
    errors: list[str] = field(default_factory=lambda: list(ERRORS))

    @classmethod
    def blank(cls, size: int, clients: list[str] | pa.Array) -> Columns:
        """Return successful operations without further data."""
        number, small, time_ns = (partial(np.zeros, size, kind) for kind in (np.int32, np.int8, np.int64))
        none = np.full(size, NONE, np.int32)
        return cls(number(), number(), small(), time_ns(), time_ns(), small(), none, clients=clients)

    def table(self, first: int) -> pa.Table:
        """Return a table of schema OPERATIONS, numbered from `first` on."""
        size = self.f.size
        columns = [
            pa.array(np.arange(first, first + size)),
            pa.array(self.process),
            words(self.client, self.clients),
            words(self.f, FS),
            pa.array(self.start_ns),
            numbers(self.end_ns),
            words(self.outcome, OUTCOMES),
            words(self.error, self.errors, missing=True),
            pa.nulls(size, pa.int64()) if self.txn is None else numbers(self.txn),
        ]
        return pa.table(columns, schema=OPERATIONS)


class OperationStream:
    """All operations of a run.

    Args:
        sender: computes the sends.
        consumption: the activity of consumers.
        edits: the deviations.
    """

    def __init__(self, sender: SyntheticSender, consumption: Consumption, edits: Edits) -> None:
        self._layout, self._sender = sender.layout, sender
        self._consumption, self._edits = consumption, edits
        parameters = self._layout.parameters
        names = [f"producer-{producer}" for producer in range(parameters.producers)]
        names += [f"consumer-{consumer}" for consumer in range(parameters.consumers)]
        self._clients = pa.array([*names, AUDITOR])

    @property
    def audit_op(self) -> int:
        """Number of the first operation after the last slot."""
        return int(self._layout.base[-1])

    @property
    def audit_poll(self) -> int:
        """Number of the first poll of the final read; before it, consumers close and the final read is set up."""
        return self.audit_op + self._layout.parameters.consumers + 2

    @property
    def audit_poll_ns(self) -> int:
        """When that poll begins; each subsequent one begins AUDIT_POLL_NS later."""
        return self.audit_ns + (self.audit_poll - self.audit_op) * AUDIT_POLL_NS

    @property
    def audit_ns(self) -> int:
        """When consumers close."""
        return self._layout.end_ns + self._sender.longest_ns + _SECOND_NS

    def tables(self, audited: list[tuple[int, bool]]) -> Iterator[pa.Table]:
        """Yield all operations, schema OPERATIONS.

        Args:
            audited: for each partition, the position that the final read reached, and whether that was the end.
        """
        step = max(1, CHUNK_OPERATIONS * self._layout.slots // max(1, self.audit_op))
        for first in range(0, self._layout.slots, step):
            yield self._run(first, min(first + step, self._layout.slots))
        yield from self._final(audited)

    def _run(self, first: int, last: int) -> pa.Table:
        layout, parameters = self._layout, self._layout.parameters
        begin = int(layout.base[first])
        columns = Columns.blank(int(layout.base[last]) - begin, self._clients)
        slots = np.arange(first, last)
        sends = self._sender.sends(first, last, np.arange(layout.sends))
        at = sends.op - begin
        columns.client[at] = columns.process[at] = np.tile(layout.producer, slots.size)
        columns.start_ns[at], columns.end_ns[at], columns.outcome[at] = sends.start_ns, sends.end_ns, sends.outcome
        columns.error[at] = np.where(sends.outcome == FAIL, 0, np.where(sends.outcome == INFO, 1, NONE))
        for consumer in range(parameters.consumers):
            at = layout.poll_op(slots, consumer) - begin
            columns.f[at], columns.client[at] = F["poll"], parameters.producers + consumer
            columns.process[at] = self._consumption.process(consumer, slots)
            columns.start_ns[at], columns.end_ns[at] = layout.poll_ns(slots, consumer)
        self._control(columns, first, last)
        self._deviate(columns, begin)
        return columns.table(begin)

    def _control(self, columns: Columns, first: int, last: int) -> None:
        layout = self._layout
        controls = [control for control in self._consumption.controls if first <= control.slot < last]
        if not controls:
            return
        slot = np.array([control.slot for control in controls])
        number = np.array([control.number for control in controls])
        at = layout.base[slot] + number - int(layout.base[first])
        columns.f[at] = [F[control.f] for control in controls]
        columns.client[at] = layout.parameters.producers + np.array([control.consumer for control in controls])
        columns.process[at] = [control.process for control in controls]
        columns.start_ns[at], columns.end_ns[at] = layout.control_ns(slot, number)

    def _deviate(self, columns: Columns, begin: int) -> None:
        for op, ended in self._edits.operations.items():
            at = op - begin
            if 0 <= at < columns.f.size:
                columns.outcome[at] = ended.outcome
                columns.error[at] = NONE
                if ended.error is not None:
                    if ended.error not in columns.errors:
                        columns.errors.append(ended.error)
                    columns.error[at] = columns.errors.index(ended.error)
                if ended.end_ns is not None:
                    columns.end_ns[at] = ended.end_ns

    def _final(self, audited: list[tuple[int, bool]]) -> Iterator[pa.Table]:
        polls = sum(audit_polls(end, self._layout.parameters.batch) for end, _ in audited)
        closing = self._layout.parameters.consumers
        size, start_ns = closing + 2 + polls, self.audit_ns
        for first in range(0, size, CHUNK_OPERATIONS):
            number = np.arange(first, min(first + CHUNK_OPERATIONS, size)) - closing
            columns = Columns.blank(number.size, self._clients)
            columns.client[:] = len(self._clients) - 1
            columns.process[:] = self._consumption.auditor
            columns.f[:] = np.select(
                [number < 0, number == 0, number == 1], [F["close"], F["audit"], F["assign"]], F["poll"]
            )
            columns.start_ns[:] = start_ns + (closing + number) * AUDIT_POLL_NS
            columns.end_ns[:] = columns.start_ns + AUDIT_POLL_NS * 3 // 4
            if first == 0:
                self._close(columns, closing)
                columns.end_ns[closing] = start_ns + size * AUDIT_POLL_NS
                columns.outcome[closing] = 0 if all(complete for _, complete in audited) else INFO
            yield columns.table(self.audit_op + first)

    def _close(self, columns: Columns, consumers: int) -> None:
        """Assign the first operations to the consumers."""
        last = np.array([self._layout.slots - 1])
        for consumer in range(consumers):
            columns.client[consumer] = self._layout.parameters.producers + consumer
            columns.process[consumer] = self._consumption.process(consumer, last)[0]


def audit_polls(end: int, batch: int) -> int:
    """Return the number of polls of the final read for a partition."""
    return -(-end // batch)
