"""Checks of the settings of Kafka's clients before anything starts: every wrong one at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from confluent_kafka import KafkaException

from chaoskit.base.errors import BadInput, Problems, guessed
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Transactions
from clusters.kafka.clients.consumer import KafkaConsumer
from clusters.kafka.clients.membership import membership_problems, of_one_consumer
from clusters.kafka.clients.producer import KafkaProducer
from clusters.kafka.clients.settings import (
    ALIASES,
    PRODUCER_DEFAULTS,
    TRANSACTIONAL_ID,
    resolve_producer,
    transactional_settings,
)

_ACKS = ("all", "-1", "0", "1")
"""What brokers accept since Kafka 0.9; librdkafka also accepts other numbers, and then every send fails."""

ABSENT = "No such configuration property"
_NAMED = re.compile(r'onfiguration property:? "(.+?)"')

_OURS = {
    "producer": ("bootstrap.servers", "metadata.broker.list"),
    "consumer": ("bootstrap.servers", "metadata.broker.list", "auto.offset.reset"),
}
"""Settings that chaoskit sets itself: addresses, and that a lost position is an error, which the workload records."""

_COMMON = {
    "producer": (*PRODUCER_DEFAULTS, "batch.size", "compression.type", "retries",
        "max.in.flight.requests.per.connection"),
    "consumer": ("auto.offset.reset", "enable.auto.commit", "fetch.min.bytes", "fetch.wait.max.ms", "group.id",
        "isolation.level", "max.poll.interval.ms", "partition.assignment.strategy", "session.timeout.ms"),
}  # fmt: skip
"""Settings that a misspelt one may have been meant to be; librdkafka does not tell its list."""


def check_clients(declared: Declared) -> None:
    """Reject settings of producers and consumers that cannot work.

    Raises:
        BadInput: names each of them.
    """
    transactional = declared.get(Transactions) is not None
    given = declared.producer
    problems = Problems()
    if TRANSACTIONAL_ID in given and not transactional:
        problems.add(
            BadInput(
                f"workload.producer: {TRANSACTIONAL_ID} requires transactional producers; "
                "set workload.kind: transactions"
            )
        )
        given = {key: value for key, value in given.items() if key != TRANSACTIONAL_ID}
    settings = transactional_settings(given, "check") if transactional else resolve_producer(given)
    if str(settings.get("acks", "all")) not in _ACKS:
        problems.add(BadInput(f"workload.producer.acks: brokers accept all, 1 and 0 (given: {settings['acks']!r})"))
        settings = {**settings, "acks": "all"}
    for role, written in (("producer", given), ("consumer", declared.consumer)):
        for name in _OURS[role]:
            if name in written:
                problems.add(BadInput(f"workload.{role}.{name}: chaoskit sets it itself; remove it"))
    problems.tried(_check, "producer", settings, lambda chosen: KafkaProducer(chosen, lambda *_: None))
    for problem in membership_problems(declared, getattr(declared.options, "version", "")):
        problems.add(problem)
    consumer = {"group.id": "check", **of_one_consumer(declared.consumer)}
    problems.tried(_check, "consumer", consumer, lambda chosen: KafkaConsumer(chosen).close())
    problems.raise_any()


def _check(role: str, settings: Mapping[str, Any], connect: Callable[[Mapping[str, Any]], object]) -> None:
    if refusals := list(_refusals(role, dict(settings), connect)):
        raise BadInput("\n".join(refusals))


def _refusals(role: str, settings: dict[str, Any], connect: Callable[[Mapping[str, Any]], object]) -> Iterator[str]:
    for name, cause in refused(settings, connect):
        if not name or ABSENT not in cause:
            yield f"workload.{role}: rejected by librdkafka: {cause}"
            return
        guess = guessed(name, _COMMON[role])
        yield f"workload.{role}.{name}: librdkafka has no such property{f'; {guess}' if guess else ''}"


def refused(settings: dict[str, Any], connect: Callable[[Mapping[str, Any]], object]) -> Iterator[tuple[str, str]]:
    """Yield each property that librdkafka refuses, with its words; the name is empty, and nothing follows, if it tells
    none. It tells one at a time, so each is removed and the rest tried again.

    Args:
        settings: the properties; those that are refused are removed.
        connect: makes a client of them.
    """
    while True:
        try:
            connect(settings)
        except (KafkaException, TypeError, ValueError) as error:
            cause = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            named = _NAMED.search(cause)
            names = (named[1], ALIASES.get(named[1], "")) if named else ()
            name = next((known for known in names if known in settings), "")
            settings.pop(name, None)
            yield name, cause
            if not name:
                return
        else:
            return
