"""Turns the write-ahead logs of a run into its history: operations.parquet and messages.parquet.

Everything is written under `.compacting/`, forced to the disk and only then given its name, the
operations last: a run folder with operations.parquet has the messages of the same compaction. A crash
at any time leaves the logs, and a later compaction succeeds. The logs are kept until `drop_wal`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from chaoskit.base import durable
from chaoskit.base.errors import BadInput, RunFailed
from chaoskit.history.audits import Audit, Bounds
from chaoskit.history.dataset import ROW_GROUP_ROWS, MessagesWriter, write_operations
from chaoskit.history.gather import Messages
from chaoskit.history.naming import Names, dictionary
from chaoskit.history.origin import read_origin
from chaoskit.history.ranking import Operations
from chaoskit.history.record import AUDIT, NO_TIME
from chaoskit.history.recover import ClientLog, recover
from chaoskit.history.schema import OPERATIONS, OUTCOMES
from chaoskit.history.segment import room_in

_DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction wrote, and what it had to leave out.

    Attributes:
        operations: rows of operations.parquet.
        messages: rows of messages.parquet.
        torn: records that a crash cut short.
        orphans: whole records of messages whose operation's invocation was torn.
    """

    operations: int
    messages: int
    torn: int
    orphans: int


def compact(run_folder: Path) -> Compacted:
    """Write the history of a run, whether its clients ended, crashed or still write.

    Raises:
        BadInput: the folder has no run's logs (any more), or they are damaged beyond a torn tail.
        HistoryFull: there is no room for the files; the logs are kept.
        RunFailed: the files do not hold what the logs do; the logs are kept.
    """
    wal = run_folder / "wal"
    if (wal / _DROPPED).exists():
        raise BadInput(f"the logs in {wal} were dropped: {run_folder} has been compacted already; check it as it is")
    origin_ns = read_origin(wal)
    logs = recover(wal)
    names = Names(logs)
    operations = Operations(logs, names)
    messages = Messages(logs, names, operations, origin_ns)
    unfinished = run_folder / ".compacting"
    shutil.rmtree(unfinished, ignore_errors=True)
    with room_in(run_folder):
        unfinished.mkdir()
        write_operations(
            unfinished / "operations.parquet",
            _operation_groups(logs, names, operations, origin_ns),
            _audits(logs, names),
        )
        with MessagesWriter(unfinished / "messages.parquet") as writer:
            for (topic, partition), pieces in messages.partitions.items():
                writer.write(sum(len(rows) for _, rows in pieces), messages.groups(topic, partition))
    compacted = Compacted(
        operations=_rows(unfinished / "operations.parquet"),
        messages=sum(map(_rows, (unfinished / "messages.parquet").iterdir())),
        torn=sum(log.torn for log in logs),
        orphans=messages.orphans,
    )
    recorded = len(operations.order), messages.count
    if (compacted.operations, compacted.messages) != recorded:
        raise RunFailed(
            f"{unfinished} holds {compacted.operations} operations and {compacted.messages} messages, not "
            f"the {recorded[0]} and {recorded[1]} of the logs. {wal} is kept; please report this"
        )
    _publish(unfinished, run_folder)
    return compacted


def drop_wal(run_folder: Path) -> None:
    """Delete the logs of a run that has been compacted; its origin and its faults stay.

    Raises:
        BadInput: it has not been compacted.
    """
    wal = run_folder / "wal"
    if not (run_folder / "operations.parquet").exists():
        raise BadInput(f"{run_folder} has no operations.parquet: compact it before its logs in {wal} are dropped")
    # First the mark, so that a crash half way leaves nothing that looks like the logs of a run.
    durable.write(wal / _DROPPED, b"")
    for pattern in ("*.wal", "*.names"):
        for path in wal.glob(pattern):
            path.unlink()


def _publish(unfinished: Path, run_folder: Path) -> None:
    (run_folder / "operations.parquet").unlink(missing_ok=True)
    durable.sync(run_folder)
    shutil.rmtree(run_folder / "messages.parquet", ignore_errors=True)
    durable.move(unfinished / "messages.parquet", run_folder / "messages.parquet")
    durable.move(unfinished / "operations.parquet", run_folder / "operations.parquet")
    unfinished.rmdir()


def _operation_groups(
    logs: list[ClientLog], names: Names, operations: Operations, origin_ns: int
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


def _audits(logs: list[ClientLog], names: Names) -> dict[tuple[str, int], Audit]:
    audits = {}
    for log, ids in zip(logs, names.by_client, strict=True):
        for records in log.segments:
            for record in records[records["kind"] == AUDIT]:
                topic = names.texts[ids[record["name"]]]
                audits[topic, int(record["partition"])] = Bounds(
                    low=int(record["value"]), end=int(record["position"]), complete=bool(record["code"])
                )
    return audits


def _rows(path: Path) -> int:
    return int(pq.read_metadata(path).num_rows)
