"""A judged run folder, whose findings can be explained again with a changed record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from chaoskit.base import parquet
from chaoskit.base.errors import BadInput
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import About
from chaoskit.contract.checkers.checker import FINDINGS
from chaoskit.contract.guarantees.mechanism import Mechanism, Retry, Session, Way
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.digesting.live import digested
from chaoskit.history.format.fault import Fault
from chaoskit.history.reading.reader import History
from chaoskit.judge.explaining.attribution import Cause, Explained
from chaoskit.judge.explaining.cases import places_of
from chaoskit.judge.explaining.crashes import hosts_of, place_of
from chaoskit.judge.explaining.record import DigestRecord, Ints, last_ns
from chaoskit.judge.subject.subject import Subject, read_subject
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.place import Place
from chaoskit.testing.nearmiss.change import RunChange

_FINDINGS_FILE = "findings.parquet"


@dataclass(frozen=True, slots=True)
class Concern:
    """The findings that some faults explain.

    Attributes:
        rows: the findings.
        mechanisms: by which they are explained.
        places: their partitions.
        clients: who sent, received or lacks one of their messages, as far as that is known.
        first_ns: when the first of their messages was written, or else the first of them was experienced.
    """

    rows: Ints
    mechanisms: tuple[Mechanism, ...]
    places: frozenset[Place]
    clients: frozenset[str]
    first_ns: int


class StoredRun:
    """A judged run.

    Args:
        folder: its folder.

    Attributes:
        subject: what it declared.
        history: its history.
        placements: where its partitions were.
        findings: its findings, schema `FINDINGS`.
        faults: its recorded faults that began.
        one_by_one: whether its operations were recorded one by one.

    Raises:
        BadInput: the folder does not hold a judged run, or is damaged.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / _FINDINGS_FILE).exists():
            raise BadInput(f"{folder / _FINDINGS_FILE} is missing; judge the run first: chaoskit check {folder}")
        self.subject: Subject = read_subject(folder)
        self.history: History = History.open(folder)
        crashed = self.subject.liveness.get("crashed", ())
        fixed = {place_of(crash): hosts_of(crash) for crash in crashed}
        self.placements: Placements = self.history.placements.with_fixed(fixed)
        self.findings = parquet.opened(folder / _FINDINGS_FILE).read(columns=FINDINGS.names).cast(FINDINGS)
        self.faults: tuple[Fault, ...] = tuple(fault for fault in self.history.recorded_faults if fault.targets)
        self.one_by_one: bool = not digested(folder)
        self._messages = None if self.one_by_one else np.ones(self.findings.num_rows, np.int64)

    @cached_property
    def explained(self) -> Explained:
        """Its findings, explained by the record as it is."""
        return self._explain(self.findings, self.subject, self.history, self.placements, self.faults)

    @cached_property
    def explained_rows(self) -> Ints:
        """The findings that are explained."""
        return np.flatnonzero(self.explained.cause_of)

    @property
    def hosts(self) -> list[str]:
        """Names of the lab's hosts."""
        return self.subject.plan.host_names if self.subject.plan else []

    @cached_property
    def clients(self) -> list[str]:
        """Names of the clients, without the numbers of their incarnations, in order."""
        names = self.history.operations["client"].unique().cast(pa.string()).to_pylist()
        return sorted({name.partition("#")[0] for name in names})

    @cached_property
    def end_ns(self) -> int:
        """When the last operation began or ended, ns since the start of the run."""
        return last_ns(self.history)

    def explain(self, change: RunChange) -> Explained:
        """Return its findings, explained by a changed record."""
        subject = self.subject if change.plan is None else replace(self.subject, plan=change.plan)
        history = change.history or self.history
        placements = change.placements or self.placements
        return self._explain(self.findings_of(change), subject, history, placements, change.faults)

    def findings_of(self, change: RunChange) -> pa.Table:
        """Return its findings with those that a change adds."""
        if change.more is None:
            return self.findings
        return pa.concat_tables([self.findings, change.more.cast(FINDINGS)]).unify_dictionaries().combine_chunks()

    def _explain(
        self,
        findings: pa.Table,
        subject: Subject,
        history: History,
        placements: Placements,
        faults: Sequence[Fault] | None,
    ) -> Explained:
        digest = None if self.one_by_one else DigestRecord({}, {})
        return subject.explain(findings, history, placements, self._messages, digest, faults=faults)

    def rows_of(self, causes: Collection[Cause]) -> Ints:
        """Return the findings that some causes explain."""
        indices = [index for index, cause in enumerate(self.explained.known) if cause in causes]
        return np.flatnonzero(np.isin(self.explained.cause_of, indices))

    @property
    def causes(self) -> list[Cause]:
        """What explains its findings."""
        return [cause for cause in self.explained.known if cause is not None]

    def concern(self, numbers: Collection[int]) -> Concern:
        """Return the findings that some faults explain, alone or with others."""
        causes = [cause for cause in self.causes if named(cause, numbers)]
        rows = self.rows_of(causes)
        findings = self.findings.take(pa.array(rows))
        return Concern(
            rows,
            tuple(dict.fromkeys(cause.mechanism for cause in causes)),
            frozenset(places_of(findings)[0]),
            frozenset(self._clients_of(findings)),
            _first_ns(findings),
        )

    def experienced_ns(self, concern: Concern) -> int | None:
        """Return when the last of some findings was experienced; None if not all are about what a client experienced,
        but about messages, whose loss nobody saw at a certain time."""
        findings = self.findings.take(pa.array(concern.rows))
        known = installed.anomalies()
        about = {known[name].about for name in findings["anomaly"].unique().to_pylist()}
        times = findings["at_ns"].drop_null()
        return int(times.to_numpy().max()) if about == {About.READING} and len(times) else None

    @cached_property
    def clients_of_findings(self) -> frozenset[str]:
        """Who sent, received or lacks a message of any finding, as far as that is known."""
        return frozenset(self._clients_of(self.findings))

    def _clients_of(self, findings: pa.Table) -> Iterable[str]:
        for column in ("value", "other_value"):
            numbers = np.unique(findings[column].drop_null().to_numpy() >> PRODUCER_SHIFT)
            yield from (f"producer-{number}" for number in numbers.tolist() if number >= 0)
        ops = [findings[column].drop_null() for column in ("op", "other_op")]
        ops.append(pa.chunked_array([part.flatten() for part in findings["other_ops"].chunks], pa.int64()))
        codes = np.unique(np.concatenate([part.to_numpy() for part in ops]))
        codes = codes[(codes >= 0) & (codes < self.history.operations.num_rows)]
        names = self.history.operations["client"].take(pa.array(codes)).cast(pa.string()).unique()
        yield from (name.partition("#")[0] for name in names.to_pylist())


def named(cause: Cause, numbers: Collection[int]) -> bool:
    """Return whether one of some faults is among those of a cause."""
    return any(effect.number in numbers for effect in cause.story.faults)


def waits_ns(mechanism: Mechanism) -> int:
    """Return how long after an interruption, or an answer, a mechanism may still show, ns."""
    return mechanism.after_ns if isinstance(mechanism, Way | Retry | Session) else 0


def numbers_of(faults: Iterable[Fault]) -> list[int]:
    """Return the numbers of faults."""
    return [fault.number for fault in faults]


def _first_ns(findings: pa.Table) -> int:
    times = [findings[name].drop_null() for name in ("written_ns", "other_written_ns", "since_ns")]
    if not any(len(part) for part in times):
        times = [findings["at_ns"].drop_null()]
    return min((int(part.to_numpy().min()) for part in times if len(part)), default=0)
