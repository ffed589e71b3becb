"""What is changed in a record, and what must follow from that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from chaoskit.history.compacting.placements import Placements
from chaoskit.history.format.fault import Fault
from chaoskit.history.reading.reader import History
from chaoskit.judge.explaining.attribution import Cause
from chaoskit.judge.explaining.record import Ints
from chaoskit.scenario.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """A changed record of a run.

    Attributes:
        kind: kind of the near miss, such as `other-host`.
        words: what was changed.
        fault: number of the changed fault; None: several, or none.
        rows: the findings that it is about.
        excluded: whether a cause must not explain these findings any more; None: the change is harmless, and all that
            were explained must still be.
        nothing_new: whether no finding may be explained that was not before.
        faults: the faults.
        placements: the placements; None: as recorded.
        plan: the plan; None: as declared.
        history: the history; None: as recorded.
        more: further findings, schema `FINDINGS`; None: those of the run.
    """

    kind: str
    words: str
    rows: Ints
    faults: tuple[Fault, ...]
    fault: int | None = None
    excluded: Callable[[Cause], bool] | None = None
    nothing_new: bool = False
    placements: Placements | None = None
    plan: Plan | None = None
    history: History | None = None
    more: pa.Table | None = None
