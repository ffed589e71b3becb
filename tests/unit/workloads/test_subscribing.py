"""A consumer of a subscription: what it acknowledges, refuses and leaves, how it ends, and how that is recorded."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import pytest
from loads import RUN, Load, Powers, rows_of

from chaoskit.contract.workloads.workload import CONSUMER, Task
from chaoskit.load.restarts import Restarts
from chaoskit.model import payload
from chaoskit.model.message import Delivery
from chaoskit.model.observations.subscription import SUBSCRIPTION_TYPES
from chaoskit.model.outcome import INFO, Outcome
from workloads.subscription.options import SubscriptionOptions
from workloads.subscription.workload import SubscriptionWorkload


class Queue(Powers):
    """A subscription with some messages, of which every poll gives one; refused ones, and those that an ended consumer
    had, come again."""

    def __init__(self, count: int) -> None:
        self.waiting = deque((sequence, 0) for sequence in range(count))
        self.held: dict[int, int] = {}
        self.joined: list[str] = []
        self.acked: list[tuple[int, str]] = []

    def subscriber(self, settings: Any, kind: str) -> Queue:
        self.joined.append(kind)
        return self

    def join(self, partitions: Any) -> None:
        assert list(partitions) == [("log-0", 0)]

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[Any], str | None]:
        if not self.waiting:
            return [], [], None
        sequence, count = self.waiting.popleft()
        self.held[sequence] = count
        content = payload.Writer(RUN, 100).build(sequence, 1, 1)
        return [Delivery("log-0", 0, None, content, 10 * sequence, count)], [], None

    def settle(self, deliveries: list[Delivery], how: str) -> tuple[Outcome, str | None]:
        for delivery in deliveries:
            sequence = delivery.position // 10
            count = self.held.pop(sequence)
            if how == "nack":
                self.waiting.append((sequence, count + 1))
            else:
                self.acked.append((sequence, how))
        return INFO, "NoReceipt"

    def close(self, *, abruptly: bool = False) -> None:
        self.waiting.extend((sequence, count + 1) for sequence, count in self.held.items())
        self.held.clear()


Rows = list[dict[str, Any]]


def _recorded(tmp_path: Path, queue: Queue, looks: int, **given: Any) -> tuple[Rows, Rows, Rows]:
    """Return the operations, the messages and the observations."""
    load = Load(tmp_path, SubscriptionWorkload(), queue)
    load.work(Task(CONSUMER, 0), looks, SubscriptionOptions.model_validate({"drain": "10ms", **given}))
    history = load.history()
    return history.operations.to_pylist(), *rows_of(history, "log-0")


def _positions(rows: Rows, kind: str) -> list[int]:
    """Return the messages of one direction, or the observations of one kind, by their sequence."""
    return [row["position"] // 10 for row in rows if kind in (row.get("direction"), row.get("kind"))]


def test_everything_is_acknowledged_one_by_one(tmp_path: Path) -> None:
    operations, messages, observations = _recorded(tmp_path, Queue(5), looks=9)

    assert _positions(messages, "received") == _positions(observations, "acked") == [0, 1, 2, 3, 4]
    acks = [(row["outcome"], row["error"]) for row in operations if row["f"] == "ack"]
    assert acks == [("info", "NoReceipt")] * 5
    assert {row["f"] for row in operations} == {"subscribe", "receive", "ack", "drain", "close"}
    assert [row["outcome"] for row in operations if row["f"] == "drain"] == ["ok"]


@pytest.mark.parametrize("kind", SUBSCRIPTION_TYPES)
def test_the_type_is_in_the_history(tmp_path: Path, kind: str) -> None:
    queue = Queue(1)
    _, _, observations = _recorded(tmp_path, queue, looks=2, subscription=kind, keys=4)

    subscribed = [(row["name"], row["value"]) for row in observations if row["kind"] == "subscribed"]
    assert subscribed == [("chaoskit", SUBSCRIPTION_TYPES.index(kind))]
    assert queue.joined == [kind]


def test_some_are_refused_once_and_then_acknowledged(tmp_path: Path) -> None:
    _, messages, observations = _recorded(tmp_path, Queue(4), looks=9, nack_every=2)

    assert _positions(observations, "nacked") == [1, 3]
    assert _positions(observations, "acked") == [0, 2, 1, 3]
    assert [row["delivery"] for row in messages if row["direction"] == "received"] == [0, 0, 0, 0, 1, 1]


def test_some_are_left_until_the_load_is_over(tmp_path: Path) -> None:
    operations, _, observations = _recorded(tmp_path, Queue(4), looks=9, leave_every=2)

    drain = next(row["op"] for row in operations if row["f"] == "drain")
    assert _positions([row for row in observations if row["op"] > drain], "acked") == [1, 3]
    assert sorted(_positions(observations, "acked")) == [0, 1, 2, 3]


def test_what_was_left_and_comes_again_is_acknowledged_once(tmp_path: Path) -> None:
    queue = Queue(2)
    queue.waiting.append((1, 1))
    _, messages, observations = _recorded(tmp_path, queue, looks=9, leave_every=2)

    assert _positions(messages, "received") == [0, 1, 1]
    assert _positions(observations, "acked") == [0, 1]


def test_who_ends_abruptly_leaves_what_it_had_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashes = iter([False, False, True])
    monkeypatch.setattr(Restarts, "due", lambda _: next(crashes, False))
    operations, messages, observations = _recorded(tmp_path, Queue(2), looks=9, leave_every=2)

    assert [row["f"] for row in operations if row["f"] in ("subscribe", "crash")] == ["subscribe", "crash", "subscribe"]
    assert [row["delivery"] for row in messages if row["direction"] == "received"] == [0, 0, 1]
    assert sorted(_positions(observations, "acked")) == [0, 1]


def test_one_cumulative_acknowledgement_names_all_that_it_covers(tmp_path: Path) -> None:
    queue = Queue(2)
    _, _, observations = _recorded(tmp_path, queue, looks=5, subscription="failover", acks="cumulative")

    assert _positions(observations, "acked") == [0, 1]
    assert queue.acked == [(0, "ack-cumulative"), (1, "ack-cumulative")]


def test_a_drain_that_never_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workloads.subscription.consumer._DRAIN_MAX_S", 0)
    operations, *_ = _recorded(tmp_path, Queue(1), looks=2)

    assert [row["outcome"] for row in operations if row["f"] == "drain"] == ["info"]


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"acks": "cumulative"}, "cumulative acks require an exclusive or failover subscription"),
        ({"acks": "cumulative", "subscription": "failover", "nack_every": 3}, "require acks: individual"),
        ({"subscription": "key-shared"}, "a key-shared subscription requires keys"),
        ({"consumption": "group"}, "consumption"),
        ({"drain": "30s"}, "less than or equal"),
        ({"subscription": "key_shared"}, "exclusive"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ValueError, match=refusal):
        SubscriptionOptions.model_validate(given)
