"""The loss window: how many acknowledged messages a power cut of some hosts would lose, at each instant of a run.

A message is exposed from its acknowledgement on until one of the hosts that would be cut has it on stable storage. The
hosts that would not be cut keep what they have, in memory too. What they have is known from what they wrote at any
time of the run; since when they had it is not, before they wrote it: that is in doubt, and counted apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations

import numpy as np
import numpy.typing as npt

from chaoskit.base.latency import Ints
from chaoskit.contract.hosts.recorded_disk import NEVER

ALL, LEADER, MAJORITY = "all", "leader", "majority"

UNKNOWN, ELSEWHERE = -1, -2

MAJORITY_HOSTS_MAX = 7
"""Number of hosts up to which each majority of them is tried."""


@dataclass(frozen=True, slots=True)
class StableCopies:
    """Where the acknowledged messages of a run were, and when. All times are ns since the start of the run.

    Attributes:
        hosts: names of the hosts.
        acked_ns: when each message was acknowledged.
        gone_ns: when the system need no longer have it; NEVER if it must keep it.
        stable_ns: by host and message, when it was on stable storage; NEVER if it was not.
        written_ns: by host and message, when the disk had it; NEVER if it never had.
        leader: number of the host that led the message's partition when it was acknowledged; ELSEWHERE if that one
            stores no messages, UNKNOWN if it is not known.
        values: the messages; empty if nobody asks for single ones.
    """

    hosts: Sequence[str]
    acked_ns: Ints
    gone_ns: Ints
    stable_ns: Ints
    written_ns: Ints
    leader: Ints
    values: Ints = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class LossSeries:
    """A number that changes.

    Attributes:
        at_ns: when it changed, in order.
        count: the number from then on.
    """

    at_ns: Ints
    count: Ints

    @classmethod
    def of(cls, start_ns: Ints, end_ns: Ints) -> LossSeries:
        """Return how many intervals [start, end) are open at each time."""
        open_ = end_ns > start_ns
        times = np.concatenate([start_ns[open_], end_ns[open_]])
        steps = np.concatenate([np.ones(open_.sum(), np.int64), np.full(open_.sum(), -1)])
        at_ns, of = np.unique(times, return_inverse=True)
        return cls(at_ns, np.cumsum(np.bincount(of, steps, at_ns.size).astype(np.int64)))

    def at(self, times_ns: Ints) -> Ints:
        """Return the number at each of some times."""
        return np.concatenate([[0], self.count])[np.searchsorted(self.at_ns, times_ns, side="right")]

    def within(self, begin_ns: int, end_ns: int) -> LossSeries:
        """Return the part between two times."""
        first = int(np.searchsorted(self.at_ns, begin_ns, side="right"))
        end = max(first, int(np.searchsorted(self.at_ns, end_ns)))
        before = self.count[first - 1] if first else 0
        return LossSeries(
            np.concatenate([[begin_ns], self.at_ns[first:end]]), np.concatenate([[before], self.count[first:end]])
        )

    def peak(self) -> tuple[int, int]:
        """Return the largest number, and when it was first reached; 0, 0 if it is never more than 0."""
        if not self.count.any():
            return 0, 0
        first = int(np.argmax(self.count))
        return int(self.count[first]), int(self.at_ns[first])

    def median(self, end_ns: int) -> int:
        """Return the number that was not exceeded for half of the time until `end_ns`."""
        lasted = np.diff(np.append(self.at_ns, end_ns))
        order = np.argsort(self.count, kind="stable")
        half = np.searchsorted(np.cumsum(lasted[order]), lasted.sum() / 2)
        return int(self.count[order][min(half, order.size - 1)])


@dataclass(frozen=True, slots=True)
class LossWindow:
    """What a power cut of some hosts would lose.

    Attributes:
        lost: messages that are on no surviving or returning disk.
        doubt: messages that a surviving host may have, since it wrote them later.
    """

    lost: LossSeries
    doubt: LossSeries


def loss_windows(copies: StableCopies, racks: Mapping[str, Sequence[str]]) -> dict[str, LossWindow]:
    """Return the loss windows of a cut of all hosts, of the leader, of any majority, of each rack, and of each host.

    Args:
        copies: the messages.
        racks: hosts by rack.
    """
    count = len(copies.hosts)
    windows = {ALL: cut(copies, range(count))}
    if not copies.leader.size or (copies.leader != UNKNOWN).any():
        windows[LEADER] = _cut_of_leader(copies)
    if 2 < count <= MAJORITY_HOSTS_MAX:
        windows[MAJORITY] = reduce(_worse, (cut(copies, hosts) for hosts in combinations(range(count), count // 2 + 1)))
    for rack, hosts in racks.items():
        windows[f"rack {rack}"] = cut(copies, [copies.hosts.index(host) for host in hosts if host in copies.hosts])
    return windows | {name: cut(copies, [host]) for host, name in enumerate(copies.hosts)}


def cut(copies: StableCopies, hosts: Sequence[int]) -> LossWindow:
    """Return the loss window of a cut of some hosts, given by number."""
    concerned = np.zeros(copies.stable_ns.shape, bool)
    concerned[list(hosts)] = True
    return _window(copies, concerned)


def _cut_of_leader(copies: StableCopies) -> LossWindow:
    """Return the window of a cut of the host that leads the message's partition."""
    return _window(copies, np.arange(len(copies.hosts))[:, None] == copies.leader)


def _window(copies: StableCopies, cut: npt.NDArray[np.bool_]) -> LossWindow:
    """Return the window of a cut; `cut` says, by host and message, whether it concerns it."""
    returns_ns = np.where(cut, copies.stable_ns, NEVER).min(axis=0)
    until_ns = np.minimum(returns_ns, copies.gone_ns)
    survives_ns = np.where(cut, NEVER, copies.written_ns).min(axis=0)
    certain = survives_ns == NEVER
    return LossWindow(
        LossSeries.of(copies.acked_ns[certain], until_ns[certain]),
        LossSeries.of(copies.acked_ns[~certain], np.minimum(until_ns, survives_ns)[~certain]),
    )


def _worse(one: LossWindow, other: LossWindow) -> LossWindow:
    """Return, for each instant, the most that either of them loses."""

    def most(first: LossSeries, second: LossSeries) -> LossSeries:
        at_ns = np.union1d(first.at_ns, second.at_ns)
        return LossSeries(at_ns, np.maximum(first.at(at_ns), second.at(at_ns)))

    return LossWindow(most(one.lost, other.lost), most(one.doubt, other.doubt))
