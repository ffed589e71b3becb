"""Helpers for the guarantees of all systems: which hosts were damaged, and how many at the same time."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantee import Damage, Declared, Effect
from chaoskit.contract.traits import Paced

LOSES = Damage.FORGETS | Damage.DESTROYS
"""Damage that loses unsynced data; a host that lost fsynced data lost unsynced data, too."""

_CATCH_UP_NS = 5 * SECOND
"""How long a host that answers again may still lag behind the others; until then it counts as down."""


def outruns(declared: Declared) -> bool:
    """Return whether publishers send as fast as they can, so that a subscriber may be slower."""
    paced = declared.get(Paced)
    return paced is not None and paced.per_second is None


def hosts_down_together(effects: Sequence[Effect], damage: Damage) -> int:
    """Return the largest number of hosts that had any of this damage at the same time."""
    chosen = [effect for effect in effects if effect.damage & damage]
    return max((len(_hit_during(effect.start_ns, chosen)) for effect in chosen), default=0)


def hosts_down_beside(effects: Sequence[Effect], damage: Damage) -> int:
    """Return the largest number of hosts that were under any fault at the same time as one that had this damage; 0 if
    none had."""
    on_hosts = [effect for effect in effects if effect.on_hosts]
    damaging = [effect for effect in on_hosts if effect.damage & damage]
    starts = [effect.start_ns for effect in on_hosts]
    return max((len(_hit_during(at, on_hosts)) for at in starts if _hit_during(at, damaging)), default=0)


def hosts_hit(effects: Sequence[Effect], damage: Damage | None = None) -> set[str]:
    """Return the hosts that had any of this damage at any time; if None, the hosts targeted by any fault."""
    hit = (each for each in effects if each.on_hosts and (damage is None or each.damage & damage))
    return {host for effect in hit for host in effect.targets}


def damaged(effects: Sequence[Effect], damage: Damage) -> bool:
    """Return whether any host had any of this damage."""
    return any(effect.damage & damage for effect in effects)


def disturbed(effects: Sequence[Effect]) -> bool:
    """Return whether any fault may have delayed or silenced somebody; a wrong clock does not."""
    return any(effect.delays for effect in effects)


def lasted_ns(declared: Declared, effect: Effect) -> int:
    """Return how long a fault held, ns; one that was not healed, until the load would have ended."""
    return (declared.load_ns if effect.healed_ns is None else effect.healed_ns) - effect.start_ns


def longest_ns(declared: Declared, effects: Sequence[Effect]) -> int:
    """Return how long the longest of the faults held that may have delayed or silenced somebody, ns; 0 if none did."""
    return max((lasted_ns(declared, each) for each in effects if each.delays), default=0)


def _hit_during(instant: int, effects: Sequence[Effect]) -> set[str]:
    back = {effect: None if effect.healed_ns is None else effect.healed_ns + _CATCH_UP_NS for effect in effects}
    hit = [effect for effect, at in back.items() if effect.start_ns <= instant and (at is None or instant < at)]
    return {host for effect in hit for host in effect.targets}
