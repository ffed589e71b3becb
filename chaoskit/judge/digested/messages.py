"""Judges a run whose logs were digested (`record: latency`): from sets of sequences and counts by second.

What is lost, unseen, expired, duplicate, reordered or corrupt is what it is in a history. Each message is dated by its
block, that is to a fraction of a second; a fault explains it only if it fits all of that time. Phases, waits and
recoveries are told to a second, or to 100 ms. What needs whole messages, such as the order in real time, is not judged;
what would have to be judged by it is a doubt.
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
from chaoskit.contract import installed
from chaoskit.contract.checkers.checker import FINDINGS, FaultWindow
from chaoskit.contract.checkers.digesting import Fate
from chaoskit.history.digesting import blocks
from chaoskit.history.digesting.digest import ODD_MAX, ODDITIES, SERIES
from chaoskit.history.digesting.live import courses, digests, portions, routes_of
from chaoskit.history.format.intervals import Intervals, Ints
from chaoskit.history.format.origin import read_origin
from chaoskit.history.format.record import RECORD
from chaoskit.judge.digested.commits import commits_back
from chaoskit.judge.digested.fates import Fates, FinalRead
from chaoskit.judge.digested.readers import DigestReaders
from chaoskit.judge.digested.standing import by_client, out_of_order, together, undisturbed
from chaoskit.judge.digested.waits import waits
from chaoskit.judge.timing.counts import counted, single, summed
from chaoskit.judge.timing.timing import Load, Timing
from chaoskit.model.audit import Audit, Bounds
from chaoskit.model.message import NO_POSITION
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import OUTCOMES
from chaoskit.model.place import Place

_TABLES_MAX = 500
_TELLS = "which was not examined; use record: history to find out why"
_ODD = (Fate.TWICE, Fate.DISORDERED, Fate.CORRUPT)
"""The fate that each of `ODDITIES` is."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DigestFindings:
    """What was found; a row may stand for several messages.

    Attributes:
        findings: schema FINDINGS, with times that every message of a row had at the latest, or at the earliest, so that
            a fault fits only if it fits all of them.
        widest: the same rows, with times that some message of a row had.
        count: for how many messages each row stands.
        pieces: their places.
        doubts: what could not be judged, as sentences.
    """

    findings: pa.Table
    widest: pa.Table
    count: Ints
    pieces: Sequence[Intervals]
    doubts: tuple[str, ...]


class Digested:
    """The digests of a run, together.

    Args:
        folder: the run folder.
        places: topic and partition of each route.
        groups: number of groups that consumers form; 0: each reads for itself.
    """

    def __init__(self, folder: Path, places: Sequence[Place], groups: int = 0) -> None:
        self._folder = folder
        self._places = places
        self._routes = routes_of(folder)
        self._origin_ns = read_origin(folder / "wal")
        self._digests = digests(folder)
        self._readers = DigestReaders(self._digests, self._routes, groups)
        self._sent_places, self._acked_places = self._union("sent", None), self._union("acked", None)
        everything = np.concatenate([self._pending(), *(portion.blocks for portion in portions(folder))])
        acked = everything[:, blocks.ACKED] == 1
        self._acked, self._others = blocks.disjoint(everything[acked]), blocks.disjoint(everything[~acked])

    def _pending(self) -> Ints:
        """Return blocks of the sends that never completed."""
        sends = np.concatenate([np.zeros(0, RECORD), *(digest.open for digest in self._digests)])
        values, sent_ns, none = sends["value"], sends["start_ns"], np.full(sends.size, NO_POSITION)
        places, numbers = self._routes.places(values), self._routes.numbers(values)
        return blocks.blocks(places, numbers, (sent_ns, sent_ns), none, self._origin_ns, acked=False)

    def told(self, audits: Mapping[Place, Audit | None]) -> DigestFindings:
        """Return what was found.

        Args:
            audits: the final read of each partition.
        """
        pieces = [*self._missing(audits), *self._strange(), *self._odd(), *self._misrouted()]
        findings, widest = (
            pa.Table.from_pylist([piece.row(self, widest=wide) for piece in pieces], FINDINGS) for wide in (False, True)
        )
        return DigestFindings(
            findings,
            widest,
            np.array([piece.count for piece in pieces], np.int64),
            [piece.places for piece in pieces],
            tuple(self._doubts(audits)),
        )

    def kept_blocks(self, route: int) -> tuple[Ints, Ints]:
        """Return of each block of a route of which something is still there when its last message was acknowledged, and
        from which position on they were."""
        kept = self._union("received", True)
        here = self._acked[self._routes.of(self._routes.values(self._acked[:, blocks.LOW])) == route]
        ends = kept.count_below(here[:, blocks.HIGH] + 1) - kept.count_below(here[:, blocks.LOW])
        here = here[ends > 0]
        return here[:, blocks.DONE_LAST] - self._origin_ns, here[:, blocks.LOWEST]

    def highest(self, values: Ints) -> dict[int, int]:
        """Return up to which position the block of each message was; without those of which that is not known."""
        places = self._routes.places(values)
        rows = blocks.of_places(self._acked, places)
        known = (rows >= 0) & self._acked_places.has(places)
        return dict(zip(values[known].tolist(), self._acked[rows[known], blocks.HIGHEST].tolist(), strict=True))

    def expanded(self, judged: pa.Table, digest_findings: DigestFindings) -> pa.Table:
        """Return findings with a row for each message, at most 100,000 of each anomaly.

        Args:
            judged: rows of which the first are those of `digest_findings`.
            told: what was found.
        """
        names, left = judged["anomaly"].to_pylist(), dict.fromkeys(judged["anomaly"].unique().to_pylist(), ODD_MAX)
        rows, values = [], []
        for row, name in enumerate(names):
            piece = digest_findings.pieces[row] if row < len(digest_findings.pieces) else Intervals()
            own = self._routes.values(piece.first(left[name]).values()).tolist()
            own = own or judged["value"][row : row + 1].to_pylist()
            left[name] -= len(own)
            rows += [row] * len(own)
            values += own
        index = judged.schema.get_field_index("value")
        return judged.take(pa.array(rows, pa.int64())).set_column(
            index, judged.schema.field(index), pa.array(values, pa.int64())
        )

    def _missing(self, audits: Mapping[Place, Audit | None]) -> Iterator[_Piece]:
        """Yield what is missing of each block, by what became of it.

        If the final read of any partition was not complete, nothing is known to be lost.
        """
        acked, received, kept = self._acked_places, self._union("received", None), self._union("received", True)
        never, read = acked.minus(received), self._union("received", False)
        complete = bool(audits) and all(isinstance(audit, Bounds) and audit.complete for audit in audits.values())
        missing = acked.minus(kept) if complete else never
        fates = Fates(
            self._routes, self._acked, acked=acked, kept=kept, never=never, ordered=not self.counted("disordered")
        )
        for index, place in enumerate(self._places):
            audit = audits.get(place)
            low = audit.low if isinstance(audit, Bounds) else 0
            dense = isinstance(audit, Bounds) and self._dense(place, audit)
            for row, became, messages in fates.told(missing, index, FinalRead(low, complete, dense)):
                yield _Piece(became, place, messages, row)
                if became is Fate.LOST and (gone := messages.common(read)).size:
                    yield _Piece(Fate.CUT, place, gone, row)

    def _dense(self, place: Place, audit: Bounds) -> bool:
        """Return whether the final read found a message at every position from the first one on."""
        for digest in self._digests:
            for name, partition, _, _, low, high, count in (
                digest.reads.tolist() if digest.client.startswith(AUDITOR) else ()
            ):
                if (str(digest.names[name - 1]), partition) == place:
                    return bool(low == audit.low and high - low + 1 == count)
        return False

    def _union(self, name: str, audits: bool | None) -> Intervals:
        """Return the union of a set of all clients, or of the final read's, or of all others'."""
        whole = Intervals()
        for digest in self._digests:
            if audits is None or digest.client.startswith(AUDITOR) == audits:
                whole.update(getattr(digest, name))
        return whole

    def _strange(self) -> Iterator[_Piece]:
        """Yield what was received although it was not sent, or its send had failed."""
        sent, received = self._sent_places, self._union("received", None)
        failed = self._union("failed", None).minus(self._acked_places)
        for fate, messages in (
            (Fate.PHANTOM, received.minus(sent)),
            (Fate.FAILED_VISIBLE, failed.common(received)),
        ):
            for start, end in zip(messages.starts.tolist(), messages.ends.tolist(), strict=True):
                route = int(self._routes.of(self._routes.values(np.array([start])))[0])
                yield _Piece(fate, self._places[route], Intervals(np.array([start]), np.array([end])))

    def _odd(self) -> Iterator[_Piece]:
        for digest in self._digests:
            for row in digest.odd:
                place = str(digest.names[row["name"] - 1]), int(row["partition"])
                own = self._routes.places(np.array([row["value"]], np.int64))
                at_ns = int(row["at_ns"]) - self._origin_ns
                piece = Intervals(own, own + 1)
                yield _Piece(_ODD[row["kind"]], place, piece, -1, at_ns, int(row["position"]), int(row["other"]))

    def _misrouted(self) -> Iterator[_Piece]:
        for digest in self._digests:
            for name, partition, route in digest.routed.tolist():
                place = str(digest.names[name - 1]), partition
                if route >= len(self._places) or self._places[route] != place:
                    yield _Piece(Fate.MISROUTED, place, Intervals())

    def _doubts(self, audits: Mapping[Place, Audit | None]) -> Iterator[str]:
        for name in ODDITIES:
            known = sum(int(np.count_nonzero(digest.odd["kind"] == ODDITIES.index(name))) for digest in self._digests)
            if further := self.counted(name) - known:
                yield f"{further:,} further {name}: their cause is unknown; use record: history to find it"
        readers = [digest for digest in self._digests if not digest.client.startswith(AUDITOR)]
        if unsteady := sum(reader.counted.get("unsteady", 0) for reader in readers):
            yield f"consumers received {unsteady:,} messages at positions already passed; record: history shows why"
        kept = self._union("received", True)
        if passed := self._readers.passed(kept):
            yield f"consumers passed {passed:,} messages of the log without receiving them; record: history shows why"
        whole = [isinstance(audit, Bounds) and audit.complete and audit.low <= 0 for audit in audits.values()]
        if audits and all(whole):
            read = self._union("received", False).minus(kept).minus(self._acked_places)
            if read.size:
                yield f"{read.size:,} messages that were not acknowledged were read, but are no longer in the log"

    def unlooked(
        self, load: Load, faults: Sequence[FaultWindow], paused: tuple[int, int] | None, bound_ns: int
    ) -> Iterator[str]:
        """Yield what may be wrong and was not looked at, because only a history tells, as sentences.

        Args:
            load: when sends were due.
            faults: the faults of the run.
            paused: when all consumers were told to pause, ns since the start of the run; None: never.
            bound_ns: how long the system may take to recover from a fault.
        """
        kept, arrivals = self._union("received", True), by_client(courses(self._folder))
        acked_kept = self._acked_places.common(kept)
        for clients, received in self._readers.received.items():
            own = together([arrivals[client] for client in clients if client in arrivals])
            acked = self.dated(self._readers.waiting(acked_kept, received), widest=True)[1]
            spans = [*own.silences(load, bound_ns), *own.unanswered(load, [at for at in acked if at], bound_ns)]
            if any(undisturbed(span, faults, clients, paused, bound_ns) for span in spans):
                yield f"{', '.join(sorted(clients))}: nothing came for longer than the bound, {_TELLS}"
        missing = self._acked_places.minus(kept)
        whole = self._acked[missing.within(self._acked[:, blocks.LOW], self._acked[:, blocks.HIGH]) == 0]
        routes = self._routes.of(self._routes.values(whole[:, blocks.LOW]))
        if not self.counted(ODDITIES[0]) and (count := out_of_order(whole, routes)):
            yield f"messages of {count:,} moments lie below what was acknowledged before they were sent, {_TELLS}"
        if back := commits_back(self._digests):
            yield f"committed positions of groups went back, {back:,} times or more, {_TELLS}"

    def dated(self, places: Ints, *, widest: bool) -> tuple[list[int | None], list[int | None]]:
        """Return when each message was written and acknowledged: the times that all of its block had, or some.

        A message that was not acknowledged may lie between those of a block that were.
        """
        written: list[int | None] = []
        acked: list[int | None] = []
        known, good = self._sent_places.has(places), self._acked_places.has(places)
        oks = np.where(good, blocks.of_places(self._acked, places), -1)
        others = np.where(known & ~good, blocks.of_places(self._others, places), -1)
        for ok, other in zip(oks.tolist(), others.tolist(), strict=True):
            block = self._acked[ok] if ok >= 0 else self._others[other] if other >= 0 else None
            sent, done = (blocks.SENT_FIRST, blocks.DONE_LAST) if widest else (blocks.SENT_LAST, blocks.DONE_FIRST)
            written.append(None if block is None else int(block[sent]) - self._origin_ns)
            acked.append(None if block is None or ok < 0 else int(block[done]) - self._origin_ns)
        return written, acked

    def place_of(self, value: int) -> Ints:
        """Return the place of a value, as one element."""
        return self._routes.places(np.array([value], np.int64))

    def value_of(self, place: int) -> int:
        """Return the value at a place."""
        return int(self._routes.values(np.array([place], np.int64))[0])

    def load(self, load: Load) -> Load:
        """Return when sends were due: what is known of that without operations, with the second of the last send."""
        seconds = [int(portion.counts[:, 1].max(initial=-1)) for portion in portions(self._folder)]
        last_ns = load.begin_ns + (max(seconds, default=-1) + 1) * SECOND
        return replace(load, last_ns=min(last_ns, load.end_ns))

    def counted(self, what: str) -> int:
        """Return a number over all clients; see `Digest.counted`."""
        return sum(digest.counted.get(what, 0) for digest in self._digests)

    def open(self, load: Load) -> int:
        """Return how many sends of the load never completed."""
        return sum(
            int(np.count_nonzero(digest.open["intended_ns"] - self._origin_ns >= load.begin_ns))
            for digest in self._digests
            if not digest.client.startswith(AUDITOR)
        )

    def counts(self, timing: Timing) -> pa.Table:
        """Return COUNTS of the run; see `chaoskit.judge.timing.counts`."""
        open_ = self.open(timing.load)
        never = self.counted("sent") - sum(self.counted(name) for name in OUTCOMES)
        outcomes = [self.counted("ok"), self.counted("fail"), self.counted("info") + never]
        last, end = (np.array([instant_ns]) for instant_ns in (timing.load.last_ns, timing.load.end_ns))
        tables = [
            single("received", self.counted("received")),
            counted("outcome", np.zeros(3, np.int64), np.arange(3), np.array(outcomes)),
            counted("gave_up", timing.phases(last, end), np.zeros(1, np.int64), np.array([open_])),
        ]
        for portion in portions(self._folder):
            tables += _counted(portion.counts, timing)
            if len(tables) > _TABLES_MAX:
                tables = [summed(tables)]
        return summed(tables)

    def waits(self, timing: Timing) -> pa.Table:
        """Return WAITS of the run, of times without an acknowledgement of 100 ms and more."""
        return waits(
            [digest for digest in self._digests if not digest.client.startswith(AUDITOR)], self._origin_ns, timing
        )


@dataclass(frozen=True, slots=True)
class _Piece:
    """A finding about some messages of one block.

    Attributes:
        fate: what became of them.
        place: topic and partition.
        places: the messages.
        block: row of the block; negative: looked up.
        at_ns: when it was seen; negative: when it was acknowledged.
        position: see FINDINGS; negative: none.
        other: value of another message; negative: none.
    """

    fate: Fate
    place: Place
    places: Intervals
    block: int = -1
    at_ns: int = -1
    position: int = -1
    other: int = -1

    @property
    def count(self) -> int:
        return max(self.places.size, 1)

    def row(self, digested: Digested, *, widest: bool) -> dict[str, Any]:
        """Return its row of FINDINGS."""
        anomaly, (topic, partition) = installed.fates()[self.fate], self.place
        row: dict[str, Any] = {"anomaly": anomaly, "topic": topic, "partition": partition}
        if self.places.size:
            row["value"] = digested.value_of(int(self.places.starts[0]))
            (row["written_ns"],), (row["acked_ns"],) = digested.dated(self.places.starts[:1], widest=widest)
            row["at_ns"] = self.at_ns if self.at_ns >= 0 else row["acked_ns"]
        if self.position >= 0:
            row["position"] = self.position
        if self.other >= 0:
            row["other_value"] = self.other
            times = digested.dated(digested.place_of(self.other), widest=widest)
            (row["other_written_ns"],), (row["other_acked_ns"],) = times
        return row


def _counted(rows: Ints, timing: Timing) -> Iterator[pa.Table]:
    load = timing.load
    for code, series in enumerate(SERIES):
        _, second, bucket, count = rows[rows[:, 0] == code].T
        at_ns, none = load.begin_ns + second * SECOND, np.zeros_like(bucket)
        phase = timing.phases(at_ns, np.minimum(at_ns + durations_ns(bucket), load.end_ns))
        edge = np.searchsorted(timing.edges, at_ns, side="right")
        if series == "took":
            yield counted("send", edge, bucket, count)
        if series in ("took", "gave_up"):
            yield counted(series, phase, bucket, count)
            yield counted("due", edge, none, count)
            yield single("sends", int(count.sum()))
            yield counted("made", (at_ns - load.begin_ns) // load.bin_ns, none, count)
        elif series == "from_call":
            yield counted("send_from_actual", none, bucket, count)
        elif series == "acked":
            yield counted("acked", edge, none, count)
            yield single("acks", int(count[at_ns <= load.end_ns].sum()))
        else:
            yield counted("end_to_end", phase, bucket, count)
            yield counted("travelled", edge, bucket, count)
