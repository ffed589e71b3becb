"""The guarantees of mirrored queues, which ended with RabbitMQ 3."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantee import Declared, Effect, Rule
from clusters.rabbitmq.queues import MIRRORED, type_of

_HANDLING = "cluster_partition_handling"
_IGNORE, _AUTOHEAL = "ignore", "autoheal"
_DOWN_BEFORE_AND_NOW = 2


def _unsynchronised(declared: Declared, effects: Sequence[Effect]) -> str:
    if type_of(declared) != MIRRORED or declared.options.policy.get("ha-promote-on-failure", "always") != "always":
        return ""
    if sum(each.on_hosts and (each.abrupt or bool(each.damage)) for each in effects) < _DOWN_BEFORE_AND_NOW:
        return ""
    return (
        "ha-promote-on-failure: always: when the leader's node fails, a mirror is promoted that need not have all its "
        "messages: it was down before"
    )


def _apart(declared: Declared, effects: Sequence[Effect]) -> str:
    handling = str(declared.options.config.get(_HANDLING, _IGNORE))
    if type_of(declared) != MIRRORED or handling not in (_IGNORE, _AUTOHEAL):
        return ""
    if not any(each.on_links or (each.delays and not each.abrupt) for each in effects if each.on_hosts):
        return ""
    return (
        f"{_HANDLING}: {handling}: both sides of a partition go on with a queue of their own, and those of the losing "
        "side are deleted when it joins again"
    )


MIRROR_RULES = (
    Rule(
        "rabbitmq.unsynchronised-mirror",
        ("lost",),
        _unsynchronised,
        "set cluster.policy: {ha-promote-on-failure: when-synced}, or use type: quorum",
        "RabbitMQ 3.10 documentation, Classic Queue Mirroring, Unsynchronised Mirrors",
        "rabbitmq/mirrored:unsynchronised",
        "rabbitmq/mirrored:when-synced",
        elects=True,
    ),
    Rule(
        "rabbitmq.mirrors-apart",
        ("lost", "duplicate", "unacked-vanished"),
        _apart,
        "set cluster.config: {cluster_partition_handling: pause_minority}, or use type: quorum",
        "RabbitMQ documentation, Clustering and Network Partitions",
        "rabbitmq/mirrored-partition:ignore",
        "rabbitmq/mirrored-partition:pause-minority",
    ),
)
