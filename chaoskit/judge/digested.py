"""Judges a run whose logs were digested (`record: latency`): from sets of sequences and counts by second.

Times of findings are those of a nearby acknowledgement; phases, waits and recoveries are told to a second, or to
100 ms. Everything that needs whole messages, such as the order in real time, is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chaoskit.base.latency import durations_ns
from chaoskit.base.quantities import SECOND
from chaoskit.contract.checker import FINDINGS
from chaoskit.history.audits import Audit, Bounds, Place
from chaoskit.history.digest import GAP_MIN_NS, ODD_MAX, ODDITIES, SERIES
from chaoskit.history.digesting import digests, portions, routes_of
from chaoskit.history.intervals import Intervals, Ints
from chaoskit.history.origin import read_origin
from chaoskit.history.schema import AUDITOR, OUTCOMES, PRODUCER_SHIFT
from chaoskit.judge.counting import COUNTS, UNAVAILABLE_MIN_NS, WAITS, merged
from chaoskit.judge.timing import Load, Timing

_TABLES_MAX = 500


@dataclass(frozen=True, slots=True)
class _Pieces:
    """What was acknowledged and is nowhere: places, about when it was acknowledged, and whether it expired."""

    starts: Ints
    ends: Ints
    at_ns: Ints
    expired: npt.NDArray[np.bool_]


class Digested:
    """The digests of a run, together.

    Args:
        folder: the run folder.
        places: topic and partition of each route.
    """

    def __init__(self, folder: Path, places: Sequence[Place]) -> None:
        self._folder = folder
        self._places = places
        self._routes = routes_of(folder)
        self._origin_ns = read_origin(folder / "wal")
        self._digests = digests(folder)

    def findings(self, audits: Mapping[Place, Audit | None], *, audited: bool) -> tuple[pa.Table, dict[str, int]]:
        """Return findings, at most 100,000 of each anomaly, and how many more there are of each.

        What was acknowledged and is nowhere is `lost`; or `expired`, if the log now begins after it; or `unseen`, if
        the final read was not complete. The final read itself shows `duplicate`, `reordered` and `corrupt` messages.

        Args:
            audits: the final read of each partition.
            audited: whether it was complete.
        """
        acked, received = Intervals(), Intervals()
        for each in self._digests:
            acked.update(each.acked)
            received.update(each.received)
        pieces = self._pieces(acked.minus(received), audits)
        tables, more = [FINDINGS.empty_table()], {}
        for anomaly, chosen in (("lost" if audited else "unseen", ~pieces.expired), ("expired", pieces.expired)):
            lengths = (pieces.ends - pieces.starts)[chosen]
            told = np.minimum(lengths, np.maximum(0, ODD_MAX - (np.cumsum(lengths) - lengths)))
            starts = pieces.starts[chosen]
            values = self._routes.values(Intervals(starts[told > 0], (starts + told)[told > 0]).values())
            at_ns = np.repeat(pieces.at_ns[chosen], told)
            route = self._routes.of(values)
            for index, place in enumerate(self._places):
                own = route == index
                times = dict.fromkeys(("at_ns", "written_ns", "acked_ns"), at_ns[own])
                tables.append(_findings(anomaly, place, value=values[own], **times))
            more[anomaly] = int(lengths.sum() - told.sum())
        odd = self._odd()
        for kind, name in enumerate(ODDITIES):
            known = sum(int(np.count_nonzero(each.odd["kind"] == kind)) for each in self._digests)
            more[name] = self.counted(name) - known
        return pa.concat_tables([*tables, *odd]).unify_dictionaries().combine_chunks(), more

    def _pieces(self, missing: Intervals, audits: Mapping[Place, Audit | None]) -> _Pieces:
        """Cut what is missing at known acknowledgements.

        A piece is expired if the next acknowledgement of its route and producer is, or if there is room for it between
        the position of the last one and the first that the log still has.
        """
        marks = np.concatenate([np.zeros((0, 3), np.int64), *(each.marks for each in portions(self._folder))])
        marks = marks[np.argsort(marks[:, 0], kind="stable")]
        edges = np.unique(np.concatenate([missing.starts, missing.ends, marks[:, 0]]))
        inside = missing.has(edges[:-1])
        starts, ends = edges[:-1][inside], edges[1:][inside]
        if not starts.size or not len(marks):
            return _Pieces(starts, ends, np.zeros(starts.size, np.int64), np.zeros(starts.size, np.bool_))
        own = self._route(starts)
        low = np.array([each.low if isinstance(each := audits.get(place), Bounds) else 0 for place in self._places])
        low = low[own[0]]
        following = np.minimum(np.searchsorted(marks[:, 0], ends), len(marks) - 1)
        before = np.maximum(np.searchsorted(marks[:, 0], starts, side="right") - 1, 0)
        # A position is negative if the system told none, as with acks=0.
        place, _, position = marks[following].T
        deleted = (place >= ends) & self._same(place, own) & (position > 0) & np.less_equal(position, low)
        place, _, position = marks[before].T
        fits = (place <= starts) & self._same(place, own) & (position >= 0) & (ends - place <= low - position)
        return _Pieces(starts, ends, self._run_ns(marks[before, 1]), np.logical_or(deleted, fits))

    def _same(self, places: Ints, own: tuple[Ints, Ints]) -> npt.NDArray[np.bool_]:
        same: npt.NDArray[np.bool_] = np.all(np.equal(self._route(places), own), axis=0)
        return same

    def _route(self, places: Ints) -> tuple[Ints, Ints]:
        values = self._routes.values(places)
        return self._routes.of(values), values >> PRODUCER_SHIFT

    def load(self, told: Load) -> Load:
        """Return when sends were due: what is known of that without operations, with the second of the last send."""
        seconds = [int(each.counts[:, 1].max(initial=-1)) for each in portions(self._folder)]
        last_ns = told.begin_ns + (max(seconds, default=-1) + 1) * SECOND
        return replace(told, last_ns=min(last_ns, told.end_ns))

    def counted(self, what: str) -> int:
        """Return a number over all clients; see `Digest.counted`."""
        return sum(each.counted.get(what, 0) for each in self._digests)

    def open(self, load: Load) -> int:
        """Return how many sends of the load never completed."""
        return sum(
            int(np.count_nonzero(self._run_ns(each.open["intended_ns"]) >= load.begin_ns))
            for each in self._digests
            if not each.client.startswith(AUDITOR)
        )

    def counts(self, timing: Timing) -> pa.Table:
        """Return COUNTS of the run; see `chaoskit.judge.counting`."""
        open_ = self.open(timing.load)
        never = self.counted("sent") - sum(self.counted(name) for name in OUTCOMES)
        outcomes = [self.counted("ok"), self.counted("fail"), self.counted("info") + never]
        last, end = (np.array([each]) for each in (timing.load.last_ns, timing.load.end_ns))
        told = [
            _one("received", self.counted("received")),
            _rows("outcome", np.zeros(3, np.int64), np.arange(3), np.array(outcomes)),
            _rows("gave_up", timing.phases(last, end), np.zeros(1, np.int64), np.array([open_])),
        ]
        for each in portions(self._folder):
            told += _counted(each.counts, timing)
            if len(told) > _TABLES_MAX:
                told = [merged(told)]
        return merged(told)

    def waits(self, timing: Timing) -> pa.Table:
        """Return WAITS of the run, of times without an acknowledgement of 100 ms and more."""
        rows = []
        for each in self._digests:
            for name, partition, first_ns, last_ns in each.acks.tolist():
                topic = str(each.names[name - 1])
                own = each.gaps[(each.gaps[:, 0] == name) & (each.gaps[:, 1] == partition)][:, 2:]
                times = self._run_ns(own)
                place = {"topic": topic, "partition": partition}
                acks = first_ns - self._origin_ns, last_ns - self._origin_ns
                rows += [{**place, **row} for row in _waits(times, acks, timing)]
        return pa.Table.from_pylist(rows, WAITS)

    def _odd(self) -> list[pa.Table]:
        tables = []
        for each in self._digests:
            odd = each.odd
            for kind, name, partition in sorted(
                {(int(row["kind"]), int(row["name"]), int(row["partition"])) for row in odd}
            ):
                own = odd[(odd["kind"] == kind) & (odd["name"] == name) & (odd["partition"] == partition)]
                place = str(each.names[name - 1]), partition
                at_ns = self._run_ns(own["at_ns"])
                tables.append(
                    _findings(ODDITIES[kind], place, value=own["value"], position=own["position"], at_ns=at_ns)
                )
        return tables

    def _run_ns(self, absolute_ns: Ints) -> Ints:
        return absolute_ns - self._origin_ns


def _counted(rows: Ints, timing: Timing) -> Iterator[pa.Table]:
    load = timing.load
    for code, series in enumerate(SERIES):
        _, second, bucket, count = rows[rows[:, 0] == code].T
        at_ns, none = load.begin_ns + second * SECOND, np.zeros_like(bucket)
        phase = timing.phases(at_ns, np.minimum(at_ns + durations_ns(bucket), load.end_ns))
        edge = np.searchsorted(timing.edges, at_ns, side="right")
        if series == "took":
            yield _rows("send", edge, bucket, count)
        if series in ("took", "gave_up"):
            yield _rows(series, phase, bucket, count)
            yield _rows("due", edge, none, count)
            yield _one("sends", int(count.sum()))
            yield _rows("made", (at_ns - load.begin_ns) // load.bin_ns, none, count)
        elif series == "from_call":
            yield _rows("send_from_actual", none, bucket, count)
        elif series == "acked":
            yield _rows("acked", edge, none, count)
            yield _one("acks", int(count[at_ns <= load.end_ns].sum()))
        else:
            yield _rows("end_to_end", phase, bucket, count)


def _waits(gaps: Ints, acks: tuple[int, int], timing: Timing) -> list[dict[str, Any]]:
    """Return rows of WAITS of a partition, without the place.

    Args:
        gaps: begins and ends of times without an acknowledgement.
        acks: the first and the last acknowledgement.
        timing: the times of the run.
    """
    load, (first_ns, last_ns) = timing.load, acks

    def row(of: str, number: int, begin_ns: int, end_ns: int, *, answered: bool = True) -> dict[str, Any]:
        return {"of": of, "number": number, "begin_ns": begin_ns, "end_ns": end_ns, "answered": answered}

    course = np.concatenate([gaps, [[last_ns, max(last_ns, load.last_ns)]]]).astype(np.int64)
    lasted = course[:, 1] - course[:, 0]
    worst = int(np.argmax(lasted))
    rows = [
        row("sends", 0, load.begin_ns, load.last_ns, answered=False),
        row("acks", 0, first_ns, last_ns),
        row("load", 0, *course[worst].tolist(), answered=worst < len(gaps)),
    ]
    long = gaps[gaps[:, 1] - gaps[:, 0] >= UNAVAILABLE_MIN_NS]
    rows += [row("long", number, *each) for number, each in enumerate(long.tolist())]
    for number, fault in enumerate(timing.faults):
        end_ns = load.end_ns if fault.healed_ns is None else fault.healed_ns
        touched = course[(course[:, 1] > fault.start_ns) & (course[:, 0] < end_ns)]
        if touched.size:
            rows.append(row("fault", number, *touched[int(np.argmax(touched[:, 1] - touched[:, 0]))].tolist()))
        for of, at_ns in (("healed", fault.healed_ns), ("undone", fault.heal_ns)):
            if at_ns is None or at_ns >= load.end_ns:
                continue
            after = [end for begin, end in gaps.tolist() if begin <= at_ns < end]
            answered = last_ns > at_ns
            until_ns = after[0] if after else min(at_ns + GAP_MIN_NS, last_ns) if answered else load.end_ns
            rows.append(row(of, number, at_ns, until_ns, answered=answered))
    return rows


def _rows(series: str, segment: Ints, bucket: Ints, count: Ints) -> pa.Table:
    names = pa.array([series] * len(count), pa.string())
    return pa.table([names, *(pa.array(each.astype(np.int64)) for each in (segment, bucket, count))], schema=COUNTS)


def _one(series: str, number: int) -> pa.Table:
    zero = np.zeros(1, np.int64)
    return _rows(series, zero, zero, np.array([number]))


def _findings(anomaly: str, place: Place, **evidence: Ints) -> pa.Table:
    count = len(next(iter(evidence.values())))
    words = {"anomaly": anomaly, "topic": place[0]}
    columns = {name: pa.array([word] * count).dictionary_encode() for name, word in words.items()}
    columns |= {"partition": pa.array(np.full(count, place[1], np.int32))}
    columns |= {name: pa.array(np.ascontiguousarray(each, np.int64)) for name, each in evidence.items()}
    return pa.table([columns.get(field.name, pa.nulls(count, field.type)) for field in FINDINGS], schema=FINDINGS)
