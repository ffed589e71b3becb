"""What the guarantees of every system share: what faults do to the data of a host, and what readers see of it."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.cluster import Allowance, Effect

FORGETTING = ("power-cut", "disk-dead", "disk-read-only")
"""Faults after which a host has lost what was not fsynced (the last two are healed by a reboot)."""

DESTROYING = ("fsync-lies", "disk-wipe", "time-travel", "disk-errors", "disk-program")
"""Faults after which a host may have lost what was fsynced too."""

DAMAGING = ("bit-flip", "truncate")
"""Faults that change files behind the system's back."""

_CATCH_UP_NS = 5 * SECOND
"""How long a host that answers again may still lack what others have; until then it counts as down."""


def hosts_down_together(effects: Sequence[Effect], kinds: Sequence[str]) -> int:
    """Return the largest number of hosts that were under these faults at one time."""
    chosen = [effect for effect in effects if effect.kind in kinds]
    return max((len(_hit_during(effect.start_ns, chosen)) for effect in chosen), default=0)


def hosts_hit(effects: Sequence[Effect], kinds: Sequence[str]) -> set[str]:
    """Return the hosts that were under these faults at any time."""
    return {host for effect in effects if effect.kind in kinds for host in effect.targets}


def on_hosts(effects: Sequence[Effect]) -> list[Effect]:
    """Return the faults that hit hosts, not clients."""
    return [effect for effect in effects if not effect.kind.startswith("client-")]


def _hit_during(instant: int, effects: Sequence[Effect]) -> set[str]:
    back = {effect: None if effect.healed_ns is None else effect.healed_ns + _CATCH_UP_NS for effect in effects}
    hit = [effect for effect, at in back.items() if effect.start_ns <= instant and (at is None or instant < at)]
    return {host for effect in hit for host in effect.targets}


def sequence_jump(causes: Sequence[Allowance]) -> Allowance:
    """Return whether readers may see a producer's sequence jump: where something else went wrong that is allowed."""
    return next(
        (cause for cause in causes if cause.allowed),
        Allowance(False, "the log keeps each producer's sequence, and readers follow the log"),
    )
