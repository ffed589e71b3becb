"""Near misses in which more messages are gone, or twice, than the faults can have taken."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.quantities import SECOND
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import About
from chaoskit.contract.guarantees.mechanism import Copies, Mechanism, Retry, Way
from chaoskit.judge.explaining.attribution import Cause
from chaoskit.judge.explaining.cases import places_of
from chaoskit.judge.explaining.record import NONE, Ints, Record
from chaoskit.model.place import Place
from chaoskit.testing.nearmiss.change import RunChange
from chaoskit.testing.nearmiss.stored import StoredRun, waits_ns

_APART_NS = SECOND
"""How long before the faults a message was acknowledged that they cannot have touched."""


def exceeding(run: StoredRun) -> Iterator[RunChange]:
    """Yield a run with one more finding of each cause: of a message that was acknowledged before any fault began, and
    that is followed by another such message which is still there."""
    plan = run.subject.plan
    if plan is None or not run.one_by_one or not run.faults:
        return
    record = Record(plan.declared, (), run.placements, run.history)
    began_ns = min(fault.start_ns for fault in run.faults) - _APART_NS
    gone = np.unique(run.findings["value"].drop_null().to_numpy())
    known = installed.anomalies()
    for cause in run.causes:
        if not cause.story.faults or not _takes_the_last(cause.mechanism):
            continue
        findings = run.findings.take(pa.array(run.rows_of([cause])))
        for name in findings["anomaly"].unique().to_pylist():
            row = findings.filter(pc.equal(findings["anomaly"].cast(pa.string()), name)).slice(0, 1)
            (place,), _ = places_of(row)
            message = _untouched(record, place, began_ns - waits_ns(cause.mechanism), gone)
            if known[name].about is About.MESSAGE and message:
                yield _exceeded(run, cause, row, message)


def _takes_the_last(mechanism: Mechanism) -> bool:
    """Return whether what it takes is followed by nothing that it does not take."""
    if isinstance(mechanism, Copies):
        return mechanism.from_its_end
    return isinstance(mechanism, Retry) or (isinstance(mechanism, Way) and mechanism.in_order)


def _untouched(record: Record, place: Place, before_ns: int, gone: Ints) -> dict[str, int]:
    """Return what a finding says of the first message of a partition that cannot have been touched; nothing if there is
    none."""
    sends = record.sends(place)
    if sends is None:
        return {}
    kept = sends.acked & (sends.position != NONE) & (sends.end_ns < before_ns) & ~np.isin(sends.value, gone)
    rows = np.flatnonzero(kept)
    if rows.size <= 1:
        return {}
    first = rows[np.argmin(sends.position[rows])]
    columns = {"value": sends.value, "position": sends.position, "written_ns": sends.start_ns, "acked_ns": sends.end_ns}
    return {name: int(column[first]) for name, column in columns.items()}


def _exceeded(run: StoredRun, cause: Cause, row: pa.Table, message: dict[str, int]) -> RunChange:
    changed = dict(message)
    if isinstance(cause.mechanism, Copies):
        changed["at_ns"] = message["acked_ns"]
    more = pa.Table.from_pylist([{**row.to_pylist()[0], **changed}], row.schema)
    return RunChange(
        kind="exceeded",
        words=f"message {message['value']}, acknowledged at {message['acked_ns'] / 1e9:.1f} s, is concerned, too",
        rows=np.array([run.findings.num_rows]),
        faults=run.faults,
        excluded=lambda other: other.rule is cause.rule,
        more=more,
    )
