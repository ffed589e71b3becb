"""Near misses: copies of a run's record in which an explanation must vanish, or must stay, made of any run folder.

A rule explains a finding by what happened to its message. So it must not explain it any more once what happened is
changed: the fault hit somebody else, came before or after, did nothing, was not there; the leader stayed; the setting
is the strong one; more messages are gone than can have been. A rule that still does is *kinder* than the record
warrants. The other way round, what changes nothing, such as an idle fault beside, must leave every finding explained;
else it *accuses*.

Messages are not checked again: the findings of the run are explained again, with a changed record. Findings that a
setting or a limit explains without a fault are left out.

    misses = check(folder)
    assert not [miss for miss in misses if miss.kinder or miss.accused]
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from chaoskit.testing.nearmiss.change import RunChange
from chaoskit.testing.nearmiss.comparing import NearMiss, compare
from chaoskit.testing.nearmiss.harmless import harmless
from chaoskit.testing.nearmiss.stored import StoredRun
from chaoskit.testing.nearmiss.vanishing import vanishing

__all__ = ["NearMiss", "RunChange", "StoredRun", "changes", "check", "compare"]


def changes(run: StoredRun) -> Iterator[RunChange]:
    """Yield the near misses of a run, not yet judged; none if nothing explains, or may explain, a finding."""
    if run.explained_rows.size:
        yield from vanishing(run)
        yield from harmless(run)
    if run.explained.open:
        yield RunChange(
            kind="doubt",
            words="no fault at all: what is in doubt is not explained",
            rows=np.zeros(0, np.int64),
            faults=(),
            nothing_new=True,
        )


def check(folder: Path) -> list[NearMiss]:
    """Return the near misses of a run folder that was judged before, judged, by anomaly.

    Raises:
        BadInput: the folder does not hold a judged run, or is damaged.
    """
    run = StoredRun(folder)
    return [miss for change in changes(run) for miss in compare(run, change)]
