"""Writes a synthetic history as a run folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from chaoskit.base import parquet, store
from chaoskit.history.compacting.dataset import ROW_GROUP_ROWS, PartitionsWriter, write_operations
from chaoskit.model.tables import MESSAGES, OBSERVATIONS
from chaoskit.testing.synthetic.injection import CAUSES, check_injections
from chaoskit.testing.synthetic.ledgers import LedgerSimulation
from chaoskit.testing.synthetic.parameters import Parameters, make_parameters
from chaoskit.testing.synthetic.queues import QueueSimulation
from chaoskit.testing.synthetic.simulation import Simulation
from chaoskit.testing.synthetic.transactional import TransactionSimulation
from chaoskit.testing.synthetic.truth import truth_table

Progress = Callable[[int, int], None]


class LogSynthesizer:
    """Entry point `log` of `chaoskit.synthesizers`: logs, consumer groups, transactions, ledgers, queues."""

    causes: Mapping[str, str] = {name: f"{cause.words} ({', '.join(cause.modes)})" for name, cause in CAUSES.items()}

    def parameters(self, given: dict[str, Any]) -> Parameters:
        """Validate parameters.

        Raises:
            BadInput: a parameter is unknown or out of range.
        """
        parameters = make_parameters(given)
        check_injections(parameters)
        return parameters

    def write(self, parameters: Parameters, name: str, folder: Path, progress: Progress) -> None:
        """Write a history into a new run folder.

        Args:
            parameters: parameters of the history.
            name: name of the scenario.
            folder: the run folder.
            progress: called with the number of rows written and the approximate total.
        """
        simulation = simulate(parameters)
        total, written = simulation.rows, 0

        def counted(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
            nonlocal written
            for table in tables:
                yield table
                written += table.num_rows
                progress(min(written, total), total)

        topics = {}
        with PartitionsWriter(folder / "messages.parquet", MESSAGES) as writer:
            for (topic, _), rows, tables in simulation.partitions():
                writer.write(rows, grouped(counted(tables)))
                topics[topic] = simulation.model.name
        with PartitionsWriter(folder / "observations.parquet", OBSERVATIONS) as writer:
            for observed in simulation.observations.values():
                writer.write(sum(table.num_rows for table in observed), grouped(iter(observed)))
        write_operations(folder / "operations.parquet", simulation.operations(), simulation.audits, topics)
        parquet.write(simulation.faults, folder / "faults.parquet")
        parquet.write(truth_table(simulation.truth), folder / "truth.parquet")
        store.write_yaml(folder / store.SCENARIO, scenario(parameters, name))


def simulate(parameters: Parameters) -> Simulation | TransactionSimulation | LedgerSimulation | QueueSimulation:
    """Return the history of these parameters, which is computed lazily.

    Raises:
        BadInput: there is no place for the requested injections.
    """
    check_injections(parameters)
    if parameters.mode == "transactions":
        return TransactionSimulation(parameters)
    if parameters.mode == "queue":
        return QueueSimulation(parameters)
    return LedgerSimulation(parameters) if parameters.mode == "ledgers" else Simulation(parameters)


def grouped(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Join small tables up to the size of a row group."""
    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        if waiting and rows + table.num_rows > ROW_GROUP_ROWS:
            yield _joined(waiting)
            waiting, rows = [], 0
        waiting.append(table)
        rows += table.num_rows
    if waiting:
        yield _joined(waiting)


def _joined(tables: list[pa.Table]) -> pa.Table:
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries()


def scenario(parameters: Parameters, name: str) -> dict[str, Any]:
    """Return the scenario.yaml of a synthetic history."""
    given = parameters.model_dump()
    return {
        "name": name,
        "seed": parameters.seed,
        "imported": {"from": "synthesize", **given},
        "cluster": {"system": "simulated", "version": "1", "hosts": 3, "config": {}},
        "workload": {
            "kind": {"ledgers": "ledger", "queue": "queue"}.get(parameters.mode, "log"),
            "topics": parameters.topics,
            "partitions": parameters.partitions,
            "producers": parameters.producers,
            "consumers": parameters.consumers,
            "consumption": "group" if parameters.mode == "group" else "assigned",
            "keys": parameters.keys,
            "rate": parameters.rate,
            "producer": {"acks": "all"},
        },
    }
