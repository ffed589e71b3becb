"""A simulated history with transactions, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.model.audit import Audit, Bounds
from chaoskit.model.operation import AUDITOR
from chaoskit.model.place import Place
from chaoskit.model.tables import FAULTS
from chaoskit.testing.synthetic.causes_transactions import TRANSACTION_CAUSES
from chaoskit.testing.synthetic.operations import CHUNK_OPERATIONS, Columns, F
from chaoskit.testing.synthetic.parameters import Parameters
from chaoskit.testing.synthetic.partition import AUDIT_POLL_NS, CHUNK_ROWS
from chaoskit.testing.synthetic.randomness import Ints, Lognormal
from chaoskit.testing.synthetic.rows import NONE, RECEIVED, SENT, RowArrays, message_table
from chaoskit.testing.synthetic.sends import FAIL, INFO
from chaoskit.testing.synthetic.transactions import (
    ABORTED,
    ASSIGN,
    BEGIN,
    CRASHED,
    END,
    INIT,
    POLL,
    SEND,
    UNKNOWN,
    PlannedTransactions,
)

_ERRORS = ["aborted", "_MSG_TIMED_OUT", "_PURGE_QUEUE"]
_SECOND_NS = 1_000_000_000
_LATENCY = Lognormal(600_000, 0.5)


class TransactionSimulation:
    """A history of mode `transactions`; used like `simulation.Simulation`."""

    model = LOG

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._all = PlannedTransactions(parameters)
        rng = np.random.default_rng([parameters.seed, 5])
        for name, cause in TRANSACTION_CAUSES.items():
            for _ in range(parameters.inject.get(name, 0)):
                cause.make_in(self._all, rng, name)
        self._number_operations()
        order = np.argsort(self._all.messages.partition.astype(np.int32), kind="stable")
        edges = np.searchsorted(self._all.messages.partition[order], np.arange(parameters.places + 1))
        self._of = [order[edges[index] : edges[index + 1]] for index in range(parameters.places)]
        self._audit_polls: list[int] = []
        self.audits: dict[Place, Audit] = {}
        self.observations: dict[Place, list[pa.Table]] = {}

    @property
    def rows(self) -> int:
        """Approximate number of messages."""
        return int(self._all.messages.txn.size * (3 + self._all.producers / 2 / self.parameters.places))

    @property
    def faults(self) -> pa.Table:
        """The faults, schema FAULTS."""
        return pa.Table.from_pylist([fault.row(number) for number, fault in enumerate(self._all.faults)], FAULTS)

    @property
    def truth(self) -> list[dict[str, Any]]:
        """What must be found: rows of schema `truth.TRUTH`."""
        rows = []
        for given in self._all.edits.truth:
            row = dict(given)
            message = row.pop("message", None)
            if message is not None:
                row["value"] = int(self._all.messages.value[message])
                row["topic"], row["partition"] = self.parameters.place(int(self._all.messages.partition[message]))
            rows.append(row)
        return rows

    def partitions(self) -> Iterator[tuple[Place, int, Iterator[pa.Table]]]:
        """Yield for each partition its place, approximate number of rows, and messages by `op`."""
        for index, own in enumerate(self._of):
            place = self.parameters.place(index)
            end = int(self._all.messages.position[own].max(initial=-2)) + 2
            rows = self._partition(index, own)
            self._audit_polls.append(-(-end // self.parameters.batch))
            self.audits[place] = Bounds(0, end, complete=True)
            tables = (
                message_table(rows.slice(first, first + CHUNK_ROWS), place)
                for first in range(0, rows.op.size, CHUNK_ROWS)
            )
            yield place, rows.op.size, tables

    def _number_operations(self) -> None:
        everything, parameters = self._all, self.parameters
        present = np.zeros(everything.rounds * everything.width, np.bool_)
        txn = np.arange(everything.count)
        present[everything.grid(txn, BEGIN)] = True
        for what, chosen in (
            (INIT, everything.begins),
            (ASSIGN, everything.begins),
            (POLL, everything.polls),
            (END, everything.ended != CRASHED),
        ):
            present[everything.grid(txn[chosen], what)] = True
        present[everything.grid(everything.messages.txn, SEND + everything.messages.nth)] = True
        turns = np.arange(everything.rounds)
        for consumer in range(parameters.consumers):
            present[everything.consumer_grid(turns, consumer)] = True
        self._present = np.flatnonzero(present)
        self._op = parameters.consumers + np.cumsum(present) - 1

    def _partition(self, index: int, own: Ints) -> RowArrays:
        """Return all rows of a partition; `own` has its messages, in order."""
        everything, messages = self._all, self._all.messages
        sent = RowArrays.blank(own.size, SENT)
        at = everything.grid(messages.txn[own], SEND + messages.nth[own])
        sent.op, sent.value, sent.position = self._op[at], messages.value[own], messages.acked[own]
        sent.intended_ns = sent.sent_ns = everything.start_ns(at)
        sent.position = np.where(self._failed_sends(own), NONE, sent.position)
        shown = own[messages.visible[own]]
        shown = shown[np.argsort(messages.position[shown], kind="stable")]
        log = RowArrays.blank(shown.size, RECEIVED)
        at = everything.grid(messages.txn[shown], SEND + messages.nth[shown])
        log.value, log.position = messages.value[shown], messages.position[shown]
        log.intended_ns = log.sent_ns = everything.start_ns(at)
        # Readers see a place in the log after its `turn_of`.
        turn = np.maximum.accumulate(self._home(own, shown))
        parts = [sent, self._consumed(index, log, turn)]
        pollers = range(index, everything.producers, self.parameters.places)
        parts += [self._polled(producer, log, turn) for producer in pollers]
        parts.append(self._audited(log))
        return RowArrays.joined(parts).by_op()

    def _home(self, own: Ints, shown: Ints) -> Ints:
        """Return the transaction whose commit makes each shown message visible: the one of its place in the log."""
        messages = self._all.messages
        order = own[np.argsort(messages.acked[own], kind="stable")]
        owner = messages.txn[order]
        return owner[np.searchsorted(messages.acked[order], messages.position[shown])]

    def _failed_sends(self, own: Ints) -> Any:
        messages = self._all.messages
        last = np.ones(messages.txn.size, np.bool_)
        last[:-1] = messages.txn[1:] != messages.txn[:-1]
        aborted = (self._all.ended == ABORTED) & ~self._all.committed
        return (last & aborted[messages.txn] & (messages.value % 2 == 0) & ~messages.visible)[own]

    def _read(self, log: RowArrays, begin: Ints, end: Ints, places: Ints) -> RowArrays:
        """Return what polls at these places receive: the messages from `begin` to before `end`."""
        counts = np.maximum(end - begin, 0)
        which = np.repeat(np.arange(places.size), counts)
        at = begin[which] + np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = log.take(at)
        rows.op = self._op[places[which]]
        rows.received_ns = (self._all.start_ns(places) + self._all.step_ns(places) // 2)[which]
        return rows

    def _consumed(self, index: int, log: RowArrays, home: Ints) -> RowArrays:
        everything = self._all
        turns = np.arange(everything.rounds)
        end = np.searchsorted(home, (turns + 1) * everything.producers)
        places = everything.consumer_grid(turns, index % self.parameters.consumers)
        return self._read(log, np.concatenate(([0], end[:-1])), end, places)

    def _polled(self, producer: int, log: RowArrays, home: Ints) -> RowArrays:
        everything = self._all
        txn = np.arange(producer, everything.count, everything.producers)
        txn = txn[everything.polls[txn]]
        sees = txn.copy()
        for polling, up_to in everything.edits.sees.items():
            sees[txn == polling] = up_to
        end = np.searchsorted(home, sees)
        end = np.maximum.accumulate(end) if end.size else end
        rows = self._read(log, np.concatenate(([0], end))[:-1], end, everything.grid(txn, POLL))
        for reader, writer in everything.edits.misses.items():
            missed = everything.messages.value[everything.messages.txn == writer]
            rows = rows.take(np.flatnonzero((rows.op != self._poll_op(reader)) | ~np.isin(rows.value, missed)))
        return rows

    def _poll_op(self, txn: int) -> int:
        return int(self._op[self._all.grid(np.array(txn), POLL)])

    def _audited(self, log: RowArrays) -> RowArrays:
        rows = log.take(np.arange(log.op.size))
        poll = rows.position // self.parameters.batch + sum(self._audit_polls)
        rows.op = self._audit_op + 2 + poll
        rows.received_ns = self._audit_ns + (2 + poll) * AUDIT_POLL_NS + AUDIT_POLL_NS * 3 // 4
        return rows

    @property
    def _audit_op(self) -> int:
        return self.parameters.consumers + self._present.size

    @property
    def _audit_ns(self) -> int:
        return int(self._all.round_ns[-1]) + 2 * _SECOND_NS

    def operations(self) -> Iterator[pa.Table]:
        """Yield all operations, schema OPERATIONS."""
        clients, of_txn = self._clients()
        consumers = self.parameters.consumers
        begun = Columns.blank(consumers, clients)
        begun.f[:] = F["assign"]
        begun.client[:] = begun.process[:] = len(clients) - 1 - consumers + np.arange(consumers)
        begun.start_ns[:] = np.arange(consumers) * 1_000
        begun.end_ns[:] = begun.start_ns + 500
        yield begun.table(0)
        for first in range(0, self._present.size, CHUNK_OPERATIONS):
            yield self._chunk(self._present[first : first + CHUNK_OPERATIONS], clients, of_txn).table(consumers + first)
        polls = sum(self._audit_polls)
        number = np.arange(polls + 2)
        final = Columns.blank(number.size, clients)
        final.client[:] = final.process[:] = len(clients) - 1
        final.f[:] = np.where(number == 0, F["audit"], np.where(number == 1, F["assign"], F["poll"]))
        final.start_ns[:] = self._audit_ns + number * AUDIT_POLL_NS
        final.end_ns[:] = final.start_ns + AUDIT_POLL_NS * 3 // 4
        final.end_ns[0] = final.end_ns[-1] + AUDIT_POLL_NS
        yield final.table(self._audit_op)

    def _clients(self) -> tuple[pa.Array, Ints]:
        """Return the names of all clients, each of which is a process, and the client of each transaction."""
        everything = self._all
        producer = everything.producer(np.arange(everything.count))
        last = everything.incarnation[-everything.producers :]
        offset = np.cumsum(last) - last
        client = offset[producer] + everything.incarnation - 1
        client[list(everything.edits.zombies)] -= 1
        names = [
            f"tx-{producer}#{number + 1}"
            for producer in range(everything.producers)
            for number in range(int(last[producer]))
        ]
        names += [f"consumer-{consumer}" for consumer in range(self.parameters.consumers)]
        return pa.array([*names, AUDITOR]), client

    def _chunk(self, places: Ints, clients: pa.Array, of_txn: Ints) -> Columns:
        everything = self._all
        turn, within = places // everything.width, places % everything.width
        what = within // everything.producers
        late = what >= POLL
        pair = within - POLL * everything.producers
        producer = np.where(late, pair // 2, within % everything.producers)
        what = np.where(late, POLL + pair % 2, what)
        consumer = within - (END + 1) * everything.producers
        consumes = consumer >= 0
        txn = np.where(consumes, 0, turn * everything.producers + producer)
        columns = Columns.blank(places.size, clients)
        columns.errors = _ERRORS
        first = len(clients) - 1 - self.parameters.consumers
        columns.client[:] = columns.process[:] = np.where(consumes, first + consumer, of_txn[txn])
        fs = np.full(END + 1, F["send"])
        fs[[INIT, ASSIGN, BEGIN, POLL, END]] = [F[name] for name in ("init", "assign", "begin", "poll", "end")]
        columns.f[:] = np.where(consumes, F["poll"], fs[np.where(consumes, POLL, what)])
        start_ns, step_ns = everything.start_ns(places), everything.step_ns(places)
        columns.start_ns[:], columns.end_ns[:] = start_ns, start_ns + step_ns // 2
        inside = ~consumes & (what >= BEGIN)
        columns.txn = np.where(inside, self._op[everything.grid(txn, BEGIN)], NONE)
        sends = np.flatnonzero(~consumes & (what >= SEND) & (what < POLL))
        columns.end_ns[sends] = everything.start_ns(everything.grid(txn[sends], END)) - step_ns[sends] // 4
        self._fail(columns, places[sends], sends)
        ends = np.flatnonzero(~consumes & (what == END))
        self._end(columns, ends, txn[ends], places[ends])
        return columns

    def _fail(self, columns: Columns, places: Ints, at: Ints) -> None:
        """Mark the sends as failed whose failure aborted their transaction."""
        if not hasattr(self, "_failed"):
            messages = self._all.messages
            own = np.flatnonzero(self._failed_sends(np.arange(messages.txn.size)))
            self._failed = np.sort(self._all.grid(messages.txn[own], SEND + messages.nth[own]))
        failed = at[np.isin(places, self._failed, assume_unique=True)]
        columns.outcome[failed], columns.error[failed] = FAIL, _ERRORS.index("_PURGE_QUEUE")

    def _end(self, columns: Columns, at: Ints, txn: Ints, places: Ints) -> None:
        everything = self._all
        ended = everything.ended[txn]
        latency_ns = _LATENCY.draw((txn * 7919) % 2**_LATENCY.bits) * everything.slower[places // everything.width]
        columns.end_ns[at] = columns.start_ns[at] + np.minimum(latency_ns, everything.rest_ns(places))
        unknown = ended == UNKNOWN
        columns.outcome[at] = np.where(ended == ABORTED, FAIL, np.where(unknown, INFO, 0))
        columns.error[at] = np.where(ended == ABORTED, 0, np.where(unknown, 1, NONE))
        columns.end_ns[at[unknown & (txn % 2 == 0)]] = NONE
