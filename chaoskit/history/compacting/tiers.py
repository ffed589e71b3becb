"""Up to which position partitions were in an object store, as the run went on: tiers.jsonl of a run.

Times are CLOCK_MONOTONIC ns since the start of the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from chaoskit.base.reading import reading
from chaoskit.history.format.segment import room_in
from chaoskit.model.place import Place

_FILE = "tiers.jsonl"


class Tiered(NamedTuple):
    """A look at a partition: when, and up to which position it was in the object store, exclusive."""

    at_ns: int
    until: int


class TierLog:
    """Writes looks to tiers.jsonl; the file is made with the first one.

    Args:
        folder: the run's folder, which must exist.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE

    def record(self, at_ns: int, until: Mapping[Place, int]) -> None:
        """Record a look at some partitions.

        Raises:
            HistoryFull: there is no space for it.
        """
        rows = [
            {"at_ns": at_ns, "topic": topic, "partition": number, "until": end}
            for (topic, number), end in until.items()
        ]
        if rows:
            with room_in(self._path.parent), self._path.open("ab") as file:
                file.write(b"".join(json.dumps(row).encode() + b"\n" for row in rows))


def read_tiers(run_folder: Path) -> dict[Place, list[Tiered]]:
    """Return the looks at each partition, in order of time; a torn last line is skipped.

    Raises:
        BadInput: the file is damaged.
    """
    path, looks = run_folder / _FILE, dict[Place, list[Tiered]]()
    if path.exists():
        with reading(path):
            for row in map(json.loads, path.read_bytes().split(b"\n")[:-1]):
                looks.setdefault((row["topic"], row["partition"]), []).append(Tiered(row["at_ns"], row["until"]))
    return looks
