"""Rules about elections: which replica leads when the in-sync ones are gone.

Sources: KIP-966 (eligible leader replicas), available in Kafka 4.0, and on by default in clusters that Kafka 4.1 or
later formatted (Kafka documentation, "Eligible Leader Replicas").
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import WAIT_FOR_REPLICAS, Declared, Rule
from chaoskit.contract.guarantees.mechanism import Copies, Elects, Mechanism
from clusters.kafka import artifacts
from clusters.kafka.guarantees.sending import required
from clusters.kafka.guarantees.storing import LOSES
from clusters.kafka.settings import (
    ELIGIBLE_LEADERS,
    UNCLEAN,
    KafkaOptions,
    flushes_each_message,
    lag_ns,
    min_insync,
)

_DEFAULT_SINCE = (4, 1)
_UNCLEAN_SINCE = (3, 9)
"""KAFKA-12670."""


def insync(declared: Declared) -> int:
    """Return how many in-sync replicas a message of the workload requires with acks=all."""
    return min(min_insync(declared.options), declared.replication)


def eligible_leaders(options: KafkaOptions) -> bool:
    """Return whether the controller keeps eligible leader replicas."""
    default = artifacts.parse_version(options.version) >= _DEFAULT_SINCE
    return bool(options.features.get(ELIGIBLE_LEADERS, int(default)))


def unclean(options: KafkaOptions) -> bool:
    """Return whether a replica outside the in-sync set may lead; KRaft ignores the setting before Kafka 3.9, which
    clusters with ZooKeeper do not."""
    asked = UNCLEAN.is_on(options)
    return asked and (options.in_zookeeper or artifacts.parse_version(options.version) >= _UNCLEAN_SINCE)


def _unclean_election(declared: Declared) -> Sequence[Mechanism]:
    if not unclean(declared.options):
        return ()
    why = "unclean.leader.election.enable=true: a replica that lacks acknowledged messages may become leader"
    return (_passed_over(declared, why, Elects.OUT_OF_SYNC),)


def _last_replica(declared: Declared) -> Sequence[Mechanism]:
    if eligible_leaders(declared.options) or flushes_each_message(declared.options):
        return ()
    why = (
        "without eligible leader replicas, the last in-sync replica leads again after its power was cut, without what "
        "it had not flushed, although others that had left the in-sync replicas have it"
    )
    return (_passed_over(declared, why, Elects.DAMAGED, takes=LOSES),)


def _last_known_leader(declared: Declared) -> Sequence[Mechanism]:
    if not eligible_leaders(declared.options) or flushes_each_message(declared.options):
        return ()
    why = (
        f"{insync(declared)} or more replicas were shut down uncleanly, so that none is eligible, and the last known "
        "leader leads again, without what it had not flushed"
    )
    return (_passed_over(declared, why, Elects.DAMAGED, takes=LOSES, away=insync(declared)),)


def _empty_leader(declared: Declared) -> Sequence[Mechanism]:
    why = (
        f"all {declared.replication} replicas were away, {insync(declared)} or more shut down uncleanly, and the disk "
        "of one was lost: it may lead again without data, and the others then cut off what they have"
    )
    return (_passed_over(declared, why, Elects.DAMAGED, takes=Damage.DESTROYS, away=insync(declared), alone=True),)


def _passed_over(
    declared: Declared, why: str, elects: Elects, takes: Damage = Damage.NONE, away: int = 0, *, alone: bool = False
) -> Copies:
    return Copies(
        why=why,
        required=required(declared),
        takes=takes,
        elects=elects,
        least=insync(declared),
        away=away,
        alone=alone,
        lag_ns=lag_ns(declared.options),
        from_its_end=True,
    )


EMPTY_LEADER = Rule(
    "kafka.empty-leader",
    ("truncated",),
    _empty_leader,
    WAIT_FOR_REPLICAS,
    'Kafka documentation, "Eligible Leader Replicas"; KIP-966, last known leader',
    "kafka/zone-loss:at-once",
    "kafka/zone-loss:one-after-the-other",
)
"""It explains a loss before the rules about flushes, which would not have helped."""

ELECTION_RULES = (
    Rule(
        "kafka.unclean-election",
        ("truncated",),
        _unclean_election,
        "set unclean.leader.election.enable=false",
        "Kafka documentation, topic setting unclean.leader.election.enable",
        "kafka/election:unclean",
        "kafka/election:clean",
    ),
    Rule(
        "kafka.last-known-leader",
        ("truncated",),
        _last_known_leader,
        "set flush.messages=1, or raise min.insync.replicas (at the replication, one broker that is away stops all "
        "writes)",
        'Kafka documentation, "Eligible Leader Replicas"; KIP-966: tolerates min.insync.replicas - 1 unclean shutdowns',
        "kafka/last-replica:power-after-kills",
        "kafka/last-replica:power-min-insync-two",
    ),
    Rule(
        "kafka.last-replica",
        ("truncated",),
        _last_replica,
        "use Kafka 4.1 or later with eligible.leader.replicas.version=1, or set flush.messages=1",
        "KIP-966, the last replica standing",
        "kafka/last-replica:power-without-elr",
        "kafka/last-replica:power-min-insync-two",
        known="KIP-966, before Kafka 4.1 and wherever eligible.leader.replicas.version=0",
    ),
)
