"""Whether a changed record explains more, or less, than it may."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from chaoskit.judge.explaining.attribution import Cause
from chaoskit.judge.explaining.record import Ints
from chaoskit.testing.nearmiss.change import RunChange
from chaoskit.testing.nearmiss.stored import StoredRun


@dataclass(frozen=True, slots=True)
class NearMiss:
    """What became of the findings of one anomaly in a changed record.

    Attributes:
        kind: kind of the near miss.
        words: what was changed.
        fault: number of the changed fault; None: several, or none.
        anomaly: the anomaly.
        before: of how many findings the explanation must vanish, or must stay.
        after: how many of them are explained all the same, in a way that the change excludes; of a harmless one how
            many are still explained.
        new: how many are explained that were not before, and must not be.
        kinder: whether more is explained than the changed record warrants.
        accused: whether something is not explained any more although nothing changed for it.
        rules: the rules that explain what must not be explained.
    """

    kind: str
    words: str
    fault: int | None
    anomaly: str
    before: int
    after: int
    new: int
    kinder: bool
    accused: bool
    rules: tuple[str, ...] = ()


def compare(run: StoredRun, change: RunChange) -> Iterator[NearMiss]:
    """Explain the findings of a run again with a changed record; yield what became of them, by anomaly."""
    explained = run.explain(change)
    names = run.findings_of(change)["anomaly"].combine_chunks()
    codes = names.indices.to_numpy()
    counts = [cause is not None and (not change.excluded or change.excluded(cause)) for cause in explained.known]
    kept = np.array(counts)[explained.cause_of]
    before_of = np.pad(run.explained.cause_of, (0, codes.size - run.findings.num_rows))
    new = (explained.cause_of != 0) & (before_of == 0) & change.nothing_new
    concerned = np.zeros(codes.size, np.bool_)
    concerned[change.rows] = True
    for code, anomaly in enumerate(names.dictionary.to_pylist()):
        mine = concerned & (codes == code)
        fresh = new & (codes == code)
        if not mine.any() and not fresh.any():
            continue
        before, after, more = int(mine.sum()), int((mine & kept).sum()), int(fresh.sum())
        wrong = fresh | (mine & kept if change.excluded else fresh)
        yield NearMiss(
            change.kind,
            change.words,
            change.fault,
            anomaly,
            before,
            after,
            more,
            kinder=bool(wrong.any()),
            accused=change.excluded is None and after < before,
            rules=_rules(explained.known, explained.cause_of[wrong]),
        )


def _rules(known: Sequence[Cause | None], chosen: Ints) -> tuple[str, ...]:
    causes = [known[index] for index in np.unique(chosen).tolist()]
    return tuple(dict.fromkeys(cause.rule.id for cause in causes if cause is not None))
