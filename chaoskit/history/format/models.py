"""The data model of each topic, by its name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from chaoskit.base import durable
from chaoskit.base.reading import reading, shaped

_FILE = "topics.json"


def write_topics(folder: Path, models: Mapping[str, str]) -> None:
    """Record the models of a run's topics, durably, before its clients start.

    Args:
        folder: the run's `wal` folder, which must exist.
        models: the name of the model of each topic, by the topic's name.
    """
    durable.write(folder / _FILE, json.dumps(models).encode())


def read_topics(folder: Path) -> dict[str, str]:
    """Return the models of a run's topics; empty for a run that ended before it had any.

    Raises:
        BadInput: the file is damaged.
    """
    path = folder / _FILE
    if not path.exists():
        return {}
    with reading(path, "Without it the models of the topics are unknown; run the scenario again"):
        return parse_topics(path.read_bytes())


def parse_topics(content: bytes) -> dict[str, str]:
    """Return the models of topics from their JSON.

    Raises:
        ValueError: it is something else.
    """
    models: dict[str, str] = shaped(json.loads(content), dict[str, str])
    return models
