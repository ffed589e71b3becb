"""Clients of the queue workload: what is published, settled and drained, and how that is recorded."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import pytest
from loads import RUN, Load, Powers, rows_of

from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.clients.queue import Arrival, ConsumerChange, Death, NoQueue, Publishing, QueueFeature
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.traits import Queueing
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Task
from chaoskit.history.format.models import write_topics
from chaoskit.load import draining
from chaoskit.model import payload
from chaoskit.model.audit import Drained
from chaoskit.model.message import NO_POSITION, Delivery
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import OK, Outcome
from workloads.queue import auditor
from workloads.queue.options import QueueOptions
from workloads.queue.workload import QueueWorkload

PROBE = 1 << 40


class Queue(Powers):
    """A queue in memory: what is not acknowledged when its consumer ends comes again."""

    def __init__(self, count: int = 0) -> None:
        self.waiting = deque((value, 0) for value in range(count))
        self.stuck: list[tuple[int, int]] = []
        self.dead: deque[tuple[int, Death]] = deque()
        self.held: dict[int, tuple[int, int]] = {}
        self.consumed: set[str] = set()
        self.tags = 0
        self.settled: list[tuple[int, str]] = []
        self.consumers = 1
        self.silent = self.gone = False
        self.changed: list[ConsumerChange] = []

    def publisher(self, settings: Any, index: int, completed: Any, publishing: Publishing) -> Any:
        assert publishing == Publishing()
        return _Publisher(self, completed)

    def queue_consumer(self, settings: Any, index: int, prefetch: int) -> Queue:
        return self

    def consume(self, queues: Any) -> None:
        assert set(queues) <= {"queue-0", "queue-0.dead"}
        self.consumed = set(queues)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Arrival], str | None]:
        if self.dead and "queue-0.dead" in self.consumed:
            self.tags += 1
            value, death = self.dead.popleft()
            self.held[self.tags] = value, 0
            content = payload.Writer(RUN, 100).build(value, 1, 1)
            return [Arrival(Delivery("queue-0.dead", 0, None, content, NO_POSITION, 0), self.tags, death)], None
        if not self.waiting:
            return [], None
        value, count = self.waiting.popleft()
        self.tags += 1
        self.held[self.tags] = value, count
        content = payload.Writer(RUN, 100).build(value, 1, 1)
        return [Arrival(Delivery("queue-0", 0, None, content, NO_POSITION, count), self.tags)], None

    def settle(self, tags: Any, how: str) -> tuple[Outcome, str | None]:
        for tag in tags:
            value, count = self.held.pop(tag)
            self.settled.append((value, how))
            if how == "nack":
                self.waiting.append((value, count + 1))
            if how == "reject":
                self.dead.append((value, Death("rejected", "queue-0", 1)))
        return OK, None

    def changes(self) -> list[ConsumerChange]:
        changed, self.changed = self.changed, []
        return changed

    def left(self, queue: str) -> tuple[int, int]:
        if self.silent:
            raise Unreachable("nobody answers")
        if self.gone:
            raise NoQueue(queue)
        return len(self.waiting), self.consumers - (not self.consumed)

    def close(self, *, abruptly: bool = False) -> None:
        self.waiting.extend((value, count + 1) for value, count in [*self.held.values(), *self.stuck])
        self.held.clear()
        self.stuck.clear()


class _Publisher:
    def __init__(self, queue: Queue, completed: Any) -> None:
        self._queue, self._completed = queue, completed

    def send(self, topic: str, partition: int, key: Any, content: bytes, token: int) -> bool:
        return self.publish(topic, content, token, 0)

    def publish(self, topic: str, content: bytes, token: int, priority: int) -> bool:
        _, value, _, _ = payload.read(content, RUN)
        self._queue.waiting.append((value, 0))
        self._completed(token, OK, None, None)
        return True

    def pending(self) -> int:
        return 0

    def poll(self, timeout_s: float) -> None:
        """Everything is confirmed at once."""

    def close(self, timeout_s: float) -> None:
        """As above."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run's folder; a drain asks at once, and gives up at once."""
    monkeypatch.setattr(draining, "_ASK_EVERY_S", 0.0)
    monkeypatch.setattr(draining, "_STALL_S", 0.0)
    return tmp_path


def _load(folder: Path, queue: Queue) -> Load:
    load = Load(folder, QueueWorkload(), queue)
    write_topics(folder / "wal", {"queue-0": QUEUE.name})
    return load


def _options(**given: Any) -> QueueOptions:
    return QueueOptions.model_validate({"drain": "1us", **given})


def test_an_ended_subscription_and_the_next_one_are_recorded(folder: Path) -> None:
    queue = Queue(1)
    queue.changed = [ConsumerChange("cancelled", "queue-0"), ConsumerChange("subscribed", "queue-0")]
    load = _load(folder, queue)

    load.work(Task(CONSUMER, 0), 1, _options())

    history = load.history()
    _, observations = rows_of(history, "queue-0")
    noted = [row for row in observations if row["kind"] in ("cancelled", "subscribed")]
    f = dict(zip(*(history.operations[name].to_pylist() for name in ("op", "f")), strict=True))
    assert [(row["kind"], f[row["op"]]) for row in noted] == [
        ("subscribed", "subscribe"),
        ("cancelled", "receive"),
        ("subscribed", "subscribe"),
    ]


def test_a_consumer_acknowledges_refuses_and_leaves(folder: Path) -> None:
    queue = Queue(6)
    load = _load(folder, queue)

    load.work(Task(CONSUMER, 0), 20, _options(nack_every=3, leave_every=4))

    assert [value for value, how in queue.settled if how == "nack"] == [2, 5]
    assert sorted(value for value, how in queue.settled if how == "ack") == [0, 1, 2, 4, 5]
    assert list(queue.waiting) == [(3, 1)]
    messages, observations = rows_of(load.history(), "queue-0")
    assert [(row["value"], row["delivery"], row["position"]) for row in messages][-2:] == [(2, 1, None), (5, 1, None)]
    assert {(row["kind"], row["value"]) for row in observations if row["kind"] == "nacked"} == {
        ("nacked", 2),
        ("nacked", 5),
    }


def test_what_an_ended_consumer_had_comes_again(folder: Path) -> None:
    queue = Queue(2)
    load = _load(folder, queue)

    load.work(Task(CONSUMER, 0), 2, _options(leave_every=1))

    assert sorted(queue.waiting) == [(0, 1), (1, 1)]


def test_the_final_read_drains_the_queue_and_its_probe(folder: Path) -> None:
    queue = Queue(3)
    load = _load(folder, queue)

    result = load.work(Task(AUDITOR, 0), 1000, _options())

    assert (result["accepted"], result["audited"], result["why"]) == (True, True, "")
    assert queue.settled == [(0, "ack"), (1, "ack"), (2, "ack"), (PROBE, "ack")]
    assert load.history().audit("queue-0", 0) == Drained(complete=True)


def test_what_was_delivered_to_the_final_read_and_did_not_arrive_comes_to_its_next_connection(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "_RENEWED_S", 1e-6)
    monkeypatch.setattr(draining, "_STALL_S", 10.0)
    queue = Queue(1)
    queue.stuck = [(7, 0)]
    monkeypatch.setattr(auditor, "_note_depths", lambda *_: None)
    load = _load(folder, queue)

    result = load.work(Task(AUDITOR, 0), 1000, _options())

    assert result["audited"]
    assert (7, "ack") in queue.settled


class SickNodes(Queue):
    """Its first two nodes take messages for their consumers and do not deliver them, as where a member is down."""

    def queue_consumer(self, settings: Any, index: int, prefetch: int) -> Queue:
        self.stuck += [self.waiting.popleft() for _ in range(len(self.waiting))] if index % 3 < 2 else []
        return self


def test_the_final_read_connects_to_other_nodes_before_it_believes_that_a_queue_is_empty(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "_RENEWED_S", 1e-6)
    monkeypatch.setattr(draining, "_STALL_S", 10.0)
    monkeypatch.setattr(auditor, "_note_depths", lambda *_: None)
    queue = SickNodes(1)
    load = _load(folder, queue)

    result = load.work(Task(AUDITOR, 0), 1000, _options())

    assert result["audited"]
    assert (0, "ack") in queue.settled


@pytest.mark.parametrize(("consumers", "silent"), [(2, False), (1, True)])
def test_a_queue_of_which_nobody_knows_that_it_is_empty_was_not_drained(
    folder: Path, consumers: int, silent: bool
) -> None:
    queue = Queue(1)
    queue.consumers, queue.silent = consumers, silent
    load = _load(folder, queue)

    result = load.work(Task(AUDITOR, 0), 1000, _options())

    assert not result["audited"]
    assert result["why"] == f"queue-0 {'nobody answers' if silent else 'has 2 consumers, which may hold messages'}"
    assert load.history().audit("queue-0", 0) == Drained(complete=False)


def test_a_queue_that_every_node_says_is_gone_holds_nothing(folder: Path) -> None:
    queue = Queue()
    queue.gone = True
    load = _load(folder, queue)

    result = load.work(Task(AUDITOR, 0), 1000, _options())

    assert (result["audited"], result["why"]) == (True, "")
    assert load.history().audit("queue-0", 0) == Drained(complete=True)


@pytest.mark.parametrize(("consumers", "depths"), [(1, [4]), (2, [])])
def test_a_depth_is_told_unless_others_may_hold_messages(folder: Path, consumers: int, depths: list[int]) -> None:
    queue = Queue(3)
    queue.consumers = consumers
    load = _load(folder, queue)

    load.work(Task(AUDITOR, 0), 1000, _options())

    _, observations = rows_of(load.history(), "queue-0")
    assert [row["position"] for row in observations if row["kind"] == "depth"] == depths


def test_rejected_messages_are_dead_letters_of_their_queue(folder: Path) -> None:
    queue = Queue(4)
    load = _load(folder, queue)

    load.work(Task(CONSUMER, 0), 20, _options(reject_every=2, dead_letters=True))
    result = load.work(Task(AUDITOR, 0), 1000, _options(dead_letters=True))

    assert result["audited"]
    assert [value for value, how in queue.settled if how == "reject"] == [1, 3]
    _, observations = rows_of(load.history(), "queue-0")
    dead = [row for row in observations if row["kind"] == "dead-lettered"]
    assert [(row["value"], row["name"], row["position"]) for row in dead] == [(1, "rejected", 1), (3, "rejected", 1)]
    assert {row["value"] for row in observations if row["kind"] == "rejected"} == {1, 3}


def test_a_producer_declares_its_queues_and_gives_priorities_in_turn(folder: Path) -> None:
    load = _load(folder, Queue())

    load.work(Task(PRODUCER, 0), 3, _options(priorities=2, ttl="2s", rate=1000, max_length=10))

    messages, observations = rows_of(load.history(), "queue-0")
    declared = {row["name"]: row["position"] for row in observations if row["kind"] == "declared"}
    assert declared == {"message-ttl": 2000, "max-length": 10, "priorities": 2, "prefetch": 100}
    levels = [(row["value"], row["position"]) for row in observations if row["kind"] == "prioritised"]
    assert levels == [(row["value"], row["value"] % 2) for row in messages]


def test_every_nth_message_goes_nowhere() -> None:
    routes = _options(unrouted_every=3, queues=2).routes()
    assert [topic for topic, _, _ in routes] == ["queue-0", "queue-1", "nowhere", "queue-1", "queue-0", "nowhere"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"dead_consumers": 1}, "dead_consumers requires dead_letters"),
        ({"settle": "multiple", "leave_every": 2}, "settle: multiple acknowledges"),
        ({"return_every": 5}, "return_every returns messages forever; set delivery_limit"),
        ({"delay": "1s", "exchange": "topic"}, "delay requires exchange: default"),
    ],
)
def test_options_that_contradict_each_other_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        _options(**given)


def test_a_resolved_scenario_asks_for_no_more_than_the_written_one() -> None:
    written = _options(persistent=False, confirms=True, nack_every=5, prefetch=100)
    resolved = QueueOptions.model_validate(written.model_dump())

    asked = [("persistent", QueueFeature.DURABILITY), ("nack_every", QueueFeature.REFUSAL)]
    assert written.features() == resolved.features() == asked
    assert QueueOptions.model_validate(_options().model_dump()).features() == []


@pytest.mark.parametrize(
    ("given", "unsettled", "crashes"),
    [
        ({}, False, False),
        ({"leave_every": 2}, True, False),
        ({"return_every": 2, "delivery_limit": 1}, True, False),
        ({"crash_every": "1s"}, False, True),
    ],
)
def test_guarantees_are_told_what_consumers_do_not_settle(
    given: dict[str, Any], unsettled: bool, crashes: bool
) -> None:
    (queueing,) = (trait for trait in QueueWorkload().traits(_options(**given)) if isinstance(trait, Queueing))

    assert (queueing.unsettled, queueing.crashes) == (unsettled, crashes)
