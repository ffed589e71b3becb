"""Attributes findings to what explains them: a rule, and the faults to which it applies.

A rule explains a finding if it applies to those faults alone that can have caused it: that hit hosts which stored the
partition, at a time that fits. The rule itself then decides whether they are enough, for example whether as many hosts
lost their power at once as there must be in-sync replicas. What no rule explains is not allowed, however many faults
there were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.waits import are_in
from chaoskit.contract import installed
from chaoskit.contract.anomaly import About, Anomaly, Gone
from chaoskit.contract.checker import FINDINGS
from chaoskit.contract.guarantee import Declared, Effect, Guarantees, Rule
from chaoskit.history.compacting.placements import NewLeader, Placements
from chaoskit.history.format.audits import Place
from chaoskit.judge.reach import CLOCKS_NS, FOREVER, SETTLING_NS, UNAWARE_NS, Times, chained

JUDGED = pa.schema([*FINDINGS, pa.field("rule", pa.dictionary(pa.int32(), pa.string())), pa.field("fault", pa.int64())])
"""FINDINGS, with the rule that explains a finding and the number of the fault to which it applies; null if there is
none. If it takes several faults, the number is that of the first one after the message was acknowledged."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cause:
    """What explains a finding.

    Attributes:
        rule: the rule.
        why: why it applies.
        faults: the faults to which it applies; empty if the settings alone are enough.
    """

    rule: Rule
    why: str
    faults: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """Findings and their causes.

    Attributes:
        findings: schema `JUDGED`.
        causes: by anomaly, each cause with the number of findings that it explains; None: nothing explains them.
    """

    findings: pa.Table
    causes: Mapping[str, Sequence[tuple[Cause | None, int]]]


def unexplained(findings: pa.Table) -> Explained:
    """Return findings of a history of which nothing was declared."""
    return Explained(_judged(findings, pa.nulls(findings.num_rows, pa.string()), pa.nulls(findings.num_rows)), {})


class Attribution:
    """Explains the findings of one run.

    Args:
        guarantees: the system's guarantees.
        anomalies: all known anomalies, by name.
        declared: the resolved configuration.
        effects: the faults of the run.
        placements: where partitions were stored.
    """

    def __init__(
        self,
        guarantees: Guarantees,
        anomalies: Mapping[str, Anomaly],
        declared: Declared,
        effects: Sequence[Effect],
        placements: Placements,
    ) -> None:
        self._guarantees = guarantees
        self._anomalies = anomalies
        self._declared = declared
        self._effects = sorted(effects, key=lambda effect: effect.start_ns)
        self._placements = placements

    def explain(self, findings: pa.Table, messages: Ints | None = None) -> Explained:
        """Return findings with what explains each.

        Args:
            findings: schema `FINDINGS`.
            messages: for how many messages each row stands; None: one.
        """
        messages = np.ones(findings.num_rows, np.int64) if messages is None else messages
        found: list[Cause | None] = [None]
        chosen = np.zeros(findings.num_rows, np.int64)
        names = findings["anomaly"].combine_chunks()
        causes: dict[str, list[tuple[Cause | None, int]]] = {}
        lost = _lost(findings)
        for code, name in enumerate(names.dictionary.to_pylist()):
            rows = np.flatnonzero(names.indices.to_numpy() == code)
            if not rows.size or self._anomalies[name].measured or self._anomalies[name].doubt:
                continue
            chosen[rows] = self._explain(self._anomalies[name], findings.take(pa.array(rows)), found, lost)
            counts = np.bincount(chosen[rows], weights=messages[rows], minlength=len(found))
            causes[name] = [(found[index], int(counts[index])) for index in np.flatnonzero(counts)]
        rules = pa.array([None if cause is None else cause.rule.id for cause in found], pa.string())
        faults = pa.array([cause.faults[0].number if cause and cause.faults else None for cause in found], pa.int64())
        return Explained(_judged(findings, rules.take(chosen), faults.take(chosen)), causes)

    def _explain(self, anomaly: Anomaly, rows: pa.Table, found: list[Cause | None], lost: Mapping[Place, Ints]) -> Ints:
        """Return for each row the index of its cause in `found`, to which new ones are appended."""
        times = Times.of(anomaly, rows)
        places, place_of = _places(rows)
        fits = self._fits(times, places, place_of)
        fits_copies = self._fits(times.as_written(), places, place_of)
        next_one = np.searchsorted(np.array([effect.start_ns for effect in self._effects], np.int64), times.until_ns)
        reign = self._reigns(times.first_write_ns, places, place_of)
        paired = anomaly.about is About.PAIR
        follows = _of_lost(rows, places, place_of, lost) if paired else np.zeros(rows.num_rows, np.int64)
        bits = np.packbits(np.hstack([fits, fits_copies]), axis=1)
        first, case_of = _cases([place_of, next_one, reign, follows, *bits.T])
        answers = np.zeros(first.size, np.int64)
        for case, row in enumerate(first):
            able = [
                [effect for effect, fit in zip(self._effects, fitting[row], strict=True) if fit]
                for fitting in (fits, fits_copies)
            ]
            rules = list(self._rules(anomaly.name, follows=bool(follows[row])))
            at = places[place_of[row]], int(next_one[row]), int(reign[row])
            cause = self._cause(anomaly, *at, able, rules)
            if cause not in found:
                found.append(cause)
            answers[case] = found.index(cause)
        return answers[case_of]

    def _fits(self, times: Times, places: Sequence[Place], place_of: Ints) -> npt.NDArray[np.bool_]:
        """Return for each finding and each fault whether the fault was at a time that fits."""
        since_ns = np.array([self._since(place) for place in places], np.int64).reshape(len(places), len(self._effects))
        fits = np.zeros((place_of.size, len(self._effects)), np.bool_)
        for index, effect in enumerate(self._effects):
            fits[:, index] = times.fit(effect, since_ns[place_of, index], self._guarantees.lag_ns)
        return fits

    def _since(self, place: Place) -> list[int]:
        """Return for each fault when the first of those began that it follows without a pause, of those that may have
        delayed a holder of the partition."""
        delaying = {effect.number for effect in self._on_holders(self._effects, place) if effect.delays}
        return chained(self._effects, [effect for effect in self._effects if effect.number in delaying])

    def _reigns(self, written_ns: Ints, places: Sequence[Place], place_of: Ints) -> Ints:
        """Return how many former leaders of the partition knew of the next one when each message was written."""
        reign = np.zeros(place_of.size, np.int64)
        for place, own in zip(places, _grouped(place_of), strict=True):
            known_ns = [self._known_ns(each) for each in self._placements.new_leaders(place)]
            reign[own] = np.searchsorted(np.maximum.accumulate(np.array(known_ns, np.int64)), written_ns[own])
        return reign

    def _known_ns(self, change: NewLeader) -> int:
        """Return when the former leader knew of the change at the latest: one that was cut off, or paused, goes on
        acknowledging messages as leader until it hears from the others again."""
        silent = [
            FOREVER if effect.healed_ns is None else effect.healed_ns + UNAWARE_NS
            for effect in self._effects
            if effect.start_ns - CLOCKS_NS <= change.at_ns
            and (effect.healed_ns is None or change.at_ns <= effect.healed_ns)
            and effect.on_hosts
            and effect.delays
            and not effect.abrupt
            and not effect.moves
            and (effect.on_links or change.before in effect.targets)
        ]
        return max([change.at_ns, *silent])

    def _cause(  # noqa: PLR0917 - what is known of one case
        self,
        anomaly: Anomaly,
        place: Place,
        next_one: int,
        reign: int,
        able: Sequence[Sequence[Effect]],
        rules: Sequence[Rule],
    ) -> Cause | None:
        """Return what explains a case; `able` are the faults that may, by whether a rule leaves copies."""
        anywhere = [_preferred(some, next_one, self._effects) for some in able]
        here = [self._here(some, place, anomaly) for some in anywhere]
        for rule in rules:
            effects = (anywhere if rule.anywhere else here)[rule.copies]
            if rule.elects:
                effects = [effect for effect in effects if self._deposed(effect, place, reign)]
            if rule.applies(self._declared, effects):
                needed = _needed(rule, self._declared, effects)
                return Cause(rule, rule.applies(self._declared, needed), tuple(needed))
        return None

    def _here(self, effects: Sequence[Effect], place: Place, anomaly: Anomaly) -> list[Effect]:
        """Return those faults that may have touched a partition."""
        here = [effect for effect in effects if self._touched(effect, place, shared=anomaly.shared)]
        return here if anomaly.shared else list(self._on_holders(here, place))

    def _deposed(self, effect: Effect, place: Place, reign: int) -> bool:
        """Return whether another host became leader, after the message was written, when a fault may have caused that;
        or nobody recorded who led."""
        if not self._placements.knows_leader(place):
            return True
        until_ns = FOREVER if effect.healed_ns is None else effect.healed_ns + SETTLING_NS
        return any(
            effect.start_ns - CLOCKS_NS <= each.at_ns <= until_ns
            and effect.delays
            and (effect.on_links or effect.moves or each.before in effect.targets)
            for each in self._placements.new_leaders(place)[reign:]
        )

    def _rules(self, anomaly: str, *, follows: bool = False) -> Iterator[Rule]:
        """Yield the rules that allow an anomaly: known issues last; those that name it before those that imply it.

        If it `follows`, because one of its messages is lost, those come first that imply it by allowing the loss.
        """
        implied = anomaly not in self._guarantees.apart
        for known in (False, True):
            rules = [rule for rule in self._guarantees.rules if bool(rule.known) == known]
            naming = [rule for rule in rules if anomaly in rule.allows]
            implying = [
                rule for rule in rules if implied and anomaly not in rule.allows and self._implies(rule, anomaly)
            ]
            if follows:
                yield from (rule for rule in implying if set(rule.allows) & _not_in_the_log())
            yield from (*naming, *implying)

    def _implies(self, rule: Rule, anomaly: str) -> bool:
        roots = () if rule.alone else rule.allows
        return any(anomaly in self._anomalies[root].implies for root in roots if root in self._anomalies)

    def _touched(self, effect: Effect, place: Place, *, shared: bool) -> bool:
        """Return whether a fault may have touched data of a partition or, if `shared`, data of no workload's topic."""
        own = {topic.name for topic in self._declared.topics}
        return (
            not effect.partitions
            or place in effect.partitions
            or (shared and any(topic not in own for topic, _ in effect.partitions))
        )

    def _on_holders(self, effects: Sequence[Effect], place: Place) -> Iterator[Effect]:
        """Yield effects on hosts that stored the partition at that time, and those on networks or clients."""
        for effect in effects:
            placed = effect.on_hosts and not effect.on_links
            holders = self._placements.holders(place, effect.start_ns, effect.healed_ns) if placed else None
            if holders is None:
                yield effect
            elif targets := tuple(target for target in effect.targets if target in holders):
                yield replace(effect, targets=targets)


def _judged(findings: pa.Table, rules: pa.Array, faults: pa.Array) -> pa.Table:
    return pa.table([*findings.columns, rules.dictionary_encode(), faults.cast(pa.int64())], JUDGED)


def _not_in_the_log() -> set[str]:
    return set(installed.gone(Gone.LOST, Gone.CUT))


def _lost(findings: pa.Table) -> dict[Place, Ints]:
    """Return the values of the messages that were lost, ascending, by partition."""
    rows = findings.filter(pc.is_in(findings["anomaly"].cast(pa.string()), pa.array(sorted(_not_in_the_log()))))
    places, place_of = _places(rows)
    values = rows["value"].fill_null(-1).to_numpy()
    return {place: np.unique(values[chosen]) for place, chosen in zip(places, _grouped(place_of), strict=True)}


def _of_lost(rows: pa.Table, places: Sequence[Place], place_of: Ints, lost: Mapping[Place, Ints]) -> Ints:
    """Return for each row 1 if one of its two messages was lost, else 0."""
    follows = np.zeros(rows.num_rows, np.int64)
    pair = [rows[name].fill_null(-1).to_numpy() for name in ("value", "other_value")]
    for place, chosen in zip(places, _grouped(place_of), strict=True):
        if place in lost:
            follows[chosen] = np.logical_or.reduce([are_in(values[chosen], lost[place]) for values in pair])
    return follows


def _grouped(place_of: Ints) -> list[Ints]:
    """Return the rows of each place."""
    order = np.argsort(place_of, kind="stable")
    starts = np.flatnonzero(np.diff(place_of[order], prepend=-1))
    return np.split(order, starts[1:]) if order.size else []


def _places(rows: pa.Table) -> tuple[list[Place], Ints]:
    """Return the partitions, and for each row the index of its partition."""
    topics = rows["topic"].cast(pa.string()).combine_chunks().dictionary_encode()
    codes = topics.indices.to_numpy().astype(np.int64) << 32 | rows["partition"].to_numpy()
    distinct, index = np.unique(codes, return_inverse=True)
    names = topics.dictionary.to_pylist()
    return [(names[code >> 32], int(code & 0xFFFFFFFF)) for code in distinct.tolist()], index


def _cases(columns: Sequence[npt.NDArray[Any]]) -> tuple[Ints, Ints]:
    """Return the first row of each different combination of values, and for each row the index of its combination."""
    case_of = np.zeros(columns[0].size, np.int64)
    first = np.zeros(0, np.int64)
    for column in columns:
        _, first, case_of = np.unique(case_of << 32 | column, return_index=True, return_inverse=True)
    return first, case_of


def _preferred(able: Sequence[Effect], next_one: int, effects: Sequence[Effect]) -> list[Effect]:
    """Return effects in order of preference: those that were proved before others; those that began after the message
    was acknowledged, in order; then those before, latest first."""
    later = {effect.number for effect in effects[next_one:]}
    after = [effect for effect in able if effect.number in later]
    preferred = after + [effect for effect in reversed(able) if effect.number not in later]
    return sorted(preferred, key=lambda effect: not effect.proved)


def _needed(rule: Rule, declared: Declared, effects: Sequence[Effect]) -> list[Effect]:
    """Return the effects without which the rule does not apply; of equivalent ones, the preferred."""
    needed = list(effects)
    for effect in reversed(effects):
        without = [each for each in needed if each is not effect]
        if rule.applies(declared, without):
            needed = without
    return needed
