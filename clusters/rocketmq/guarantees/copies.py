"""On how many brokers of RocketMQ a message is when it is acknowledged."""

from __future__ import annotations

from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.guarantees.mechanism import Copies, Required
from chaoskit.contract.workloads.traits import Queueing
from clusters.rocketmq.settings import ALL_ACK, COPIES, FLUSH, LAG_MS, LEAST_IN_SYNC, RocketOptions


def flushes_each(options: RocketOptions) -> bool:
    """Return whether a message is on the master's disk before it is acknowledged."""
    return str(FLUSH.of(options)) == "SYNC_FLUSH"


def copies_at_least(declared: Declared) -> int:
    """Return how many brokers have a message when it is acknowledged, at least, of those that can become master."""
    if not declared.options.elects:
        return 1
    return (LEAST_IN_SYNC if all_ack(declared) else COPIES).number_of(declared.options)


def required(declared: Declared) -> Required:
    """Return who has a message when it is acknowledged, of those that can become master."""
    return Required.IN_SYNC if declared.options.elects and all_ack(declared) else Required.LEADER


def all_ack(declared: Declared) -> bool:
    """Return whether all brokers of the sync-state set have a message when it is acknowledged."""
    return ALL_ACK.is_on(declared.options)


def lag_ns(declared: Declared) -> int:
    """Return for how long a slave may not have caught up and still be in the sync-state set, ns."""
    return LAG_MS.number_of(declared.options) * MILLISECOND


def taken(declared: Declared, why: str, damage: Damage) -> Copies:
    """Return that the brokers that must have a message lost it by a damage."""
    return Copies(
        why=why,
        required=required(declared),
        takes=damage,
        lag_ns=lag_ns(declared),
        least=copies_at_least(declared),
        from_its_end=not has_queues(declared),
    )


def has_queues(declared: Declared) -> bool:
    """Return whether the workload is one of queues."""
    return declared.get(Queueing) is not None
