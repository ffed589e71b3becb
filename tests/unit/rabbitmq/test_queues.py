"""How RabbitMQ declares the queues of a workload, and how messages get to them."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.contract.workloads.datamodel import LOG, QUEUE
from chaoskit.contract.workloads.topic import Topic
from clusters.rabbitmq.queues import declarations, lacks, leader_of
from clusters.rabbitmq.routing import Binding, Route, binding, route


def _queue(kind: str, exchange: str = "", **settings: int) -> Topic:
    given = tuple((name.replace("_", "-"), number) for name, number in settings.items())
    return Topic("t-queue-0", QUEUE, 1, 3, kind, given, exchange)


def _arguments(topic: Topic) -> dict[str, dict[str, Any]]:
    return {declaration.name: declaration.arguments for declaration in declarations(topic)}


def test_settings_become_arguments() -> None:
    arguments = _arguments(
        _queue("classic", message_ttl=500, max_length=9, priorities=3, single_active=1, dead_letters=1)
    )

    assert arguments == {
        "t-queue-0": {
            "x-queue-type": "classic", "x-message-ttl": 500, "x-max-length": 9, "x-max-priority": 3,
            "x-single-active-consumer": True, "x-dead-letter-exchange": "", "x-dead-letter-routing-key":
            "t-queue-0.dead",
        }
    }  # fmt: skip


def test_a_quorum_queue_declares_no_priorities() -> None:
    arguments = _arguments(_queue("quorum", priorities=3, delivery_limit=2))

    assert arguments["t-queue-0"] == {
        "x-queue-type": "quorum", "x-quorum-initial-group-size": 3, "x-delivery-limit": 2
    }  # fmt: skip


def test_messages_with_a_delay_wait_in_another_queue() -> None:
    topic = _queue("classic", delay=700)

    assert _arguments(topic)["t-queue-0.delay"] == {
        "x-queue-type": "classic", "x-message-ttl": 700, "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": "t-queue-0",
    }  # fmt: skip
    assert route(topic) == Route("", "t-queue-0.delay")


def test_nothing_is_declared_for_a_key_without_a_queue() -> None:
    assert not declarations(_queue("classic", unrouted=1))


def test_each_partition_of_a_log_is_a_stream() -> None:
    log = Topic("t-log-0", LOG, 2, 3)

    assert [(declaration.name, declaration.place) for declaration in declarations(log)] == [
        ("t-log-0-0", ("t-log-0", 0)),
        ("t-log-0-1", ("t-log-0", 1)),
    ]


@pytest.mark.parametrize(
    ("exchange", "way", "bound"),
    [
        ("", Route("", "t-queue-0"), None),
        ("direct", Route("chaoskit-direct", "t-queue-0"), Binding("chaoskit-direct", "t-queue-0")),
        ("topic", Route("chaoskit-topic", "t-queue-0.message"), Binding("chaoskit-topic", "t-queue-0.*")),
        (
            "headers",
            Route("chaoskit-headers", "", {"queue": "t-queue-0"}),
            Binding("chaoskit-headers", "", {"x-match": "all", "queue": "t-queue-0"}),
        ),
    ],
)
def test_a_message_gets_to_its_queue_through_an_exchange(exchange: str, way: Route, bound: Binding | None) -> None:
    topic = _queue("quorum", exchange)

    assert (route(topic), binding(topic)) == (way, bound)


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ({"type": "quorum", "leader": "rabbit@n1", "members": ["rabbit@n1"], "online": ["rabbit@n1"]}, ""),
        ({"type": "stream", "node": "rabbit@n1", "members": ["rabbit@n1"], "online": ["rabbit@n1"]}, ""),
        ({"type": "quorum", "members": ["a", "b"], "online": ["a"]}, "q has the members ['a'] of ['a', 'b'] online"),
        ({"type": "classic", "state": "down"}, "q is down"),
        ({"type": "classic", "state": None}, "q is None"),
        ({"type": "classic", "state": "running"}, ""),
        ({"type": "classic", "state": "live"}, ""),
    ],
)
def test_what_a_queue_lacks(answer: dict[str, Any], missing: str) -> None:
    assert lacks("q", answer) == missing


def test_releases_before_4_name_the_leader_of_a_stream_as_its_node() -> None:
    assert leader_of({"node": "rabbit@n2"}) == "rabbit@n2"
    assert leader_of({"node": "rabbit@n2", "leader": "rabbit@n3"}) == "rabbit@n3"
