"""Why a run may prove too little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.history.reading.reader import History
from chaoskit.judge.faults.at_stake import nothing_at_stake
from chaoskit.judge.faults.in_flight import nothing_open
from chaoskit.judge.findings.replays import not_replayed
from chaoskit.judge.subject.lateness import after_the_load, other_incidents
from chaoskit.judge.subject.subject import Subject
from chaoskit.judge.timing.metrics import not_made
from chaoskit.judge.timing.models import unguarded
from chaoskit.judge.verdict.missing import doubts_of_record
from chaoskit.model.operation import SENDING

_LOOKED_AT = 100_000
"""Number of operations in which the commonest error is looked for."""


def doubts_of(
    subject: Subject, folder: Path, history: History, load: Mapping[str, Any], faults: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return what makes a run prove too little, besides its final read, and faults without an effect."""
    declared = subject.plan.declared if subject.plan else None
    return (
        *not_made(load),
        *subject.settings_in_doubt,
        *subject.liveness.get("problems", ()),
        *unguarded(history),
        *not_replayed(history, declared),
        *doubts_of_record(folder, subject, history),
        *after_the_load(faults, load["end_ns"] / 1e6),
        *other_incidents(history.recorded_faults, subject.late_starts(history.recorded_faults)),
        *nothing_at_stake(faults),
        *nothing_open(faults, declared, subject.expect),
    )


def commonest_error(operations: pa.Table) -> str:
    """Return the error that most sends ended with, of the first operations; empty if none had one."""
    first = operations.slice(0, _LOOKED_AT)
    sends = first.filter(pc.is_in(first["f"].cast(pa.string()), value_set=pa.array(SENDING)))
    errors = Counter(error for error in sends["error"].to_pylist() if error)
    return next((error for error, _ in errors.most_common(1)), "")
