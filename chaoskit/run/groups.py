"""Waits for a group of consumers, or a subscription, to receive a fresh message of every partition after healing."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

_TICK_S = 0.2


class Members(Protocol):
    """The clients of a run."""

    def probed(self) -> set[str]:
        """Return the partitions, as `topic/number`, whose probe any member has received."""
        ...

    def received(self) -> Mapping[str, int]:
        """Return how many messages of each partition, as `topic/number`, all members have received."""
        ...

    def lost(self) -> list[str]:
        """Return the members that do not run, or never work again."""
        ...


def await_probes(
    members: Members, wanted: Sequence[str], bound_s: float, interrupted: threading.Event
) -> dict[str, Any] | None:
    """Wait until the members have received every probe, at most for the bound.

    Args:
        members: the group.
        wanted: the partitions whose probe the final read has received.
        bound_s: the bound.
        interrupted: ends the wait.

    Returns:
        `behind`, the partitions of which nothing at all was received meanwhile; `slow`, others whose probe was not
        received; and `took_s`. None if that cannot be judged, because a member is lost or the wait was interrupted.
    """
    began, before = time.monotonic(), members.received()
    while waiting := sorted(set(wanted) - members.probed()):
        if members.lost() or interrupted.wait(_TICK_S):
            return None
        if time.monotonic() - began > bound_s:
            break
    since = members.received()
    slow = [place for place in waiting if since.get(place, 0) > before.get(place, 0)]
    behind = [place for place in waiting if place not in slow]
    return {"behind": behind, "slow": slow, "took_s": round(time.monotonic() - began, 3)}
