"""Derives from a system's root rules, for each anomaly, whether it is allowed and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chaoskit.contract.anomaly import Anomaly
from chaoskit.contract.guarantee import Allowance, Declared, Effect, Guarantees, Rule


def allowances(
    guarantees: Guarantees,
    anomalies: Mapping[str, Anomaly],
    declared: Declared,
    effects: Sequence[Effect],
    accept: Sequence[str] = (),
) -> dict[str, Allowance]:
    """Return the allowance of each anomaly that the system's rules or promises mention.

    A rule that names an anomaly takes precedence over one whose anomalies imply it; otherwise the system's order
    decides.

    Args:
        guarantees: the system's guarantees.
        anomalies: all known anomalies, by name.
        declared: the resolved configuration.
        effects: the faults of the run.
        accept: ids of the known issues that are accepted; others allow nothing.
    """
    rules = [rule for rule in guarantees.rules if not rule.known or rule.id in accept]
    applying = [(rule, why) for rule in rules if (why := rule.applies(declared, effects))]
    table = {name: Allowance(False, why) for name, why in guarantees.promises(declared).items()}
    for rule, why in reversed(applying):
        implied = set(_implied(rule, anomalies)) - guarantees.apart
        table |= dict.fromkeys(implied, Allowance(True, why, rule.remedy, rule.id))
    for rule, why in reversed(applying):
        table |= dict.fromkeys(rule.allows, Allowance(True, why, rule.remedy, rule.id))
    return table


def _implied(rule: Rule, anomalies: Mapping[str, Anomaly]) -> Iterator[str]:
    for root in () if rule.alone else rule.allows:
        if root in anomalies:
            yield from anomalies[root].implies
