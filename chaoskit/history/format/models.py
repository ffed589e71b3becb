"""The data model of each topic. It determines which checkers apply, and how the final read works."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from chaoskit.base import durable
from chaoskit.base.reading import reading, shaped

_FILE = "topics.json"


class DataModel(StrEnum):
    """What a system stores under a topic's name.

    `log`: messages at positions, kept until they expire; the system reports the end of each partition.
    `ledger`: a single-writer log that any client may close, after which it never changes.
    `queue`: a message is deleted once it is settled; the final read drains what is left.
    `pubsub`: nothing is stored; only connected consumers receive a message.
    """

    LOG = "log"
    LEDGER = "ledger"
    QUEUE = "queue"
    PUBSUB = "pubsub"


def write_topics(folder: Path, models: Mapping[str, DataModel]) -> None:
    """Record the models of a run's topics, durably, before its clients start.

    Args:
        folder: the run's `wal` folder, which must exist.
        models: the model of each topic, by name.
    """
    durable.write(folder / _FILE, json.dumps(models).encode())


def read_topics(folder: Path) -> dict[str, DataModel]:
    """Return the models of a run's topics; empty for a run that ended before it had any.

    Raises:
        BadInput: the file is damaged.
    """
    path = folder / _FILE
    if not path.exists():
        return {}
    with reading(path, "Without it the models of the topics are unknown; run the scenario again"):
        return parse_topics(path.read_bytes())


def parse_topics(content: bytes) -> dict[str, DataModel]:
    """Return the models of topics from their JSON.

    Raises:
        ValueError: it is not JSON, or names an unknown model.
    """
    models: dict[str, DataModel] = shaped(json.loads(content), dict[str, DataModel])
    return models
