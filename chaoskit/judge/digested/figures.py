"""What can be measured of a digested run: numbers and times, whichever messages they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from chaoskit.base.latency import durations_ns
from chaoskit.base.quantities import SECOND
from chaoskit.history.digesting.digest import SERIES, Digest
from chaoskit.history.digesting.live import portions
from chaoskit.history.format.intervals import Ints
from chaoskit.judge.digested.waits import waits
from chaoskit.judge.timing.counts import counted, single, summed
from chaoskit.judge.timing.timing import Load, Timing
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import OUTCOMES

_TABLES_MAX = 500


class DigestFigures:
    """The figures of digests.

    Args:
        folder: the run folder.
        digests: its digests.
        origin_ns: the start of the run, CLOCK_MONOTONIC.
    """

    def __init__(self, folder: Path, digests: Sequence[Digest], origin_ns: int) -> None:
        self._folder = folder
        self._digests = digests
        self._origin_ns = origin_ns

    def load(self, load: Load) -> Load:
        """Return when sends were due: what is known of that without operations, with the second of the last send."""
        seconds = [int(portion.counts[:, 1].max(initial=-1)) for portion in portions(self._folder)]
        last_ns = load.begin_ns + (max(seconds, default=-1) + 1) * SECOND
        return replace(load, last_ns=min(last_ns, load.end_ns))

    def counted(self, what: str) -> int:
        """Return a number over all clients; see `Digest.counted`."""
        return sum(digest.counted.get(what, 0) for digest in self._digests)

    def open(self, load: Load) -> int:
        """Return how many sends of the load never completed."""
        return sum(
            int(np.count_nonzero(digest.open["intended_ns"] - self._origin_ns >= load.begin_ns))
            for digest in self._digests
            if not digest.client.startswith(AUDITOR)
        )

    def counts(self, timing: Timing) -> pa.Table:
        """Return COUNTS of the run; see `chaoskit.judge.timing.counts`."""
        open_ = self.open(timing.load)
        never = self.counted("sent") - sum(self.counted(name) for name in OUTCOMES)
        outcomes = [self.counted("ok"), self.counted("fail"), self.counted("info") + never]
        last, end = (np.array([instant_ns]) for instant_ns in (timing.load.last_ns, timing.load.end_ns))
        tables = [
            single("received", self.counted("received")),
            counted("outcome", np.zeros(3, np.int64), np.arange(3), np.array(outcomes)),
            counted("gave_up", timing.phases(last, end), np.zeros(1, np.int64), np.array([open_])),
        ]
        for portion in portions(self._folder):
            tables += _counted(portion.counts, timing)
            if len(tables) > _TABLES_MAX:
                tables = [summed(tables)]
        return summed(tables)

    def waits(self, timing: Timing) -> pa.Table:
        """Return WAITS of the run, of times without an acknowledgement of 100 ms and more."""
        return waits(
            [digest for digest in self._digests if not digest.client.startswith(AUDITOR)], self._origin_ns, timing
        )


def _counted(rows: Ints, timing: Timing) -> Iterator[pa.Table]:
    load = timing.load
    for code, series in enumerate(SERIES):
        _, second, bucket, count = rows[rows[:, 0] == code].T
        at_ns, none = load.begin_ns + second * SECOND, np.zeros_like(bucket)
        phase = timing.phases(at_ns, np.minimum(at_ns + durations_ns(bucket), load.end_ns))
        edge = np.searchsorted(timing.edges, at_ns, side="right")
        if series == "took":
            yield counted("send", edge, bucket, count)
        if series in ("took", "gave_up"):
            yield counted(series, phase, bucket, count)
            yield counted("due", edge, none, count)
            yield single("sends", int(count.sum()))
            yield counted("made", (at_ns - load.begin_ns) // load.bin_ns, none, count)
        elif series == "from_call":
            yield counted("send_from_actual", none, bucket, count)
        elif series == "acked":
            yield counted("acked", edge, none, count)
            yield single("acks", int(count[at_ns <= load.end_ns].sum()))
        else:
            yield counted("end_to_end", phase, bucket, count)
            yield counted("travelled", edge, bucket, count)
