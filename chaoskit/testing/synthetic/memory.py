"""A synthetic history in memory, for tests and small studies."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from chaoskit.contract.checkers.checker import FaultWindow, Part, PartitionSetting
from chaoskit.model.tables import MESSAGES, OBSERVATIONS, OPERATIONS
from chaoskit.testing.synthetic.folder import simulate
from chaoskit.testing.synthetic.parameters import Parameters
from chaoskit.testing.synthetic.truth import truth_table


@dataclass(frozen=True, slots=True)
class Generated:
    """A history.

    Attributes:
        parts: the partitions with messages, each with all operations.
        operations: operations of the run, schema OPERATIONS.
        faults: faults, schema FAULTS.
        truth: what must be found, schema TRUTH.
    """

    parts: list[Part]
    operations: pa.Table
    faults: pa.Table
    truth: pa.Table


def generate(parameters: Parameters) -> Generated:
    """Return a history, which must fit into memory: about 100 bytes per row."""
    simulation = simulate(parameters)
    messages = [(place, _joined(list(tables), MESSAGES)) for place, _, tables in simulation.partitions()]
    windows = tuple(
        FaultWindow(row["fault"], row["kind"], row["start_ns"], row["effective_ns"], row["healed_ns"])
        for row in simulation.faults.to_pylist()
    )
    operations = _joined(list(simulation.operations()), OPERATIONS)
    parts = [
        Part(
            PartitionSetting(*place, simulation.model, simulation.audits[place], windows),
            table,
            operations,
            _joined(simulation.observations.get(place, []), OBSERVATIONS),
        )
        for place, table in messages
        if table.num_rows
    ]
    return Generated(parts, operations, simulation.faults, truth_table(simulation.truth))


def _joined(tables: list[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *tables]).unify_dictionaries().combine_chunks()
