"""Which declarations Pulsar takes: what can be rejected before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaoskit.base.errors import Problems
from chaoskit.base.later import Later
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Group, Queueing
from clusters.common.java import check_java
from clusters.pulsar import artifacts
from clusters.pulsar.compaction import check_compaction
from clusters.pulsar.known import check_topology
from clusters.pulsar.settings import PulsarOptions, check_settings
from clusters.storage.settings import check_bookies, quorums

FOR_RUNS = tuple(
    f"clusters.pulsar.{name}"
    for name in ("clients.consumer", "java.settings", "clients.producer", "clients.queue_settings")
)
"""The modules with the settings of clients; they need the clients' packages."""

if TYPE_CHECKING:
    from clusters.pulsar.clients import consumer, producer, queue_settings
    from clusters.pulsar.java import settings as java_settings
else:
    consumer, java_settings, producer, queue_settings = (Later("pulsar", path) for path in FOR_RUNS)

JAVA_MIN = 17


def check(declared: Declared) -> None:
    """Reject what cannot work.

    Raises:
        BadInput: names each.
    """
    options: PulsarOptions = declared.options
    artifacts.parse_version(options.version)
    problems = Problems()
    problems.tried(quorums, options, len(options.place(declared.hosts).bookies))
    problems.tried(check_bookies, options, declared.disks)
    problems.tried(check_settings, options)
    problems.tried(check_topology, options, declared.hosts)
    problems.tried(check_java, JAVA_MIN, f"Pulsar {options.version}")
    problems.tried(check_compaction, declared)
    problems.tried(_check_clients, declared)
    problems.raise_any()


def _check_clients(declared: Declared) -> None:
    if declared.options.clients == "java":
        java_settings.check_java_clients(declared)
        return
    if declared.get(Queueing) is not None:
        queue_settings.check_queues(declared)
        return
    problems = Problems()
    problems.tried(producer.resolve_producer, declared.producer)
    problems.tried(
        consumer.reader_settings if declared.get(Group) is None else consumer.group_settings, declared.consumer
    )
    problems.raise_any()
