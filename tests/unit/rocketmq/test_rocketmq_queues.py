"""What is a queue to a workload, among RocketMQ's topics and groups."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.queue import QueueFeature
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Queueing
from chaoskit.scenario.plan import read_plan
from clusters.rocketmq.clients import queues
from clusters.rocketmq.clients.settings import pop_settings, way_to_queues
from clusters.rocketmq.deploy import admin, progress
from clusters.rocketmq.settings import RocketOptions

MASTER = ("10.0.0.1", 10911)


def _content(**workload: Any) -> dict[str, Any]:
    return {
        "name": "small",
        "cluster": {"system": "rocketmq", "hosts": 1, "mode": "single", "proxies": 1},
        "workload": {"kind": "queue", "duration": "5s", **workload},
    }


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What a broker is asked."""
    asked_of: list[tuple[Any, ...]] = []
    monkeypatch.setattr(admin, "create_topic", lambda *given: asked_of.append(given[1:4]))
    monkeypatch.setattr(admin, "create_group", lambda *given, **named: asked_of.append((given[1], named)))
    return asked_of


def test_a_queue_is_a_topic_with_a_group(requests: list[tuple[Any, ...]]) -> None:
    queues.create(MASTER, Topic("q", QUEUE, kind="normal"), 1.0)
    queues.create(MASTER, Topic("f", QUEUE, kind="fifo", settings=(("delivery-limit", 3),)), 1.0)

    assert requests == [
        ("q", 4, "+message.type=NORMAL"),
        ("q", {"ordered": False, "retries": None}),
        ("f", 4, "+message.type=FIFO"),
        ("f", {"ordered": True, "retries": 2}),
    ], "the third return of a message is its last one"


def test_dead_letters_are_in_the_topic_of_the_queue_s_group(requests: list[tuple[Any, ...]]) -> None:
    queues.create(MASTER, Topic("q.dead", QUEUE, settings=(("dead-letters-of", 1),)), 1.0)

    assert requests == [("%DLQ%q", 1, ""), ("q-dead", {})]
    assert queues.queue_of("%DLQ%q") == "q.dead"


def test_delayed_messages_have_a_topic_of_their_type(requests: list[tuple[Any, ...]]) -> None:
    topic = Topic("q", QUEUE, kind="normal", settings=(("delay", 3000),))
    queues.create(MASTER, topic, 1.0)

    assert requests[0] == ("q", 4, "+message.type=DELAY")
    assert queues.delays([topic, Topic("other", QUEUE)]) == {"q": 3000}


@pytest.mark.parametrize(
    ("given", "ordered", "confirms", "way"),
    [
        ({}, False, True, "async"),
        ({}, True, True, "sync"),
        ({}, False, False, "oneway"),
        ({"send": "sync"}, False, True, "sync"),
    ],
)
def test_how_publishers_send_follows_from_what_counts(
    given: dict[str, Any], ordered: bool, confirms: bool, way: str
) -> None:
    assert way_to_queues(given, ordered=ordered, confirms=confirms) == way


def test_how_long_a_message_is_invisible_is_checked() -> None:
    assert pop_settings({"invisible_duration": "30s"}).invisible_duration == 30_000_000_000
    with pytest.raises(BadInput, match=r"workload\.consumer\.invisible: there is no such setting; there are invis"):
        pop_settings({"invisible": "30s"})


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ({"priorities": 3}, r"workload\.priorities: queues of this system have no priorities"),
        ({"persistent": False}, r"workload\.persistent: queues of this system have no durability"),
        ({"settle": "multiple"}, r"workload\.settle"),
        ({"ttl": "3s"}, r"workload\.ttl"),
    ],
)
def test_what_queues_cannot_do_is_refused(workload: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        read_plan(_content(**workload), "s.yaml", seed=1)


@pytest.mark.parametrize(
    ("queueing", "kind", "words"),
    [
        ({"features": (("reject_every", QueueFeature.REFUSAL),)}, "normal", r"workload\.reject_every: .*; use return_"),
        ({"settings": (("dead-letters", 1),)}, "normal", r"workload\.dead_letters: .*; set delivery_limit"),
        ({"settings": (("delay", 3000),)}, "fifo", r"workload\.delay: .*; remove type: fifo"),
    ],
)
def test_what_a_queue_of_rocketmq_cannot_do_is_refused(queueing: dict[str, Any], kind: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        queues.check_queues(_declared(kind, queueing))


def test_what_a_queue_of_rocketmq_can_do_is_not_refused() -> None:
    limited = (("dead-letters", 1), ("delivery-limit", 2), ("delay", 3000))

    queues.check_queues(_declared("normal", {"settings": limited}))
    queues.check_queues(_declared("fifo", {"settings": limited[:2]}))


def _declared(kind: str, queueing: dict[str, Any]) -> Declared:
    traits = (Queueing(True, True, 2, **queueing),)
    return Declared(RocketOptions(), 1, 1, (Topic("queue-0", QUEUE, kind=kind),), {}, {}, traits)


@pytest.mark.parametrize(
    ("waiting", "held", "late_s", "left"),
    [(0, False, 0, 0), (3, False, 0, 3 * 5), (3, True, 0, 3 * 5), (0, True, 0, None), (0, False, 60, None)],
)
def test_what_may_still_come_is_no_number_of_messages(
    waiting: int, held: bool, late_s: int, left: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four queues of the topic and one of what is to be delivered again."""
    monkeypatch.setattr(progress, "lag", lambda *_: waiting)
    monkeypatch.setattr(progress, "waits", lambda *_: held)
    monkeypatch.setattr(admin, "check_dispatched", lambda *_: None)
    monkeypatch.setattr(admin, "timer_late_s", lambda *_: late_s)

    if left is None:
        with pytest.raises(ServiceError, match="may come"):
            queues.left(MASTER, "q", "c", 1.0)
    else:
        assert queues.left(MASTER, "q", "c", 1.0) == left
