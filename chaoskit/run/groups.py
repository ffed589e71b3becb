"""Waits for a group of consumers, or a subscription, to receive a fresh message of every partition after healing."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol

_TICK_S = 0.2


class Members(Protocol):
    """The clients of a run."""

    def probed(self) -> set[str]:
        """Return the partitions, as `topic/number`, whose probe any member has received."""
        ...

    def received(self) -> int:
        """Return how many messages all members have received."""
        ...

    def lost(self) -> list[str]:
        """Return the members that do not run, or never work again."""
        ...


def await_probes(
    members: Members, wanted: Sequence[str], bound_s: float, interrupted: threading.Event
) -> dict[str, Any] | None:
    """Wait until the members have received every probe, as long as they make progress.

    Args:
        members: the group.
        wanted: the partitions whose probe the final read has received.
        bound_s: how long the group may receive nothing at all while a probe waits for it.
        interrupted: ends the wait.

    Returns:
        `behind`, the partitions whose probe was not received, and `took_s`; None if that cannot be judged, because a
        member is lost or the wait was interrupted.
    """
    began = progress = time.monotonic()
    received = members.received()
    while behind := sorted(set(wanted) - members.probed()):
        if members.lost() or interrupted.wait(_TICK_S):
            return None
        if (now := members.received()) != received:
            received, progress = now, time.monotonic()
        if time.monotonic() - progress > bound_s:
            break
    return {"behind": behind, "took_s": round(time.monotonic() - began, 3)}
