"""What Kafka's replicas may lose after they held it: unflushed, on disks that died, in files that were changed."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantee import Damage, Declared, Effect
from clusters.common.effects import LOSES, damaged, hosts_down_together
from clusters.kafka.elections import insync
from clusters.kafka.settings import flushes_each_message


def os_flush(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why what was not flushed may be gone from all replicas."""
    required = insync(declared)
    cut = hosts_down_together(effects, LOSES)
    if cut < required or flushes_each_message(declared.options):
        return ""
    return (
        f"flushing is left to the OS, and {cut} host(s) lost power at the same time: all {required} in-sync "
        "replica(s) that a message requires may have held it only in memory"
    )


def disks_lost(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why fsynced data may be gone from all replicas."""
    required = insync(declared)
    destroyed = hosts_down_together(effects, Damage.DESTROYS)
    if destroyed < required:
        return ""
    return (
        f"the disks of {destroyed} host(s) lost fsynced data at the same time: all {required} in-sync replica(s) that "
        "a message requires may have been on them"
    )


def files_changed(declared: Declared, effects: Sequence[Effect]) -> str:
    """Return why a broker may lack what another program changed."""
    if not damaged(effects, Damage.CORRUPTS):
        return ""
    return (
        "files were modified without the broker's knowledge: brokers verify CRCs when they recover a log, and clients "
        "when they read, but brokers do not repair a segment from other replicas"
    )
