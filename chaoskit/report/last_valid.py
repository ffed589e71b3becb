"""What differs between a run that is not valid and the last valid one of its scenario: most often, the cause."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.base.plain import one_line
from chaoskit.judge.subject.subject import DeclaredSettings
from chaoskit.judge.verdict.verdict import VALID
from chaoskit.judge.verdict.verdict_file import read_verdict
from chaoskit.report.compared import sorted_differences

_SHOWN = 4


class Since(NamedTuple):
    """What differs from the last valid run in words, and the command that compares both."""

    differs: str
    command: str


def since_last_valid(folder: Path, program: str) -> Since | None:
    """Return what differs from the last valid run of the scenario in the same store; None if no earlier run was valid.

    Args:
        folder: a run folder.
        program: the command that starts chaoskit.
    """
    here = folder.resolve()
    earlier = sorted(path for path in here.parent.glob(f"*/{store.VERDICT}") if path.parent.name < here.name)
    last = next((path.parent for path in reversed(earlier) if _is_valid(path.parent)), None)
    if last is None:
        return None
    try:
        before, now = (store.read_yaml(run_folder / store.SCENARIO, DeclaredSettings) for run_folder in (last, here))
    except BadInput:
        return None
    differs = sorted_differences(before, now)
    more = [f"and {len(differs) - _SHOWN} more"] if len(differs) > _SHOWN else []
    difference = "; ".join([*differs[:_SHOWN], *more]) or "nothing in the scenario but the seed"
    return Since(
        one_line(f"{last.name}, the last valid run, by {difference}"),
        shlex.join([program, "compare", str(last), str(here)]),
    )


def _is_valid(folder: Path) -> bool:
    try:
        return bool(read_verdict(folder)["verdict"] == VALID)
    except BadInput:
        return False
