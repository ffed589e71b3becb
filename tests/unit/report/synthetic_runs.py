"""Judged synthetic runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from generated import generated

from chaoskit.judge.verdict.check import check_run

LONG = "a-scenario-with-a-rather-long-name-<b>"


def make_run(store: Path, scenario: str, number: int = 0, **given: Any) -> Path:
    """Make a synthetic run and judge it; `number` is its order in time."""
    folder = store / scenario / f"20260101T0000{number:02}-aaaaaa"
    generated(folder, **{"seed": number, **given})
    check_run(folder)
    return folder
