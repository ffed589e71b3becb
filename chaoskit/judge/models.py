"""The data models of a recorded run."""

from __future__ import annotations

from chaoskit.base.errors import BadInput
from chaoskit.contract.datamodel import DataModel, model_named
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
