"""Reads the rows that an application writes to a database: again and again for their times, and once at the end.

What is there at the end counts. A row that was there before, and no more, is recorded as gone.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.application import ReadRecord
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.reports import Reports
from chaoskit.model.audit import Bounds
from chaoskit.model.observations.pipeline import DatabaseSink, OutputGone
from chaoskit.model.outcome import FAIL, OK
from workloads.pipeline.identity import Identity
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.sinks.database import DatabaseUnreachable, SinkDatabase
from workloads.pipeline.sinks.lines import LOOK
from workloads.pipeline.sinks.options import SinkOptions
from workloads.pipeline.sinks.outputs import OutputLog, expect_outputs
from workloads.pipeline.sinks.urls import url_of

_POLL_S = 0.1
_IDLE = 5
"""After a look, the database is left alone for so many times as long as that took."""

_LATER = "postgresql://localhost"
_IDLE_MAX_S = 5.0
_FINAL_S = 30.0


class _Rows:
    """The rows of one sink: which copy of a row was first seen at which position."""

    def __init__(self, job: Job[PipelineOptions], sink: SinkOptions, database: SinkDatabase) -> None:
        self._job = job
        self._database = database
        self._whole = job.options.identity != Identity()
        self._topic = job.recorder.in_system(sink.name)
        self._positions: defaultdict[bytes, list[int]] = defaultdict(list)
        self.log = OutputLog(job.recorder, job.options)
        self.end: int = 0

    def look(self) -> str:
        """Record the rows that have come, and those that are gone; return why the database did not answer, if so."""
        recorder, why = self._job.recorder, ""
        op = recorder.invoke(LOOK)
        try:
            self._compare(op, Counter(self._database.rows(whole=self._whole)))
        except (DatabaseUnreachable, BadInput) as error:
            why = str(error)
        recorder.complete(op, FAIL if why else OK, why or None)
        return why

    def audit(self) -> None:
        """Record that everything was read."""
        self._job.recorder.audited(self._topic, 0, Bounds(0, self.end, True, self.end))

    def _compare(self, op: int, rows: Counter[bytes]) -> None:
        recorder = self._job.recorder
        for row, positions in self._positions.items():
            for position in positions[rows[row] :]:
                recorder.observe(op, self._topic, 0, OutputGone(position))
            del positions[rows[row] :]
        fresh: list[ReadRecord] = []
        for row, count in rows.items():
            positions = self._positions[row]
            while len(positions) < count:
                positions.append(self.end)
                fresh.append(ReadRecord(self._topic, 0, self.end, None, row, {}))
                self.end += 1
        self.log.outputs(op, fresh)


def query(job: Job[PipelineOptions]) -> None:
    """Read a query until stopped, and what is there then."""
    sink, recorder, control = job.options.rows[job.task.index], job.recorder, job.control
    own, key = sink.postgresql is not None, f"workload.writes: {sink.name}"
    try:
        database = SinkDatabase(url_of(job.database if own else sink.url, key), sink.sql or "", key)
        _check_empty(database, key)
        setting = DatabaseSink(job.database_host if own else "", database.forgets())
    except (BadInput, DatabaseUnreachable) as error:
        sys.exit(str(error))
    expect_outputs(job, [(sink.name, 0)], ordered=False)
    with recorder.operation("collect") as op:
        recorder.observe(op, recorder.in_system(sink.name), 0, setting)
    rows, reports = _Rows(job, sink, database), Reports(control, recorder)
    control.wait_start()
    while not control.stopping:
        began = time.monotonic()
        answered = not rows.look()
        reports.tell()
        took_s = time.monotonic() - began
        time.sleep(min(max(_POLL_S, _IDLE * took_s), _IDLE_MAX_S) if answered else _POLL_S)
    why, deadline = rows.look(), time.monotonic() + _FINAL_S
    while why and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        why = rows.look()
    if not why:
        rows.audit()
    reports.finish()
    control.result({"why": f"{sink.name}: {why}" if why else rows.log.misfit})
    database.close()


def check_query(sink: SinkOptions, key: str) -> None:
    """Reject a database that does not answer, a query that it refuses, and rows that are there already; of a database
    that does not run yet, that its driver is missing.

    Raises:
        BadInput: names the key and the remedy.
    """
    if sink.postgresql is not None:
        url_of(_LATER, key)
        return
    database = SinkDatabase(url_of(sink.url, key), sink.sql or "", f"{key}.sql")
    try:
        _check_empty(database, f"{key}.sql")
    except DatabaseUnreachable as error:
        raise BadInput(f"{key}.url: the database does not answer: {error}") from error
    finally:
        database.close()


def _check_empty(database: SinkDatabase, key: str) -> None:
    """Reject rows of an earlier run: their ids are those of this run's inputs, too."""
    if count := len(database.rows(whole=False)):
        raise BadInput(
            f"{key}: {count:,} rows are there before the load, and could not be told from new ones; delete them"
        )
