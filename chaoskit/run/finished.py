"""Runs of a store that reached their end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.judge.verdict.verdict_file import read_verdict
from chaoskit.run.interruption import INTERRUPTED


def finished_runs(store_folder: Path, scenario: str) -> Iterator[tuple[Path, Any, Any]]:
    """Yield folder, resolved scenario and verdict of each run that has a verdict and was not interrupted; oldest first.

    Args:
        store_folder: the store.
        scenario: the scenario's name.
    """
    for path in sorted((store_folder / scenario).glob(f"*/{store.VERDICT}")):
        folder = path.parent
        content, verdict = store.read_yaml(folder / store.SCENARIO), read_verdict(folder)
        if INTERRUPTED not in verdict["reasons"]:
            yield folder, content, verdict
