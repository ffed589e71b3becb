"""Runs of a bench that are in a store already."""

from __future__ import annotations

from pathlib import Path

from chaoskit.run.finished import finished_runs
from chaoskit.scenario.plan import Plan


def stored_run(plan: Plan, store_folder: Path) -> Path | None:
    """Return the folder of the newest run that did the same to its end, whatever its seed; None if there is none."""
    same = plan.resolved() | {"seed": None}
    runs = finished_runs(store_folder, plan.scenario.name)
    return max((folder for folder, content, _ in runs if content | {"seed": None} == same), default=None)
