"""A master that comes back before the controllers have missed it: it stays the master, whatever it forgot."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantee import Damage, Declared, Effect, Rule
from clusters.common.effects import hosts_hit, lasted_ns
from clusters.rocketmq.settings import RocketOptions, flushes_each

_MISSED_NS = 15 * SECOND
"""After so long a controller has missed a broker at the latest: heartbeats expire after 10 s, and are looked at every
5 s (`ControllerConfig.scanNotActiveBrokerInterval`)."""


def _returning_master(declared: Declared, effects: Sequence[Effect]) -> str:
    options: RocketOptions = declared.options
    back = [each for each in effects if each.healed_ns is not None and lasted_ns(declared, each) < _MISSED_NS]
    if not options.elects or flushes_each(options) or not hosts_hit(back, Damage.FORGETS):
        return ""
    return (
        "flushDiskType=ASYNC_FLUSH: a master that lost power and is back before the controllers have missed it stays "
        "the master, in the same epoch, without what it had not flushed, though slaves have it"
    )


RETURNING_MASTER = Rule(
    "rocketmq.returning-master",
    ("truncated",),
    _returning_master,
    "set flushDiskType=SYNC_FLUSH",
    "ReplicasInfoManager.registerBroker and ReplicasManager.registerBrokerToController of 5.5.0; docs/rocketmq.md",
    "rocketmq/returning-master:async-flush",
    "rocketmq/returning-master:sync-flush",
    known="RocketMQ 5.5.0, ReplicasInfoManager.registerBroker: a broker that controllers count as alive stays master",
)
