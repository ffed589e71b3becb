"""Where to cut: instants of a recorded run at which a power cut is most likely to show something."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from chaoskit.base.errors import BadInput
from chaoskit.judge.exposure.loss_window import cut
from chaoskit.search.recorded import Recorded

EARLY, EXPOSED, FOLDERS, DICE = "set-up", "exposed", "folders", "dice"
"""Why an instant was chosen: it is before the load; many acknowledged messages are on no disk; a folder changes, since
a file is made, renamed or removed; or by dice."""

_PEAKS = 0.1
"""Of the instants at which the loss window changes, the share with the largest ones."""


@dataclass(frozen=True, slots=True)
class Instant:
    """An instant at which the power of all hosts is cut.

    Attributes:
        at_ns: ns since the start of the run.
        why: why it was chosen.
    """

    at_ns: int
    why: str


def instants(recorded: Recorded, seed: int) -> Iterator[Instant]:
    """Yield instants without end: in turn one before the load, one of many exposed messages, one at which a folder
    changes, and one by dice. A run that has none of a kind has one by dice instead.

    Raises:
        BadInput: nothing was recorded.
    """
    source = random.Random(seed)  # noqa: S311  # reproducible, not secret
    if not any(host.times_ns.size for host in recorded.hosts.values()):
        raise BadInput(f"{recorded.folder}: its disks were not recorded; run the scenario again")
    every = np.sort(np.concatenate([host.times_ns for host in recorded.hosts.values()]))
    early, late = np.split(every, [np.searchsorted(every, recorded.load_start_ns)])
    chosen = {EARLY: early, EXPOSED: _exposed(recorded), FOLDERS: _folders(recorded)}
    others = late if late.size else every
    for why in cycle((EARLY, EXPOSED, FOLDERS, DICE)):
        from_ = chosen.get(why)
        if from_ is None or not from_.size:
            why, from_ = DICE, others  # noqa: PLW2901  # it is by dice then
        yield Instant(int(source.choice(from_)), why)


def _exposed(recorded: Recorded) -> np.ndarray:
    if recorded.copies is None:
        return np.empty(0, np.int64)
    lost = cut(recorded.copies, range(len(recorded.copies.hosts))).lost
    within = lost.at_ns[lost.count > 0]
    most = np.argsort(-lost.at(within), kind="stable")[: max(1, int(within.size * _PEAKS))]
    return within[most]


def _folders(recorded: Recorded) -> np.ndarray:
    """Return when folders changed, and when they were about to."""
    times = []
    for host in recorded.hosts.values():
        late = host.folders[host.times_ns[host.folders - 1] >= recorded.load_start_ns]
        times += [host.times_ns[late - 1], host.times_ns[np.maximum(late - 2, 0)]]
    return np.concatenate(times)
