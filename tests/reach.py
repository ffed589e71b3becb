"""What rules reach: which faults, on whom, explain which findings, on runs on paper.

producer-0 writes a message each quarter of a second for a minute; consumer-0 or consumer-1 lacks it, or is given it at
a wrong time. n1 leads to the end, or until a second after the fault started; then n2, its first follower, does. One
fault starts at 8 s and is healed after 2 s, or after 40.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import guaranteed
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from guaranteed import PLACE, PaperRecord, effect

from chaoskit.contract.checkers.anomaly import CRASHED, About, Anomaly
from chaoskit.contract.guarantees.guarantee import Declared, Effect, Rule
from chaoskit.contract.guarantees.mechanism import Copies, Limit, Mechanism, Party, Session, Way
from chaoskit.contract.installed import anomalies
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.reading.reader import History, StoredPartition
from chaoskit.judge.explaining.attribution import derive
from chaoskit.judge.explaining.cases import ConcernedMessage
from chaoskit.judge.explaining.record import NONE, Flags, Receipts, RecordedSends
from chaoskit.model.place import Place

WITHOUT = "without a fault"
"""What explains a finding that needs no fault."""

_START_S = 8.0
_SHORT_S, _LONG_S = 2, 40
_END_S = 59.75
_OF_HOSTS: dict[str, dict[str, Any]] = {
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
    "packet-delay of a minute": {"delay": "60s"},
    "clock-jump": {},
    "wire of any answer": {"message": "*", "of": "response", "of_client": "producer-0", "then": "drop"},
    "wire of another answer": {"message": "NoRequest", "of": "response", "then": "drop"},
}
"""Parameters of faults, by kind, with more words where there are several of a kind."""

_OF_CLIENTS = ("client-crash", "client-leave", "client-pause", "client-hang", "client-disconnect")
_EVERY_S = 0.25
_AROUND_S = 4
_LEADS = "n1 leads"
_GAP = "of a gap"
"""Findings of a run in which consumers lack what was written from 4 s before the fault until 4 s after it, but for one
second of it that ended a second before the fault: that was received."""

_COLUMNS = ("place_of", "position", "other_position", "op", "other_op", "at_ns", "since_ns")
_STORING = {Party.LEADER, Party.HOLDERS}
_STRANGER = "consumer-987"

Reach = dict[str, dict[str, list[str]]]
"""By mechanism and by which findings it explains, what explains them."""


def reach(rule: Rule, declared: Declared) -> Reach:
    """Return what explains findings of a rule: of its first anomaly, and of one of each further kind."""
    reached: Reach = {}
    of_kind: dict[About, Anomaly] = {}
    for name in rule.allows:
        of_kind.setdefault(anomalies()[name].about, anomalies()[name])
    for anomaly in of_kind.values():
        of_others = "" if anomaly.name == rule.allows[0] else f"{anomaly.name}: "
        numbered: list[tuple[str, dict[str, list[str]]]] = []
        for mechanism in rule.mechanisms(declared):
            kind = type(mechanism).__name__
            turn = sum(name.startswith(kind) for name, _ in numbered) + 1
            numbered.append((f"{kind} {turn}", _reached(_Paper(anomaly, declared, mechanism))))
        for _, cells in numbered:
            names = [name for name, others in numbered if others == cells]
            reached[f"{of_others}{', '.join(names)}"] = cells
    return reached


def _reached(paper: _Paper) -> dict[str, list[str]]:
    stranger = effect("client-pause", _STRANGER)
    by_itself = paper.explained(stranger)
    if any(flags.any() for flags in by_itself.values()):
        return {f"{WITHOUT}: {cell}": [] for cell in paper.in_words(by_itself, stranger)}
    lines: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for targets in _targets(paper.declared):
        cells: dict[tuple[str, int], list[str]] = {}
        for lasts_s in paper.lasts_s:
            for kind, parameters in _kinds(targets):
                fault = effect(
                    kind.partition(" of ")[0], *targets, start_s=_START_S, healed_s=_START_S + lasts_s, **parameters
                )
                for cell in paper.in_words(paper.explained(fault), fault):
                    cells.setdefault((cell, lasts_s), []).append(kind)
        for cell, kinds, how_long in _merged(cells, paper.lasts_s):
            by_kinds = lines.setdefault(cell, {})
            by_kinds.setdefault(tuple(kinds), []).append(f"{'+'.join(targets)}{how_long}")
    return {
        cell: [f"{', '.join(kinds)}: {' | '.join(where)}" for kinds, where in by_kinds.items()]
        for cell, by_kinds in lines.items()
    }


def _targets(declared: Declared) -> Iterator[tuple[str, ...]]:
    hosts = _hosts(declared)
    chosen = (hosts[:1], hosts[1:2] or hosts, hosts[-1:], hosts[:2], hosts)
    yield from dict.fromkeys(tuple(some) for some in chosen)
    yield from (("producer-0",), ("consumer-0",))


def _hosts(declared: Declared) -> list[str]:
    """Return the hosts of the system; of a system between peers those of its clients."""
    return [f"n{number + 1}" for number in range(declared.hosts or 3)]


def _kinds(targets: tuple[str, ...]) -> Sequence[tuple[str, dict[str, Any]]]:
    return [(kind, {}) for kind in _OF_CLIENTS] if "-" in targets[0] else list(_OF_HOSTS.items())


def _merged(cells: dict[tuple[str, int], list[str]], all_last_s: Sequence[int]) -> Iterator[tuple[str, list[str], str]]:
    """Yield what is reached, by which kinds, and for how long if that matters."""
    for (cell, lasts_s), kinds in cells.items():
        anyhow = [kind for kind in kinds if all(kind in cells.get((cell, other_s), ()) for other_s in all_last_s)]
        if anyhow and lasts_s == all_last_s[0]:
            yield cell, anyhow, ""
        if only := [kind for kind in kinds if kind not in anyhow]:
            yield cell, only, f" {lasts_s} s"


class _Paper:
    """The runs on paper of one configuration, on which a mechanism is tried."""

    def __init__(self, anomaly: Anomaly, declared: Declared, mechanism: Mechanism) -> None:
        self.declared = declared
        self._mechanism = mechanism
        self._hosts = guaranteed.hosts_of(declared)
        self._holders = self._hosts if anomaly is CRASHED else guaranteed.holders_of(declared)
        process = mechanism.process if isinstance(mechanism, Session) else ""
        self._place: Place = (f"{process}@{self._hosts[0]}", 0) if process else PLACE
        self._cases = guaranteed.cases_of(anomaly, self._place)
        # What took a copy did it at once.
        self.lasts_s = (_SHORT_S,) if isinstance(mechanism, Copies) else (_SHORT_S, _LONG_S)

    def explained(self, fault: Effect) -> dict[str, Flags]:
        """Return which findings are explained, by who leads; and where messages around the fault are missing."""
        flags = {}
        for name, placements in self._placements():
            placed = placements if self._place == PLACE else placements.with_fixed({self._place: self._holders})
            record = PaperRecord(self.declared, [fault], placed, None, self._hosts)
            flags[name] = derive(record, self._mechanism, self._cases).story_of != NONE
            if name == _LEADS and isinstance(self._mechanism, Copies | Way | Limit):
                flags[_GAP] = self._of_gap(_GapRecord(self.declared, fault, placed, self._hosts))
        return flags

    def _of_gap(self, record: _GapRecord) -> Flags:
        value = (self._cases.message.written_ns / guaranteed.SECOND / _EVERY_S).astype(np.int64)
        rows = np.flatnonzero(record.missing[value])
        message = ConcernedMessage(
            value[rows], self._cases.message.written_ns[rows], self._cases.message.acked_ns[rows]
        )
        columns = {name: getattr(self._cases, name)[rows] for name in _COLUMNS}
        cases = replace(self._cases, messages=(message,), other=message, **columns)
        explained = np.zeros(value.size, np.bool_)
        explained[rows] = derive(record, self._mechanism, cases).story_of != NONE
        return explained

    def _placements(self) -> Iterator[tuple[str, Placements]]:
        first, *others = self._holders
        if not isinstance(self._mechanism, Copies) and not _STORING & set(getattr(self._mechanism, "path", ())):
            others = []  # it is the same whoever leads
        yield _LEADS, guaranteed.placed_as([(0, first, self._holders, self._holders)])
        if others:
            after = (_START_S + 1, others[0], self._holders, self._holders)
            yield "n2 in sync is elected", guaranteed.placed_as([(0, first, self._holders, self._holders), after])
            yield "n2 out of sync is elected", guaranteed.placed_as([(0, first, self._holders, [first]), after])

    def in_words(self, explained: Mapping[str, Flags], fault: Effect) -> list[str]:
        """Return which findings are explained, in words; by who leads if that matters."""
        words = {name: self.findings(flags, fault) for name, flags in explained.items() if flags.any()}
        led = {text for name, text in words.items() if name != _GAP}
        if len(led) == 1 and len(words) - (_GAP in words) == len(list(self._placements())):
            anyhow = led.pop()
            if words.get(_GAP) == anyhow:
                return [anyhow]
            words = {"whoever leads": anyhow} | {name: text for name, text in words.items() if name == _GAP}
        return sorted(f"{name}: {text}" for name, text in words.items())

    def findings(self, flags: Flags, fault: Effect) -> str:
        """Return of which messages, and of which consumer, some findings are; or else when they were experienced."""
        cases = self._cases
        written_s = (cases.at_ns if cases.reading else cases.message.written_ns) / guaranteed.SECOND
        half = flags.size // 2
        own, others = (_span(written_s[part][flags[part]], fault) for part in (slice(half), slice(half, None)))
        if own == others:
            return own
        return f"{own}, of consumer-0" if not others else f"{own or 'none'} of consumer-0, {others} of consumer-1"


def _span(written_s: npt.NDArray[np.float64], fault: Effect) -> str:
    if not written_s.size:
        return ""
    return f"{_instant(float(written_s.min()), fault)} to {_instant(float(written_s.max()), fault)}"


def _instant(at_s: float, fault: Effect) -> str:
    healed_s = fault.over_ns / guaranteed.SECOND
    if at_s in (0, _END_S):
        return "first" if at_s == 0 else "last"
    name, from_s = ("healed", healed_s) if abs(at_s - healed_s) < abs(at_s - _START_S) else ("start", _START_S)
    return name if at_s == from_s else f"{name} {'-' if at_s < from_s else '+'} {abs(at_s - from_s):g}"


class _GapRecord(PaperRecord):
    """A run on paper whose consumers received everything at once, but for what was written some seconds around a fault.

    Attributes:
        missing: for each message whether it was not received.
    """

    def __init__(self, declared: Declared, fault: Effect, placements: Placements, hosts: Sequence[str]) -> None:
        history = History(Path(), [StoredPartition(*PLACE, None, None)], {})
        end_ns = [int(_END_S * guaranteed.SECOND)] * 2
        whole = {"op": [0, 1], "f": ["delete", "delete"], "start_ns": end_ns, "end_ns": end_ns}
        history.operations = pa.table(whole)
        super().__init__(declared, [fault], placements, history, hosts)
        value = np.arange(int(_END_S / _EVERY_S) + 1)
        written_ns = (value * _EVERY_S * guaranteed.SECOND).astype(np.int64)
        arrived_ns = written_ns + guaranteed.SECOND // 10
        around_ns = int(_AROUND_S * guaranteed.SECOND)
        around = (written_ns >= fault.start_ns - around_ns) & (written_ns <= fault.over_ns + around_ns)
        before_ns = fault.start_ns - written_ns
        self.missing = around & ~((before_ns > guaranteed.SECOND) & (before_ns <= 2 * guaranteed.SECOND))
        self._sent = RecordedSends(
            value, written_ns, arrived_ns, np.ones(value.size, np.bool_), value, np.full(value.size, NONE)
        )
        received = Receipts(value[~self.missing], arrived_ns[~self.missing])
        self._received = dict.fromkeys(self.clients(CONSUMER), received)

    def sends(self, place: Place) -> RecordedSends:
        return self._sent

    def receipts(self, place: Place) -> Mapping[str, Receipts]:
        return self._received

    def producer_of(self, place: Place, value: int) -> str:
        return f"{PRODUCER}-0"
