"""Findings that lasted for longer under a fault than without one: a transaction that stayed open, a partition without
an owner. They are a consequence of it, as silence of readers is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.columns import integers
from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract import installed

_LEAST_NS = 500 * MILLISECOND
_TIMES = 3
"""As of silence; see `chaoskit.judge.timing.behaviour`."""


def lasted_longer(findings: pa.Table, spans: Sequence[tuple[int, float]]) -> list[dict[str, float]]:
    """Return for each fault, by anomaly, the longest time of a finding that touched it, in ms: of 500 ms or more, and
    three times as long as any that touched none.

    Args:
        findings: schema `JUDGED`.
        spans: from when until when each fault counts, ns.
    """
    by_fault: list[dict[str, float]] = [{} for _ in spans]
    for name in (name for name, anomaly in installed.anomalies().items() if anomaly.lasting):
        own = findings.filter(pc.equal(findings["anomaly"].cast(pa.string()), name))
        since_ns, until_ns = integers(own["since_ns"]), integers(own["at_ns"])
        lasted_ns = until_ns - since_ns
        under = [(since_ns <= until) & (until_ns >= start) for start, until in spans]
        usual_ns = lasted_ns[~np.logical_or.reduce([np.zeros(lasted_ns.size, np.bool_), *under])].max(initial=0)
        for told, touched in zip(by_fault, under, strict=True):
            longest_ns = int(lasted_ns[touched].max(initial=0))
            if longest_ns >= _LEAST_NS and longest_ns > _TIMES * usual_ns:
                told[name] = round(longest_ns / MILLISECOND, 1)
    return by_fault
