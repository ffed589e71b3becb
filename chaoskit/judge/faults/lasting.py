"""Findings that lasted for longer under a fault than without one: a transaction that stayed open, a partition without
an owner. They are a consequence of it, as silence of readers is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import integers, is_one_of
from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract import installed

_LEAST_NS = 500 * MILLISECOND
_TIMES = 3
"""As of silence; see `chaoskit.judge.timing.behaviour`."""


def lasted_longer(findings: pa.Table, spans: Sequence[tuple[int, float]]) -> list[dict[str, float]]:
    """Return for each fault, by anomaly, the longest time of a finding most of which was since it began, and which may
    be of no other, in ms: of 500 ms or more, and three times as long as any that was of none.

    Args:
        findings: schema `JUDGED`.
        spans: from when until when each fault counts, ns.
    """
    by_fault: list[dict[str, float]] = [{} for _ in spans]
    for name in [name for name, anomaly in installed.anomalies().items() if anomaly.lasting]:
        own = findings.filter(pa.array(is_one_of(findings["anomaly"], [name])))
        since_ns, until_ns = integers(own["since_ns"]), integers(own["at_ns"])
        lasted_ns = until_ns - since_ns
        # What had mostly passed when a fault began is not of it.
        under = [(since_ns <= until) & (2 * (until_ns - start) > lasted_ns) for start, until in spans]
        faults = np.sum([np.zeros(lasted_ns.size, np.int64), *under], axis=0)
        usual_ns = lasted_ns[faults == 0].max(initial=0)
        for longest_ms, rows in zip(by_fault, under, strict=True):
            longest_ns = int(lasted_ns[rows & (faults == 1)].max(initial=0))
            if longest_ns >= _LEAST_NS and longest_ns > _TIMES * usual_ns:
                longest_ms[name] = round(longest_ns / MILLISECOND, 1)
    return by_fault
