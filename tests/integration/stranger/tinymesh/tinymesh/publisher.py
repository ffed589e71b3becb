"""The publisher: sends each message to every subscriber that it heard; if it resends, until all have taken it."""

from __future__ import annotations

import secrets
import time
from collections import Counter, deque
from dataclasses import dataclass, field

from chaoskit.contract.clients.client import Completed
from chaoskit.model.outcome import INFO, OK
from tinymesh.datagrams import Address, Datagrams

HEAR_S = 0.3
"""How long a new publisher listens for subscribers: they call more often."""

_AGAIN_S = 0.1
_WINDOW = 64


@dataclass
class _Peer:
    """A subscriber: where it is, and the messages that it has not taken, by number."""

    id: str
    address: Address
    topics: list[str]
    number: int = 0
    again_at: float = 0.0
    open: deque[tuple[int, str, bytes, int]] = field(default_factory=deque)


class Publisher:
    """See `chaoskit.contract.clients.client.Producer`."""

    def __init__(self, mesh: str, completed: Completed, *, resends: bool) -> None:
        self._id = secrets.token_hex(4)
        self._datagrams = Datagrams(mesh, hears_calls=True)
        self._completed = completed
        self._resends = resends
        self._peers: dict[str, _Peer] = {}
        self._lacking: Counter[int] = Counter()
        deadline = time.monotonic() + HEAR_S
        while (left_s := deadline - time.monotonic()) > 0:
            self.poll(left_s)

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        self.poll(0)
        for peer in self._peers.values():
            if topic in peer.topics:
                peer.number += 1
                if self._resends:
                    peer.open.append((peer.number, topic, payload, token))
                    self._lacking[token] += 1
                if len(peer.open) <= _WINDOW:
                    self._transmit(peer, peer.number, topic, payload)
        if token not in self._lacking:
            self._completed(token, OK, None, None)
        return True

    def pending(self) -> int:
        return len(self._lacking)

    def poll(self, timeout_s: float) -> None:
        for head, _, address in self._datagrams.receive(timeout_s):
            peer = self._peers.get(head["name"])
            if peer is not None and (head["id"] != peer.id or head["kind"] == "gone"):
                self._taken(peer, peer.number)  # it has ended: nobody waits for these messages any more
                del self._peers[head["name"]]
            if head["kind"] == "here":
                self._peers.setdefault(head["name"], _Peer(head["id"], address, head["topics"])).address = address
            elif head["kind"] == "taken" and peer is not None and head["id"] == peer.id:
                self._taken(peer, head["number"])
        for peer in self._peers.values():
            if peer.open and time.monotonic() > peer.again_at:
                for number, topic, payload, _ in list(peer.open)[:_WINDOW]:
                    self._transmit(peer, number, topic, payload)

    def close(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while self._lacking and time.monotonic() < deadline:
            self.poll(_AGAIN_S)
        for token in self._lacking:
            self._completed(token, INFO, "a subscriber has not taken it", None)
        self._lacking.clear()
        self._datagrams.close()

    def _transmit(self, peer: _Peer, number: int, topic: str, payload: bytes) -> None:
        head = {"from": self._id, "number": number, "topic": topic, "asks": self._resends}
        self._datagrams.send(peer.address, payload, kind="message", **head)
        peer.again_at = time.monotonic() + _AGAIN_S

    def _taken(self, peer: _Peer, until: int) -> None:
        """Note that a subscriber needs no message up to a number any more."""
        while peer.open and peer.open[0][0] <= until:
            token = peer.open.popleft()[3]
            self._lacking[token] -= 1
            if not self._lacking[token]:
                del self._lacking[token]
                self._completed(token, OK, None, None)
