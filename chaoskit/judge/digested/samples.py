"""What the checkers of histories find of messages of a digest, of which one stands for all that are alike.

A digest has facts: that messages were sent, how that ended, that they were received. The checkers are given those of
one message of each kind, as a history of a few messages; so what is lost, or a duplicate, is defined once, by them.
Each message there is of a producer of its own, so nothing is found of it because of another one. If its position is
known only from and to, it is there twice, at both ends, and what is not found at both is not decided.

Cost: O(k) time for k samples, however many messages they stand for, and 3 kB for each of 10,000.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.contract.checkers.checker import Part, PartitionSetting, Settling
from chaoskit.contract.checkers.digesting import Sampling
from chaoskit.history.format.intervals import Intervals
from chaoskit.model.audit import Audit
from chaoskit.model.message import PAYLOADS, PRODUCER_SHIFT
from chaoskit.model.outcome import OUTCOMES
from chaoskit.model.place import Place
from chaoskit.model.tables import MESSAGES, OBSERVATIONS, OPERATIONS

Range = tuple[int | None, int | None]
"""The lowest and the highest position that messages may have; None: unknown."""

UNKNOWN: Range = (None, None)

_AT_ONCE = 10_000
"""Samples that are judged together, so that memory is bounded: none is judged by another."""


class Fact(NamedTuple):
    """A message was sent, or received.

    Attributes:
        sent: the outcome of its send; empty: it was received.
        positions: where it was acknowledged, or received.
        payload: how it was received.
        other: whether it was the other one of two messages.
        elsewhere: where it was sent to; None: where the sample is.
    """

    sent: str = ""
    positions: Range = UNKNOWN
    payload: str = PAYLOADS[0]
    other: bool = False
    elsewhere: Place | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A message that stands for all that are alike.

    Attributes:
        place: topic and partition.
        facts: what was done to it.
        messages: the places of all; empty: which they are is not known.
        value: its value; None: as above.
        position, at_ns: where and when a reader noted it; None: none did.
        other_value: value of the other message; None: there is none.
    """

    place: Place
    facts: Sequence[Fact]
    messages: Intervals
    value: int | None
    position: int | None = None
    at_ns: int | None = None
    other_value: int | None = None

    @property
    def ends(self) -> range:
        """The ends of where it may have been: one if that is known, or unknown, else two."""
        return range(1 + any(low != high for low, high in (fact.positions for fact in self.facts)))


def anomalies_of(samples: Sequence[Sample], audits: Mapping[Place, Audit]) -> list[list[str]]:
    """Return the names of the anomalies of each sample.

    Args:
        samples: the samples.
        audits: the final reads by which they are judged.
    """
    several = (samples[first : first + _AT_ONCE] for first in range(0, len(samples), _AT_ONCE))
    return [names for own in several for names in _judged(own, audits)]


def _judged(samples: Sequence[Sample], audits: Mapping[Place, Audit]) -> list[list[str]]:
    producers = [(number, end) for number, sample in enumerate(samples) for end in sample.ends]
    names: list[list[dict[str, None]]] = [[{} for _ in sample.ends] for sample in samples]
    parts = list(_parts(samples, producers, audits))
    for checker in installed.checkers():
        if isinstance(checker, Sampling):
            findings = _settled(checker, parts, pa.concat_tables([checker.check_samples(part) for part in parts]))
            values = (findings["value"].to_numpy() >> PRODUCER_SHIFT).tolist()
            for producer, name in zip(values, findings["anomaly"].to_pylist(), strict=True):
                number, end = producers[producer]
                names[number][end][name] = None
    return [_decided(ends) for ends in names]


def _decided(ends: Sequence[dict[str, None]]) -> list[str]:
    """Return what was found at all ends; where they differ, it is not decided what became of the messages."""
    first, last = ends[0], ends[-1]
    both = [name for name in first if name in last]
    return both if first.keys() == last.keys() else [*both, *installed.gone(Gone.UNSEEN)[:1]]


def _parts(
    samples: Sequence[Sample], producers: Sequence[tuple[int, int]], audits: Mapping[Place, Audit]
) -> Iterator[Part]:
    """Yield the parts with the messages of all samples, given the sample and the end of each producer."""
    rows: dict[Place, list[dict[str, Any]]] = defaultdict(list)
    for producer, (number, end) in enumerate(producers):
        for fact in samples[number].facts:
            place = fact.elsewhere or samples[number].place
            sent, received = {"f": "send", "direction": "sent"}, {"f": "poll", "direction": "received"}
            rows[place].append(
                {
                    "op": len(rows[place]), "process": 0, "client": "", "start_ns": 0, "end_ns": 0, "received_ns": 0,
                    "topic": place[0], "partition": place[1], "value": (producer << PRODUCER_SHIFT) + fact.other,
                    "position": fact.positions[end], "payload": fact.payload, "outcome": fact.sent or OUTCOMES[0],
                    **(sent if fact.sent else received),
                }
            )  # fmt: skip
    for place, own in rows.items():
        messages, operations = (pa.Table.from_pylist(own, schema) for schema in (MESSAGES, OPERATIONS))
        yield Part(PartitionSetting(*place, audit=audits.get(place)), messages, operations, OBSERVATIONS.empty_table())


def _settled(checker: object, parts: Sequence[Part], findings: pa.Table) -> pa.Table:
    if not isinstance(checker, Settling) or not len(values := checker.open_values(findings)):
        return findings
    return checker.settle(findings, pa.concat_tables([checker.sent_here(part.messages, values) for part in parts]))
