"""Judges a run whose logs were digested (`record: latency`): from sets of sequences and counts by second.

The checkers of histories decide what is lost, unseen, expired, a duplicate, reordered or corrupt, on one message for
all that are alike (`chaoskit.judge.digested.samples`). Each message is dated by its block, that is to a fraction of a
second; a fault explains it only if it fits all of that time. Phases, waits and recoveries are told to a second, or to
100 ms. What needs whole messages, such as the order in real time, is not judged; what would have to be judged by it is
a doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.columns import NONE
from chaoskit.contract.checkers.checker import FINDINGS, FaultWindow
from chaoskit.history.digesting import blocks
from chaoskit.history.digesting.digest import ODD_MAX, ODDITIES
from chaoskit.history.digesting.live import courses, digests, portions, routes_of
from chaoskit.history.format.intervals import Intervals, Ints
from chaoskit.history.format.origin import read_origin
from chaoskit.history.format.record import RECORD
from chaoskit.judge.digested.figures import DigestFigures
from chaoskit.judge.digested.order import blocks_back, commits_back
from chaoskit.judge.digested.readers import DigestReaders
from chaoskit.judge.digested.sampling import DigestSamples
from chaoskit.judge.digested.sets import DigestSets
from chaoskit.judge.digested.standing import by_client, together, undisturbed
from chaoskit.judge.timing.timing import Load
from chaoskit.model.audit import Audit, Bounds
from chaoskit.model.message import NO_POSITION
from chaoskit.model.operation import AUDITOR
from chaoskit.model.place import Place

_TELLS = "which was not examined; use record: history to find out why"


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

    Attributes:
        figures: what can be measured of them.
    """

    def __init__(self, folder: Path, places: Sequence[Place], groups: int = 0) -> None:
        self._folder = folder
        self._places = places
        self._routes = routes_of(folder)
        self._origin_ns = read_origin(folder / "wal")
        self._digests = digests(folder)
        self.figures = DigestFigures(folder, self._digests, self._origin_ns)
        self._readers = DigestReaders(self._digests, self._routes, groups)
        self._sets = DigestSets.of(self._digests)
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
        samples = DigestSamples(self._digests, self._sets, self._routes, self._places, self._acked, self._origin_ns)
        judged = samples.judged(audits)
        rows = [
            {"anomaly": name, "topic": sample.place[0], "partition": sample.place[1]}
            | {column: getattr(sample, column) for column in ("value", "position", "at_ns", "other_value")}
            for sample, name in judged
        ]
        findings = pa.Table.from_pylist(rows, FINDINGS)
        return DigestFindings(
            self._dated(findings, widest=False),
            self._dated(findings, widest=True),
            np.array([max(sample.messages.size, 1) for sample, _ in judged], np.int64),
            [sample.messages for sample, _ in judged],
            tuple(self._doubts(audits)),
        )

    def _dated(self, findings: pa.Table, *, widest: bool) -> pa.Table:
        """Return findings with the times of their messages; see `DigestFindings`."""
        columns = {name: findings[name] for name in FINDINGS.names}
        for prefix in ("", "other_"):
            places = self._routes.places(findings[f"{prefix}value"].fill_null(NONE).to_numpy())
            for name, times_ns in zip(("written_ns", "acked_ns"), self.dated(places, widest=widest), strict=True):
                columns[prefix + name] = pa.array(times_ns, mask=times_ns == NONE)
        columns["at_ns"] = pc.coalesce(columns["at_ns"], columns["acked_ns"])
        return pa.table(columns, FINDINGS)

    def kept_blocks(self, route: int) -> tuple[Ints, Ints]:
        """Return of each block of a route of which something is still there when its last message was acknowledged, and
        from which position on they were."""
        kept = self._sets.kept
        here = self._acked[self._routes.of(self._routes.values(self._acked[:, blocks.LOW])) == route]
        here = here[kept.within(here[:, blocks.LOW], here[:, blocks.HIGH]) > 0]
        return here[:, blocks.DONE_LAST] - self._origin_ns, here[:, blocks.LOWEST]

    def highest(self, values: Ints) -> dict[int, int]:
        """Return up to which position the block of each message was; without those of which that is not known."""
        places = self._routes.places(values)
        rows = blocks.of_places(self._acked, places)
        known = (rows >= 0) & self._sets.acked.has(places)
        return dict(zip(values[known].tolist(), self._acked[rows[known], blocks.HIGHEST].tolist(), strict=True))

    def expanded(self, judged: pa.Table, digest_findings: DigestFindings) -> pa.Table:
        """Return findings with a row for each message, at most 100,000 of each anomaly.

        Args:
            judged: rows of which the first are those of `digest_findings`.
            digest_findings: what was found.
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

    def _doubts(self, audits: Mapping[Place, Audit | None]) -> Iterator[str]:
        for name in ODDITIES:
            known = sum(int(np.count_nonzero(digest.odd["kind"] == ODDITIES.index(name))) for digest in self._digests)
            if further := self.figures.counted(name) - known:
                yield f"{further:,} further {name}: their cause is unknown; use record: history to find it"
        readers = [digest for digest in self._digests if not digest.client.startswith(AUDITOR)]
        if unsteady := sum(reader.counted.get("unsteady", 0) for reader in readers):
            yield f"consumers received {unsteady:,} messages at positions already passed; record: history shows why"
        kept = self._sets.kept
        if passed := self._readers.passed(kept):
            yield f"consumers passed {passed:,} messages of the log without receiving them; record: history shows why"
        whole = [isinstance(audit, Bounds) and audit.complete and audit.low <= 0 for audit in audits.values()]
        if audits and all(whole):
            read = self._sets.read.minus(kept).minus(self._sets.acked)
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
        kept, arrivals = self._sets.kept, by_client(courses(self._folder))
        acked_kept = self._sets.acked.common(kept)
        for clients, received in self._readers.received.items():
            own = together([arrivals[client] for client in clients if client in arrivals])
            acked = self.dated(self._readers.waiting(acked_kept, received), widest=True)[1]
            spans = [*own.silences(load, bound_ns), *own.unanswered(load, acked[acked != NONE].tolist(), bound_ns)]
            if any(undisturbed(span, faults, clients, paused, bound_ns) for span in spans):
                yield f"{', '.join(sorted(clients))}: nothing came for longer than the bound, {_TELLS}"
        missing = self._sets.acked.minus(kept)
        whole = self._acked[missing.within(self._acked[:, blocks.LOW], self._acked[:, blocks.HIGH]) == 0]
        routes = self._routes.of(self._routes.values(whole[:, blocks.LOW]))
        if not self.figures.counted(ODDITIES[0]) and (count := blocks_back(whole, routes)):
            yield f"messages of {count:,} moments lie below what was acknowledged before they were sent, {_TELLS}"
        if back := commits_back(self._digests):
            yield f"committed positions of groups went back, {back:,} times or more, {_TELLS}"

    def dated(self, places: Ints, *, widest: bool) -> tuple[Ints, Ints]:
        """Return when each message was written and acknowledged: the times that all of its block had, or some; `NONE`
        if that is not known.

        A message that was not acknowledged may lie between those of a block that were.
        """
        sent, done = (blocks.SENT_FIRST, blocks.DONE_LAST) if widest else (blocks.SENT_LAST, blocks.DONE_FIRST)
        known, good = self._sets.sent.has(places), self._sets.acked.has(places)
        written_ns, acked_ns = np.full(places.size, NONE), np.full(places.size, NONE)
        for block_rows, chosen in ((self._acked, good), (self._others, known & ~good)):
            at = np.where(chosen, blocks.of_places(block_rows, places), NONE)
            own = at != NONE
            written_ns[own] = block_rows[at[own], sent] - self._origin_ns
            if block_rows is self._acked:
                acked_ns[own] = block_rows[at[own], done] - self._origin_ns
        return written_ns, acked_ns
