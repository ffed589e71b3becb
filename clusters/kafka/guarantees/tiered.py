"""Rules of tiered storage: what brokers deleted because the object store had it, and the store lost.

Source: KIP-405: segments are deleted locally once they are copied, as `local.retention.ms` says.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Copies, Mechanism

_ONLY_THERE = "brokers had deleted a message themselves because the object store had it"


def _store(declared: Declared, why: str, takes: Damage) -> Sequence[Mechanism]:
    return (Copies(why=f"{why}; {_ONLY_THERE}", takes=takes, hosts=(f"n{declared.hosts}",), tiered=True),)


def _not_synced(declared: Declared) -> Sequence[Mechanism]:
    tiered = declared.options.tiered_storage
    if tiered is None or tiered.fsync:
        return ()
    return _store(declared, "tiered_storage.fsync=false: an object may be in the store's memory only", Damage.FORGETS)


def _disk_lost(declared: Declared) -> Sequence[Mechanism]:
    if declared.options.tiered_storage is None:
        return ()
    return _store(declared, "the object store is on one disk", Damage.DESTROYS | Damage.CORRUPTS)


TIERED_RULES = (
    Rule(
        "kafka.object-store-not-synced",
        ("truncated",),
        _not_synced,
        "set tiered_storage.fsync: true",
        "KIP-405, local.retention.ms",
        "kafka/tiered:power-store-unsynced",
        "kafka/tiered:power-store",
    ),
    Rule(
        "kafka.object-store-lost",
        ("truncated",),
        _disk_lost,
        "keep the object store on disks that do not fail together, or set local.retention.ms to more than its repair "
        "takes",
        "KIP-405, local.retention.ms",
        "kafka/tiered:store-lost",
        "kafka/tiered:power-store",
    ),
)
