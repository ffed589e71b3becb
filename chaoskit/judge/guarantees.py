"""From a system's root rules to the table of a verdict: for each anomaly whether it is allowed, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chaoskit.contract.anomaly import Anomaly
from chaoskit.contract.guarantee import Allowance, Declared, Effect, Guarantees, Rule


def allowances(
    guarantees: Guarantees, anomalies: Mapping[str, Anomaly], declared: Declared, effects: Sequence[Effect]
) -> dict[str, Allowance]:
    """Return what the declared settings say of each anomaly that the system has a say in.

    A rule that names an anomaly goes before one whose anomalies imply it; among those the system's order decides.

    Args:
        guarantees: of the system.
        anomalies: all that are known, by name.
        declared: the resolved configuration.
        effects: the faults of the run.
    """
    applying = [(rule, why) for rule in guarantees.rules if (why := rule.applies(declared, effects))]
    table = {name: Allowance(False, why) for name, why in guarantees.promises(declared).items()}
    for rule, why in reversed(applying):
        implied = set(_implied(rule, anomalies)) - guarantees.apart
        table |= dict.fromkeys(implied, Allowance(True, why, rule.remedy, rule.id))
    for rule, why in reversed(applying):
        table |= dict.fromkeys(rule.allows, Allowance(True, why, rule.remedy, rule.id))
    return table


def _implied(rule: Rule, anomalies: Mapping[str, Anomaly]) -> Iterator[str]:
    for root in rule.allows:
        if root in anomalies:
            yield from anomalies[root].implies
