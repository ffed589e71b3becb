"""How messages get to queues: exchanges, routing keys and headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from chaoskit.contract.workloads.topic import Topic

EXCHANGES = ("direct", "topic", "headers")
"""The types of exchanges, besides the default one."""

DELAYED = ".delay"
"""Added to the name of a queue: the queue in which its messages wait."""

_QUEUE = "queue"
"""A header with the name of the queue."""


class Route(NamedTuple):
    """Where to publish.

    Attributes:
        exchange: name of the exchange; empty: the default one.
        key: routing key.
        headers: what a headers exchange looks at.
    """

    exchange: str
    key: str
    headers: Mapping[str, str] = {}


class Binding(NamedTuple):
    """Which messages an exchange gives to a queue."""

    exchange: str
    key: str
    arguments: Mapping[str, Any] = {}


def exchange_name(kind: str) -> str:
    """Return the name of our exchange of a type."""
    return f"chaoskit-{kind}"


def route(topic: Topic) -> Route:
    """Return how messages get to a queue."""
    if "delay" in dict(topic.settings):
        return Route("", topic.name + DELAYED)
    if not topic.exchange:
        return Route("", topic.name)
    if topic.exchange == "headers":
        return Route(exchange_name(topic.exchange), "", {_QUEUE: topic.name})
    key = f"{topic.name}.message" if topic.exchange == "topic" else topic.name
    return Route(exchange_name(topic.exchange), key)


def binding(topic: Topic) -> Binding | None:
    """Return the binding of a queue, if it needs one."""
    if not topic.exchange:
        return None
    exchange = exchange_name(topic.exchange)
    if topic.exchange == "headers":
        return Binding(exchange, "", {"x-match": "all", _QUEUE: topic.name})
    return Binding(exchange, f"{topic.name}.*" if topic.exchange == "topic" else topic.name)
