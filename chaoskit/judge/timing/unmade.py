"""Sends that were due and never made, beyond what faults and the end of the load can have kept clients from.

A run whose load was not made shows less than it says: that is a doubt. Clients send what became due while they had to
wait as soon as they can, so that a send is missing at the end only if its client never caught up. What clients fell
behind while a fault held, and until the load was acknowledged again, is a matter of course: they were closed, or
waited for acknowledgements. So is what becomes due in the last moment. All else the load owes: clients, or the machine,
were too slow for the declared rate, or stopped by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import Ints
from chaoskit.judge.timing.counts import of_series
from chaoskit.judge.timing.timing import Load, Timing, around_ns, merged


def unmade(counts: pa.Table, waits: pa.Table, timing: Timing, missing: int) -> int:
    """Return how many of the sends that were never made nothing accounts for; 0 if these are too few to tell.

    Args:
        counts: COUNTS of the run.
        waits: WAITS of the run.
        timing: what they were measured with.
        missing: number of sends that were never made.
    """
    load = timing.load
    if not missing or not load.every_ns:
        return 0
    owed = missing - sum(_behind(counts, load, *span) for span in _disturbed(waits, timing))
    return owed if owed > load.sends_too_few_to_tell else 0


def _disturbed(waits: pa.Table, timing: Timing) -> Iterator[tuple[int, int]]:
    """Yield the times from the start of a fault until its effects were over: for as long as it had lasted after its
    healing (`after_faults`), and until every partition had acknowledged a send again."""
    spans = []
    for number, fault in enumerate(timing.faults):
        own = waits.filter(pc.and_(pc.equal(waits["number"], number), pc.equal(waits["of"], "healed")))
        until_ns = timing.load.end_ns
        if fault.healed_ns is not None:
            until_ns = fault.healed_ns + around_ns(fault.healed_ns - fault.start_ns)
            until_ns = max([until_ns, *own["end_ns"].to_pylist()])
        spans.append((fault.start_ns, until_ns))
    begins, ends = merged(spans)
    yield from zip(begins[:-1].tolist(), ends.tolist(), strict=True)


def _behind(counts: pa.Table, load: Load, begin_ns: int, end_ns: int) -> int:
    """Return how many more sends clients owed at the end of an interval than at its begin."""
    begin_ns, end_ns = max(begin_ns, load.begin_ns), min(end_ns, load.end_ns)
    if end_ns <= begin_ns:
        return 0
    made, due = of_series(counts, "started"), load.due_by(np.array([begin_ns, end_ns]))
    if not made.num_rows and of_series(counts, "made").num_rows:
        return int(due[1] - due[0])  # a digest does not tell when sends were made: at most all of them were not
    times_ns = load.begin_ns + made["segment"].to_numpy() * load.bin_ns
    sent: Ints = made["count"].to_numpy()
    before = (int(sent[times_ns < at_ns].sum()) for at_ns in (begin_ns, end_ns))
    behind_at_begin, behind_at_end = (int(number) - count for number, count in zip(due, before, strict=True))
    return max(behind_at_end - max(behind_at_begin, 0), 0)
