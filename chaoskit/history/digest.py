"""What one client did, in bounded memory: counts, latencies by second, and sets of sequences (`record: latency`).

Values are told by their place among the messages of their route: a producer's sequence goes round its routes, so the
messages of one route are consecutive, and a set of them is as large as its gaps.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from chaoskit.base.latency import buckets
from chaoskit.history.intervals import Intervals, Ints
from chaoskit.history.record import AUDIT, COMPLETE, RECEIVED, RECORD, SEND, Records
from chaoskit.history.schema import OK, OUTCOMES, PRODUCER_SHIFT

SERIES = ("took", "gave_up", "from_call", "acked", "travelled")
"""Counts by second and HDR bucket: acknowledged sends and others by the second in which they were due, from then; the
same from the call; acknowledgements by their second (no bucket); first deliveries by the second in which they were due.
"""

GAP_MIN_NS = 100_000_000
"""Shorter times without an acknowledgement are not listed."""

ODD = np.dtype(
    [("kind", "i8"), ("name", "i8"), ("partition", "i8"), ("value", "i8"), ("position", "i8"), ("at_ns", "i8")]
)
ODDITIES = ("duplicate", "reordered", "corrupt")
DUPLICATE, REORDERED, CORRUPT = range(len(ODDITIES))
ODD_MAX = 100_000
"""Findings beyond are only counted."""

_SECOND = 1_000_000_000
_SEQUENCE = (1 << PRODUCER_SHIFT) - 1
_MARK_EVERY = 4096
_OF_SENDS = ("op", "value", "intended_ns", "start_ns", "name", "partition")
_TOLD = ("client", "segment", "names", "counted")
_SETS = ("acked", "received")
_TABLES = ("open", "odd", "gaps", "audits", "last", "acks")


class Routes:
    """Turns values into places, and back.

    Args:
        count: number of routes that a producer's messages take in turn.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._each = (1 << PRODUCER_SHIFT) // count

    def of(self, values: Ints) -> Ints:
        """Return the number of each value's route."""
        routes: Ints = (values & _SEQUENCE) % self._count
        return routes

    def places(self, values: Ints) -> Ints:
        """Return the place of each value."""
        sequence = values & _SEQUENCE
        places: Ints = (values - sequence) + self.of(values) * self._each + sequence // self._count
        return places

    def values(self, places: Ints) -> Ints:
        """Return the value at each place."""
        within = places & _SEQUENCE
        values: Ints = (places - within) + (within % self._each) * self._count + within // self._each
        return values


def _no(kind: Any, width: int | None = None) -> Any:
    return np.zeros(0 if width is None else (0, width), kind)


@dataclass(slots=True)
class Digest:
    """The digest of one client's records, so far.

    Attributes:
        client: its name.
        segment: number of the next segment.
        names: the client's names, by id from 1.
        counted: numbers of `sent`, each outcome, `received`, and of each oddity.
        acked, received: places of values.
        open: sends that have not completed.
        odd: what readers should not have seen, at most ODD_MAX of it (dtype ODD).
        gaps: name, partition, begin and end of times without an acknowledgement, ns.
        audits: AUDIT records.
        last: name, partition, producer and highest value that the auditor read.
        acks: name, partition, first and last acknowledgement, ns.
    """

    client: str
    segment: int = 0
    names: list[str | None] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)
    acked: Intervals = field(default_factory=Intervals)
    received: Intervals = field(default_factory=Intervals)
    open: Records = field(default_factory=lambda: _no(RECORD))
    odd: Any = field(default_factory=lambda: _no(ODD))
    gaps: Ints = field(default_factory=lambda: _no(np.int64, 4))
    audits: Records = field(default_factory=lambda: _no(RECORD))
    last: Ints = field(default_factory=lambda: _no(np.int64, 4))
    acks: Ints = field(default_factory=lambda: _no(np.int64, 4))

    def saved(self) -> bytes:
        """Return it as the content of a file."""
        sets = {f"{name}_{side}": getattr(getattr(self, name), side) for name in _SETS for side in ("starts", "ends")}
        told = json.dumps({name: getattr(self, name) for name in _TOLD})
        content = io.BytesIO()
        np.savez(content, told=np.array(told), **sets, **{name: getattr(self, name) for name in _TABLES})
        return content.getvalue()

    @classmethod
    def loaded(cls, content: Mapping[str, Any]) -> Digest:
        """Return the digest of a file that `saved` wrote."""
        known: dict[str, Any] = json.loads(str(content["told"]))
        known |= {name: Intervals(content[f"{name}_starts"], content[f"{name}_ends"]) for name in _SETS}
        return cls(**known, **{name: content[name] for name in _TABLES})

    def count(self, what: str, number: int) -> None:
        """Add to a number."""
        self.counted[what] = self.counted.get(what, 0) + number


@dataclass(frozen=True, slots=True)
class Portion:
    """What some segments add to the course of a run.

    Attributes:
        counts: rows of index into SERIES, second since the start of the load, bucket and count.
        marks: rows of place, time, ns, and position of an acknowledgement: the first of each route, and one of many.
    """

    counts: Ints
    marks: Ints


def digest(into: Digest, records: Records, routes: Routes, load_start_ns: int, *, audits: bool) -> Portion:
    """Add records of a client to its digest; return what they add to the course of the run.

    Args:
        into: the digest so far.
        records: further records, in the order written.
        routes: the routes of the load.
        load_start_ns: start of the load, CLOCK_MONOTONIC; what was due before is counted, but has no latency.
        audits: whether it is the client of the final read.
    """
    kind = records["kind"]
    into.audits = np.concatenate([into.audits, records[kind == AUDIT]])
    rows, marks = _sends(into, records, routes, load_start_ns, counted=not audits)
    received = records[kind == RECEIVED]
    if received.size:
        rows += _received(into, received, routes, load_start_ns, audits=audits)
    return Portion(np.concatenate([_no(np.int64, 4), *rows]), marks)


def _sends(
    into: Digest, records: Records, routes: Routes, load_start_ns: int, *, counted: bool
) -> tuple[list[Ints], Ints]:
    kind = records["kind"]
    made, ended = np.flatnonzero(kind == SEND), np.flatnonzero(kind == COMPLETE)
    if counted:
        into.count("sent", made.size)
    sends = {name: np.concatenate([into.open[name], records[name][made]]) for name in _OF_SENDS}
    if not sends["op"].size:
        return [], _no(np.int64, 3)
    op = records["op"][ended]
    at = np.minimum(np.searchsorted(sends["op"], op), sends["op"].size - 1)
    known = sends["op"][at] == op
    at, ended = at[known], ended[known]
    pending = np.ones(sends["op"].size, np.bool_)
    pending[at] = False
    were = len(into.open)
    into.open = np.concatenate([into.open[pending[:were]], records[made[pending[were:]]]])
    code, end_ns = records["code"][ended], records["end_ns"][ended]
    ok = code == OK
    values = sends["value"][at[ok]]
    places = routes.places(values)
    into.acked.add(places)
    told = (places, end_ns[ok], records["position"][ended][ok])
    marked = _some_of_each(routes.of(values))
    marks = np.stack([each[marked] for each in told], axis=1)
    if not counted:
        return [], marks
    for each, number in enumerate(np.bincount(code, minlength=len(OUTCOMES)).tolist()):
        into.count(OUTCOMES[each], number)
    load = sends["intended_ns"][at] >= load_start_ns
    at, end_ns, good = at[load], end_ns[load], ok[load]
    due_ns, start_ns = sends["intended_ns"][at], sends["start_ns"][at]
    into.count("acked_in_load", int(np.count_nonzero(good)))
    place = (sends["name"][at].astype(np.int64) << 32) | sends["partition"][at]
    _note_gaps(into, place[good], end_ns[good])
    second, took = (due_ns - load_start_ns) // _SECOND, buckets(end_ns - due_ns)
    acked_ns = end_ns[good]
    return [
        _counts("took", second[good], took[good]),
        _counts("gave_up", second[~good], took[~good]),
        _counts("from_call", second[good], buckets(acked_ns - start_ns[good])),
        _counts("acked", (acked_ns - load_start_ns) // _SECOND, np.zeros(acked_ns.size, np.int64)),
    ], marks


def _some_of_each(route: Ints) -> Ints:
    """Return the indexes of the first of each route, and of every _MARK_EVERYth that follows it there."""
    order = np.argsort(route, kind="stable")
    first = np.flatnonzero(np.diff(route[order], prepend=-1))
    within = np.arange(route.size) - np.repeat(first, np.diff(first, append=route.size))
    return np.sort(order[within % _MARK_EVERY == 0])


def _note_gaps(into: Digest, place: Ints, end_ns: Ints) -> None:
    """Add the times without an acknowledgement of each partition."""
    known = {(int(row[0]), int(row[1])): (int(row[2]), int(row[3])) for row in into.acks}
    found = [into.gaps]
    for each in _different(place):
        own = np.sort(end_ns[place == each], kind="stable")
        where = int(each) >> 32, int(each) & 0xFFFFFFFF
        first, last = known.get(where, (int(own[0]), int(own[0])))
        course = np.concatenate([[last], own])
        begin = np.flatnonzero(np.diff(course) >= GAP_MIN_NS)
        found.append(np.array([[*where, course[index], course[index + 1]] for index in begin]).reshape(-1, 4))
        known[where] = first, max(last, int(own[-1]))
    into.gaps = np.concatenate(found).astype(np.int64)
    into.acks = np.array([[*where, *times] for where, times in known.items()], np.int64).reshape(-1, 4)


def _received(into: Digest, records: Records, routes: Routes, load_start_ns: int, *, audits: bool) -> list[Ints]:
    if np.any(bad := records["code"] != 0):
        _note(into, CORRUPT, records[bad])
        records = records[~bad]
    places = routes.places(records["value"])
    new = ~into.received.has(places) & _first(places)
    into.received.add(places)
    if audits:
        _note(into, DUPLICATE, records[~new])
        _note(into, REORDERED, _disordered(into, records[new]))
        return []
    into.count("received", places.size)
    due_ns = records["intended_ns"]
    load = new & (due_ns >= load_start_ns)
    due_ns, end_ns = due_ns[load], records["end_ns"][load]
    return [_counts("travelled", (due_ns - load_start_ns) // _SECOND, buckets(end_ns - due_ns))]


def _first(places: Ints) -> npt.NDArray[np.bool_]:
    """Return for each place whether it is there for the first time."""
    first = np.ones(places.size, np.bool_)
    if not np.all(places[1:] > places[:-1]):
        order = np.argsort(places, kind="stable")
        first[order[1:]] = places[order[1:]] != places[order[:-1]]
    return first


def _different(numbers: Ints) -> list[int]:
    """Return the numbers that there are; cheap if they come in long runs."""
    return sorted({int(each) for each in numbers[np.flatnonzero(np.diff(numbers, prepend=-1))]})


def _disordered(into: Digest, read: Records) -> Records:
    """Return what was read after a later message of the same producer from the same partition."""
    producer = read["value"] >> PRODUCER_SHIFT
    known = {tuple(map(int, row[:3])): int(row[3]) for row in into.last}
    wrong = np.zeros(len(read), np.bool_)
    group = (read["name"].astype(np.int64) << 40) | (read["partition"].astype(np.int64) << 20) | producer
    for each in _different(group):
        at = np.flatnonzero(group == each)
        key = int(read["name"][at[0]]), int(read["partition"][at[0]]), int(producer[at[0]])
        highest = np.maximum.accumulate(np.concatenate([[known.get(key, -1)], read["value"][at]]))
        wrong[at] = read["value"][at] < highest[:-1]
        known[key] = int(highest[-1])
    into.last = np.array([[*key, value] for key, value in known.items()], np.int64).reshape(-1, 4)
    return read[wrong]


def _note(into: Digest, kind: int, records: Records) -> None:
    into.count(ODDITIES[kind], len(records))
    kept = records[: ODD_MAX - len(into.odd)]
    odd = np.zeros(len(kept), ODD)
    odd["kind"], odd["at_ns"] = kind, kept["end_ns"]
    for name in ("name", "partition", "value", "position"):
        odd[name] = kept[name]
    into.odd = np.concatenate([into.odd, odd])


def _counts(series: str, second: Ints, bucket: Ints) -> Ints:
    parts = []
    for each in _different(second):
        count = np.bincount(bucket[second == each])
        used = np.flatnonzero(count)
        parts.append(
            np.stack([np.full(used.size, SERIES.index(series)), np.full(used.size, each), used, count[used]], 1)
        )
    return np.concatenate([_no(np.int64, 4), *parts])
