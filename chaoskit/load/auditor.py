"""The last client of a run: checks that every partition works again, and reads everything.

It sends one probe message to every partition, then reads everything from the first position that
brokers still have to the end that they report.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from chaoskit.base.errors import ChaoskitError
from chaoskit.contract.clients.client import Auditor, GapReader, LogClients, PartitionCounting, TieredReader
from chaoskit.contract.workloads.workload import Control, Job
from chaoskit.load.partitioned import PartitionedOptions
from chaoskit.load.probes import probe
from chaoskit.load.reader import Reader
from chaoskit.model.audit import Bounds
from chaoskit.model.observations.log import UnreadableGap
from chaoskit.model.outcome import INFO, OK
from chaoskit.model.place import Place

_STALL_S = 45
"""A final read that learns and receives nothing for this long ends incomplete. This is longer than the open transaction
of a dead producer lasts."""

_ASK_S = 10
"""After this time without progress, a system that can tell is asked why; twice, since an error may pass."""

_ASK_AGAIN_S = 5
_BOUNDS_TIMEOUT_S = 10
_LOCAL_S = 20
_AGAIN_S = 0.05

Ends = dict[Place, tuple[int, int]]
"""First readable position and end of each partition, by its name in the system."""


def audit(job: Job[Any], probe: Callable[[Job[Any]], tuple[bool, dict[Place, int]]] = probe) -> None:
    """Probe, read everything, and record for each partition whether its end was reached."""
    recorder = job.recorder
    job.control.wait_start()
    accepted, probed = probe(job)
    job.control.result({"accepted": accepted})
    consumer = job.clients.power(LogClients).auditor(job.options.consumer)
    options: PartitionedOptions = _grown(job.options, consumer, recorder.in_system)
    reader = Reader(recorder, consumer, options.producers)
    op = recorder.invoke("audit")
    ends: Ends = {}
    known = []
    failed = ""
    # One wait for all: open transactions hold back many at once, and so does a leader that is lost.
    known_by, visible_by = time.monotonic() + _STALL_S, time.monotonic() + _BOUNDS_TIMEOUT_S
    for topic, partition in options.all_partitions():
        place = recorder.in_system(topic), partition
        try:
            ends[place] = _bounds_past(consumer, place, probed.get(place, -1), known_by, visible_by)
        except ChaoskitError as error:
            failed = str(error)
            continue
        known.append((topic, partition))
    if known:
        reader.assign(known)
    reached = _read_to_end(job.control, reader, consumer, ends)
    for place, (_, end) in list(ends.items()):
        if reached[place] >= end:  # what was deleted between the question and the first message nobody could read
            _begin_later(consumer, place, ends)
    local = _local_starts(consumer, ends)
    for place, (low, end) in ends.items():
        recorder.audited(*place, Bounds(low, end, reached[place] >= end, reached[place], local.get(place)))
    complete = len(ends) == len(options.all_partitions()) and all(reached[at] >= end for at, (_, end) in ends.items())
    failed = "" if complete else failed or reader.error
    recorder.complete(op, OK if complete else INFO, failed or None)
    consumer.close()
    job.control.report(recorder.report())
    job.control.result({"audited": complete, "why": failed, **reader.told()})


def _grown(options: PartitionedOptions, consumer: Auditor, in_system: Callable[[str], str]) -> PartitionedOptions:
    """Return the options with the partitions that were added under load; a system that does not answer is asked for a
    while. Those that a producer knew of, and this does not, are missing in the audit, which is then incomplete."""
    if not isinstance(consumer, PartitionCounting):
        return options
    deadline = time.monotonic() + _STALL_S
    while time.monotonic() < deadline:
        grown = options.grown(consumer, in_system, _BOUNDS_TIMEOUT_S)
        if grown is not None:
            return grown
        time.sleep(_AGAIN_S)
    return options


def _local_starts(consumer: Auditor, ends: Ends) -> dict[Place, int | None]:
    """Return the first position of each partition that brokers have themselves, now that all was read: what they
    delete meanwhile may be gone, too. A system that does not answer is asked for a while in all."""
    if not isinstance(consumer, TieredReader):
        return {}
    deadline = time.monotonic() + _LOCAL_S
    return {place: consumer.local_start(*place, max(deadline - time.monotonic(), 0)) for place in ends}


def _bounds_past(consumer: Auditor, place: Place, position: int, known_by: float, visible_by: float) -> tuple[int, int]:
    """Return the bounds of a partition once its end is past a position, or after a while.

    With acks=1 a probe is acknowledged before followers have it, and until they do the end lies before it: a consumer
    that reads the probe a moment later would seem to have read past the end. A new leader may not even tell an end
    before its followers have caught up (KIP-207).

    Raises:
        ChaoskitError: nobody told the end in time.
    """

    while True:
        try:
            bounds = consumer.bounds(*place, _BOUNDS_TIMEOUT_S)
        except ChaoskitError:
            if time.monotonic() > known_by:
                raise
        else:
            if bounds[1] > position or time.monotonic() > visible_by:
                return bounds
        time.sleep(_AGAIN_S)


def _read_to_end(control: Control, reader: Reader, consumer: Auditor, ends: Ends) -> dict[Place, int]:
    """Return the position up to which each partition was read."""
    reached = {where: low for where, (low, _) in ends.items()}
    gaps = _Gaps(reader, consumer, ends)
    deadline = time.monotonic() + _STALL_S
    while time.monotonic() < deadline and not control.stopping:
        if all(reached[where] >= end for where, (_, end) in ends.items()):
            break
        moved = bool(reader.poll())
        while reader.thrown_off:
            _begin_later(consumer, reader.thrown_off.pop(), ends)
        if moved or gaps.passed(reached):
            deadline = time.monotonic() + _STALL_S
        if moved:
            gaps.moved()
        reached = {where: max(at, consumer.position(*where)) for where, at in reached.items()}
    return reached


def _begin_later(consumer: Auditor, place: Place, ends: Ends) -> None:
    """Note that the system deleted the beginning of a partition while it was read."""
    low, end = ends[place]
    with suppress(ChaoskitError):
        ends[place] = max(low, consumer.bounds(*place, _BOUNDS_TIMEOUT_S)[0]), end


class _Gaps:
    """Positions that the system itself says it cannot read; the final read goes on behind them.

    Args:
        reader: records them.
        consumer: the auditor's consumer.
        ends: the end of each partition.
    """

    def __init__(self, reader: Reader, consumer: Auditor, ends: Ends) -> None:
        self._recorder = reader.recorder
        self._consumer = consumer if isinstance(consumer, GapReader) else None
        self._ends = ends
        self._first_missing: dict[Place, int] = {}
        self.moved()

    def moved(self) -> None:
        """Reading goes on."""
        self._ask_at = time.monotonic() + _ASK_S

    def passed(self, reached: Mapping[Place, int]) -> bool:
        """Ask, if it is time to, why reading does not go on, and pass what the system says twice it cannot read."""
        if self._consumer is None or time.monotonic() < self._ask_at:
            return False
        done = [self._pass(self._consumer, *where) for where, at in reached.items() if at < self._ends[where][1]]
        self._ask_at = time.monotonic() + _ASK_AGAIN_S
        return any(done)

    def _pass(self, consumer: GapReader, topic: str, partition: int) -> bool:
        try:
            gap = consumer.gap(topic, partition, self._ends[topic, partition][1], _ASK_S)
        except ChaoskitError:
            gap = None  # what cannot be asked leaves this partition incomplete, and the others as they are
        if gap is None or self._first_missing.get((topic, partition)) != gap.first:
            self._first_missing[topic, partition] = -1 if gap is None else gap.first
            return False
        op = self._recorder.invoke("skip")
        try:
            consumer.pass_gap(topic, partition, gap.until)
        except ChaoskitError as error:
            self._recorder.complete(op, INFO, str(error))
            return False
        self._recorder.observe(op, topic, partition, UnreadableGap(gap.first, gap.until))
        self._recorder.complete(op, OK, gap.error)
        return True
