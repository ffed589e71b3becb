"""When Kafka deletes messages by itself, and committed offsets: retention by age and size.

Sources: Kafka documentation, topic settings `cleanup.policy`, `retention.ms`, `retention.bytes`; broker settings
`log.cleanup.policy`, `log.retention.ms`, `.minutes`, `.hours` (the first that is set counts), `log.retention.bytes` and
`offsets.retention.minutes`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from chaoskit.base.quantities import MILLISECOND, MINUTE, SECOND
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Limit, Measure, Mechanism
from chaoskit.contract.workloads.traits import Group, Paced
from clusters.kafka.compaction import compaction
from clusters.kafka.settings import CLEANUP, OFFSETS_MINUTES, RETENTION_BYTES, RETENTION_MS, KafkaOptions

RETENTION_UNITS_MS = {"log.retention.ms": 1, "log.retention.minutes": 60_000, "log.retention.hours": 3_600_000}
"""The brokers' settings for `retention.ms`, and their units, ms; the first that is set counts."""

_ENVELOPE = 256
"""Bytes that Kafka stores at most with a message that is alone in its batch."""


def retention_ns(options: KafkaOptions) -> int | None:
    """Return after what time messages are deleted; None: never."""
    own = RETENTION_MS.declared(options)
    of_brokers = (
        int(value) * unit
        for name, unit in RETENTION_UNITS_MS.items()
        if (value := options.config.get(name)) is not None
    )
    milliseconds = next(of_brokers, int(RETENTION_MS.default)) if own is None else int(own)
    return None if milliseconds < 0 else milliseconds * MILLISECOND


def deletes(declared: Declared) -> Sequence[Mechanism]:
    """Return how messages may be deleted during the run; nothing if they may not."""
    options: KafkaOptions = declared.options
    if "delete" not in str(CLEANUP.of(options)):
        return ()
    size = RETENTION_BYTES.number_of(options)
    if 0 <= size < _most_bytes(declared):
        why = f"retention.bytes={size}: the oldest segments are deleted beyond this size"
        return (Limit(why=why, measure=Measure.SHOWN),)
    after_ns = retention_ns(options)
    if after_ns is None:
        return ()
    why = f"retention.ms={after_ns // MILLISECOND}: segments are deleted when their newest message is older"
    return (Limit(why=why, measure=Measure.AGE, most=after_ns),)


def _offsets_expire(declared: Declared) -> Sequence[Mechanism]:
    """Return how the committed offsets of a group may be deleted: while somebody is a member, they are kept."""
    if declared.get(Group) is None:
        return ()
    minutes = OFFSETS_MINUTES.number_of(declared.options)
    why = f"offsets.retention.minutes={minutes}: the committed offsets of a group without members are deleted then"
    return (Limit(why=why, measure=Measure.ABSENT, most=minutes * MINUTE, whole_group=True),)


def _most_bytes(declared: Declared) -> float:
    """Return more bytes than the load can write to one partition, each message resent once."""
    paced = declared.get(Paced)
    if paced is None or paced.per_second is None:
        return math.inf
    return 2 * paced.per_second * math.ceil(declared.load_ns / SECOND) * (paced.size + _ENVELOPE)


def _deletions_expire(declared: Declared) -> Sequence[Mechanism]:
    """Return how a deletion may be gone before a replica had it, which then still has what was deleted."""
    compacted = compaction(declared.options)
    if compacted is None or declared.replication < 2:
        return ()
    why = f"delete.retention.ms={compacted.retention_ns // MILLISECOND}: a replica that comes back later never learns "
    return (Limit(why=f"{why}that a key was deleted", measure=Measure.BEHIND, most=compacted.retention_ns),)


RETENTION_RULES = (
    Rule(
        "kafka.deletions-expire",
        ("resurrected",),
        _deletions_expire,
        "set delete.retention.ms to more than a replica may be away",
        "Kafka documentation, topic setting delete.retention.ms",
        "kafka/compacted:away-too-long",
        "kafka/compacted:away",
    ),
    Rule(
        "kafka.offsets-expired",
        ("commit-regression",),
        _offsets_expire,
        "set offsets.retention.minutes to more than a group may be without members",
        "Kafka documentation, broker setting offsets.retention.minutes",
        "kafka/offsets-expired:expired",
        "kafka/offsets-expired:kept",
    ),
    Rule(
        "kafka.retention",
        ("expired",),
        deletes,
        "set retention.ms=-1 and retention.bytes=-1",
        "Kafka documentation, topic settings retention.ms and retention.bytes",
        "kafka/retention:short",
        "kafka/retention:default",
    ),
)
