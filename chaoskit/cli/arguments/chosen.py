"""Which run is meant where a store, or a scenario's folder in it, may stand for its newest one."""

from __future__ import annotations

from pathlib import Path

from chaoskit.base.store import SCENARIO, find_run, run_name
from chaoskit.cli.output.saying import complain


def chosen(given: Path) -> Path:
    """Return the run folder that is meant; of several, say which one it is.

    Raises:
        BadInput: there is none.
    """
    folder = find_run(given)
    if folder == given.resolve():
        return folder
    runs = [path.parent for pattern in (f"*/{SCENARIO}", f"*/*/{SCENARIO}") for path in given.glob(pattern)]
    count = sum(not run.is_symlink() and not run.parent.is_symlink() for run in runs)
    if count > 1:
        complain(f"{given} has {count:,} runs; the newest one is {run_name(folder)}")
    return folder
