"""Anomalies: what can go wrong with a message, under the names used in verdict.json and findings.parquet."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from chaoskit.history.models import DataModel


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly, defined next to the function that detects it.

    Attributes:
        name: stable name.
        meaning: what went wrong, in one sentence.
        models: the topic models in which it can occur.
        implies: further anomalies with the same cause; a rule that allows this one allows them too.
        measured: it is a measurement, about which no system gives a guarantee. It is allowed unless the scenario's
            `expect` says otherwise.
    """

    name: str
    meaning: str
    models: Collection[DataModel]
    implies: tuple[str, ...] = ()
    measured: bool = False
