"""The guarantees of mirrored queues, which ended with RabbitMQ 3."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Copies, Elects, Mechanism, Party, Session, Way
from clusters.rabbitmq.queues import MIRRORED, type_of

_HANDLING = "cluster_partition_handling"
_IGNORE, _AUTOHEAL = "ignore", "autoheal"


def _unsynchronised(declared: Declared) -> Sequence[Mechanism]:
    if type_of(declared) != MIRRORED or declared.options.policy.get("ha-promote-on-failure", "always") != "always":
        return ()
    why = (
        "ha-promote-on-failure: always: when the leader's node fails, a mirror is promoted that need not have all its "
        "messages: it was down before, and joined again without what it had"
    )
    elects = Elects.LAGGING | Elects.OUT_OF_SYNC | Elects.DAMAGED
    return (Copies(why=why, in_process=Act.ENDS | Act.STOPS, elects=elects, lag_ns=None),)


def _apart(declared: Declared) -> Sequence[Mechanism]:
    handling = str(declared.options.config.get(_HANDLING, _IGNORE))
    if type_of(declared) != MIRRORED or handling not in (_IGNORE, _AUTOHEAL):
        return ()
    why = (
        f"{_HANDLING}: {handling}: both sides of a partition keep a queue of their own, and those of the losing "
        "side are deleted when it joins again"
    )
    between = (Party.HOLDERS, Party.HOLDERS)
    by = Act.CUTS | Act.BREAKS | Act.SILENCES
    return (
        Way(why=why, path=between, by=by),
        Session(why=why, path=between, by=by, after_ns=_JOINS_NS),
    )


_JOINS_NS = 60 * SECOND
"""How long it may take until nodes that reach each other again are one cluster: as long as `net_ticktime`, 60 s."""

MIRROR_RULES = (
    Rule(
        "rabbitmq.mirrors-apart",
        ("lost", "duplicate", "unacked-vanished"),
        _apart,
        "set cluster.config: {cluster_partition_handling: pause_minority}, or use type: quorum",
        "RabbitMQ documentation, Clustering and Network Partitions",
        "rabbitmq/mirrored-partition:ignore",
        "rabbitmq/mirrored-partition:pause-minority",
    ),
    Rule(
        "rabbitmq.unsynchronised-mirror",
        ("lost",),
        _unsynchronised,
        "set cluster.policy: {ha-promote-on-failure: when-synced}, or use type: quorum",
        "RabbitMQ 3.10 documentation, Classic Queue Mirroring, Unsynchronised Mirrors",
        "rabbitmq/mirrored:unsynchronised",
        "rabbitmq/mirrored:when-synced",
    ),
)
