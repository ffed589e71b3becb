"""Kafka's own producers and consumers, for worker processes. The final read and its probes stay librdkafka's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.client import Completed
from chaoskit.contract.power import P, held
from clusters.kafka.client import KafkaClients
from clusters.kafka.connection import BOOTSTRAP, CLASSPATH
from clusters.kafka.consumer import KafkaAuditor
from clusters.kafka.java.consumer import JavaConsumer
from clusters.kafka.java.producer import JavaProducer
from clusters.kafka.java.settings import consumer_settings, producer_settings
from clusters.kafka.producer import KafkaProducer


class JavaClients:
    """The power `LogClients` of `chaoskit.contract.client`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._ours = KafkaClients(connection)
        self._classpath = str(connection[CLASSPATH])
        self._servers = {BOOTSTRAP: connection[BOOTSTRAP]}

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "Kafka's Java client")

    def producer(self, settings: Mapping[str, Any], completed: Completed) -> JavaProducer:
        return JavaProducer(self._classpath, {**producer_settings(settings), **self._servers}, completed)

    def prober(self, settings: Mapping[str, Any], completed: Completed) -> KafkaProducer:
        return self._ours.prober({}, completed)

    def consumer(self, settings: Mapping[str, Any], group: int = 0) -> JavaConsumer:
        named = {"group.id": self._ours.group(settings, group)}
        return JavaConsumer(self._classpath, {**consumer_settings(settings), **self._servers, **named})

    def auditor(self, settings: Mapping[str, Any]) -> KafkaAuditor:
        return self._ours.auditor(settings)
