"""OMB's driver of Kafka: settings of the Java client by the names that librdkafka has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.systems.benchmark import Driven, check_keys
from clusters.common.java import PRODUCTION
from clusters.kafka.clients.consumer import KafkaConsumer
from clusters.kafka.clients.producer import KafkaProducer
from clusters.kafka.clients.refusals import ABSENT, refused
from clusters.kafka.connection import BOOTSTRAP

_TEXTS = ("topicConfig", "commonConfig", "producerConfig", "consumerConfig")
_KEYS = ("name", "driverClass", "replicationFactor", *_TEXTS)
_REPLACED = {
    "auto.offset.reset": "consumers read everything from the beginning",
    "group.id": "consumers have a group of the run's",
}
"""Settings that the workload has itself."""

_OUTSIDE = "outside allowed range"
_CONNECTION = ("security.", "sasl.", "ssl.")


def driven(content: Mapping[str, Any], *, java: bool) -> Driven:
    """See `chaoskit.contract.systems.benchmark.Benchmarked`."""
    check_keys("Kafka", content, _KEYS)
    topic, common, producer, consumer = (_properties(content, key) for key in _TEXTS)
    servers = common.pop(BOOTSTRAP, None)
    if not servers:
        raise BadInput(f"commonConfig: {BOOTSTRAP} is missing; name the brokers")
    ignored = [f"{name}: {why}" for name, why in _REPLACED.items() if consumer.pop(name, None) is not None]
    common.pop("client.id", None)
    known: dict[str, dict[str, Any]] = {"producer": {**common, **producer}, "consumer": {**common, **consumer}}
    if not java:
        _taken(known["producer"], lambda given: KafkaProducer(given, lambda *_: None), ignored)
        _taken(known["consumer"], _consumer, ignored)
    replication = content.get("replicationFactor", 1)
    if not isinstance(replication, int) or replication < 1:
        raise BadInput(f"replicationFactor: {replication!r} is no number of replicas; write 1 or more")
    attach = {BOOTSTRAP: servers, **{key: value for key, value in common.items() if key.startswith(_CONNECTION)}}
    clients = {
        role: {key: value for key, value in given.items() if not key.startswith(_CONNECTION)}
        for role, given in known.items()
    }
    return Driven(
        attach=attach,
        cluster={"topic": topic, **({"clients": "java"} if java else {})},
        workload={"replication": replication, **clients},
        hosts=replication,
        lab={"jvm": PRODUCTION},
        ignored=tuple(dict.fromkeys(ignored)),
    )


def _properties(content: Mapping[str, Any], key: str) -> dict[str, str]:
    """Return the properties of a text, as Java reads them."""
    text = content.get(key)
    if text is None:
        raise BadInput(f"{key}: is missing; write it, with at least one property")
    properties = {}
    for line in str(text).splitlines():
        name, separator, value = line.strip().partition("=")
        if not name or name.startswith(("#", "!")):
            continue
        if not separator:
            raise BadInput(f"{key}: {line.strip()!r} is no property; write name=value")
        properties[name.strip()] = value.strip()
    return properties


def _taken(settings: dict[str, Any], connect: Callable[[Mapping[str, Any]], object], ignored: list[str]) -> None:
    """Leave the settings that librdkafka has; add the others to `ignored`."""
    given = dict(settings)
    for name, why in refused(settings, connect):
        if ABSENT in why:
            ignored.append(f"{name}: librdkafka has no such property")
        elif _OUTSIDE in why:
            ignored.append(f"{name}: {given[name]} is outside librdkafka's range; its default is used")
        else:
            raise BadInput(f"{name or 'producerConfig, consumerConfig'}: rejected by librdkafka: {why}")


def _consumer(settings: Mapping[str, Any]) -> None:
    KafkaConsumer({"group.id": "check", **settings}).close()
