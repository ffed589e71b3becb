"""Which anomalies follow from another one, such as a loss: they are listed under it, with the same cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.judge.verdict.headline import Counted


def in_order(anomalies: Mapping[str, Counted]) -> Iterator[tuple[str, bool]]:
    """Yield the names of what was found; what follows from another anomaly comes after that, with True.

    It follows if it is implied, and if it has the same causes, or none either. What is not allowed does not follow from
    what is.
    """
    under: dict[str, str] = {}
    for root in dict.fromkeys([*installed.gone(Gone.LOST, Gone.CUT), *anomalies]):
        if root not in anomalies or not anomalies[root].count or root in under or _follows_a_loss(root, anomalies):
            continue
        for name in _implied(root):
            taken = name == root or name in under or name in under.values()
            if name in anomalies and not taken and _alike(anomalies[root], anomalies[name]):
                under[name] = root
    for name in anomalies:
        if name not in under:
            yield name, False
            yield from ((follower, True) for follower in anomalies if under.get(follower) == name)


def _follows_a_loss(name: str, anomalies: Mapping[str, Counted]) -> bool:
    """Return whether another loss implies it: an entry that is lost is a lost message."""
    known = installed.anomalies()
    others = (other for other in installed.gone(Gone.LOST) if other in anomalies and other != name)
    return any(name in known[other].implies and _alike(anomalies[other], anomalies[name]) for other in others)


def _implied(root: str) -> list[str]:
    """Return what may follow from an anomaly; a loss shows as a truncated log as well as the other way round."""
    known, cut = installed.anomalies(), installed.gone(Gone.CUT)
    if root not in known:
        return []
    more = [name for anomaly in cut for name in known[anomaly].implies] if known[root].gone is Gone.LOST else []
    return [*cut, *known[root].implies, *more]


def _alike(root: Counted, other: Counted) -> bool:
    causes = [{(cause["rule"], tuple(cause["faults"])) for cause in counted.causes} for counted in (root, other)]
    return (
        bool(other.count)
        and (other.allowed or not root.allowed)
        and causes[1] <= causes[0]
        and bool(causes[0]) == bool(causes[1])
    )
