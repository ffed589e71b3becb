"""What rules reach: which faults, on whom, explain which findings, on runs on paper.

producer-0 writes a message each quarter of a second for a minute; consumer-0 or consumer-1 lacks it, or is given it at
a wrong time. n1 leads to the end, or until a second after the fault started; then n2, its first follower, does. One
fault starts at 8 s and is healed after 2 s, or after 40.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import guaranteed
import numpy as np
from guaranteed import PLACE, PaperRecord, effect

from chaoskit.contract.anomaly import CRASHED
from chaoskit.contract.guarantee import Declared, Effect, Rule
from chaoskit.contract.installed import anomalies
from chaoskit.contract.mechanism import Mechanism, Session
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.format.audits import Place
from chaoskit.judge.explaining.attribution import derive
from chaoskit.judge.explaining.record import NONE, Flags, Ints

WITHOUT = "without a fault"
"""What explains a finding that needs no fault."""

_START_S = 8.0
_SHORT_S, _LONG_S = 2, 40
_END_S = 59.75
_OF_HOSTS: dict[str, dict[str, object]] = {
    "kill": {},
    "power-cut": {},
    "disk-wipe": {},
    "bit-flip": {},
    "restart": {},
    "pause": {},
    "disk-slow": {"write_bandwidth": "1MB"},
    "elect-leader": {},
    "partition": {},
    "reset-connections": {},
    "packet-loss": {"percent": 50},
    "packet-delay": {"delay": "100ms"},
    "clock-jump": {},
}
_OF_CLIENTS = ("client-crash", "client-pause", "client-hang", "client-disconnect")
_STRANGER = "consumer-987"

Reach = dict[str, list[str]]
"""By which findings are explained, what explains them."""


def reach(rule: Rule, declared: Declared) -> Reach:
    """Return what explains findings of a rule's first anomaly."""
    paper = _Paper(rule, declared)
    stranger = effect("client-pause", _STRANGER)
    by_itself = paper.explained(stranger)
    lines: dict[str, dict[tuple[str, ...], list[str]]] = {
        f"{WITHOUT}: {cell}": {} for cell in sorted(paper.in_words(by_itself, stranger))
    }
    for targets in _targets(declared):
        cells: dict[tuple[str, int], list[str]] = {}
        for lasts_s in (_SHORT_S, _LONG_S):
            for kind, parameters in _kinds(targets):
                fault = effect(kind, *targets, start_s=_START_S, healed_s=_START_S + lasts_s, **parameters)
                explained = paper.explained(fault)
                changed = {name: flags for name, flags in explained.items() if (flags != by_itself[name]).any()}
                for cell in sorted(paper.in_words(changed, fault)):
                    cells.setdefault((cell, lasts_s), []).append(kind)
        for cell, kinds, how_long in _merged(cells):
            by_kinds = lines.setdefault(cell, {})
            by_kinds.setdefault(tuple(kinds), []).append(f"{'+'.join(targets)}{how_long}")
    return {
        cell: [f"{', '.join(kinds)}: {' | '.join(where)}" for kinds, where in by_kinds.items()]
        for cell, by_kinds in lines.items()
    }


def _targets(declared: Declared) -> Iterator[tuple[str, ...]]:
    hosts = _hosts(declared)
    yield from dict.fromkeys((tuple(hosts[:1]), tuple(hosts[1:2] or hosts), tuple(hosts[-1:]), tuple(hosts)))
    yield from (("producer-0",), ("consumer-0",))


def _hosts(declared: Declared) -> list[str]:
    """Return the hosts of the system; of a system between peers those of its clients."""
    return [f"n{number + 1}" for number in range(declared.hosts or 3)]


def _kinds(targets: tuple[str, ...]) -> Sequence[tuple[str, dict[str, object]]]:
    return [(kind, {}) for kind in _OF_CLIENTS] if "-" in targets[0] else list(_OF_HOSTS.items())


def _merged(cells: dict[tuple[str, int], list[str]]) -> Iterator[tuple[str, list[str], str]]:
    """Yield what is reached, by which kinds, and for how long if that matters."""
    for (cell, lasts_s), kinds in cells.items():
        other = cells.get((cell, _SHORT_S + _LONG_S - lasts_s), [])
        both = [kind for kind in kinds if kind in other]
        if both and lasts_s == _SHORT_S:
            yield cell, both, ""
        if only := [kind for kind in kinds if kind not in other]:
            yield cell, only, f" {lasts_s} s"


class _Paper:
    """The runs on paper of one configuration, on which a rule is tried."""

    def __init__(self, rule: Rule, declared: Declared) -> None:
        self._declared = declared
        self._mechanisms = rule.mechanisms(declared)
        self._hosts = guaranteed._hosts(declared)
        anomaly = anomalies()[rule.allows[0]]
        self._holders = self._hosts if anomaly is CRASHED else guaranteed._holders(declared)
        self._cases = [guaranteed._cases(anomaly, self._place(mechanism)) for mechanism in self._mechanisms]

    def _place(self, mechanism: Mechanism) -> Place:
        process = mechanism.process if isinstance(mechanism, Session) else ""
        return (f"{process}@{self._hosts[0]}", 0) if process else PLACE

    def explained(self, fault: Effect) -> dict[str, Flags]:
        """Return which findings are explained, by who leads."""
        flags = {}
        for name, placements in self._placements():
            flags[name] = np.zeros(0, np.bool_)
            for mechanism, cases in zip(self._mechanisms, self._cases, strict=True):
                place = self._place(mechanism)
                placed = placements if place == PLACE else placements.with_fixed({place: self._holders})
                derived = derive(PaperRecord(self._declared, [fault], placed, None, self._hosts), mechanism, cases)
                explained = derived.story_of != NONE
                flags[name] = flags[name] | explained if flags[name].size else explained
        return flags

    def _placements(self) -> Iterator[tuple[str, Placements]]:
        first, *others = self._holders
        yield "n1 leads", guaranteed._placed([(0, first, self._holders, self._holders)])
        if others:
            after = (_START_S + 1, others[0], self._holders, self._holders)
            yield "n2 in sync is elected", guaranteed._placed([(0, first, self._holders, self._holders), after])
            yield "n2 out of sync is elected", guaranteed._placed([(0, first, self._holders, [first]), after])

    def in_words(self, explained: Mapping[str, Flags], fault: Effect) -> set[str]:
        """Return which findings are explained, in words; by who leads if that matters."""
        words = {name: self.findings(flags, fault) for name, flags in explained.items() if flags.any()}
        if len(words) == len(list(self._placements())) and len(set(words.values())) == 1:
            return {next(iter(words.values()))}
        return {f"{name}: {text}" for name, text in words.items()}

    def findings(self, flags: Flags, fault: Effect) -> str:
        """Return of which messages, and of which consumer, some findings are; or else when they were experienced."""
        cases = self._cases[0]
        written_s = (cases.at_ns if cases.reading else cases.message.written_ns) / guaranteed.SECOND
        half = flags.size // 2
        own, others = (_span(written_s[part][flags[part]], fault) for part in (slice(half), slice(half, None)))
        if own == others:
            return own
        return f"{own}, of consumer-0" if not others else f"{own or 'none'} of consumer-0, {others} of consumer-1"


def _span(written_s: Ints, fault: Effect) -> str:
    if not written_s.size:
        return ""
    return f"{_instant(float(written_s.min()), fault)} to {_instant(float(written_s.max()), fault)}"


def _instant(at_s: float, fault: Effect) -> str:
    healed_s = fault.over_ns / guaranteed.SECOND
    if at_s in (0, _END_S):
        return "first" if at_s == 0 else "last"
    name, from_s = ("healed", healed_s) if abs(at_s - healed_s) < abs(at_s - _START_S) else ("start", _START_S)
    return name if at_s == from_s else f"{name} {'-' if at_s < from_s else '+'} {abs(at_s - from_s):g}"
