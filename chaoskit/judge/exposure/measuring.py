"""Exposure: on how many hosts each acknowledged message was on stable storage when it was acknowledged, how long until
it was, and what a power cut would have lost at each instant.

It is read from the recordings of all hosts' disks, without any power cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.base.latency import Ints
from chaoskit.base.quantities import SECOND
from chaoskit.contract.hosts.recorded_disk import NEVER, Stored
from chaoskit.contract.workloads.traits import Transactions
from chaoskit.judge.exposure.copies import is_recorded, read_copies
from chaoskit.judge.exposure.loss_window import MAJORITY_HOSTS_MAX, UNKNOWN, LossWindow, StableCopies, loss_windows
from chaoskit.judge.subject.subject import Subject
from chaoskit.judge.timing.timing import load_of

_COPIES_MAX = 3


@dataclass(frozen=True, slots=True)
class Exposure:
    """The exposure of a run.

    Attributes:
        copies: where the messages were.
        windows: what a cut would have lost, by which hosts are cut.
        begin_ns, end_ns: the load, ns since the start of the run.
        doubts: what could not be seen, as sentences.
    """

    copies: StableCopies
    windows: Mapping[str, LossWindow]
    begin_ns: int
    end_ns: int
    doubts: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as `chaoskit exposure --json` prints it."""
        at_ack = (self.copies.stable_ns <= self.copies.acked_ns).sum(axis=0)
        counts = np.bincount(at_ack, minlength=len(self.copies.hosts) + 1)
        return {
            "acked": len(self.copies.acked_ns),
            "copies_at_ack": {str(copies): int(count) for copies, count in enumerate(counts)},
            "lag_ms": {str(copy): _summary(lag_ns) for copy, lag_ns in self._lags()},
            "loss_window": {name: self._window_as_json(window) for name, window in self.windows.items()},
            "doubts": list(self.doubts),
        }

    def by_second(self) -> list[dict[str, Any]]:
        """Return, for each second of the load, the lag of its messages and the largest loss windows in it."""
        edges = np.arange(self.begin_ns, self.end_ns + SECOND, SECOND)
        bounds = np.searchsorted(self.copies.acked_ns, edges)
        lags = dict(self._lags())
        return [
            {
                "at_s": round(float(start) / 1e9, 3),
                "lag_ms": {str(copy): _summary(lag_ns[low:high]) for copy, lag_ns in lags.items()},
                "loss_window": {
                    name: window.lost.within(int(start), int(start) + SECOND).peak()[0]
                    for name, window in self.windows.items()
                },
            }
            for start, low, high in zip(edges, bounds, bounds[1:], strict=False)
        ]

    def _lags(self) -> Iterator[tuple[int, Ints]]:
        """Yield, for each number of copies, how long after its acknowledgement each message had them."""
        in_order = np.sort(self.copies.stable_ns, axis=0)[:_COPIES_MAX]
        for copy, stable_ns in enumerate(in_order, 1):
            yield copy, np.where(stable_ns == NEVER, NEVER, stable_ns - self.copies.acked_ns)

    def _window_as_json(self, window: LossWindow) -> dict[str, Any]:
        lost, doubt = (messages.within(self.begin_ns, self.end_ns) for messages in (window.lost, window.doubt))
        most, at_ns = lost.peak()
        return {
            "median": lost.median(self.end_ns),
            "max": most,
            "at_s": round(at_ns / 1e9, 3),
            "in_doubt": doubt.peak()[0],
        }


def measure_exposure(folder: Path, subject: Subject) -> Exposure:
    """Return the exposure of a recorded run.

    Raises:
        BadInput: the disk of a host was not recorded, or the run has no history.
    """
    copies, disks = read_copies(folder, subject)
    assert subject.plan is not None
    windows = loss_windows(copies, subject.plan.scenario.cluster.zones)
    load = load_of(folder)
    end_ns = max([load.last_ns, *copies.acked_ns[-1:].tolist()]) + 1
    doubts = [*_doubts_of(disks), *_doubts_about(copies)]
    if any(not topic.model.keeps for topic in subject.plan.declared.topics):
        doubts.append("topics that keep nothing are left out: they have nothing to lose from a disk")
    if subject.plan.declared.get(Transactions) is not None:
        doubts.append("a message of a transaction counts from its own acknowledgement on, not from the commit")
    return Exposure(copies, windows, load.begin_ns, end_ns, tuple(doubts))


def recorded_exposure(folder: Path, subject: Subject) -> dict[str, Any]:
    """Return the `exposure` section of verdict.json; empty if no disk was recorded. `exposure.json` gets its course."""
    if not is_recorded(folder):
        return {}
    try:
        exposure = measure_exposure(folder, subject)
    except BadInput as error:
        return {"doubts": [str(error)]}
    store.write_json(folder / store.EXPOSURE, exposure.by_second())
    return exposure.as_json()


def _doubts_of(disks: Mapping[str, Stored]) -> Iterator[str]:
    for host, disk in disks.items():
        if disk.torn:
            yield f"the recording of {host} is torn or too short: what it lacks does not count as safe"
        if not disk.synced:
            yield f"{host} was not synced when the run ended: what it had only in memory is unknown"
        if disk.overwritten:
            yield f"{disk.overwritten:,} payloads on {host} were overwritten later: they count as present until the end"
    syncs = {at_ns for disk in disks.values() for at_ns in disk.syncs_ns}
    if syncs:
        yield f"another process synced all file systems of this machine, {len(syncs):,} times; no setting did that"


def _doubts_about(copies: StableCopies) -> Iterator[str]:
    counts = (copies.written_ns != NEVER).sum(axis=0)
    if nowhere := int((counts == 0).sum()):
        yield (
            f"{nowhere:,} acknowledged messages are nowhere on any disk: compressed, encrypted, written in pieces, "
            "deleted before they were written, or never written; none counts as safe"
        )
    if fewer := int(((counts > 0) & (counts < counts.max(initial=0))).sum()):
        yield f"{fewer:,} acknowledged messages are on fewer disks than others: never written there, or in pieces"
    unknown = int((copies.leader == UNKNOWN).sum())
    if 0 < unknown < len(copies.leader):
        yield f"who led the partition of {unknown:,} messages is not known: they count as lost in every cut of a leader"
    if len(copies.hosts) > MAJORITY_HOSTS_MAX:
        yield f"with more than {MAJORITY_HOSTS_MAX} hosts, majorities are not computed"


def _summary(lag_ns: Ints) -> dict[str, Any]:
    """Return percentiles, in ms; None where it is never, or if there is nothing."""
    seen = lag_ns[lag_ns != NEVER]
    percentiles = {"p50": _at(lag_ns, 0.5), "p99": _at(lag_ns, 0.99), "max": int(seen.max()) if seen.size else None}
    in_ms = {name: None if value is None else round(value / 1e6, 3) for name, value in percentiles.items()}
    return {**in_ms, "never": int(lag_ns.size - seen.size)}


def _at(lag_ns: Ints, share: float) -> int | None:
    if not lag_ns.size:
        return None
    rank = int(np.ceil(share * lag_ns.size)) - 1
    value = int(np.partition(lag_ns, rank)[rank])
    return None if value == NEVER else value
