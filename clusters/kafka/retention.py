"""When Kafka deletes messages by itself, and committed offsets: retention by age and size.

Sources: Kafka documentation, topic settings `cleanup.policy`, `retention.ms`, `retention.bytes`; broker settings
`log.cleanup.policy`, `log.retention.ms`, `.minutes`, `.hours` (the first that is set counts), `log.retention.bytes` and
`offsets.retention.minutes`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from chaoskit.base.quantities import MILLISECOND, MINUTE, SECOND, format_duration
from chaoskit.contract.guarantee import Declared, Effect
from chaoskit.contract.traits import Group, Paced
from chaoskit.contract.workload import CONSUMER
from clusters.common.effects import lasted_ns
from clusters.common.properties import setting
from clusters.kafka.settings import KafkaOptions

_BROKER_MS = {"log.retention.ms": 1, "log.retention.minutes": 60_000, "log.retention.hours": 3_600_000}
_DEFAULT_MS = 7 * 24 * 3_600_000
_OFFSETS_MINUTES = 7 * 24 * 60
_ENVELOPE = 256
"""Bytes that Kafka stores at most with a message that is alone in its batch."""

_BESIDE_LOAD_NS = 15 * MINUTE
"""How much longer than its load a run may take until everything is read."""


def compacts(options: KafkaOptions) -> bool:
    """Return whether the workload's topics are compacted."""
    broker = setting(options.config, "log.cleanup.policy", "delete")
    return "compact" in str(setting(options.topic, "cleanup.policy", broker))


def retention_ns(options: KafkaOptions) -> int | None:
    """Return after what time messages are deleted; None: never."""
    given = {name: setting(options.config, name, None) for name in _BROKER_MS}
    broker = next(
        (int(given[name]) * unit for name, unit in _BROKER_MS.items() if given[name] is not None), _DEFAULT_MS
    )
    milliseconds = int(setting(options.topic, "retention.ms", broker))
    return None if milliseconds < 0 else milliseconds * MILLISECOND


def deletes(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why messages may be deleted during the run; empty if they may not."""
    options: KafkaOptions = declared.options
    size = int(setting(options.topic, "retention.bytes", setting(options.config, "log.retention.bytes", -1)))
    if 0 <= size < _most_bytes(declared):
        return f"retention.bytes={size}: the oldest segments are deleted beyond this size"
    after_ns = retention_ns(options)
    ahead_ns = max((effect.ahead_ns for effect in effects), default=0)
    if after_ns is None or after_ns > declared.load_ns + _BESIDE_LOAD_NS + ahead_ns:
        return ""
    why = f"retention.ms={after_ns // MILLISECOND}: segments are deleted when their newest message is older"
    return f"{why}, and a broker's clock was {format_duration(ahead_ns)} ahead" if ahead_ns else why


def offsets_expire(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why the committed offsets of a group may be deleted during the run; empty if they may not: while somebody
    is a member, they are kept."""
    group = declared.get(Group)
    minutes = int(setting(declared.options.config, "offsets.retention.minutes", _OFFSETS_MINUTES))
    if group is None or not any(
        lasted_ns(declared, each) >= minutes * MINUTE and _members_away(each) >= group.members
        for each in effects
        if each.delays
    ):
        return ""
    return f"offsets.retention.minutes={minutes}: the committed offsets of a group without members are deleted then"


def _members_away(effect: Effect) -> int:
    return sum(target.startswith(CONSUMER) for target in effect.targets)


def _most_bytes(declared: Declared) -> float:
    """Return more bytes than the load can write to one partition, each message resent once."""
    paced = declared.get(Paced)
    if paced is None or paced.per_second is None:
        return math.inf
    return 2 * paced.per_second * math.ceil(declared.load_ns / SECOND) * (paced.size + _ENVELOPE)
