"""What systems allow themselves, for tests of their guarantees."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.judge.guarantees import allowances

from chaoskit.base import plugins
from chaoskit.contract.guarantee import Allowance, Damage, Declared, Effect
from chaoskit.contract.installed import anomalies, nemesis, system

SECOND = 1_000_000_000


def effect(kind: str, *targets: str, start_s: int = 8, healed_s: int | None = 10) -> Effect:
    """A fault with the damage that its kind does with default parameters."""
    on_hosts, damage, abrupt = True, Damage.NONE, False
    if kind in plugins.names("nemesis"):
        known = nemesis(kind)
        on_hosts, damage = known.hits == "hosts", known.damage(known.parameters.model_construct())
        abrupt = known.abrupt or bool(damage)
    healed_ns = None if healed_s is None else healed_s * SECOND
    return Effect(kind, targets, on_hosts, damage, start_s * SECOND, healed_ns, abrupt=abrupt)


def table(name: str, declared: Declared, effects: Sequence[Effect]) -> dict[str, Allowance]:
    """What a system says of each anomaly."""
    guarantees = system(name, "system").guarantees
    known = [rule.id for rule in guarantees.rules if rule.known]
    return allowances(guarantees, anomalies(), declared, effects, known)
