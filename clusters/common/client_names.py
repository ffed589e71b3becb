"""What the names of clients tell; see `chaoskit.contract.clients.feed.FeedClients`."""

from __future__ import annotations


def session_of(name: str) -> str:
    """Return the name without the number of a client that took the place of another one."""
    return name.partition("#")[0]


def index_of(name: str) -> int | None:
    """Return the number of a client among those of its role; None: it has none.

    >>> index_of("t1-producer-2#3"), index_of("auditor")
    (2, None)
    """
    number = session_of(name).rpartition("-")[2]
    return int(number) if number.isdigit() else None
