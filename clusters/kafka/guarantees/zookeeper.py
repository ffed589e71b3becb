"""Rules about ZooKeeper's servers: what they forget, Kafka does not know any more.

Source: ZooKeeper Administrator's Guide, `forceSync` and `dataDir`. ZooKeeper keeps which replica leads a partition, and
which are in sync. A state from before an election makes the former leader lead again, and followers cut off what it
lacks.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Copies, Mechanism
from clusters.kafka.settings import FORCE_SYNC, zookeepers

SYNCED_NS = 10 * SECOND
"""A server that is back has the state of the leader after this time: `syncLimit`, 5 ticks of 2 s."""

_AS_BEFORE = "a partition may have the leader and the in-sync replicas of before, and its log ends where theirs do"


def _not_forced(declared: Declared) -> Sequence[Mechanism]:
    forced = str(FORCE_SYNC.of(declared.options)).lower() not in ("no", "false")
    if forced:
        return ()
    why = f"forceSync=no: ZooKeeper servers that lost power may have forgotten elections; {_AS_BEFORE}"
    return _forgotten(declared, why, Damage.FORGETS)


def _disks_lost(declared: Declared) -> Sequence[Mechanism]:
    why = (
        "the disks of ZooKeeper servers lost or changed fsynced data: together with servers that lag behind, they form "
        f"a quorum that does not know of elections; {_AS_BEFORE}"
    )
    return _forgotten(declared, why, Damage.DESTROYS | Damage.CORRUPTS)


def _forgotten(declared: Declared, why: str, damage: Damage) -> Sequence[Mechanism]:
    servers = tuple(f"n{index + 1}" for index in zookeepers(declared.options, declared.hosts))
    return (Copies(why=why, takes=damage, hosts=servers, lag_ns=SYNCED_NS),) if servers else ()


ZOOKEEPER_RULES = (
    Rule(
        "kafka.zookeeper-not-forced",
        ("truncated",),
        _not_forced,
        "set forceSync=yes",
        "ZooKeeper Administrator's Guide, forceSync",
        "kafka/zookeeper-forgets:not-forced",
        "kafka/zookeeper-forgets:synced",
    ),
    Rule(
        "kafka.zookeeper-disks-lost",
        ("truncated",),
        _disks_lost,
        "keep ZooKeeper's servers on disks that do not fail together",
        "ZooKeeper Administrator's Guide, dataDir: a server whose transaction log is lost must not rejoin",
        "kafka/zookeeper-forgets:fsync-lies",
        "kafka/zookeeper-forgets:synced",
    ),
)
