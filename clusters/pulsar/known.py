"""The settings of a Pulsar release, read from its jars; see `clusters.storage.known`.

A broker's settings are the fields of one class, by their names. It hands others on: to BookKeeper's client, to the
clients that it makes, to the storage that it offloads ledgers to, and to providers of authentication.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from clusters.common.javaclass import JavaClass, classes
from clusters.common.names import Known, overridden, raise_any, remembered, unknown
from clusters.pulsar.settings import BROKER, PulsarOptions, broker_conf
from clusters.storage import known as storage

FAMILIES = (r"(brokerClient_|sasl|athenz|prometheus|kafka|mqtt|amqp|rocketmq)\w+",)
"""Settings of clients, of authentication, and of the known protocol handlers."""

_TO_BOOKKEEPER = "bookkeeper_"
"""Prefix of settings that a broker hands on to BookKeeper's client."""

_JARS = ("pulsar-*.jar", "managed-ledger*.jar")
_BEANS = r"org/apache/pulsar/(broker/ServiceConfiguration|common/policies/data/OffloadPoliciesImpl)"
_READERS = (
    r"org/apache/pulsar/broker/(BookKeeperClientFactoryImpl|ManagedLedgerClientFactory|PulsarService"
    r"|(authentication|authorization)/\w+)"
)
_NAME = re.compile(r"[a-z]+[A-Z]\w*")


def check_names(options: PulsarOptions, jars: Path) -> None:
    """Reject settings that the release does not have.

    Args:
        options: as in the scenario.
        jars: folder of the release's jars.

    Raises:
        BadInput: names each setting, with the nearest one that exists.
    """
    config = options.config
    if not config.broker and not config.bookie and not config.zookeeper:
        return
    names, process = remembered(jars, gather), f"Pulsar {options.version}"
    broker = Known(f"a broker of {process}", names[BROKER], FAMILIES)
    raise_any(
        [
            *unknown("cluster.config.broker", config.broker, broker, options.config_unchecked),
            *storage.errors(options, names, process),
        ]
    )


def check_topology(options: PulsarOptions, hosts: int) -> None:
    """Reject settings that chaoskit overrides on a host.

    Raises:
        BadInput: names each setting.
    """
    addresses = [f"host-{index}" for index in range(hosts)]
    written = [broker_conf(options, addresses, index) for index in range(hosts)]
    of_brokers = overridden("cluster.config.broker", options.config.broker, written)
    raise_any([*of_brokers, *storage.overrides(options, hosts)])


def gather(jars: Path) -> Mapping[str, Iterable[str]]:
    """Return the names of settings in the jars of a release, by role."""
    names = storage.gather(jars)
    of_clients = {f"{_TO_BOOKKEEPER}{name}" for name in names[storage.CLIENT]}
    own = {field for _, java_class in classes(jars, _JARS, _BEANS) for field in java_class.fields}
    return {**names, BROKER: own | _read(classes(jars, _JARS, _READERS)) | of_clients}


def _read(java_classes: Iterable[tuple[str, JavaClass]]) -> set[str]:
    return {text for _, java_class in java_classes for text in java_class.strings if _NAME.fullmatch(text)}
