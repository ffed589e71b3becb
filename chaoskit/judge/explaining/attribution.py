"""Explains the findings of a run: each by a rule whose mechanism, derived from the record, took its message.

The rules are tried in the system's order: those that name an anomaly before those that imply it, known issues last.
What no mechanism explains is not allowed, however many faults there were; where one needs what was not recorded, the
finding is a doubt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.waits import are_in
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import About, Anomaly, Gone
from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.contract.guarantees.guarantee import Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Copies, Limit, Mechanism, Retry, Session, Way
from chaoskit.judge.explaining.cases import Cases, places_of
from chaoskit.judge.explaining.copies import derive_copies
from chaoskit.judge.explaining.derived import Derived, Story
from chaoskit.judge.explaining.limits import derive_limit
from chaoskit.judge.explaining.record import NONE, Flags, Ints, Record
from chaoskit.judge.explaining.tiered import derive_tiered
from chaoskit.judge.explaining.ways import derive_retry, derive_session, derive_way

JUDGED = pa.schema([*FINDINGS, pa.field("rule", pa.dictionary(pa.int32(), pa.string())), pa.field("fault", pa.int64())])
"""FINDINGS, with the rule that explains a finding and the number of the fault that took its message; null if there is
none. If it took several faults, the number is that of the first one."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What explains findings.

    Attributes:
        rule: the rule.
        mechanism: by which it took the messages.
        story: what happened, and the faults that did it.
    """

    rule: Rule
    mechanism: Mechanism
    story: Story

    @property
    def why(self) -> str:
        """The setting from which it follows."""
        return self.mechanism.why


@dataclass(frozen=True, slots=True)
class Explained:
    """Findings and their causes.

    Attributes:
        findings: schema `JUDGED`.
        causes: by anomaly, each cause with the number of findings that it explains; None: nothing explains them.
        open: by anomaly, how many findings are in doubt, and what the record lacks.
        known: the different causes, the first of which is None: nothing.
        cause_of: for each finding the index of its cause in `known`.
    """

    findings: pa.Table
    causes: Mapping[str, Sequence[tuple[Cause | None, int]]]
    open: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    known: Sequence[Cause | None] = (None,)
    cause_of: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


def unexplained(findings: pa.Table) -> Explained:
    """Return findings of a history of which nothing was declared."""
    return Explained(_judged(findings, pa.nulls(findings.num_rows, pa.string()), pa.nulls(findings.num_rows)), {})


def undecided(findings: pa.Table, why: str) -> Explained:
    """Return findings of which nothing is explained or excluded; `why` is what hinders it."""
    counts = Counter(findings["anomaly"].to_pylist())
    return replace(unexplained(findings), open={name: (count, why) for name, count in counts.items()})


class Attribution:
    """Explains the findings of one run.

    Args:
        guarantees: the system's guarantees.
        anomalies: all known anomalies, by name.
        record: the record of the run.
    """

    def __init__(self, guarantees: Guarantees, anomalies: Mapping[str, Anomaly], record: Record) -> None:
        self._guarantees = guarantees
        self._anomalies = anomalies
        self._record = record

    def explain(self, findings: pa.Table, messages: Ints | None = None) -> Explained:
        """Return findings with what explains each.

        Args:
            findings: schema `FINDINGS`.
            messages: for how many messages each row stands; None: one.
        """
        messages = np.ones(findings.num_rows, np.int64) if messages is None else messages
        self._record.gone = _gone(findings)
        causes: list[Cause | None] = [None]
        chosen = np.zeros(findings.num_rows, np.int64)
        names = findings["anomaly"].combine_chunks()
        counted: dict[str, list[tuple[Cause | None, int]]] = {}
        open_: dict[str, tuple[int, str]] = {}
        for name, rows in self._in_order(names):
            anomaly, in_doubt, missing = self._anomalies[name], np.zeros(rows.size, np.bool_), ""
            if anomaly.spans:
                chosen[rows] = _spanned(findings, rows, chosen)
            left = np.flatnonzero(chosen[rows] == 0)
            chosen[rows[left]], in_doubt[left], missing = self._explain(
                anomaly, findings.take(pa.array(rows[left])), causes
            )
            if doubtful := int(messages[rows][in_doubt].sum()):
                open_[name] = doubtful, missing
            sure = ~in_doubt
            counts = np.bincount(chosen[rows][sure], weights=messages[rows][sure], minlength=len(causes))
            counted[name] = [(causes[index], int(counts[index])) for index in np.flatnonzero(counts)]
        rules = pa.array([None if cause is None else cause.rule.id for cause in causes], pa.string())
        faults = pa.array([_first_fault(cause) for cause in causes], pa.int64())
        judged = _judged(findings, rules.take(chosen), faults.take(chosen))
        return Explained(judged, counted, open_, causes, chosen)

    def _in_order(self, names: pa.DictionaryArray) -> Iterator[tuple[str, Ints]]:
        """Yield the anomalies that are judged with their rows, those that follow from others last."""
        words = names.dictionary.to_pylist()
        for code, name in sorted(enumerate(words), key=lambda word: self._anomalies[word[1]].spans):
            rows = np.flatnonzero(names.indices.to_numpy() == code)
            if rows.size and not self._anomalies[name].measured and not self._anomalies[name].doubt:
                yield name, rows

    def _explain(self, anomaly: Anomaly, rows: pa.Table, causes: list[Cause | None]) -> tuple[Ints, Flags, str]:
        """Return for each row the index of its cause in `causes`, to which new ones are appended; whether it is in
        doubt; and what is missing."""
        chosen, in_doubt, missing = np.zeros(rows.num_rows, np.int64), np.zeros(rows.num_rows, np.bool_), ""
        follows = _of_lost(rows, self._record.gone) if anomaly.about is About.PAIR else in_doubt.copy()
        for part in (np.flatnonzero(follows), np.flatnonzero(~follows)):
            left = part
            for rule in self._rules(anomaly.name, follows=bool(follows[part].any())):
                for mechanism in rule.mechanisms(self._record.declared):
                    if not left.size:
                        break
                    derived = derive(self._record, mechanism, Cases.of(anomaly, rows.take(pa.array(left))))
                    missing = missing or derived.missing
                    in_doubt[left] |= derived.open
                    for index, story in enumerate(derived.stories):
                        cause = Cause(rule, mechanism, story)
                        if cause not in causes:
                            causes.append(cause)
                        chosen[left[derived.story_of == index]] = causes.index(cause)
                    left = left[derived.story_of == NONE]
        return chosen, in_doubt & (chosen == 0), missing

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


def _chosen(record: Record, mechanism: Choice, cases: Cases) -> Derived:
    derived = Derived.nothing(cases.size)
    of = np.array([not mechanism.topics or topic in mechanism.topics for topic, _ in cases.places], np.bool_)
    derived.tell(np.flatnonzero(of[cases.place_of]), Story())
    return derived


def _copied(record: Record, mechanism: Copies, cases: Cases) -> Derived:
    return (derive_tiered if mechanism.tiered else derive_copies)(record, mechanism, cases)


_DERIVE: Mapping[type, Callable[[Record, Any, Cases], Derived]] = {
    Copies: _copied,
    Way: derive_way,
    Retry: derive_retry,
    Session: derive_session,
    Limit: derive_limit,
    Choice: _chosen,
}


def derive(record: Record, mechanism: Mechanism, cases: Cases) -> Derived:
    """Return which findings a mechanism explains."""
    return _DERIVE[type(mechanism)](record, mechanism, cases)


def _first_fault(cause: Cause | None) -> int | None:
    faults = [fault.number for fault in cause.story.faults if fault.number >= 0] if cause else []
    return faults[0] if faults else None


def _judged(findings: pa.Table, rules: pa.Array, faults: pa.Array) -> pa.Table:
    return pa.table([*findings.columns, rules.dictionary_encode(), faults.cast(pa.int64())], JUDGED)


def _not_in_the_log() -> set[str]:
    return set(installed.gone(Gone.LOST, Gone.CUT, Gone.REPLACED))


def _gone(findings: pa.Table) -> dict[tuple[str, int], Ints]:
    """Return the values of the messages that are not there any more, ascending, by partition."""
    rows = findings.filter(pc.is_in(findings["anomaly"].cast(pa.string()), pa.array(sorted(_not_in_the_log()))))
    places, place_of = places_of(rows)
    values = rows["value"].fill_null(NONE).to_numpy()
    return {place: np.sort(values[place_of == index]) for index, place in enumerate(places)}


def _of_lost(rows: pa.Table, gone: Mapping[tuple[str, int], Ints]) -> Flags:
    """Return for each row whether one of its two messages is gone."""
    places, place_of = places_of(rows)
    follows = np.zeros(rows.num_rows, np.bool_)
    pair = [rows[name].fill_null(NONE).to_numpy() for name in ("value", "other_value")]
    for index, place in enumerate(places):
        chosen = np.flatnonzero(place_of == index)
        if place in gone:
            follows[chosen] = np.logical_or.reduce([are_in(values[chosen], gone[place]) for values in pair])
    return follows


def _spanned(findings: pa.Table, rows: Ints, chosen: Ints) -> Ints:
    """Return for some findings the cause of what was found of the messages that they span, if all of that has one."""
    places, place_of = places_of(findings)
    values, others = (findings[name].fill_null(NONE).to_numpy() for name in ("value", "other_value"))
    spanning = np.zeros(findings.num_rows, np.bool_)
    spanning[rows] = True
    causes = np.zeros(rows.size, np.int64)
    for index in range(len(places)):
        named = np.flatnonzero((place_of == index) & ~spanning & (values != NONE))
        named = named[np.lexsort((chosen[named], values[named]))]
        mine = np.flatnonzero(place_of[rows] == index)
        low, high = (edge(values[rows[mine]], others[rows[mine]]) for edge in (np.minimum, np.maximum))
        first, last = np.searchsorted(values[named], low), np.searchsorted(values[named], high, side="right")
        unexplained_before = np.concatenate([[0], np.cumsum(chosen[named] == 0)])
        sound = (last > first) & (unexplained_before[last] == unexplained_before[first])
        causes[mine[sound]] = chosen[named[first[sound]]]
    return causes
