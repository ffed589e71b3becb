"""What kind of thing each topic of a history is: it decides which checkers judge it, and how it is read at the end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from chaoskit.base import durable
from chaoskit.base.errors import BadInput

_FILE = "topics.json"


class DataModel(StrEnum):
    """What a system keeps under a topic's name.

    `log`: messages at positions, kept until they expire; the system tells where each partition ends.
    `ledger`: a log of one writer, which anybody may end, and which then never changes.
    `queue`: a message is gone once it is settled; the final read drains what is left.
    `pubsub`: nothing is kept: who was not there does not get it.
    """

    LOG = "log"
    LEDGER = "ledger"
    QUEUE = "queue"
    PUBSUB = "pubsub"


def write_topics(folder: Path, models: Mapping[str, DataModel]) -> None:
    """Write down, durably, what the topics of a run are, before its clients begin.

    Args:
        folder: the run's `wal` folder, which exists.
        models: the model of each topic, by its name.
    """
    durable.write(folder / _FILE, json.dumps(models).encode())


def read_topics(folder: Path) -> dict[str, DataModel]:
    """Return what the topics of a run are; nothing for a run that ended before it had any.

    Raises:
        BadInput: the file is damaged.
    """
    path = folder / _FILE
    try:
        return parse_topics(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BadInput(
            f"{path} is damaged ({error}): nobody can tell what the topics were. Run the scenario again"
        ) from (error)


def parse_topics(content: bytes) -> dict[str, DataModel]:
    """Return the models of topics from their JSON.

    Raises:
        ValueError: it is none, or names a model that there is not.
    """
    return {topic: DataModel(model) for topic, model in json.loads(content).items()}
