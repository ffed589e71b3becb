"""How a consumer is a member of its group: by the classic protocol, or by that of KIP-848 (`group.protocol: consumer`).

In the new protocol brokers assign partitions, a few at a time, and set the session timeout and the heartbeats; its
clients refuse settings of the classic one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Group

PROTOCOL = "group.protocol"
STATIC_ID = "group.instance.id"
SESSION = "session.timeout.ms"

_CONSUMER = "{consumer}"
_NUMBERED = re.compile(r"\{(consumer|incarnation)\}")
_SINCE = (4, 0)
_ONLY_CLASSIC = {
    SESSION: "brokers set group.consumer.session.timeout.ms",
    "heartbeat.interval.ms": "brokers set group.consumer.heartbeat.interval.ms",
    "partition.assignment.strategy": "brokers assign; group.remote.assignor chooses how",
    "group.protocol.type": "it has none",
}
"""Settings of the classic protocol, and what the new one has in their place."""


def resolve_consumer(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the effective consumer settings: given ones override the defaults; null selects the client's own default.

    >>> resolve_consumer({"group.protocol": "consumer", "fetch": None}, {"session.timeout.ms": 10_000, "fetch": 50})
    {'group.protocol': 'consumer'}
    """
    unfit = _ONLY_CLASSIC if is_new(given) else ()
    base = {name: value for name, value in defaults.items() if name not in unfit}
    return {name: value for name, value in {**base, **given}.items() if value is not None}


def is_new(settings: Mapping[str, Any]) -> bool:
    """Return whether consumers with these settings use the protocol of KIP-848."""
    return str(settings.get(PROTOCOL)).lower() == "consumer"


def takes_a_few(settings: Mapping[str, Any]) -> bool:
    """Return whether partitions are assigned and revoked a few at a time, and not always all of them."""
    return is_new(settings) or "cooperative" in str(settings.get("partition.assignment.strategy", ""))


def of_one_consumer(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings as one consumer could have them, for the client to check; without those that the new group
    protocol does not have, which `membership_problems` tells."""
    kept = {name: value for name, value in given.items() if not (is_new(given) and name in _ONLY_CLASSIC)}
    return {name: _NUMBERED.sub("0", value) if isinstance(value, str) else value for name, value in kept.items()}


def membership_problems(declared: Declared, version: str) -> Iterator[BadInput]:
    """Yield what is wrong with how the consumers shall be members of their group; `version` is of the brokers."""
    given, group = declared.consumer, declared.get(Group)
    if is_new(given):
        if version and tuple(map(int, version.split(".")[:2])) < _SINCE:
            yield BadInput(f"workload.consumer.{PROTOCOL}: consumer needs Kafka 4.0.0 or later, not {version}")
        for name, instead in _ONLY_CLASSIC.items():
            if given.get(name) is not None:
                yield BadInput(f"workload.consumer.{name}: not with {PROTOCOL}: consumer: {instead}; remove it")
    static = given.get(STATIC_ID)
    if static is not None and group is not None and group.members > 1 and _CONSUMER not in str(static):
        yield BadInput(
            f"workload.consumer.{STATIC_ID}: {group.members} members of a group would share {static!r}, and each would "
            f"fence the one before; write {_CONSUMER} into it, such as {static}-{_CONSUMER}"
        )
