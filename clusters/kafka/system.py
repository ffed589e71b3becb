"""Kafka as chaoskit's engine sees it: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException

from chaoskit.base.errors import BadInput
from chaoskit.contract.capability import Finding
from chaoskit.contract.client import ClientFactory, TransactionalClients
from chaoskit.contract.cluster import Allowance, DataFiles, Declared, Effect, Leadership, Reassignment, Upgrade
from chaoskit.contract.host import ServiceHost
from clusters.diagnosis import java_and_jars
from clusters.java import check_java
from clusters.kafka import artifacts
from clusters.kafka.client import KafkaClients
from clusters.kafka.consumer import KafkaConsumer
from clusters.kafka.deploy import KafkaCluster
from clusters.kafka.guarantees import guarantees
from clusters.kafka.operator import TOOLS_SINCE
from clusters.kafka.producer import KafkaProducer, resolve_producer
from clusters.kafka.roles import ROLES
from clusters.kafka.settings import KafkaOptions, broker_count
from clusters.kafka.transactions import TRANSACTIONAL_ID, transactional_settings

_JAVA_MIN = {True: 17, False: 8}
"""Kafka 4 brokers need Java 17; earlier ones Java 8."""


class System:
    """Entry point `kafka` of `chaoskit.clusters`."""

    options = KafkaOptions
    roles = ROLES

    def powers(self, options: KafkaOptions) -> tuple[type, ...]:
        by_tools = (Leadership, Reassignment) if artifacts.parse_version(options.version) >= TOOLS_SINCE else ()
        return (DataFiles, Upgrade, TransactionalClients, *by_tools)

    def check(self, declared: Declared, hosts: int) -> None:
        options: KafkaOptions = declared.options
        version = artifacts.parse_version(options.version)
        if options.controllers != "combined" and not 1 <= options.controllers < hosts:
            raise BadInput(f"cluster.controllers: {options.controllers} of {hosts} hosts leaves no broker; write fewer")
        if declared.replication > declared.brokers:
            raise BadInput(
                f"workload.replication: {declared.replication} replicas need as many brokers; there are "
                f"{declared.brokers}"
            )
        if TRANSACTIONAL_ID in declared.producer and not declared.transactional:
            raise BadInput(
                f"workload.producer: {TRANSACTIONAL_ID} is for producers that write in transactions: "
                "write workload.kind: transactions"
            )
        check_java(_JAVA_MIN[version >= (4,)], f"Kafka {options.version}")
        given = declared.producer
        settings = transactional_settings(given, "check") if declared.transactional else resolve_producer(given)
        _check_client("producer", lambda: KafkaProducer(settings, lambda *_: None))
        _check_client("consumer", lambda: KafkaConsumer({"group.id": "check", **declared.consumer}).close())

    def prepare(self, options: Any) -> None:
        artifacts.fetch(options.version)

    def deploy(self, hosts: Sequence[ServiceHost], options: Any) -> KafkaCluster:
        return KafkaCluster(hosts, options, artifacts.fetch(options.version))

    def clients(self, settings: Mapping[str, Any]) -> ClientFactory:
        return KafkaClients(settings)

    def guarantees(self, declared: Declared, effects: Sequence[Effect]) -> dict[str, Allowance]:
        return guarantees(declared, effects)

    def brokers(self, options: Any, hosts: int) -> int:
        return broker_count(options, hosts)

    def diagnose(self) -> list[Finding]:
        return java_and_jars("Kafka", 17, "Kafka 4")


def _check_client(role: str, connect: Any) -> None:
    try:
        connect()
    except (KafkaException, TypeError, ValueError) as error:
        cause = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        raise BadInput(f"workload.{role}: librdkafka refuses it: {cause}") from error
