"""Imports a history of Jepsen's Kafka workload as a run folder (docs/jepsen.md).

Memory: 24 bytes per operation, the messages of the largest key, and one block of text. Rows are spooled
to a file next to the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from chaoskit.base import parquet, store
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.history.compacting.dataset import PartitionsWriter, write_operations
from chaoskit.interop.jepsen.lines import TYPES, Block, Lines
from chaoskit.interop.jepsen.messages import KeyRows, place_of
from chaoskit.interop.jepsen.names import Interned
from chaoskit.interop.jepsen.nemesis import Faults
from chaoskit.interop.jepsen.pairing import EventPairing, Paired, operation_tables
from chaoskit.interop.jepsen.scan import ASSIGNED, POLLED, SENT
from chaoskit.interop.jepsen.side import SIDE_FILE, Side
from chaoskit.interop.jepsen.spool import ACKED, Spool
from chaoskit.model.place import Place
from chaoskit.model.tables import FAULTS, MESSAGES, OBSERVATIONS

_TYPE_FAIL = TYPES.index("fail")


def import_edn(path: Path, where: Path, name: str | None = None) -> Path:
    """Import a history into a store; return the run folder.

    Args:
        path: the EDN file.
        where: the store.
        name: name of the scenario; by default the name of the file.

    Raises:
        BadInput: the file is not such a history; the message names the line and the reason.
    """
    folder = store.new_run_folder(where, name or path.stem or "jepsen")
    try:
        _import(path, folder, name or path.stem or "jepsen")
    except BaseException:
        store.discard(folder)
        raise
    return folder


def _import(path: Path, folder: Path, name: str) -> None:
    names, pairing, faults, side = Interned(), EventPairing(str(path)), Faults(), Side()
    spool = Spool(folder / "wal" / "spool")
    try:
        for block in Lines(path, names).blocks():
            paired = pairing.add(block)
            _spool(block, paired, spool, side, names)
            for event in block.nemesis:
                faults.add(event)
        starts = pairing.starts()
        end_ns, outcome = pairing.ends()
        topics = _messages(spool, folder, names, starts["process"], end_ns=end_ns, side=side)
        _observations(spool, folder, topics)
    finally:
        spool.close()
    models = {topic: LOG.name for topic, _ in topics.values()}
    write_operations(folder / "operations.parquet", operation_tables(starts, end_ns, outcome), {}, models)
    parquet.write(pa.Table.from_pylist(faults.rows, FAULTS), folder / "faults.parquet")
    side.write(folder / SIDE_FILE)
    origin: dict[str, Any] = {"from": "jepsen", "file": str(path.absolute()), "operations": int(starts.size)}
    if faults.ignored:
        origin["nemesis_events_ignored"] = faults.ignored
    store.write_yaml(folder / store.SCENARIO, {"name": name, "imported": origin})


def _spool(block: Block, paired: Paired, spool: Spool, side: Side, names: Interned) -> None:
    """Spool the messages of a block."""
    for (rebalanced, text), inserted in zip(block.rebalances, paired.inserted, strict=True):
        side.rebalance(int(paired.op[rebalanced]), inserted, text)
    entry, kind = block.messages["entry"], block.messages["kind"]
    invokes = paired.invokes[entry]
    succeeded = ~invokes & (block.entries["type"][entry] != _TYPE_FAIL)
    assigned: dict[int, list[str]] = {}
    chosen = invokes & (kind == ASSIGNED)
    for op, key in zip(paired.op[entry[chosen]].tolist(), block.messages["key"][chosen].tolist(), strict=True):
        assigned.setdefault(op, []).append(names.text(key))
    for op, keys in assigned.items():
        side.operation(op, f"[{' '.join(keys)}]")
    for row, chosen in (
        (SENT, (kind == SENT) & invokes),
        (ACKED, (kind == SENT) & succeeded & (block.messages["position"] >= 0)),
        (POLLED, (kind == POLLED) & ~invokes),
        (ASSIGNED, (kind == ASSIGNED) & invokes),
    ):
        spool.add(row, paired.op[entry[chosen]], block.messages[chosen])


def _messages(
    spool: Spool, folder: Path, names: Interned, process: np.ndarray, *, end_ns: np.ndarray, side: Side
) -> dict[int, Place]:
    """Write the messages of every key; return its topic and partition."""
    known = spool.keys()
    keys = [key for key in known if np.any(spool.rows(key)["kind"] != ASSIGNED)]
    sequences = _sequences(spool, keys, process)
    places: dict[int, Place] = {}
    taken: set[Place] = set()
    for key in keys:
        topic, partition = place_of(names.text(key))
        while (topic, partition) in taken:  # for example 5 and "k5"
            topic += "'"
        taken.add((topic, partition))
        places[key] = topic, partition
    with PartitionsWriter(folder / "messages.parquet", MESSAGES) as writer:
        for key in sorted(keys, key=places.__getitem__):
            table, values = KeyRows(spool.rows(key), process, end_ns, sequences).table(places[key])
            writer.write(table.num_rows, [table])
            side.key(places[key], names.text(key))
            side.values(values, names)
    return places


def _observations(spool: Spool, folder: Path, places: Mapping[int, Place]) -> None:
    """Write which operations told a consumer to read each key."""
    with PartitionsWriter(folder / "observations.parquet", OBSERVATIONS) as writer:
        for key, (topic, partition) in sorted(places.items(), key=lambda entry: entry[1]):
            rows = spool.rows(key)
            op = np.unique(rows["op"][rows["kind"] == ASSIGNED])
            row = {"kind": "reading", "topic": topic, "partition": partition}
            table = pa.Table.from_pylist([{**row, "op": operation} for operation in op.tolist()], OBSERVATIONS)
            if table.num_rows:
                writer.write(table.num_rows, [table])


def _sequences(spool: Spool, keys: list[int], process: np.ndarray) -> np.ndarray:
    """Return for each operation how many messages its process sent in earlier operations."""
    count = np.zeros(process.size, np.int64)
    for key in keys:
        rows = spool.rows(key)
        sent = rows[rows["kind"] == SENT]
        np.maximum.at(count, sent["op"], sent["nth"] + 1)
    order = np.argsort(process, kind="stable")
    before = np.cumsum(count[order]) - count[order]
    first = np.ones(order.size, np.bool_)
    first[1:] = process[order[1:]] != process[order[:-1]]
    starts = np.flatnonzero(first)
    sequence = np.empty(process.size, np.int64)
    sequence[order] = before - np.repeat(before[starts], np.diff(np.append(starts, order.size)))
    return sequence
