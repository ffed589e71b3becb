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
from chaoskit.history.digesting import blocks, commits
from chaoskit.history.digesting.routes import Routes
from chaoskit.history.format.intervals import Intervals, Ints
from chaoskit.history.format.record import AUDIT, COMPLETE, INVOKE, RECEIVED, RECORD, SEND, Records
from chaoskit.model.message import PAYLOADS, PRODUCER_SHIFT
from chaoskit.model.operation import REPOSITIONING, SEEKING
from chaoskit.model.outcome import FAIL, OK, OUTCOMES

SERIES = ("took", "gave_up", "from_call", "acked", "travelled")
"""Counts by second and HDR bucket: acknowledged sends and others by the second in which they were due, from then; the
same from the call; acknowledgements by their second (no bucket); first deliveries by the second in which they were due.
"""

GAP_MIN_NS = 100_000_000
"""Shorter times without an acknowledgement are not listed."""

ODD = np.dtype(
    [
        ("kind", "i8"), ("name", "i8"), ("partition", "i8"), ("value", "i8"), ("position", "i8"), ("at_ns", "i8"),
        ("other", "i8"),
    ]
)  # fmt: skip
ODDITIES = ("duplicate", "reordered", "corrupt", "foreign")
"""What readers note for the checkers: that the final read received a message again, at a higher position than any
before, or after a later one of its producer and key, which is `other`; and each payload that is not what was sent."""

DUPLICATE, REORDERED, CORRUPT, FOREIGN = range(len(ODDITIES))
_OF_PAYLOADS = {PAYLOADS.index(ODDITIES[kind]): kind for kind in (CORRUPT, FOREIGN)}
ODD_MAX = 100_000
"""What is noted beyond is only counted."""

_SECOND = 1_000_000_000
_NEVER = np.iinfo(np.int64).max
_OF_SENDS = ("op", "value", "intended_ns", "start_ns", "name", "partition")
_FIELDS = ("client", "segment", "names", "counted")
_SETS = ("sent", "acked", "failed", "received")
_TABLES = ("open", "odd", "gaps", "audits", "last", "acks", "dues", "tops", "reads", "routed", "commits")


def _no(kind: Any, width: int | None = None) -> Any:
    return np.zeros(0 if width is None else (0, width), kind)


@dataclass(slots=True)
class Digest:
    """The digest of one client's records, so far.

    Attributes:
        client: its name.
        segment: number of the next segment.
        names: the client's names, by id from 1.
        counted: numbers of `sent`, each outcome, `received`, and of each oddity; of `disordered` acknowledgements:
            their positions are not in the order of their messages; and of `unsteady` reads: the position was not higher
            than the one before, although the reader had not been told to read elsewhere.
        sent, acked, failed, received: places of values; failed ones definitely did not happen.
        open: sends that have not completed.
        odd: see ODDITIES, at most ODD_MAX of it (dtype ODD).
        gaps: name, partition, begin and end of times without an acknowledgement, and since when a send was due or open
            in it, ns.
        audits: AUDIT records.
        last: name, partition, producer, key and highest value that the auditor read.
        acks: name, partition, first and last acknowledgement, ns.
        dues: name, partition, first and last time at which a send was due, until when one was given up (0: none), ns.
        tops: number of producer and route, and the highest place that was acknowledged, with its position.
        reads: name, partition, session, last position, lowest and highest position, and how many were read in
            ascending order.
        routed: name, partition and route of what was received.
        commits: see `chaoskit.history.digesting.commits`; `regressed` commits are counted.
    """

    client: str
    segment: int = 0
    names: list[str | None] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)
    sent: Intervals = field(default_factory=Intervals)
    acked: Intervals = field(default_factory=Intervals)
    failed: Intervals = field(default_factory=Intervals)
    received: Intervals = field(default_factory=Intervals)
    open: Records = field(default_factory=lambda: _no(RECORD))
    odd: Any = field(default_factory=lambda: _no(ODD))
    gaps: Ints = field(default_factory=lambda: _no(np.int64, 5))
    audits: Records = field(default_factory=lambda: _no(RECORD))
    last: Ints = field(default_factory=lambda: _no(np.int64, 5))
    acks: Ints = field(default_factory=lambda: _no(np.int64, 4))
    dues: Ints = field(default_factory=lambda: _no(np.int64, 5))
    tops: Ints = field(default_factory=lambda: _no(np.int64, 3))
    reads: Ints = field(default_factory=lambda: _no(np.int64, 7))
    routed: Ints = field(default_factory=lambda: _no(np.int64, 3))
    commits: Ints = field(default_factory=lambda: _no(np.int64, commits.WIDTH))

    def saved(self) -> bytes:
        """Return it as the content of a file."""
        sets = {f"{name}_{side}": getattr(getattr(self, name), side) for name in _SETS for side in ("starts", "ends")}
        fields = json.dumps({name: getattr(self, name) for name in _FIELDS})
        content = io.BytesIO()
        np.savez(content, told=np.array(fields), **sets, **{name: getattr(self, name) for name in _TABLES})
        return content.getvalue()

    @classmethod
    def loaded(cls, content: Mapping[str, Any]) -> Digest:
        """Return the digest of a file that `saved` wrote."""
        known: dict[str, Any] = json.loads(str(content["told"]))
        known |= {name: Intervals(content[f"{name}_starts"], content[f"{name}_ends"]) for name in _SETS}
        return cls(**known, **{name: content[name] for name in _TABLES if name in content})

    def count(self, what: str, number: int) -> None:
        """Add to a number."""
        self.counted[what] = self.counted.get(what, 0) + number


@dataclass(frozen=True, slots=True)
class Portion:
    """What some segments add to the course of a run.

    Attributes:
        counts: rows of index into SERIES, second since the start of the load, bucket and count.
        blocks: see `chaoskit.history.digesting.blocks`.
    """

    counts: Ints
    blocks: Ints


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
    rows, counts = _sends(into, records, routes, load_start_ns, counted=not audits)
    received = records[kind == RECEIVED]
    session = _sessions(into, records)
    into.commits, back = commits.committed(into.commits, records, session)
    into.count("regressed", back)
    session = session[kind == RECEIVED]
    if received.size:
        rows += _received(into, received, session, routes, load_start_ns, audits=audits)
    return Portion(np.concatenate([_no(np.int64, 4), *rows]), counts)


def _sends(
    into: Digest, records: Records, routes: Routes, load_start_ns: int, *, counted: bool
) -> tuple[list[Ints], Ints]:
    kind = records["kind"]
    made, ended = np.flatnonzero(kind == SEND), np.flatnonzero(kind == COMPLETE)
    if counted:
        into.count("sent", made.size)
    sends = {name: np.concatenate([into.open[name], records[name][made]]) for name in _OF_SENDS}
    if not sends["op"].size:
        return [], blocks.none()
    into.sent.add(routes.places(records["value"][made]))
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
    values, position = sends["value"][at], records["position"][ended]
    places, route = routes.places(values), routes.numbers(values)
    into.acked.add(places[ok])
    into.failed.add(places[code == FAIL])
    times = sends["start_ns"][at], end_ns
    counts = np.concatenate(
        [
            blocks.blocks(
                places[own], route[own], (times[0][own], times[1][own]), position[own], load_start_ns, acked=acked
            )
            for own, acked in ((ok, True), (~ok, False))
        ]
    )
    _note_disorder(into, route[ok], places[ok], position[ok])
    if not counted:
        return [], counts
    for index, number in enumerate(np.bincount(code, minlength=len(OUTCOMES)).tolist()):
        into.count(OUTCOMES[index], number)
    load = sends["intended_ns"][at] >= load_start_ns
    at, end_ns, good = at[load], end_ns[load], ok[load]
    due_ns, start_ns = sends["intended_ns"][at], sends["start_ns"][at]
    into.count("acked_in_load", int(np.count_nonzero(good)))
    place = (sends["name"][at].astype(np.int64) << 32) | sends["partition"][at]
    pending = into.open["intended_ns"] >= load_start_ns
    waiting = (into.open["name"].astype(np.int64) << 32) | into.open["partition"]
    opened = np.append(place, waiting[pending]), np.append(due_ns, into.open["intended_ns"][pending])
    ends = np.append(end_ns, np.full(np.count_nonzero(pending), _NEVER))
    _note_gaps(into, place[good], end_ns[good], (*opened, ends))
    _note_dues(into, sends, load_start_ns, (place[~good], end_ns[~good]))
    second, took = (due_ns - load_start_ns) // _SECOND, buckets(end_ns - due_ns)
    acked_ns = end_ns[good]
    return [
        _counts("took", second[good], took[good]),
        _counts("gave_up", second[~good], took[~good]),
        _counts("from_call", second[good], buckets(acked_ns - start_ns[good])),
        _counts("acked", (acked_ns - load_start_ns) // _SECOND, np.zeros(acked_ns.size, np.int64)),
    ], counts


def _note_disorder(into: Digest, route: Ints, places: Ints, position: Ints) -> None:
    """Count acknowledgements whose positions are not in the order of their messages, within each producer's route."""
    known = {int(row[0]): (int(row[1]), int(row[2])) for row in into.tops}
    positioned = position >= 0
    route, places, position = route[positioned], places[positioned], position[positioned]
    order = np.argsort(places, kind="stable")
    route, places, position = route[order], places[order], position[order]
    for number in _different(route):
        own = np.flatnonzero(route == number)
        top = known.get(number, (-1, -1))
        ahead = places[own] > top[0]
        wrong = np.diff(position[own]) <= 0
        into.count("disordered", int(np.count_nonzero(wrong)) + int(np.any(ahead != (position[own] > top[1]))))
        known[number] = max(top, (int(places[own[-1]]), int(position[own[-1]])))
    into.tops = np.array([[key, *top] for key, top in known.items()], np.int64).reshape(-1, 3)


def _note_dues(into: Digest, sends: Mapping[str, Ints], load_start_ns: int, given_up: tuple[Ints, Ints]) -> None:
    """Note when sends to each partition were due, and until when those waited that were given up."""
    known = {(int(row[0]), int(row[1])): tuple(map(int, row[2:])) for row in into.dues}
    load = sends["intended_ns"] >= load_start_ns
    due_ns = sends["intended_ns"][load]
    place = (sends["name"][load].astype(np.int64) << 32) | sends["partition"][load]
    for packed in _different(place):
        where, own = (int(packed) >> 32, int(packed) & 0xFFFFFFFF), due_ns[place == packed]
        first, last, until = known.get(where, (int(own.min()), 0, 0))
        until = max(until, int(given_up[1][given_up[0] == packed].max(initial=0)))
        known[where] = min(first, int(own.min())), max(last, int(own.max())), until
    into.dues = np.array([[*where, *times] for where, times in known.items()], np.int64).reshape(-1, 5)


def _note_gaps(into: Digest, place: Ints, end_ns: Ints, sends: tuple[Ints, Ints, Ints]) -> None:
    """Add the times without an acknowledgement of each partition.

    Args:
        into: the digest.
        place, end_ns: the acknowledgements.
        sends: partition, due time and end of all sends, also of those that have not ended.
    """
    known = {(int(row[0]), int(row[1])): (int(row[2]), int(row[3])) for row in into.acks}
    gaps = [into.gaps]
    for packed in _different(place):
        own = np.sort(end_ns[place == packed], kind="stable")
        where = int(packed) >> 32, int(packed) & 0xFFFFFFFF
        first, last = known.get(where, (int(own[0]), int(own[0])))
        course = np.concatenate([[last], own])
        begin = np.flatnonzero(np.diff(course) >= GAP_MIN_NS)
        due_ns, done_ns = (column[sends[0] == packed] for column in sends[1:])
        order = np.argsort(done_ns, kind="stable")
        earliest = np.append(np.minimum.accumulate(due_ns[order][::-1])[::-1], _NEVER)
        next_one = np.searchsorted(done_ns[order], course[begin], side="right")
        open_ns = np.maximum(course[begin], earliest[next_one])
        rows = [[*where, *gap] for gap in zip(course[begin], course[begin + 1], open_ns, strict=True)]
        gaps.append(np.array(rows, np.int64).reshape(-1, 5))
        known[where] = first, max(last, int(own[-1]))
    into.gaps = np.concatenate(gaps).astype(np.int64)
    into.acks = np.array([[*where, *times] for where, times in known.items()], np.int64).reshape(-1, 4)


def _sessions(into: Digest, records: Records) -> Ints:
    """Return for each record the number of times that the client had been told to read elsewhere."""
    moves = [number for number, name in enumerate(into.names, 1) if name in REPOSITIONING]
    moved = (records["kind"] == INVOKE) & np.isin(records["name"], moves)
    session: Ints = into.counted.get("sessions", 0) + np.cumsum(moved)
    into.count("sessions", int(np.count_nonzero(moved)))
    seeks = [number for number in moves if into.names[number - 1] in SEEKING]
    into.count("sought", int(np.count_nonzero(moved & np.isin(records["name"], seeks))))
    return session


def _received(
    into: Digest, records: Records, session: Ints, routes: Routes, load_start_ns: int, *, audits: bool
) -> list[Ints]:
    fresh = _readings(into, records, session)
    if np.any(bad := records["code"] != 0):
        for code, kind in _OF_PAYLOADS.items():
            _note(into, kind, records[records["code"] == code])
        records, fresh = records[~bad], fresh[~bad]
    places = routes.places(records["value"])
    where = np.stack([records["name"], records["partition"], routes.of(records["value"])], 1).astype(np.int64)
    into.routed = np.unique(np.concatenate([into.routed, where]), axis=0)
    new = ~into.received.has(places) & _first(places)
    into.received.add(places)
    if audits:
        _note(into, DUPLICATE, records[~new & fresh])
        disordered, after = _disordered(into, records[new])
        _note(into, REORDERED, disordered, after)
        return []
    into.count("received", places.size)
    due_ns = records["intended_ns"]
    load = new & (due_ns >= load_start_ns)
    due_ns, end_ns = due_ns[load], records["end_ns"][load]
    return [_counts("travelled", (due_ns - load_start_ns) // _SECOND, buckets(end_ns - due_ns))]


def _readings(into: Digest, records: Records, session: Ints) -> npt.NDArray[np.bool_]:
    """Return whether each record is at a higher position than any that was read before; note how steadily it reads."""
    known = {(int(row[0]), int(row[1])): tuple(map(int, row[2:])) for row in into.reads}
    fresh = np.zeros(len(records), np.bool_)
    place = (records["name"].astype(np.int64) << 32) | records["partition"]
    for packed in _different(place):
        at = np.flatnonzero((place == packed) & (records["position"] >= 0))
        if not at.size:
            continue
        where, own, position = (int(packed) >> 32, int(packed) & 0xFFFFFFFF), session[at], records["position"][at]
        number, last, low, high, count = known.get(where, (-1, -1, int(position[0]), -1, 0))
        same = np.append(number, own[:-1]) == own
        into.count("unsteady", int(np.count_nonzero(same & (position <= np.append(last, position[:-1])))))
        fresh[at] = position > np.maximum.accumulate(np.append(high, position[:-1]))
        ends = min(low, int(position.min())), max(high, int(position.max()))
        known[where] = int(own[-1]), int(position[-1]), *ends, count + int(np.count_nonzero(fresh[at]))
    into.reads = np.array([[*where, *values] for where, values in known.items()], np.int64).reshape(-1, 7)
    return fresh


def _first(places: Ints) -> npt.NDArray[np.bool_]:
    """Return for each place whether it is there for the first time."""
    first = np.ones(places.size, np.bool_)
    if not np.all(places[1:] > places[:-1]):
        order = np.argsort(places, kind="stable")
        first[order[1:]] = places[order[1:]] != places[order[:-1]]
    return first


def _split(*keys: Ints) -> list[Ints]:
    """Return the indexes of each different combination of keys, in order."""
    if not keys[0].size:
        return []
    order = np.lexsort(keys)
    changed = np.logical_or.reduce([np.diff(key[order]) != 0 for key in keys])
    return np.split(order, np.flatnonzero(changed) + 1)


def _different(numbers: Ints) -> list[int]:
    """Return the numbers that there are; cheap if they come in long runs."""
    return sorted({int(number) for number in numbers[np.flatnonzero(np.diff(numbers, prepend=-1))]})


def _disordered(into: Digest, read: Records) -> tuple[Records, Ints]:
    """Return what was read after a later message of the same producer and key from the same partition, and that one."""
    producer, key = read["value"] >> PRODUCER_SHIFT, read["key"].astype(np.int64)
    known = {tuple(map(int, row[:4])): int(row[4]) for row in into.last}
    before = np.full(len(read), -1, np.int64)
    group = (read["name"].astype(np.int64) << 40) | (read["partition"].astype(np.int64) << 20) | producer
    for at in _split(group, key):
        place = int(read["name"][at[0]]), int(read["partition"][at[0]]), int(producer[at[0]]), int(key[at[0]])
        highest = np.maximum.accumulate(np.concatenate([[known.get(place, -1)], read["value"][at]]))
        before[at] = highest[:-1]
        known[place] = int(highest[-1])
    into.last = np.array([[*key_, value] for key_, value in known.items()], np.int64).reshape(-1, 5)
    wrong = read["value"] < before
    return read[wrong], before[wrong]


def _note(into: Digest, kind: int, records: Records, other: Ints | None = None) -> None:
    into.count(ODDITIES[kind], len(records))
    kept = records[: ODD_MAX - len(into.odd)]
    odd = np.zeros(len(kept), ODD)
    odd["kind"], odd["at_ns"] = kind, kept["end_ns"]
    odd["other"] = -1 if other is None else other[: len(kept)]
    for name in ("name", "partition", "value", "position"):
        odd[name] = kept[name]
    into.odd = np.concatenate([into.odd, odd])


def _counts(series: str, second: Ints, bucket: Ints) -> Ints:
    parts = []
    for number in _different(second):
        count = np.bincount(bucket[second == number])
        used = np.flatnonzero(count)
        parts.append(
            np.stack([np.full(used.size, SERIES.index(series)), np.full(used.size, number), used, count[used]], 1)
        )
    return np.concatenate([_no(np.int64, 4), *parts])
