"""What each reader received, and what it did not, from digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from chaoskit.history.digesting.digest import Digest
from chaoskit.history.digesting.routes import Routes
from chaoskit.history.format.intervals import Intervals
from chaoskit.model.operation import AUDITOR


class DigestReaders:
    """The readers of a run; the members of a group are one.

    Args:
        digests: those of all clients.
        routes: the routes of the load.
        groups: number of groups that consumers form; 0: each reads for itself.

    Attributes:
        received: what each received, by the names of its clients.
    """

    def __init__(self, digests: Sequence[Digest], routes: Routes, groups: int) -> None:
        self._routes = routes
        received: dict[str, Intervals] = {}
        clients: dict[str, set[str]] = {}
        for digest in digests:
            client = digest.client.partition("#")[0]
            number = client.rpartition("-")[2]
            if digest.received.size and not client.startswith(AUDITOR):
                who = str(int(number) % groups) if groups and number.isdigit() else client
                received.setdefault(who, Intervals()).update(digest.received)
                clients.setdefault(who, set()).add(client)
        self.received: Mapping[frozenset[str], Intervals] = {frozenset(clients[who]): received[who] for who in received}

    def passed(self, kept: Intervals) -> int:
        """Return how many messages of the log a reader never received, although it received later ones."""
        count = 0
        for received in self.received.values():
            absent = kept.minus(received)
            count += int((absent.ends - absent.starts)[self._followed(absent, received)].sum())
        return count

    def waiting(self, kept: Intervals, received: Intervals) -> npt.NDArray[np.int64]:
        """Return the first places of what a reader never received of a producer and route, behind all that it did."""
        absent = kept.minus(received)
        read = np.unique(self._routes.numbers(self._routes.values(received.starts)))
        mine = np.isin(self._routes.numbers(self._routes.values(absent.starts)), read)
        return absent.starts[mine & ~self._followed(absent, received)]

    def _followed(self, absent: Intervals, received: Intervals) -> npt.NDArray[np.bool_]:
        """Return whether each interval of absent places is before a later one of their producer and route."""
        number = self._routes.numbers(self._routes.values(absent.starts))
        after = np.searchsorted(received.starts, absent.starts, side="right")
        inside: npt.NDArray[np.bool_] = after < received.starts.size
        later = self._routes.numbers(self._routes.values(received.starts[after[inside]]))
        inside[inside] = later == number[inside]
        return inside
