"""Waits for a group of consumers, or a subscription, to receive a fresh message of every partition after healing."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from chaoskit.run.client import Client

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


class ClientGroup:
    """Some clients as members of a group."""

    def __init__(self, clients: Sequence[Client]) -> None:
        self._clients = clients

    def probed(self) -> set[str]:
        workers = (worker for client in self._clients for worker in client.workers)
        return {place for worker in workers for place in worker.result.get("probed", ())}

    def received(self) -> Mapping[str, int]:
        total: Counter[str] = Counter()
        for worker in (worker for client in self._clients for worker in client.workers):
            total.update(worker.result.get("received", {}))
        return total

    def lost(self) -> list[str]:
        return [client.name for client in self._clients if client.lost()]


def await_probes(
    groups: Sequence[Members], wanted: Sequence[str], bound_s: float, interrupted: threading.Event
) -> dict[str, Any] | None:
    """Wait until the members of each group have received every probe, at most for the bound.

    Args:
        groups: the groups.
        wanted: the partitions whose probe the final read has received.
        bound_s: the bound.
        interrupted: ends the wait.

    Returns:
        `behind`, the partitions of which a group received nothing at all meanwhile; `slow`, others whose probe was not
        received by a group; and `took_s`. None if that cannot be judged, because a member is lost or the wait was
        interrupted.
    """
    began, before = time.monotonic(), [group.received() for group in groups]
    while any(waiting := [set(wanted) - group.probed() for group in groups]):
        if any(group.lost() for group in groups) or interrupted.wait(_TICK_S):
            return None
        if time.monotonic() - began > bound_s:
            break
    behind: set[str] = set()
    for group, earlier, places in zip(groups, before, waiting, strict=True):
        since = group.received()
        behind |= {place for place in places if since.get(place, 0) <= earlier.get(place, 0)}
    slow = set().union(*waiting) - behind
    return {"behind": sorted(behind), "slow": sorted(slow), "took_s": round(time.monotonic() - began, 3)}
