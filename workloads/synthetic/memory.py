"""A synthetic history in memory, for tests and small studies."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from chaoskit.contract.checker import Context, FaultWindow
from chaoskit.contract.workload import AUDITOR
from chaoskit.history.schema import MESSAGES, OPERATIONS
from workloads.synthetic.folder import simulate
from workloads.synthetic.parameters import Parameters
from workloads.synthetic.truth import truth_table


@dataclass(frozen=True, slots=True)
class Generated:
    """A history.

    Attributes:
        partitions: the context and the messages (schema MESSAGES) of each partition that has any.
        operations: of the run, schema OPERATIONS.
        faults: schema FAULTS.
        truth: what must be found, schema TRUTH.
    """

    partitions: list[tuple[Context, pa.Table]]
    operations: pa.Table
    faults: pa.Table
    truth: pa.Table


def generate(parameters: Parameters) -> Generated:
    """Return a history; its size must fit into memory, some 100 bytes a row."""
    simulation = simulate(parameters)
    messages = [(place, _joined(list(tables), MESSAGES)) for place, _, tables in simulation.partitions()]
    windows = tuple(
        FaultWindow(row["fault"], row["kind"], row["start_ns"], row["effective_ns"], row["healed_ns"])
        for row in simulation.faults.to_pylist()
    )
    operations = _joined(list(simulation.operations()), OPERATIONS)
    partitions = [
        (Context(place[0], place[1], simulation.audits[place], AUDITOR, windows), table)
        for place, table in messages
        if table.num_rows
    ]
    return Generated(partitions, operations, simulation.faults, truth_table(simulation.truth))


def _joined(tables: list[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *tables]).unify_dictionaries().combine_chunks()
