"""Judges a run whose logs were digested (`record: latency`): from sets of sequences and counts by second.

Times of findings are those of a nearby acknowledgement; phases, waits and recoveries are told to a second, or to
100 ms. Everything that needs whole messages, such as the order in real time, is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.base.latency import durations_ns
from chaoskit.base.quantities import SECOND
from chaoskit.contract.checker import FINDINGS
from chaoskit.history.audits import Place
from chaoskit.history.digest import GAP_MIN_NS, SERIES
from chaoskit.history.digesting import digests, portions, routes_of
from chaoskit.history.intervals import Intervals, Ints
from chaoskit.history.origin import read_origin
from chaoskit.history.schema import AUDITOR, PRODUCER_SHIFT
from chaoskit.judge.counting import COUNTS, UNAVAILABLE_MIN_NS, WAITS
from chaoskit.judge.timing import Load, Timing

_ODDITIES = ("duplicate", "reordered", "corrupt")


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

    def findings(self, *, audited: bool) -> pa.Table:
        """Return the findings: lost ones, or unseen ones if the final read was not complete; duplicate, reordered and
        corrupt messages of the final read, at most 100,000 of all."""
        acked, received = Intervals(), Intervals()
        for each in self._digests:
            acked.update(each.acked)
            received.update(each.received)
        missing = np.sort(acked.minus(received).values())
        known, at_ns = self._marks()
        values = self._routes.values(missing)
        at = np.interp(missing, known, at_ns).astype(np.int64) if known.size else np.zeros(missing.size, np.int64)
        route = (values & ((1 << PRODUCER_SHIFT) - 1)) % len(self._places)
        anomaly, tables = "lost" if audited else "unseen", []
        for index, place in enumerate(self._places):
            own = route == index
            times = dict.fromkeys(("at_ns", "written_ns", "acked_ns"), at[own])
            tables.append(_findings(anomaly, place, value=values[own], **times))
        return pa.concat_tables([FINDINGS.empty_table(), *tables, *self._odd()]).unify_dictionaries().combine_chunks()

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
        load = timing.load
        rows = np.concatenate([np.zeros((0, 4), np.int64), *(each.counts for each in portions(self._folder))])
        told = [COUNTS.empty_table()]
        for code, series in enumerate(SERIES):
            _, second, bucket, count = rows[rows[:, 0] == code].T
            at_ns = load.begin_ns + second * SECOND
            until_ns = np.minimum(at_ns + durations_ns(bucket), load.end_ns)
            phase, edge = timing.phases(at_ns, until_ns), np.searchsorted(timing.edges, at_ns, side="right")
            if series == "took":
                told += [_rows("send", edge, bucket, count), _rows("took", phase, bucket, count)]
            elif series == "gave_up":
                told.append(_rows("gave_up", phase, bucket, count))
            elif series == "from_call":
                told.append(_rows("send_from_actual", np.zeros_like(phase), bucket, count))
            elif series == "acked":
                told.append(_rows("acked", edge, bucket, count))
                told.append(_one("acks", int(count[at_ns <= load.end_ns].sum())))
            else:
                told.append(_rows("end_to_end", phase, bucket, count))
            if series in ("took", "gave_up"):
                told.append(_rows("due", edge, np.zeros_like(bucket), count))
                told.append(_one("sends", int(count.sum())))
                bins = (at_ns - load.begin_ns) // load.bin_ns
                told.append(_rows("made", bins, np.zeros_like(bucket), count))
        open_ = self.open(load)
        gave_up = np.full(int(open_ > 0), timing.phases(np.array([load.last_ns]), np.array([load.end_ns]))[0])
        told.append(_rows("gave_up", gave_up, np.zeros_like(gave_up), np.full(gave_up.size, open_)))
        told.append(_one("received", self.counted("received")))
        never = self.counted("sent") - sum(self.counted(name) for name in ("ok", "fail", "info"))
        for code, number in enumerate((self.counted("ok"), self.counted("fail"), self.counted("info") + never)):
            told.append(_rows("outcome", np.zeros(1, np.int64), np.array([code]), np.array([number])))
        return pa.concat_tables(told)

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
                    _findings(_ODDITIES[kind], place, value=own["value"], position=own["position"], at_ns=at_ns)
                )
        return tables

    def _marks(self) -> tuple[Ints, Ints]:
        marks = np.concatenate([np.zeros((0, 2), np.int64), *(each.marks for each in portions(self._folder))])
        marks = marks[np.argsort(marks[:, 0])]
        return marks[:, 0], self._run_ns(marks[:, 1])

    def _run_ns(self, absolute_ns: Ints) -> Ints:
        return absolute_ns - self._origin_ns


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
