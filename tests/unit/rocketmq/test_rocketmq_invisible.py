"""What consumers leave is invisible for a while: nobody may believe meanwhile that a queue is empty."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.message import Delivery
from clusters.common.relay import queue_consumer
from clusters.rocketmq.clients.popped import Invisible
from clusters.rocketmq.deploy import admin
from clusters.rocketmq.pop.consumer import RocketQueueConsumer

LEFT, TAKEN = 18.0, 100.0


class _Answer:
    """What the relay says: an error, and messages by tag, or a number."""

    def __init__(self, error: str = "", tags: list[int] | None = None, number: int | None = None) -> None:
        self._tags = list(tags or [])
        self._number = len(self._tags) if number is None else number
        self._texts = iter([error, *["q", ""] * len(self._tags)])

    def text(self) -> str:
        return next(self._texts)

    def number(self) -> int:
        return self._number

    def records(self, queue: str, partition: int) -> list[Delivery]:
        return [Delivery(queue, partition, None, b"", self._tags.pop(0), None)]


@dataclass
class _Relay:
    """A relay that got two messages.

    Attributes:
        poll_error: what polling says.
        settle_error: what settling says.
        ended: what it answers when it is told to receive no more; None: it is gone.
    """

    poll_error: str = ""
    settle_error: str = ""
    ended: int | None = 1
    asked: list[bytes] = field(default_factory=list)

    def say(self, request: bytes) -> None:
        self.asked.append(request)

    def hear(self) -> tuple[bytes, _Answer]:
        kind = self.asked[-1][:1]
        if kind == b"e":
            if self.ended is None:
                raise ServiceError("the Java client ended")
            return b"k", _Answer(number=self.ended)
        return b"k", _Answer(self.poll_error, [1, 2]) if kind == b"p" else _Answer(self.settle_error)

    def close(self) -> None:
        return None


def _consumer(monkeypatch: pytest.MonkeyPatch, relay: _Relay) -> tuple[RocketQueueConsumer, Invisible, SimpleNamespace]:
    now = SimpleNamespace(at=0.0)
    monkeypatch.setattr(time, "monotonic", lambda: now.at)
    monkeypatch.setattr(queue_consumer, "Dialogue", lambda _: relay)
    invisible, jvm = Invisible(10.0), SimpleNamespace()
    assert invisible.there(), "those of other processes may have left some"
    now.at = TAKEN
    assert not invisible.there()
    machine: Any = jvm
    return RocketQueueConsumer(machine, [], invisible), invisible, now


@pytest.mark.parametrize(
    ("relay", "settled", "abruptly", "left"),
    [
        (_Relay(), [1, 2], False, False),
        (_Relay(), [1], False, True),
        (_Relay(settle_error="gone"), [1, 2], False, True),
        (_Relay(poll_error="late"), [1, 2], False, True),
        (_Relay(ended=0), [1, 2], False, True),
        (_Relay(ended=None), [1, 2], False, True),
        (_Relay(), [1, 2], True, True),
    ],
    ids=["all", "one", "refused", "a lost answer", "one that waited for more", "ended by itself", "abruptly"],
)
def test_a_consumer_that_may_leave_messages_says_so(
    monkeypatch: pytest.MonkeyPatch, relay: _Relay, settled: list[int], abruptly: bool, left: bool
) -> None:
    consumer, invisible, now = _consumer(monkeypatch, relay)
    consumer.consume(["q"])
    consumer.poll(1.0, 10)
    consumer.settle(settled, "ack")
    consumer.close(abruptly=abruptly)
    assert invisible.there() == left
    now.at += LEFT
    assert not invisible.there()


def test_one_that_only_asks_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    relay = _Relay()
    consumer, invisible, _ = _consumer(monkeypatch, relay)
    consumer.consume([])
    monkeypatch.setattr(admin, "ask_master", lambda *_: 3)
    assert consumer.left("q") == (3, 0)
    consumer.close()
    assert not invisible.there()
    assert not relay.asked
    consumer.consume(["q"])
    assert consumer.left("q") == (3, 1)
