"""A consumer of a subscription: what it acknowledges, refuses and leaves, how it ends, and how that is recorded."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import pytest

from chaoskit.contract.client import INFO, Delivery
from chaoskit.contract.workload import CONSUMER, Job, Task
from chaoskit.history.compact import compact
from chaoskit.history.origin import write_origin
from chaoskit.history.reader import History
from chaoskit.history.schema import SUBSCRIPTION_TYPES
from chaoskit.history.wal import WalWriter
from workloads import payload
from workloads.restarting import Restarts
from workloads.subscription import SubscriptionOptions, SubscriptionWorkload

RUN = 1


class Control:
    """The load ends after so many looks."""

    run_id = RUN

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def stopping(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    def wait_start(self) -> int:
        return 0

    def report(self, progress: Any) -> None:
        """Nobody listens."""


class Queue:
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

    def producer(self, *_: Any) -> None:
        raise AssertionError

    consumer = auditor = producer

    def join(self, partitions: Any) -> None:
        assert list(partitions) == [("log-0", 0)]

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[Any], str | None]:
        if not self.waiting:
            return [], [], None
        sequence, count = self.waiting.popleft()
        self.held[sequence] = count
        content = payload.Writer(RUN, 100).build(sequence, 1, 1)
        return [Delivery("log-0", 0, None, content, 10 * sequence, count)], [], None

    def settle(self, deliveries: list[Delivery], how: str) -> tuple[int, str | None]:
        for each in deliveries:
            sequence = each.position // 10
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


def _recorded(tmp_path: Path, queue: Queue, looks: int, **given: Any) -> tuple[Rows, Rows]:
    (tmp_path / "wal").mkdir()
    write_origin(tmp_path / "wal")
    options = SubscriptionOptions.model_validate({"drain": "10ms", **given})
    control: Any = Control(looks)
    clients: Any = queue
    with WalWriter(tmp_path / "wal", "consumer-0", 0) as wal:
        SubscriptionWorkload().run(Job(Task(CONSUMER, 0), options, clients, wal, control, 0))
    compact(tmp_path)
    history = History.open(tmp_path)
    return history.operations.to_pylist(), history.messages("log-0", 0).to_pylist()


def _positions(rows: Rows, direction: str) -> list[int]:
    return [row["position"] // 10 for row in rows if row["direction"] == direction]


def test_everything_is_acknowledged_one_by_one(tmp_path: Path) -> None:
    operations, messages = _recorded(tmp_path, Queue(5), looks=9)

    assert _positions(messages, "received") == _positions(messages, "acked") == [0, 1, 2, 3, 4]
    acks = [(row["outcome"], row["error"]) for row in operations if row["f"] == "ack"]
    assert acks == [("info", "NoReceipt")] * 5
    assert {row["f"] for row in operations} == {"subscribe", "receive", "ack", "drain", "close"}
    assert [row["outcome"] for row in operations if row["f"] == "drain"] == ["ok"]


@pytest.mark.parametrize("kind", SUBSCRIPTION_TYPES)
def test_the_type_is_in_the_history(tmp_path: Path, kind: str) -> None:
    queue = Queue(1)
    _, messages = _recorded(tmp_path, queue, looks=2, subscription=kind, keys=4)

    subscribed = [(row["key"], row["value"]) for row in messages if row["direction"] == "subscribed"]
    assert subscribed == [("chaoskit", SUBSCRIPTION_TYPES.index(kind))]
    assert queue.joined == [kind]


def test_some_are_refused_once_and_then_acknowledged(tmp_path: Path) -> None:
    _, messages = _recorded(tmp_path, Queue(4), looks=9, nack_every=2)

    assert _positions(messages, "nacked") == [1, 3]
    assert _positions(messages, "acked") == [0, 2, 1, 3]
    assert [row["delivery"] for row in messages if row["direction"] == "received"] == [0, 0, 0, 0, 1, 1]


def test_some_are_left_until_the_load_is_over(tmp_path: Path) -> None:
    operations, messages = _recorded(tmp_path, Queue(4), looks=9, leave_every=2)

    drain = next(row["op"] for row in operations if row["f"] == "drain")
    late = [row["position"] // 10 for row in messages if row["direction"] == "acked" and row["op"] > drain]
    assert late == [1, 3]
    assert sorted(_positions(messages, "acked")) == [0, 1, 2, 3]


def test_what_was_left_and_comes_again_is_acknowledged_once(tmp_path: Path) -> None:
    queue = Queue(2)
    queue.waiting.append((1, 1))
    _, messages = _recorded(tmp_path, queue, looks=9, leave_every=2)

    assert _positions(messages, "received") == [0, 1, 1]
    assert _positions(messages, "acked") == [0, 1]


def test_who_ends_abruptly_leaves_what_it_had_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashes = iter([False, False, True])
    monkeypatch.setattr(Restarts, "due", lambda _: next(crashes, False))
    operations, messages = _recorded(tmp_path, Queue(2), looks=9, leave_every=2)

    assert [row["f"] for row in operations if row["f"] in ("subscribe", "crash")] == ["subscribe", "crash", "subscribe"]
    assert [row["delivery"] for row in messages if row["direction"] == "received"] == [0, 0, 1]
    assert sorted(_positions(messages, "acked")) == [0, 1]


def test_one_cumulative_acknowledgement_names_all_that_it_covers(tmp_path: Path) -> None:
    queue = Queue(2)
    _, messages = _recorded(tmp_path, queue, looks=5, subscription="failover", acks="cumulative")

    assert _positions(messages, "acked") == [0, 1]
    assert queue.acked == [(0, "ack-cumulative"), (1, "ack-cumulative")]


def test_a_drain_that_never_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workloads.subscribing._DRAIN_MAX_S", 0)
    operations, _ = _recorded(tmp_path, Queue(1), looks=2)

    assert [row["outcome"] for row in operations if row["f"] == "drain"] == ["info"]


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"acks": "cumulative"}, "cumulative acks are for exclusive and failover subscriptions"),
        ({"acks": "cumulative", "subscription": "failover", "nack_every": 3}, "need acks: individual"),
        ({"subscription": "key-shared"}, "a key-shared subscription needs keys"),
        ({"consumption": "group"}, "consumption: group is of the workload log"),
        ({"drain": "30s"}, "less than or equal"),
        ({"subscription": "key_shared"}, "exclusive"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ValueError, match=refusal):
        SubscriptionOptions.model_validate(given)
