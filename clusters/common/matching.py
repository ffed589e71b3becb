"""Whom a client of a feed is matched with, and since when, where nobody confirms a subscription."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import NamedTuple

QUIET_S = 0.5
"""After so long without a change, a new client knows everybody who is there."""

_ALONE_S = 2.0
_POLL_S = 0.01


def settle(counted: Callable[[], int]) -> None:
    """Wait until the number of peers has not changed for a while; for longer if there is none.

    Args:
        counted: returns how many are matched.
    """
    began = changed = time.monotonic()
    count = counted()
    while time.monotonic() < (changed + QUIET_S if count else began + _ALONE_S):
        time.sleep(_POLL_S)
        if (now := counted()) != count:
            count, changed = now, time.monotonic()


class Seen(NamedTuple):
    """What a look showed.

    Attributes:
        gone: the peers that are gone since the last one.
        back_since_ns: since when a peer that is back may have sent what never came; None: none is back.
    """

    gone: Collection[str]
    back_since_ns: int | None


class MatchedPeers:
    """Those that a client is matched with, as it sees them at each look.

    A peer that was not heard for a lease is not matched any more; it may have given up the client as long before.

    Args:
        lease_ns: the lease.
    """

    def __init__(self, lease_ns: int) -> None:
        self._lease_ns = lease_ns
        self._matched: set[str] = set()
        self._gone_ns: dict[str, int] = {}

    def look(self, matched: Collection[str]) -> Seen:
        """Take note of who is matched now.

        Args:
            matched: the identifiers of the peers.
        """
        now_ns, present = time.monotonic_ns(), set(matched)
        gone = self._matched - present
        self._gone_ns |= dict.fromkeys(gone, now_ns)
        back = [self._gone_ns.pop(peer) for peer in present - self._matched if peer in self._gone_ns]
        self._matched = present
        return Seen(gone, self.given_up_ns(min(back)) if back else None)

    def given_up_ns(self, gone_ns: int) -> int:
        """Return since when somebody who was seen to be gone at a time may have been out of reach."""
        return gone_ns - 2 * self._lease_ns
