"""Rules about ZooKeeper's servers: what they forget, Kafka does not know any more.

Source: ZooKeeper Administrator's Guide, `forceSync` and `dataDir`. ZooKeeper keeps which replica leads a partition, and
which are in sync. A state from before an election makes the former leader lead again, and followers cut off what it
lacks.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantee import Damage, Declared, Effect, Rule
from clusters.common.effects import hosts_hit
from clusters.common.properties import setting
from clusters.kafka.settings import zookeepers

_AS_BEFORE = "a partition may have the leader and the in-sync replicas of before, and its log ends where theirs do"


def _hit(declared: Declared, effects: Sequence[Effect], damage: Damage) -> bool:
    """Return whether a ZooKeeper server had this damage."""
    servers = {f"n{index + 1}" for index in zookeepers(declared.options, declared.hosts)}
    return bool(servers & hosts_hit(effects, damage))


def _not_forced(declared: Declared, effects: Sequence[Effect]) -> str:
    forced = str(setting(declared.options.zookeeper.config, "forceSync", "yes")).lower() not in ("no", "false")
    if forced or not _hit(declared, effects, Damage.FORGETS):
        return ""
    return f"forceSync=no, and a ZooKeeper server lost power: it may have forgotten elections; {_AS_BEFORE}"


def _disks_lost(declared: Declared, effects: Sequence[Effect]) -> str:
    if not _hit(declared, effects, Damage.DESTROYS | Damage.CORRUPTS):
        return ""
    return (
        "the disk of a ZooKeeper server lost or changed fsynced data: together with a server that lags behind, it may "
        f"form a quorum that does not know of elections; {_AS_BEFORE}"
    )


ZOOKEEPER_RULES = (
    Rule(
        "kafka.zookeeper-not-forced",
        ("truncated",),
        _not_forced,
        "set forceSync=yes",
        "ZooKeeper Administrator's Guide, forceSync",
        "kafka/zookeeper-forgets:not-forced",
        "kafka/zookeeper-forgets:synced",
        anywhere=True,
    ),
    Rule(
        "kafka.zookeeper-disks-lost",
        ("truncated",),
        _disks_lost,
        "keep ZooKeeper's servers on disks that do not fail together",
        "ZooKeeper Administrator's Guide, dataDir: a server whose transaction log is lost must not rejoin",
        "kafka/zookeeper-forgets:fsync-lies",
        "kafka/zookeeper-forgets:synced",
        anywhere=True,
    ),
)
