"""How fast the log checker is on a correct history, and how much memory it takes.

    python -m benchmarks.check_log [SENDS] [--producers N] [--partitions N] [--keys N] [--batch N] [--rounds N]

Prints one JSON line. A message is a row: every send is received once. The same partition is checked in
rounds; the first one is given apart, since it also pays for memory that the process, and on a fresh
virtual machine the machine, touches for the first time. Memory is the growth of the process's peak
resident size over that of the tables alone (Linux).
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import pyarrow as pa

from benchmarks.rounds import measured
from chaoskit.contract.checkers.checker import Part, PartitionSetting
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.model.audit import Bounds
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.tables import MESSAGES, OBSERVATIONS, OPERATIONS
from chaoskit.testing.synthetic.rows import words
from checkers.log.logs import LogChecker


def main() -> None:
    """Build a history, check it, print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sends", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--producers", type=int, default=4)
    parser.add_argument("--partitions", type=int, default=1, help="each producer spreads over so many")
    parser.add_argument("--keys", type=int, default=0)
    parser.add_argument("--batch", type=int, default=500, help="messages a poll")
    parser.add_argument("--rounds", type=int, default=5)
    options = vars(parser.parse_args())
    rounds = options.pop("rounds")
    messages, operations = history(**options)
    setting = PartitionSetting("t", 0, LOG, Bounds(low=0, end=options["sends"], complete=True))
    rates, row_bytes = measured(
        LogChecker().check,
        lambda: Part(setting, messages, operations, OBSERVATIONS.empty_table()),
        messages.num_rows,
        rounds,
    )
    figures = {
        **options,
        "messages": messages.num_rows,
        "messages_per_cpu_s": rates,
        "bytes_per_message": row_bytes,
    }
    print(json.dumps(figures))


def history(sends: int, producers: int, partitions: int, keys: int, batch: int) -> tuple[pa.Table, pa.Table]:
    """Build a correct history: producers take turns, and after each batch it is polled."""
    index = np.arange(sends)
    cycle = batch + 1  # a batch of sends, then the poll that receives it
    send_op = index + index // batch
    poll_op = (index // batch + 1) * cycle - 1
    poll_op = np.minimum(poll_op, send_op[-1] + 1)
    value = ((index % producers) << PRODUCER_SHIFT) | (index // producers * partitions)
    op = np.concatenate([send_op, poll_op])
    order = np.argsort(op, kind="stable")
    columns = {
        "op": op[order],
        "direction": words(np.repeat([0, 1], sends)[order], ["sent", "received"]),
        "topic": words(np.zeros(2 * sends), ["t"]),
        "partition": np.zeros(2 * sends, np.int32),
        "key": _keys(np.tile(index, 2)[order], keys),
        "value": np.tile(value, 2)[order],
        "position": np.tile(index, 2)[order],
        "intended_ns": op[order] * 1000,
        "sent_ns": op[order] * 1000,
        "received_ns": pa.array(op[order] * 1000 + 900, mask=order < sends),
        "delivery": pa.nulls(2 * sends, pa.int32()),
        "payload": words(np.zeros(2 * sends), ["ok"]),
    }
    messages = pa.table([pa.array(columns[name]) for name in MESSAGES.names], MESSAGES)
    return messages, _operations(int(op.max()) + 1, send_op, value >> PRODUCER_SHIFT)


def _operations(count: int, send_op: np.ndarray, producer: np.ndarray) -> pa.Table:
    """Build the operations: one auditor that polls, process 0, and one process for each producer."""
    process = np.zeros(count, np.int32)
    process[send_op] = producer + 1
    start_ns = np.arange(count) * 1000
    columns = {
        "op": np.arange(count),
        "process": process,
        "client": words(process > 0, ["auditor", "producer"]),
        "f": words(process > 0, ["poll", "send"]),
        "start_ns": start_ns,
        "end_ns": start_ns + 900,
        "outcome": words(np.zeros(count), ["ok"]),
        "error": pa.nulls(count, OPERATIONS.field("error").type),
        "txn": pa.nulls(count, pa.int64()),
    }
    return pa.table([pa.array(columns[name]) for name in OPERATIONS.names], OPERATIONS)


def _keys(index: np.ndarray, keys: int) -> pa.Array:
    if not keys:
        return pa.nulls(index.size, MESSAGES.field("key").type)
    return words(index % keys, [f"k{number}" for number in range(keys)])


if __name__ == "__main__":
    main()
