"""What Kafka's replicas may lose after they held it: unflushed, on disks that died, in files that were changed."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Copies, Elects, Mechanism, Required
from clusters.kafka.guarantees.sending import required
from clusters.kafka.settings import FLUSH, INTERNAL_FLUSH, KafkaOptions, flushes_each_message, lag_ns, min_insync

LOSES = Damage.FORGETS | Damage.DESTROYS
"""Damage that loses unsynced data; a host that lost fsynced data lost unsynced data, too."""


def os_flush(declared: Declared) -> Sequence[Mechanism]:
    """Return how what was not flushed may be gone from all replicas."""
    if flushes_each_message(declared.options):
        return ()
    every = FLUSH.number_of(declared.options)
    flushed = "flushing is left to the OS" if every == FLUSH.default else f"flush.messages={every}: not each is flushed"
    why = f"{flushed}: a replica that loses its power may have held a message in memory only"
    return (_taken(declared, why, LOSES),)


def disks_lost(declared: Declared) -> Sequence[Mechanism]:
    """Return how fsynced data may be gone from all replicas."""
    return (_taken(declared, "a message is on the disks of the replicas that are in sync", Damage.DESTROYS),)


def _taken(declared: Declared, why: str, damage: Damage) -> Copies:
    lag = lag_ns(declared.options)
    least = min(min_insync(declared.options), declared.replication)
    return Copies(why=why, required=required(declared), takes=damage, lag_ns=lag, least=least, from_its_end=True)


def files_changed(declared: Declared) -> Sequence[Mechanism]:
    """Return how a broker may lack what another program changed."""
    why = (
        "files were modified without the broker's knowledge: brokers verify CRCs when they recover a log, and clients "
        "when they read, but brokers do not repair a segment from other replicas"
    )
    lag = lag_ns(declared.options)
    return (Copies(why=why, takes=Damage.CORRUPTS, enough=1, elects=Elects.DAMAGED, lag_ns=lag),)


def internal_os_flush(declared: Declared, kept: str) -> Sequence[Mechanism]:
    """Return how what brokers keep in a topic of their own may be gone; `kept`: what, and where."""
    options: KafkaOptions = declared.options
    if INTERNAL_FLUSH.number_of(options) == 1:
        return ()
    why = f"log.flush.interval.messages is not 1 on brokers: {kept}"
    brokers = tuple(f"n{number}" for number in range(1, declared.brokers + 1))
    lag = lag_ns(options)
    return (Copies(why=why, required=Required.HOLDERS, takes=LOSES, anywhere=brokers, lag_ns=lag),)


def _offsets_os_flush(declared: Declared) -> Sequence[Mechanism]:
    return internal_os_flush(
        declared,
        "the topic of committed offsets has the brokers' flush settings, so they may have been in memory only",
    )


DISKS_LOST = Rule(
    "kafka.disks-lost",
    ("truncated",),
    disks_lost,
    "keep fewer replicas on disks that can fail together, or raise min.insync.replicas (at the replication, one "
    "broker that is away stops all writes)",
    'Kafka documentation, "Replication"',
    "kafka/last-replica:disk-min-insync-one",
    "kafka/last-replica:disk-min-insync-two",
)

STORING_RULES = (
    Rule(
        "kafka.os-flush",
        ("truncated",),
        os_flush,
        "set flush.messages=1 (or log.flush.interval.messages=1 on brokers), or keep replicas on separate power",
        "Kafka documentation, topic setting flush.messages",
        "kafka/power-all:os-flush",
        "kafka/power-all:flush-each",
    ),
    Rule(
        "kafka.internal-os-flush",
        ("commit-regression",),
        _offsets_os_flush,
        "set log.flush.interval.messages=1 on brokers",
        "Kafka documentation, broker setting log.flush.interval.messages",
        "kafka/offsets-flush:topic-only",
        "kafka/offsets-flush:brokers-too",
    ),
    Rule(
        "kafka.files-changed",
        ("truncated",),
        files_changed,
        "delete the files of the damaged replica; the broker then fetches them again",
        "Kafka 4.1, LogSegment.recover: a segment ends before its first damaged batch",
        "kafka/truncated-segments:all-replicas",
        "kafka/truncated-segments:follower",
    ),
)
