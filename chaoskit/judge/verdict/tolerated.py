"""What settings would allow: the rules by which acknowledged messages may be lost, whether or not any were."""

from __future__ import annotations

from collections.abc import Iterator

from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.mechanism import Copies, Elects, Mechanism
from chaoskit.scenario.plan import Plan


def tolerated(plan: Plan) -> Iterator[str]:
    """Yield the settings of a run that allow a loss, each with its rule, in words.

    What takes the destruction of synced data, and known issues, are no matter of settings.
    """
    losing = set(installed.gone(Gone.LOST, Gone.CUT, Gone.VANISHED))
    for rule in plan.system.guarantees.rules:
        if set(rule.allows) & losing and not rule.known:
            reasons = [mechanism.why for mechanism in rule.mechanisms(plan.declared) if _by_a_setting(mechanism)]
            if reasons:
                yield f"{reasons[0].partition(':')[0]} ({rule.id})"


def _by_a_setting(mechanism: Mechanism) -> bool:
    if not isinstance(mechanism, Copies):
        return True
    elects = bool(mechanism.elects & (Elects.LAGGING | Elects.OUT_OF_SYNC))
    return elects or bool(mechanism.in_process) or bool(mechanism.takes & Damage.FORGETS)
