"""How clients of others name their messages: of a live cluster, `ids.jsonl` has the id of each value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.base.reading import reading

_REMEDY = "Remove it: findings then name messages by their numbers"


def with_ids(examples: Iterable[dict[str, Any]], folder: Path) -> Iterator[dict[str, Any]]:
    """Yield examples of findings with the ids of their messages, as far as there are any.

    Raises:
        BadInput: the file of the ids is damaged beyond a torn last line.
    """
    path, ids = folder / store.IDS, None
    for example in examples:
        if ids is None:
            ids = _ids(path)
        named = {f"{key}_id": ids[example[key]] for key in ("value", "other_value") if example.get(key) in ids}
        yield {**example, **named}


def _ids(path: Path) -> dict[int, str]:
    if not path.exists():
        return {}
    with reading(path, _REMEDY):
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        return {entry["value"]: str(entry["id"]) for entry in map(json.loads, lines)}
