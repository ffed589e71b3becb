"""Who is there: publishers and subscribers of a topic announce themselves with liveliness tokens.

A token is seen as long as data could come the same way, through routers too. It is gone once its client is, or once a
link on the way is given up.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from queue import Empty, SimpleQueue

import zenoh

PUBLISHER, SUBSCRIBER = "publisher", "subscriber"
_PREFIX = "chaoskit"
_NUMBERED = "~"
"""Stands for `#`, which no key has."""


class Presence:
    """Announces one client, and knows the others.

    Args:
        session: its session.
        client: its name.
        topics: its topics.
        own: what it is, `PUBLISHER` or `SUBSCRIBER`.
        others: whom it looks for.
    """

    def __init__(self, session: zenoh.Session, client: str, topics: Sequence[str], own: str, others: str) -> None:
        self._samples: SimpleQueue[zenoh.Sample] = SimpleQueue()
        self._present: dict[str, set[str]] = {topic: set() for topic in topics}
        liveliness, name = session.liveliness(), f"{client.replace('#', _NUMBERED)}/{secrets.token_hex(8)}"
        self._declared: list[zenoh.LivelinessToken | zenoh.Subscriber[None]] = []
        for topic in topics:
            self._declared.append(liveliness.declare_token(f"{_PREFIX}/{topic}/{own}/{name}"))
            wanted = f"{_PREFIX}/{topic}/{others}/*/*"
            self._declared.append(liveliness.declare_subscriber(wanted, self._samples.put, history=True))

    def of(self, topic: str) -> Collection[str]:
        """Return the others of a topic that are there now: name of the client, a slash, and what is unique."""
        self._listen()
        return self._present[topic]

    def count(self) -> int:
        """Return how many others are there, of all topics."""
        self._listen()
        return sum(map(len, self._present.values()))

    def close(self) -> None:
        """Announce the end."""
        for declaration in self._declared:
            declaration.undeclare()  # type: ignore[no-untyped-call]

    def _listen(self) -> None:
        while True:
            try:
                sample = self._samples.get_nowait()
            except Empty:
                return
            _, topic, _, name = str(sample.key_expr).split("/", 3)
            change = set.add if sample.kind == zenoh.SampleKind.PUT else set.discard
            change(self._present[topic], name.replace(_NUMBERED, "#"))
