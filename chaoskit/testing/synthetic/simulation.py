"""A complete simulated history: its streams in the order in which they must be written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.model.audit import Audit
from chaoskit.model.place import Place
from chaoskit.model.tables import FAULTS
from chaoskit.testing.synthetic.consumption import Consumption
from chaoskit.testing.synthetic.edits import Edits
from chaoskit.testing.synthetic.injection import plan_edits
from chaoskit.testing.synthetic.layout import Layout
from chaoskit.testing.synthetic.operations import OperationStream, audit_polls
from chaoskit.testing.synthetic.parameters import Parameters
from chaoskit.testing.synthetic.partition import AUDIT_POLL_NS, PartitionStream
from chaoskit.testing.synthetic.sends import SyntheticSender


class Simulation:
    """A history of mode `log` or `group`.

    Exhaust all of `partitions` before reading `operations`, `observations`, `audits` and `truth`.
    """

    model = LOG

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.layout = Layout(parameters)
        self._consumption = Consumption(self.layout)
        self._edits: Edits = plan_edits(self.layout, self._consumption)
        self._sender = SyntheticSender(self.layout, tuple(self._edits.stalls))
        for index, mark in self._edits.marks:
            self._consumption.marks[index].append(mark)
        self._operations = OperationStream(self._sender, self._consumption, self._edits)
        self._audited: list[tuple[int, bool]] = []
        self.audits: dict[Place, Audit] = {}
        self.observations: dict[Place, list[pa.Table]] = {}

    @property
    def rows(self) -> int:
        """Approximate number of messages."""
        return sum(
            PartitionStream(index, self._sender, self._consumption, self._edits).rows
            for index in range(self.parameters.places)
        )

    def partitions(self) -> Iterator[tuple[Place, int, Iterator[pa.Table]]]:
        """Yield for each partition its place, approximate number of rows, and messages by `op`."""
        op, time_ns = self._operations.audit_poll, self._operations.audit_poll_ns
        for index in range(self.parameters.places):
            stream = PartitionStream(index, self._sender, self._consumption, self._edits)
            place = self.parameters.place(index)
            yield place, stream.rows, stream.tables(op, time_ns)
            polls = audit_polls(stream.audited, self.parameters.batch)
            op, time_ns = op + polls, time_ns + polls * AUDIT_POLL_NS
            self.audits[place] = stream.audit
            self.observations[place] = stream.observations
            self._audited.append((stream.audited, stream.audit.complete))

    def operations(self) -> Iterator[pa.Table]:
        """Yield all operations, in order."""
        return self._operations.tables(self._audited)

    @property
    def faults(self) -> pa.Table:
        """The faults, schema FAULTS."""
        return pa.Table.from_pylist([fault.row(number) for number, fault in enumerate(self.layout.faults)], FAULTS)

    @property
    def truth(self) -> list[dict[str, Any]]:
        """What must be found: rows of schema `truth.TRUTH`."""
        rows = []
        for given in self._edits.truth:
            row = dict(given)
            index, at = row.pop("index", None), row.pop("at", None)
            if index is not None:
                row["topic"], row["partition"] = self.parameters.place(index)
                if at is not None:
                    row["position"] = self._edits.of(index).found.get(at)
            rows.append(row)
        return rows
