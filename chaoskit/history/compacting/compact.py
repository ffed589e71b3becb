"""Compacts the write-ahead logs of a run into its history: operations, messages and observations.

Everything is written to `.compacting/`, flushed to disk and then renamed, operations last: a run
folder with operations.parquet has the messages of the same compaction. A crash at any time leaves
the logs intact, and a later compaction succeeds. The logs are kept until `drop_wal`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from chaoskit.base import durable
from chaoskit.base.errors import BadInput, RunFailed
from chaoskit.history.compacting.dataset import ROW_GROUP_ROWS, PartitionsWriter, write_operations
from chaoskit.history.compacting.drivers import DriverClocks
from chaoskit.history.compacting.gather import GatheredMessages, Observations
from chaoskit.history.compacting.naming import Names, dictionary
from chaoskit.history.compacting.ranking import RankedOperations
from chaoskit.history.digesting.live import digests
from chaoskit.history.format.models import read_topics
from chaoskit.history.format.origin import read_origin
from chaoskit.history.format.record import AUDIT, NO_TIME, Records
from chaoskit.history.format.segment import room_in
from chaoskit.history.recording.recover import ClientLog, recover
from chaoskit.model.audit import Audit, Bounds, Drained
from chaoskit.model.message import NO_POSITION
from chaoskit.model.outcome import OUTCOMES
from chaoskit.model.place import Place
from chaoskit.model.tables import MESSAGES, OBSERVATIONS, OPERATIONS

_DROPPED = "dropped"
_MESSAGES, _OBSERVATIONS = "messages.parquet", "observations.parquet"


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction wrote and what it skipped.

    Attributes:
        operations: rows of operations.parquet.
        messages: rows of messages.parquet.
        observations: rows of observations.parquet.
        torn: records that were incomplete because of a crash.
        orphans: complete records whose operation's invocation was torn.
    """

    operations: int
    messages: int
    observations: int
    torn: int
    orphans: int


def compact(run_folder: Path) -> Compacted:
    """Write the history of a run, whether its clients finished, crashed or are still writing.

    Raises:
        BadInput: the folder has no logs (any more), or they are damaged beyond a torn tail.
        HistoryFull: there is no space for the files; the logs are kept.
        RunFailed: the files do not match the logs, or some logs are still on a driver; the logs are kept.
    """
    wal = run_folder / "wal"
    if (wal / _DROPPED).exists():
        raise BadInput(f"the logs in {wal} were deleted because {run_folder} is already compacted; check it as it is")
    origin_ns = read_origin(wal)
    clocks = DriverClocks(wal)
    clocks.require_gathered()
    logs = clocks.aligned(recover(wal))
    names = Names(logs)
    operations = RankedOperations(logs, names)
    messages = GatheredMessages(logs, names, operations, origin_ns)
    observations = Observations(logs, names, operations, origin_ns)
    unfinished = run_folder / ".compacting"
    shutil.rmtree(unfinished, ignore_errors=True)
    with room_in(run_folder):
        unfinished.mkdir()
        write_operations(
            unfinished / "operations.parquet",
            _operation_groups(logs, names, operations, origin_ns),
            _audits(logs, names),
            _models(wal, {topic for topic, _ in (*messages.partitions, *observations.partitions)}),
            clocks.told(),
        )
        for name, schema, gathered in ((_MESSAGES, MESSAGES, messages), (_OBSERVATIONS, OBSERVATIONS, observations)):
            with PartitionsWriter(unfinished / name, schema) as writer:
                for (topic, partition), pieces in gathered.partitions.items():
                    writer.write(sum(len(rows) for _, rows in pieces), gathered.groups(topic, partition))
    compacted = Compacted(
        operations=_rows(unfinished / "operations.parquet"),
        messages=sum(map(_rows, (unfinished / _MESSAGES).iterdir())),
        observations=sum(map(_rows, (unfinished / _OBSERVATIONS).iterdir())),
        torn=sum(log.torn for log in logs),
        orphans=messages.orphans + observations.orphans,
    )
    recorded = len(operations.order), messages.count, observations.count
    if (compacted.operations, compacted.messages, compacted.observations) != recorded:
        raise RunFailed(
            f"{unfinished} holds {compacted.operations} operations, {compacted.messages} messages and "
            f"{compacted.observations} observations, but the logs hold {recorded[0]}, {recorded[1]} and {recorded[2]}. "
            f"{wal} is kept; please report this bug"
        )
    _publish(unfinished, run_folder)
    return compacted


def write_empty(run_folder: Path) -> None:
    """Write the history of a run whose logs were digested: without operations and messages, but with the final read.

    Raises:
        HistoryFull: there is no space for it.
    """
    wal, unfinished = run_folder / "wal", run_folder / ".compacting"
    shutil.rmtree(unfinished, ignore_errors=True)
    audits = {place: audit for digest in digests(run_folder) for place, audit in _audited(digest.audits, digest.names)}
    with room_in(run_folder):
        unfinished.mkdir()
        write_operations(unfinished / "operations.parquet", (), audits, read_topics(wal))
        for name, schema in ((_MESSAGES, MESSAGES), (_OBSERVATIONS, OBSERVATIONS)):
            PartitionsWriter(unfinished / name, schema).close()
    _publish(unfinished, run_folder)


def _models(wal: Path, topics: set[str]) -> dict[str, str]:
    """Return the model of each topic. If all known topics have the same model, so does one whose name was lost."""
    declared = read_topics(wal)
    kinds = set(declared.values())
    lost = dict.fromkeys(topics - declared.keys(), next(iter(kinds))) if len(kinds) == 1 else {}
    return declared | lost


def drop_wal(run_folder: Path) -> None:
    """Delete the logs of a compacted run; its origin and faults are kept.

    Raises:
        BadInput: it has not been compacted.
    """
    wal = run_folder / "wal"
    if not (run_folder / "operations.parquet").exists():
        raise BadInput(f"{run_folder} has no operations.parquet: compact it before deleting its logs in {wal}")
    # Write the marker first, so that after a crash half-way the rest does not look like the logs of a run.
    durable.write(wal / _DROPPED, b"")
    for pattern in ("*.wal", "*.names"):
        for path in wal.glob(pattern):
            path.unlink()


def _publish(unfinished: Path, run_folder: Path) -> None:
    (run_folder / "operations.parquet").unlink(missing_ok=True)
    durable.sync(run_folder)
    for name in (_MESSAGES, _OBSERVATIONS):
        shutil.rmtree(run_folder / name, ignore_errors=True)
        durable.move(unfinished / name, run_folder / name)
    durable.move(unfinished / "operations.parquet", run_folder / "operations.parquet")
    unfinished.rmdir()


def _operation_groups(
    logs: list[ClientLog], names: Names, operations: RankedOperations, origin_ns: int
) -> Iterator[pa.Table]:
    processes = np.array([log.process for log in logs], dtype=np.int32)
    clients = [log.client for log in logs]
    for first in range(0, len(operations.order), ROW_GROUP_ROWS):
        chosen = operations.order[first : first + ROW_GROUP_ROWS]
        client, error, end_ns = operations.client[chosen], operations.error[chosen], operations.end_ns[chosen]
        txn = operations.txn[chosen]
        columns = {
            "op": pa.array(np.arange(first, first + len(chosen))),
            "process": pa.array(processes[client]),
            "client": dictionary(client, clients),
            "f": names.column(operations.f[chosen]),
            "start_ns": pa.array(operations.start_ns[chosen] - origin_ns),
            "end_ns": pa.array(end_ns - origin_ns, mask=end_ns == NO_TIME),
            "outcome": dictionary(operations.outcome[chosen], OUTCOMES),
            "error": names.column(error),
            "txn": pa.array(txn, mask=txn < 0),
        }
        yield pa.table(columns, schema=OPERATIONS)


def _audits(logs: list[ClientLog], names: Names) -> dict[Place, Audit]:
    audits: dict[Place, Audit] = {}
    for log, ids in zip(logs, names.by_client, strict=True):
        for records in log.segments:
            known = [names.texts[index] for index in ids[1:]]
            audits |= dict(_audited(records[records["kind"] == AUDIT], known))
    return audits


def _audited(records: Records, names: Sequence[str | None]) -> Iterator[tuple[Place, Audit]]:
    for record in records:
        low, end, reached, local = (int(record[name]) for name in ("value", "position", "intended_ns", "start_ns"))
        complete = bool(record["code"])
        known = None if reached == NO_POSITION else reached
        kept = local - 1 if local else None
        audit = Drained(complete) if end == NO_POSITION else Bounds(low, end, complete, known, kept)
        yield (str(names[record["name"] - 1]), int(record["partition"])), audit


def _rows(path: Path) -> int:
    return int(pq.read_metadata(path).num_rows)
