"""Queues of a simulated system, one after the other in memory: about 1 KB per message.

Consumers consume all queues, each with a prefetch in each of them; some of what they get they return, reject or leave
unsettled, and some of them crash in the first part of the run. One more consumer gets the dead letters. When all have
closed, the final read drains every queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.base.errors import BadInput
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.model.audit import Audit, Drained
from chaoskit.model.operation import AUDITOR
from chaoskit.model.place import Place
from chaoskit.model.tables import FAULTS
from chaoskit.testing.synthetic.layout import ORIGIN_NS, shares
from chaoskit.testing.synthetic.operations import CHUNK_OPERATIONS, Columns, F
from chaoskit.testing.synthetic.parameters import Parameters
from chaoskit.testing.synthetic.queue_broker import MS, TICK_NS
from chaoskit.testing.synthetic.queue_causes import QUEUE_CAUSES, SETTINGS
from chaoskit.testing.synthetic.queue_run import QueueRun
from chaoskit.testing.synthetic.randomness import Ints
from chaoskit.testing.synthetic.rows import NONE
from chaoskit.testing.synthetic.sends import OK

_COPIES = 2
"""Rows per message: sent and received. Returns and dead letters add some."""

_MESSAGES_MIN = 600
"""A queue in which a cause is injected needs so many messages: the cause is judged by what happens around it."""

_SPAN_NS = 60_000 * MS
_CRASHES_END = 0.4
_SETTLE_NS = 5_000 * MS


class QueueSimulation:
    """A history of queues; see `simulation.Simulation`.

    Attributes:
        clients: names of all clients; their places are the numbers of their processes.
        crashes: consumer and time of each crash, in order of time.
        end_ns: when consumers close.
    """

    model = QUEUE

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.faults: Any = FAULTS.empty_table()
        self.clients = [f"producer-{index}" for index in range(parameters.producers)]
        self.clients += [f"consumer-{index}" for index in range(parameters.consumers + 1)] + [AUDITOR]
        self._operations: list[tuple[int, int, int, int, int]] = []
        sizes = np.round(parameters.messages / _COPIES * shares(parameters)).astype(int)
        self.span_ns: int = max(_SPAN_NS, int(sizes.sum()) * 1_000_000_000 // parameters.rate)
        self.end_ns: int = ORIGIN_NS + -(-self.span_ns // TICK_NS) * TICK_NS
        self.audit_ns: int = self.end_ns + _SETTLE_NS
        self.crashes: list[tuple[int, int]] = self._crash()
        self.declare_op: int = self.operate("declare", 0, 0, MS)
        self.audit_op: int = self.operate("audit", len(self.clients) - 1, self.audit_ns, _SETTLE_NS)
        self.operate("subscribe", len(self.clients) - 1, self.audit_ns + MS, MS)
        self._join_and_leave()
        causes = self._choose(sizes)
        kinds = list(SETTINGS)
        runs = []
        for number, size in enumerate(sizes.tolist()):
            cause = causes.get(number)
            kind = QUEUE_CAUSES[cause].kind if cause else kinds[number % len(kinds)]
            runs.append(QueueRun(self, number, size, kind, cause))
            runs[-1].play()
        self._sort()
        tables = [rows for run in runs for rows in run.rows]
        self._messages = [(rows.place, rows.message_table(self._rank)) for rows in tables]
        self.observations = {rows.place: [rows.observation_table(self._rank)] for rows in tables}
        self.audits: dict[Place, Audit] = {rows.place: Drained(complete=True) for rows in tables}
        self.truth: list[dict[str, Any]] = [row for run in runs for row in run.truth]
        self.rows: int = sum(table.num_rows for _, table in self._messages)

    def partitions(self) -> Iterator[tuple[Place, int, Iterator[pa.Table]]]:
        """Yield place, number of rows and tables of each queue."""
        for place, table in self._messages:
            yield place, table.num_rows, iter([table])

    def operations(self) -> Iterator[pa.Table]:
        """Yield all operations in their order."""
        for at in range(0, self._table.num_rows, CHUNK_OPERATIONS):
            yield self._table.slice(at, CHUNK_OPERATIONS)

    def operate(self, f: str, client: int, start_ns: int, lasts_ns: int, outcome: int = OK) -> int:
        """Add an operation; return its number before sorting."""
        self._operations.append((F[f], client, start_ns, start_ns + lasts_ns, outcome))
        return len(self._operations) - 1

    def consumer(self, number: int) -> int:
        """Return the client of a consumer; the last one gets the dead letters."""
        return self.parameters.producers + number

    def _sort(self) -> None:
        f, client, start_ns, end_ns, outcome = np.array(self._operations, np.int64).T
        order = np.argsort(start_ns, kind="stable")
        self._rank: Ints = np.empty(order.size, np.int64)
        self._rank[order] = np.arange(order.size)
        columns = Columns.blank(order.size, self.clients)
        columns.f, columns.client, columns.process = f[order], client[order], client[order].astype(np.int32)
        columns.start_ns, columns.end_ns, columns.outcome = start_ns[order], end_ns[order], outcome[order]
        columns.error = np.where(columns.outcome == OK, NONE, columns.outcome - 1)
        self._table = columns.table(0)

    def _crash(self) -> list[tuple[int, int]]:
        rng = np.random.default_rng([self.parameters.seed, 6])
        ticks = int(self.span_ns * _CRASHES_END) // TICK_NS
        count = min(self.parameters.crashes, ticks // 2)
        at = np.sort(rng.permutation(np.arange(1, ticks))[:count])
        consumers = rng.integers(self.parameters.consumers, size=count)
        return list(zip(consumers.tolist(), (ORIGIN_NS + at * TICK_NS).tolist(), strict=True))

    def _join_and_leave(self) -> None:
        for number in range(self.parameters.consumers + 1):
            self.operate("subscribe", self.consumer(number), ORIGIN_NS // 2, MS)
            self.operate("close", self.consumer(number), self.end_ns + 100 * MS, MS)
        for number, at_ns in self.crashes:
            self.operate("crash", self.consumer(number), at_ns + MS, MS // 2)
            self.operate("subscribe", self.consumer(number), at_ns + 2 * MS, MS // 2)

    def _choose(self, sizes: Ints) -> dict[int, str]:
        rng = np.random.default_rng([self.parameters.seed, 7])
        roomy = rng.permutation(np.flatnonzero(sizes >= _MESSAGES_MIN)).tolist()
        chosen: dict[int, str] = {}
        for cause in QUEUE_CAUSES:
            for _ in range(self.parameters.inject.get(cause, 0)):
                if cause == "second-active" and self.parameters.consumers < 2:
                    raise BadInput(f"--inject {cause}: needs --consumers 2 or more")
                if not roomy:
                    raise BadInput(
                        f"--inject {cause}: each injection needs its own queue with at least {_MESSAGES_MIN} messages; "
                        "inject fewer, or use more --messages or --partitions"
                    )
                chosen[roomy.pop()] = cause
        return chosen
