"""Pulsar as chaoskit's engine sees it: check, prepare, deploy, clients, guarantees, diagnose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.capability import Finding
from chaoskit.contract.client import ClientFactory, SequencedClients, SubscribingClients
from chaoskit.contract.cluster import Allowance, Declared, Effect, Leadership
from chaoskit.contract.host import ServiceHost
from clusters.bookkeeper.decommission import decommissioning
from clusters.bookkeeper.settings import quorums
from clusters.diagnosis import java_and_jars
from clusters.java import check_java
from clusters.pulsar import artifacts
from clusters.pulsar.client import PulsarClients
from clusters.pulsar.consumer import group_settings, reader_settings
from clusters.pulsar.deploy import PulsarCluster
from clusters.pulsar.guarantees import guarantees
from clusters.pulsar.producer import resolve_producer
from clusters.pulsar.roles import ROLES
from clusters.pulsar.settings import PulsarOptions, check_settings

_JAVA_MIN = 17


class System:
    """Entry point `pulsar` of `chaoskit.clusters`."""

    options = PulsarOptions
    roles = ROLES

    def powers(self, options: PulsarOptions) -> tuple[type, ...]:
        return (Leadership, SequencedClients, SubscribingClients, *decommissioning(options))

    def check(self, declared: Declared, hosts: int) -> None:
        options: PulsarOptions = declared.options
        artifacts.parse_version(options.version)
        quorums(options, len(options.place(hosts).bookies))
        check_settings(options)
        resolve_producer(declared.producer)
        (group_settings if declared.grouped else reader_settings)(declared.consumer)
        check_java(_JAVA_MIN, f"Pulsar {options.version}")

    def prepare(self, options: Any) -> None:
        artifacts.fetch(options.version)

    def deploy(self, hosts: Sequence[ServiceHost], options: Any) -> PulsarCluster:
        return PulsarCluster(hosts, options, artifacts.fetch(options.version))

    def clients(self, settings: Mapping[str, Any]) -> ClientFactory:
        return PulsarClients(settings)

    def guarantees(self, declared: Declared, effects: Sequence[Effect]) -> dict[str, Allowance]:
        return guarantees(declared, effects)

    def brokers(self, options: Any, hosts: int) -> int:
        return len(options.place(hosts).bookies)

    def diagnose(self) -> list[Finding]:
        return java_and_jars("Pulsar", _JAVA_MIN, "Pulsar")
