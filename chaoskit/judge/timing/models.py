"""The data models of a recorded run."""

from __future__ import annotations

from chaoskit.base.errors import BadInput
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.contract.workloads.datamodel import DataModel, model_named
from chaoskit.history.reading.reader import History


def model_of(history: History, topic: str) -> DataModel:
    """Return the data model of a topic.

    Raises:
        BadInput: the history names one that does not exist.
    """
    try:
        return model_named(history.models[topic])
    except BadInput as error:
        raise BadInput(f"{history.folder / 'operations.parquet'}: topic {topic}: {error}") from error


def unguarded(history: History) -> tuple[str, ...]:
    """Return why a loss may go unnoticed: the data models of the run of which no installed checker finds losses."""
    known = installed.anomalies()
    guarded = {model for name in installed.gone(Gone.LOST, Gone.VANISHED) for model in known[name].models}
    models = {model_of(history, topic) for topic in history.models} - guarded
    return tuple(
        f"no installed checker finds lost messages of the data model {name}" for name in sorted(map(str, models))
    )
