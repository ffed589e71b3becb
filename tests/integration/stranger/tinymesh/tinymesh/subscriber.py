"""The subscriber: calls to all that it is here, and takes what publishers send to it, in their order."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from typing import Any, Literal

from chaoskit.contract.clients.feed import SubscriptionChange
from chaoskit.model.message import NO_POSITION, Delivery
from tinymesh.datagrams import Address, Datagrams
from tinymesh.publisher import HEAR_S

_CALL_S = HEAR_S / 4


class Subscriber:
    """See `chaoskit.contract.clients.feed.FeedSubscriber`."""

    def __init__(self, mesh: str, name: str, topics: Sequence[str]) -> None:
        self._me: dict[str, Any] = {"name": name, "id": secrets.token_hex(4), "topics": list(topics)}
        self._datagrams = Datagrams(mesh)
        self._closing = threading.Event()
        self._caller = threading.Thread(target=self._call, daemon=True)
        self._last: dict[str, int] = {}
        self._owed: dict[str, Address] = {}
        self._early: list[Delivery] = []
        self._changes: list[SubscriptionChange] = []
        since_ns = time.monotonic_ns()
        self._caller.start()
        deadline = time.monotonic() + HEAR_S
        while (left_s := deadline - time.monotonic()) > 0:
            self._early += self._receive(left_s)
        self._change("subscribed", since_ns)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], str | None]:
        self._acknowledge()
        deliveries, self._early = self._early, []
        deadline = time.monotonic() + timeout_s
        while not deliveries and (left_s := deadline - time.monotonic()) > 0:
            deliveries = self._receive(left_s)
        return deliveries, None

    def changes(self) -> list[SubscriptionChange]:
        changes, self._changes = self._changes, []
        return changes

    def close(self, *, abruptly: bool = False) -> None:
        since_ns = time.monotonic_ns()
        self._closing.set()
        self._caller.join()
        if not abruptly:
            self._acknowledge()
            self._datagrams.call(kind="gone", **self._me)
        self._datagrams.close()
        self._change("unsubscribed", since_ns)

    def _call(self) -> None:
        """Call again and again, also while nobody polls."""
        while True:
            self._datagrams.call(kind="here", **self._me)
            if self._closing.wait(_CALL_S):
                return

    def _receive(self, timeout_s: float) -> list[Delivery]:
        deliveries = []
        for head, payload, address in self._datagrams.receive(timeout_s):
            publisher, number, last = head["from"], head["number"], self._last.get(head["from"], 0)
            if head["asks"]:
                self._owed[publisher] = address
            if number == last + 1 or (number > last and not head["asks"]):
                self._last[publisher] = number
                deliveries.append(Delivery(head["topic"], 0, None, payload, NO_POSITION, None))
        return deliveries

    def _acknowledge(self) -> None:
        """Tell publishers that ask up to which message everything was returned and recorded."""
        for publisher, address in self._owed.items():
            self._datagrams.send(address, kind="taken", number=self._last.get(publisher, 0), **self._me)
        self._owed.clear()

    def _change(self, kind: Literal["subscribed", "unsubscribed"], since_ns: int) -> None:
        now = time.monotonic_ns()
        self._changes += [SubscriptionChange(kind, topic, since_ns, now) for topic in self._me["topics"]]
