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

from chaoskit.base.quantities import SECOND
from chaoskit.base.waits import are_in
from chaoskit.contract.anomaly import About, Anomaly
from chaoskit.contract.checker import FINDINGS
from chaoskit.contract.guarantee import Damage, Declared, Effect, Guarantees, Rule
from chaoskit.history.audits import Place
from chaoskit.history.placements import Placements
from chaoskit.judge.headline import LOSSES

JUDGED = pa.schema([*FINDINGS, pa.field("rule", pa.dictionary(pa.int32(), pa.string())), pa.field("fault", pa.int64())])
"""FINDINGS, with the rule that explains a finding and the number of the fault to which it applies; null if there is
none. If it takes several faults, the number is that of the first one after the message was acknowledged."""

_FOREVER = np.iinfo(np.int64).max
_NEVER = np.iinfo(np.int64).min

_GONE = (*LOSSES, "truncated")
"""Anomalies whose findings are messages that the log does not have any more."""

_UNSYNCED_NS = 60 * SECOND
"""How long data may stay in memory only; Linux writes dirty pages back after 30 s (`vm.dirty_expire_centisecs`)."""

_REPLICATING_NS = 30 * SECOND
"""How long a replica may lag behind while no fault is active (Kafka's default of `replica.lag.time.max.ms`)."""

_SETTLING_NS = 30 * SECOND
"""How long after its healing a fault may still have consequences for messages that are written then."""

_NOTICING_NS = 60 * SECOND
"""How long after the healing of a fault that damaged nothing a consumer may still notice its consequences."""

_CLOCKS_NS = SECOND // 10
"""A fault is recorded by another process than what it did."""

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


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
        self._since = _since(self._effects)
        self._placements = placements

    def explain(self, findings: pa.Table) -> Explained:
        """Return findings (schema `FINDINGS`) with what explains each."""
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
            counts = np.bincount(chosen[rows], minlength=len(found))
            causes[name] = [(found[index], int(counts[index])) for index in np.flatnonzero(counts)]
        rules = pa.array([None if cause is None else cause.rule.id for cause in found], pa.string())
        faults = pa.array([cause.faults[0].number if cause and cause.faults else None for cause in found], pa.int64())
        return Explained(_judged(findings, rules.take(chosen), faults.take(chosen)), causes)

    def _explain(self, anomaly: Anomaly, rows: pa.Table, found: list[Cause | None], lost: Mapping[Place, Ints]) -> Ints:
        """Return for each row the index of its cause in `found`, to which new ones are appended."""
        times = _times(anomaly, rows)
        fits = np.zeros((rows.num_rows, len(self._effects)), np.bool_)
        for index, (effect, since_ns) in enumerate(zip(self._effects, self._since, strict=True)):
            fits[:, index] = _fits(effect, since_ns, anomaly, times)
        next_one = np.searchsorted(np.array([effect.start_ns for effect in self._effects], np.int64), times[0][1])
        places, place_of = _places(rows)
        paired = anomaly.about is About.PAIR
        follows = _of_lost(rows, places, place_of, lost) if paired else np.zeros(rows.num_rows, np.int64)
        first, case_of = _cases([place_of, next_one, follows, *np.packbits(fits, axis=1).T])
        answers = np.zeros(first.size, np.int64)
        for case, row in enumerate(first):
            able = [effect for effect, fit in zip(self._effects, fits[row], strict=True) if fit]
            rules = list(self._rules(anomaly.name, follows=bool(follows[row])))
            cause = self._cause(anomaly, places[place_of[row]], able, int(next_one[row]), rules)
            if cause not in found:
                found.append(cause)
            answers[case] = found.index(cause)
        return answers[case_of]

    def _cause(
        self, anomaly: Anomaly, place: Place, able: Sequence[Effect], next_one: int, rules: Sequence[Rule]
    ) -> Cause | None:
        anywhere = _preferred(able, next_one, self._effects)
        here = [effect for effect in anywhere if self._touched(effect, place, shared=anomaly.shared)]
        if not anomaly.shared:
            here = list(self._on_holders(here, place))
        for rule in rules:
            effects = anywhere if rule.anywhere else here
            if rule.applies(self._declared, effects):
                needed = _needed(rule, self._declared, effects)
                return Cause(rule, rule.applies(self._declared, needed), tuple(needed))
        return None

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
                yield from (rule for rule in implying if set(rule.allows) & set(_GONE))
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


def _times(anomaly: Anomaly, rows: pa.Table) -> list[tuple[Ints, Ints]]:
    """Return the intervals in which each finding may have been caused; a fault must fit one of them."""
    at = rows["at_ns"]
    if anomaly.about is About.READING:
        return [_interval(at, at)]
    intervals = [_interval(pc.coalesce(rows["written_ns"], at), pc.coalesce(rows["acked_ns"], rows["written_ns"], at))]
    if anomaly.about is About.PAIR:
        other = rows["other_written_ns"]
        lows, highs = _interval(other, pc.coalesce(rows["other_acked_ns"], other))
        unknown = pc.is_null(other).to_numpy()
        intervals.append((np.where(unknown, intervals[0][0], lows), np.where(unknown, intervals[0][1], highs)))
    return intervals


def _interval(low: pa.ChunkedArray, high: pa.ChunkedArray) -> tuple[Ints, Ints]:
    return low.fill_null(_NEVER).to_numpy(), high.fill_null(_FOREVER).to_numpy()


def _since(effects: Sequence[Effect]) -> list[int]:
    """Return for each fault, in order of time, when the first one began that it follows without a pause."""
    since: list[int] = []
    begun = over = _NEVER
    for effect in effects:
        if effect.start_ns > over:
            begun = effect.start_ns
        over = max(over, _FOREVER if effect.healed_ns is None else effect.healed_ns)
        since.append(begun)
    return since


def _fits(effect: Effect, since_ns: int, anomaly: Anomaly, times: Sequence[tuple[Ints, Ints]]) -> Flags:
    earliest, latest = _reach(effect, since_ns, anomaly.about)
    fits: Flags = np.logical_or.reduce([(low <= latest) & (high >= earliest) for low, high in times])
    return fits


def _reach(effect: Effect, since_ns: int, about: About) -> tuple[int, int]:
    """Return the times between which a message was written, or something was noticed, that a fault may explain.

    Args:
        effect: the fault.
        since_ns: when the first of the faults began that it follows without a pause; replicas may lag since then.
        about: what findings are about.
    """
    start_ns = effect.start_ns - _CLOCKS_NS
    end_ns = None if effect.damage & Damage.CORRUPTS else effect.healed_ns
    if about is About.READING:
        latest = _FOREVER if end_ns is None or effect.damage else end_ns + _NOTICING_NS
        return start_ns, latest
    latest = _FOREVER if end_ns is None else end_ns + _SETTLING_NS
    if effect.ahead_ns or effect.damage & (Damage.CORRUPTS | Damage.DESTROYS):
        return _NEVER, latest
    return min(start_ns - (_UNSYNCED_NS if effect.damage else _REPLICATING_NS), since_ns - _REPLICATING_NS), latest


def _lost(findings: pa.Table) -> dict[Place, Ints]:
    """Return the values of the messages that were lost, ascending, by partition."""
    rows = findings.filter(pc.is_in(findings["anomaly"].cast(pa.string()), pa.array(_GONE)))
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
    """Return effects in order of preference: those that began after the message was acknowledged, in order; then those
    before, latest first."""
    later = {effect.number for effect in effects[next_one:]}
    after = [effect for effect in able if effect.number in later]
    return after + [effect for effect in reversed(able) if effect.number not in later]


def _needed(rule: Rule, declared: Declared, effects: Sequence[Effect]) -> list[Effect]:
    """Return the effects without which the rule does not apply; of equivalent ones, the preferred."""
    needed = list(effects)
    for effect in reversed(effects):
        without = [each for each in needed if each is not effect]
        if rule.applies(declared, without):
            needed = without
    return needed
