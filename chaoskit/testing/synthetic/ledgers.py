"""Ledgers of a simulated system, one after the other in memory: about 200 bytes per entry.

Each producer fills its ledgers one after the other. Every second ledger is recovered near its end, and later adds are
rejected; the others are closed by their writers. A reader tails each ledger, and the final read recovers and reads each
one twice. Only the choice of ledgers for injections is random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.base.errors import BadInput
from chaoskit.contract.workloads.datamodel import LEDGER
from chaoskit.model.audit import Audit, Bounds
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.observations.row import KINDS
from chaoskit.model.operation import AUDITOR
from chaoskit.model.place import Place
from chaoskit.model.tables import FAULTS
from chaoskit.testing.synthetic.layout import ORIGIN_NS, shares
from chaoskit.testing.synthetic.operations import CHUNK_OPERATIONS, Columns, F
from chaoskit.testing.synthetic.parameters import Parameters
from chaoskit.testing.synthetic.randomness import Ints
from chaoskit.testing.synthetic.rows import NONE, RECEIVED, SENT, Observed, RowArrays, message_table, observation_table
from chaoskit.testing.synthetic.sends import INFO, OK

TOPIC = "ledger"
_COPIES = 4
"""Rows per entry: added, tailed, and read twice at the end."""

_FENCED = 3
"""Number of adds that a writer starts before it learns that its ledger was recovered."""

_ENTRIES_MIN = 8
_STEP_NS = 1_000_000
_CONFIRMED, _ENDED = KINDS.index("confirmed"), KINDS.index("ended")


@dataclass(frozen=True, slots=True)
class LedgerCause:
    """A cause that is injected into a separate ledger; see `causes.Cause`."""

    words: str
    modes: tuple[str, ...] = ("ledgers",)


LEDGER_CAUSES = {
    "ignored-fence": LedgerCause("storage nodes accept an add after a recovery: fencing-violation, lost-entry"),
    "short-recovery": LedgerCause("a ledger is closed below acknowledged entries: lost-entry"),
    "two-ends": LedgerCause("the clients of the final read see different ends: readers-disagree"),
    "told-less": LedgerCause("a reader sees a lower last add confirmed than before: lac-regression"),
    "swapped-entries": LedgerCause("a client reads two entries in swapped order: entry-conflict"),
}


class LedgerSimulation:
    """A history of ledgers; see `simulation.Simulation`."""

    model = LEDGER

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.audits: dict[Place, Audit] = {}
        self.faults: Any = FAULTS.empty_table()
        self.truth: list[dict[str, Any]] = []
        self._clients = [f"producer-{index}" for index in range(parameters.producers)]
        self._clients += [f"consumer-{index}" for index in range(parameters.consumers)] + ["recoverer-0", AUDITOR]
        self._operations: list[tuple[int, int, Ints, Ints, int]] = []
        self._count = 0
        sizes = np.round(parameters.messages / _COPIES * shares(parameters)).astype(int)
        self._causes = self._choose(sizes)
        free_ns = np.full(parameters.producers, ORIGIN_NS)
        ledgers = []
        for number, size in enumerate(sizes.tolist()):
            ledger = _Ledger(self, number, size, int(free_ns[number % parameters.producers]))
            free_ns[number % parameters.producers] = ledger.over_ns
            ledgers.append(ledger)
        at_ns = int(free_ns.max())
        for ledger in ledgers:
            at_ns = ledger.audit(at_ns)
        starts = np.concatenate([start for _, _, start, _, _ in self._operations])
        self._order = np.argsort(starts, kind="stable")
        rank = np.empty(starts.size, np.int64)
        rank[self._order] = np.arange(starts.size)
        self._ledgers = [(ledger.place, ledger.rows(rank)) for ledger in ledgers]
        self.observations = {ledger.place: [ledger.observations(rank)] for ledger in ledgers}
        self.truth = [row for ledger in ledgers for row in ledger.truth]
        self.rows: int = sum(rows.op.size for _, rows in self._ledgers)

    def partitions(self) -> Iterator[tuple[tuple[str, int], int, Iterator[pa.Table]]]:
        """Yield place, number of rows and tables of each ledger."""
        for place, rows in self._ledgers:
            yield place, rows.op.size, iter([message_table(rows, place)])

    def operations(self) -> Iterator[pa.Table]:
        """Yield all operations in their order."""
        columns = Columns.blank(self._count, self._clients)
        columns.errors = ["LedgerFencedException"]
        first = 0
        for f, client, start_ns, end_ns, outcome in self._operations:
            own = slice(first, first + start_ns.size)
            columns.f[own], columns.client[own], columns.process[own] = f, client, client
            columns.start_ns[own], columns.end_ns[own], columns.outcome[own] = start_ns, end_ns, outcome
            columns.error[own] = NONE if outcome == OK else 0
            first += start_ns.size
        for name in ("f", "client", "process", "start_ns", "end_ns", "outcome", "error"):
            setattr(columns, name, getattr(columns, name)[self._order])
        table = columns.table(0)
        for at in range(0, table.num_rows, CHUNK_OPERATIONS):
            yield table.slice(at, CHUNK_OPERATIONS)

    def operate(self, f: str, client: int, start_ns: Ints, last_ns: int, outcome: int = OK) -> Ints:
        """Add operations of one kind by one client; return their numbers before sorting."""
        numbers = np.arange(self._count, self._count + start_ns.size)
        self._count += start_ns.size
        self._operations.append((F[f], client, start_ns, start_ns + last_ns, outcome))
        return numbers

    def cause_of(self, ledger: int) -> str | None:
        """Return the cause injected into a ledger."""
        return self._causes.get(ledger)

    def _choose(self, sizes: Ints) -> dict[int, str]:
        rng = np.random.default_rng([self.parameters.seed, 5])
        roomy = rng.permutation(np.flatnonzero(sizes >= _ENTRIES_MIN)).tolist()
        chosen: dict[int, str] = {}
        for cause in LEDGER_CAUSES:
            for _ in range(self.parameters.inject.get(cause, 0)):
                if not roomy:
                    raise BadInput(
                        f"--inject {cause}: each injection needs its own ledger with at least {_ENTRIES_MIN} entries; "
                        "inject fewer, or use more --messages or --partitions"
                    )
                chosen[roomy.pop()] = cause
        return chosen


class _Ledger:
    """One ledger and the operations of its clients."""

    def __init__(self, run: LedgerSimulation, number: int, size: int, begin_ns: int) -> None:
        parameters = run.parameters
        self.place = TOPIC, number
        self.truth: list[dict[str, Any]] = []
        self._run = run
        self._parts: list[RowArrays] = []
        self._stands: list[tuple[int, int, int]] = []
        self._cause = run.cause_of(number)
        self._writer, self._reader = number % parameters.producers, parameters.producers + number % parameters.consumers
        self._interval_ns = max(10, parameters.producers * 1_000_000_000 // parameters.rate)
        fenced = min(_FENCED, size) if number % 2 or self._cause == "ignored-fence" else 0
        self._acked = size - fenced
        self._value = (self._writer << PRODUCER_SHIFT) + (number // parameters.producers << 20) + np.arange(size)
        self._end = self._acked - (2 if self._cause == "short-recovery" else 0)
        first_ns = begin_ns + 2 * _STEP_NS
        self._add_ns = first_ns + np.arange(size) * self._interval_ns
        self._stand("create", self._writer, begin_ns, _CONFIRMED, 0)
        self._stand("open", self._reader, begin_ns + _STEP_NS, _CONFIRMED, 0)
        self._added(0, self._acked, OK)
        middle = self._acked // 2
        middle_ns = first_ns + middle * self._interval_ns
        self._tail(0, middle, middle_ns)
        ended_ns = first_ns + self._acked * self._interval_ns
        ending = ("recover", len(run._clients) - 2) if fenced else ("close", self._writer)
        self._stand(*ending, ended_ns - self._interval_ns // 4, _ENDED, self._end)
        self._refused(self._acked, size)
        self.over_ns = ended_ns + (fenced + 1) * self._interval_ns + _STEP_NS
        if self._cause == "told-less":
            op = self._stand("lac", self._reader, middle_ns + self._interval_ns // 2, _CONFIRMED, middle - 1)
            self._expect("lac-regression", op=op, position=middle - 1)
        self._stand("lac", self._reader, self.over_ns, _ENDED, self._end)
        self._tail(middle, self._end, self.over_ns + self._interval_ns, confirmed=True)
        self.over_ns += 2 * self._interval_ns + _STEP_NS

    def audit(self, at_ns: int) -> int:
        """Read the ledger twice in the final read; return when it is done."""
        auditor = len(self._run._clients) - 1
        for client in range(2):
            other = self._cause == "two-ends" and client == 1
            op = self._stand("recover", auditor, at_ns, _ENDED, self._end + other)
            if other:
                self._expect("readers-disagree", op=op, position=self._end + 1)
            entries = np.arange(self._end)
            if self._cause == "swapped-entries" and client == 1:
                entries[[2, 3]] = entries[[3, 2]]
                self._expect("entry-conflict", position=2, value=int(self._value[3]))
            batch = self._run.parameters.batch
            starts = at_ns + _STEP_NS * (1 + np.arange(-(-self._end // batch)))
            reads = self._run.operate("read", auditor, starts, _STEP_NS // 2)
            self._receive(reads[np.arange(self._end) // batch], entries, np.arange(self._end), starts)
            at_ns += _STEP_NS * (2 + starts.size)
        self._run.audits[self.place] = Bounds(0, self._end, complete=True)
        return at_ns

    def rows(self, rank: Ints) -> RowArrays:
        """Return all rows, in the order of their operations."""
        rows = RowArrays.joined(self._parts)
        rows.op = rank[rows.op]
        for row in self.truth:
            if row["op"] is not None:
                row["op"] = int(rank[row["op"]])
        return rows.by_op()

    def observations(self, rank: Ints) -> pa.Table:
        """Return the states of the ledger that were reported to readers and writers."""
        op, kind, position = np.array(self._stands, np.int64).T
        return observation_table(Observed(rank[op], kind, np.full(op.size, NONE), position), self.place, None)

    def _added(self, first: int, last: int, outcome: int) -> None:
        ops = self._run.operate("add", self._writer, self._add_ns[first:last], self._interval_ns // 2, outcome)
        rows = RowArrays.blank(last - first, SENT)
        rows.op, rows.value = ops, self._value[first:last]
        rows.position = np.arange(first, last) if outcome == OK else np.full(last - first, NONE)
        rows.intended_ns = rows.sent_ns = self._add_ns[first:last]
        self._parts.append(rows)

    def _refused(self, first: int, last: int) -> None:
        """Reject adds because the ledger was recovered; if the fence is ignored, the first of them is accepted."""
        if self._cause == "ignored-fence":
            self._added(first, first + 1, OK)
            self._expect("fencing-violation", value=int(self._value[first]), position=first)
            self._expect("lost-entry", value=int(self._value[first]), position=first)
            first += 1
        if self._cause == "short-recovery":
            for entry in range(self._end, self._acked):
                self._expect("lost-entry", value=int(self._value[entry]), position=entry)
        self._added(first, last, INFO)

    def _tail(self, first: int, last: int, at_ns: int, *, confirmed: bool = False) -> None:
        if not confirmed:
            self._stand("lac", self._reader, at_ns, _CONFIRMED, last)
        start = np.array([at_ns + self._interval_ns // 4])
        op = self._run.operate("read", self._reader, start, self._interval_ns // 8)
        entries = np.arange(first, last)
        self._receive(np.repeat(op, entries.size), entries, entries, start)

    def _receive(self, ops: Ints, entries: Ints, positions: Ints, starts: Ints) -> None:
        rows = RowArrays.blank(entries.size, RECEIVED)
        rows.op, rows.value, rows.position = ops, self._value[entries], positions
        rows.intended_ns = rows.sent_ns = self._add_ns[entries]
        if entries.size:
            rows.received_ns = starts[ops - ops[0]] + 1
        self._parts.append(rows)

    def _stand(self, f: str, client: int, at_ns: int, kind: int, position: int) -> int:
        op = int(self._run.operate(f, client, np.array([at_ns]), self._interval_ns // 8)[0])
        self._stands.append((op, kind, position))
        return op

    def _expect(self, anomaly: str, **known: int) -> None:
        row = {"anomaly": anomaly, "topic": TOPIC, "partition": self.place[1], "cause": self._cause}
        self.truth.append({**row, **{name: known.get(name) for name in ("value", "position", "op")}})
