"""Which declarations Kafka takes: what can be rejected before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.later import Later
from chaoskit.contract.guarantees.guarantee import Declared
from clusters.common.directories import check_directories
from clusters.common.java import check_java
from clusters.kafka import artifacts
from clusters.kafka.compaction import check_compaction
from clusters.kafka.connection import BOOTSTRAP
from clusters.kafka.java.settings import check_java_clients
from clusters.kafka.known import check_names, check_topology
from clusters.kafka.metadata import check_metadata
from clusters.kafka.security import check_security
from clusters.kafka.settings import FEATURES_SINCE, KafkaOptions, min_insync, node_count
from clusters.kafka.shares.queues import check_queues
from clusters.kafka.tiered.checks import check_no_store, check_tiered

REFUSALS = "clusters.kafka.clients.refusals"
"""A module that needs the client's package: it is imported when it is used."""

if TYPE_CHECKING:
    from clusters.kafka.clients import refusals
    from clusters.kafka.deploy import attached
else:
    attached, refusals = Later("kafka", "clusters.kafka.deploy.attached"), Later("kafka", REFUSALS)

_JAVA_MIN = {True: 17, False: 8}
"""Kafka 4 brokers need Java 17; earlier ones Java 8."""

_JAVA_CLIENTS_SINCE = (3, 0)
"""Before 2.5 consumers do not tell the generation of their group; releases in between were not tried."""


def check(declared: Declared) -> None:
    """Reject what a cluster of ours cannot do.

    Raises:
        BadInput: names each.
    """
    options: KafkaOptions = declared.options
    version = artifacts.parse_version(options.version)
    problems = Problems()
    problems.tried(artifacts.check_version, options.version, options.metadata)
    problems.tried(check_metadata, options, declared.hosts)
    problems.tried(_check_sizes, declared)
    problems.tried(check_directories, options.log_dirs, declared.disks, "cluster.log_dirs")
    problems.tried(_check_topic, options, version)
    problems.tried(check_tiered, options, declared.hosts)
    problems.tried(check_security, options.security, version)
    problems.tried(check_topology, options, declared.hosts)
    problems.tried(check_java, _JAVA_MIN[version >= (4,)], f"Kafka {options.version}")
    problems.tried(check_queues, declared)
    problems.tried(check_compaction, declared)
    problems.tried(_check_clients, declared)
    problems.raise_any()


def prepare(options: KafkaOptions) -> None:
    """Fetch the release, and reject settings that it does not have.

    Raises:
        BadInput: names each.
    """
    artifacts.check_version(options.version, options.metadata)
    check_names(options, artifacts.fetch(options.version))


def check_attached(settings: Mapping[str, Any], declared: Declared) -> None:
    """Reject what cannot be done with a cluster that runs already.

    Raises:
        BadInput: names each.
    """
    problems = Problems()
    problems.tried(attached.check, settings)
    problems.tried(_check_plain, settings, declared.options)
    problems.tried(_check_metadata_of_attached, declared.options)
    problems.tried(check_no_store, declared.options)
    problems.tried(_check_sizes, declared)
    problems.tried(check_queues, declared)
    problems.tried(check_compaction, declared)
    problems.tried(_check_clients, declared)
    problems.raise_any()


def _check_metadata_of_attached(options: KafkaOptions) -> None:
    if options.in_zookeeper:
        raise BadInput("cluster.metadata: zookeeper: not with cluster.attach yet; remove one of them")
    artifacts.check_version(options.version, options.metadata)


def _check_plain(settings: Mapping[str, Any], options: KafkaOptions) -> None:
    if options.clients == "java" and (further := sorted(settings.keys() - {BOOTSTRAP})):
        raise BadInput(f"cluster.clients: java: cluster.attach.{further[0]} is not supported with it yet")


def _check_clients(declared: Declared) -> None:
    if declared.options.clients == "java":
        if artifacts.parse_version(declared.options.version) < _JAVA_CLIENTS_SINCE:
            raise BadInput(
                f"cluster.clients: java needs Kafka 3.0.0 or later, not {declared.options.version}; remove it"
            )
        check_java_clients(declared)
    else:
        refusals.check_clients(declared)


def _check_sizes(declared: Declared) -> None:
    controllers, hosts = declared.options.controllers, node_count(declared.options, declared.hosts)
    if controllers != "combined" and not 1 <= controllers < hosts:
        raise BadInput(f"cluster.controllers: {controllers} of {hosts} hosts leaves no broker; reduce it")
    if declared.options.voters == "dynamic" and not artifacts.has_tools(declared.options.version):
        raise BadInput(
            f"cluster.voters: dynamic needs Kafka 4.0.0 or later, not {declared.options.version}; write static"
        )
    if declared.replication > declared.brokers:
        raise BadInput(
            f"workload.replication: {declared.replication} replicas require as many brokers; there are "
            f"{declared.brokers}"
        )
    if declared.topics and (least := min_insync(declared.options)) > declared.replication > 0:
        raise BadInput(
            f"min.insync.replicas: {least} of {declared.replication} replicas (workload.replication) can never be in "
            f"sync, and Kafka counts it as {declared.replication} or takes no message; write {declared.replication} or "
            "less"
        )


def _check_topic(options: KafkaOptions, version: tuple[int, ...]) -> None:
    if options.features and version < FEATURES_SINCE:
        raise BadInput(f"cluster.features: Kafka {options.version} has none; use 3.9 or later, or remove the key")
