"""Anomalies: what may go wrong with a message, by the names that verdict.json and findings.parquet use."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from chaoskit.history.models import DataModel


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly. It stands beside the function that finds its cases.

    Attributes:
        name: fixed.
        meaning: what went wrong, in one sentence.
        models: of topics in which it can happen.
        implies: the anomalies that the same cause shows, too: what allows this one allows them.
        measured: it is a measurement, about which no system promises anything: allowed unless a scenario's `expect`
            says otherwise.
    """

    name: str
    meaning: str
    models: Collection[DataModel]
    implies: tuple[str, ...] = ()
    measured: bool = False
