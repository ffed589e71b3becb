"""Where a cluster's metadata is, in KRaft or in ZooKeeper, and which options go together with it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from chaoskit.base.errors import BadInput, Problems
from clusters.common.names import raise_any
from clusters.common.properties import Scalar
from clusters.kafka.artifacts import parse_version
from clusters.kafka.settings import KafkaOptions
from clusters.kafka.zookeeper import ZooKeeper

_MIGRATION_SINCE = (3, 9)
"""The release whose migration was tried; it is the last one with ZooKeeper."""

_OF_KRAFT = re.compile(
    r"process\.roles|node\.id|controller\..+|broker\.(session\.timeout|heartbeat\.interval)\.ms|metadata\.log\..+"
    r"|metadata\.max\..+|initial\.broker\.registration\.timeout\.ms"
)
"""Settings of brokers that mean something in KRaft mode only, though releases from 2.8 on know them always."""

_OF_ZOOKEEPER = re.compile(r"zookeeper\..+")
"""Settings of brokers that mean something with ZooKeeper only; no release before 4.0 refuses them otherwise."""


def can_migrate(options: KafkaOptions) -> bool:
    """Return whether a cluster can leave ZooKeeper: its controllers will be where ZooKeeper is now."""
    apart = options.zookeeper.hosts != "combined"
    return options.in_zookeeper and apart and parse_version(options.version) >= _MIGRATION_SINCE


def check_metadata(options: KafkaOptions, hosts: int) -> None:
    """Reject options that do not go together with where the metadata is.

    Raises:
        BadInput: names each, and the remedy.
    """
    problems = Problems()
    if options.in_zookeeper:
        problems.tried(_check_servers, options.zookeeper, hosts)
        problems.tried(_check_absent, options)
        problems.tried(_check_config, options.config, _OF_KRAFT, "KRaft")
    else:
        problems.tried(_check_unused, options.zookeeper)
        problems.tried(_check_config, options.config, _OF_ZOOKEEPER, "ZooKeeper")
    problems.raise_any()


def _check_servers(zookeeper: ZooKeeper, hosts: int) -> None:
    if zookeeper.hosts != "combined" and not 1 <= zookeeper.hosts < hosts:
        raise BadInput(
            f"cluster.zookeeper.hosts: {zookeeper.hosts} of {hosts} hosts leaves no server or no broker; write a "
            f"number below cluster.hosts, or combined"
        )


def _check_unused(zookeeper: ZooKeeper) -> None:
    if zookeeper != ZooKeeper():
        raise BadInput("cluster.zookeeper: there is none; write cluster.metadata: zookeeper, or remove the key")


def _check_absent(options: KafkaOptions) -> None:
    reasons = {
        "controllers": (options.controllers != "combined", "any broker may become the controller; remove it"),
        "features": (bool(options.features), "they are levels of KRaft's metadata; remove it"),
        "voters": (options.voters == "dynamic", "there are no controllers that vote; remove it"),
        "security": (options.security is not None, "keys and users are made for KRaft only; remove it"),
    }
    raise_any([f"cluster.{key}: not with metadata: zookeeper: {why}" for key, (given, why) in reasons.items() if given])


def _check_config(config: Mapping[str, Scalar], others: re.Pattern[str], where: str) -> None:
    named = [name for name, value in config.items() if value is not None and others.fullmatch(name)]
    raise_any(
        [f"cluster.config.{name}: it counts with {where} only; remove it, or see cluster.metadata" for name in named]
    )
