"""What consumers leave is invisible for a while: nobody may believe meanwhile that a queue is empty."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.contract.recording import Delivery
from clusters.rocketmq.pop import consumer as module
from clusters.rocketmq.pop.consumer import Invisible, RocketQueueConsumer

LEFT, TAKEN = 15.0, 100.0


class _Answer:
    """What the relay says: an error, or messages by tag."""

    def __init__(self, tags: list[int], error: str = "") -> None:
        self._tags = list(tags)
        self._texts = iter([error, *["q"] * len(tags)])

    def text(self) -> str:
        return next(self._texts)

    def number(self) -> int:
        return len(self._tags)

    def records(self, queue: str, partition: int) -> list[Delivery]:
        return [Delivery(queue, partition, None, b"", self._tags.pop(0), None)]


def _closed(monkeypatch: pytest.MonkeyPatch, polls: list[list[int]], settled: list[int], error: str = "") -> bool:
    """Close a consumer that got these messages and settled some; return whether some may be invisible then."""
    now = SimpleNamespace(at=0.0)
    answers = iter([*map(_Answer, polls), _Answer([], error)])
    monkeypatch.setattr(module.time, "monotonic", lambda: now.at)
    monkeypatch.setattr(module, "Dialogue", lambda _: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(RocketQueueConsumer, "_ask", lambda *_: next(answers))
    invisible, nobody = Invisible(10.0), SimpleNamespace()
    jvm: Any = nobody
    consumer = RocketQueueConsumer(jvm, [], invisible)
    assert invisible.there(), "those of other processes may have left some"
    now.at = TAKEN
    assert not invisible.there()
    for _ in polls:
        consumer.poll(1.0, 10)
    if settled:
        consumer.settle(settled, "ack")
    consumer.close()
    left = invisible.there()
    now.at += LEFT
    assert not invisible.there()
    return left


@pytest.mark.parametrize(
    ("polls", "settled", "error", "left"),
    [
        ([[1, 2], []], [1, 2], "", False),
        ([[]], [], "", False),
        ([[1, 2], []], [1], "", True),
        ([[1, 2], []], [1, 2], "gone", True),
        ([[1, 2]], [1, 2], "", True),
    ],
    ids=["settled all", "got nothing", "settled one", "did not settle", "may have more"],
)
def test_a_consumer_that_may_leave_messages_says_so(
    monkeypatch: pytest.MonkeyPatch, polls: list[list[int]], settled: list[int], error: str, left: bool
) -> None:
    assert _closed(monkeypatch, polls, settled, error) == left
