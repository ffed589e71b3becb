"""How fast the checker of queues is on a correct history, and how much memory it takes.

    python -m benchmarks.check_queue [SENDS] [--producers N] [--consumers N] [--batch N] [--returned N] [--settings]
        [--rounds N]

Prints one JSON line. Every message is sent, delivered and acknowledged; one in `--returned` is returned once and
delivered again. With `--settings`, the queue is declared with a time to live, a maximum length, priorities and a
prefetch, so that these are judged, too. The same queue is checked in rounds; the first one is given apart, since it
also pays for memory that the process touches for the first time. Memory is the growth of the process's peak resident
size over that of the tables alone (Linux).
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import pyarrow as pa

from benchmarks.rounds import measured
from chaoskit.contract.checkers.checker import Part, PartitionSetting
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.model.audit import Drained
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.observations.row import KINDS
from chaoskit.model.tables import MESSAGES, OBSERVATIONS, OPERATIONS
from chaoskit.testing.synthetic.rows import words
from checkers.queue.queues import QueueChecker

SETTINGS = {"message-ttl": 3_600_000, "max-length": 10**9, "priorities": 2, "prefetch": 10_000}
_STEP_NS = 1000


def main() -> None:
    """Build a history, check it, print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sends", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--producers", type=int, default=4)
    parser.add_argument("--consumers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=500, help="messages a receive")
    parser.add_argument("--returned", type=int, default=100, help="one in so many messages; 0: none")
    parser.add_argument("--settings", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = vars(parser.parse_args())
    rounds = options.pop("rounds")
    messages, operations, observations = history(**options)
    deliveries = messages.num_rows - options["sends"]
    setting = PartitionSetting("q", 0, QUEUE, Drained(complete=True))
    rates, row_bytes = measured(
        QueueChecker().check, lambda: Part(setting, messages, operations, observations), deliveries, rounds
    )
    figures = {
        **options,
        "deliveries": deliveries,
        "deliveries_per_cpu_s": rates,
        "bytes_per_delivery": row_bytes,
    }
    print(json.dumps(figures))


def history(
    *, sends: int, producers: int, consumers: int, batch: int, returned: int, settings: bool
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Build a correct history: after each batch of sends a consumer, in turn, receives and settles it.

    It returns some of these messages, and gets them again with the batch after its next one.
    """
    index = np.arange(sends)
    round_, cycle = index // batch, batch + 3  # the sends, then `receive`, `ack` and `nack`
    send_op = round_ * cycle + index % batch
    again = index[returned - 1 :: returned] if returned else index[:0]
    again_round = round_[again] + consumers
    rounds = int(max(round_[-1], again_round.max(initial=0))) + 1
    value = ((index % producers) << PRODUCER_SHIFT) | (index // producers)
    took = np.concatenate([round_, again_round])
    op = np.concatenate([send_op, took * cycle + batch])
    row = np.concatenate([index, index, again])
    order = np.argsort(op, kind="stable")
    delivered, first = np.arange(op.size) >= sends, np.arange(op.size) < 2 * sends
    columns = {
        "op": op[order],
        "direction": words(delivered[order], ["sent", "received"]),
        "topic": words(np.zeros(op.size), ["q"]),
        "partition": np.zeros(op.size, np.int32),
        "key": pa.nulls(op.size, MESSAGES.field("key").type),
        "value": value[row][order],
        "position": pa.nulls(op.size, pa.int64()),
        "intended_ns": op[order] * _STEP_NS,
        "sent_ns": op[order] * _STEP_NS,
        "received_ns": pa.array(op[order] * _STEP_NS + 900, mask=~delivered[order]),
        "delivery": pa.array((~first).astype(np.int32)[order], mask=~delivered[order]),
        "payload": words(np.zeros(op.size), ["ok"]),
    }
    messages = pa.table([pa.array(columns[name]) for name in MESSAGES.names], MESSAGES)
    nacks = np.isin(np.concatenate([index, again]), again) & first[sends:]
    settle_op = took * cycle + batch + 1 + nacks
    observations = _observations(settle_op, nacks, value[row[sends:]], settings)
    return messages, _operations(rounds, batch, producers, consumers), observations


def _operations(rounds: int, batch: int, producers: int, consumers: int) -> pa.Table:
    """Build the operations of all rounds; the last operation is the final read, which finds nothing."""
    cycle = batch + 3
    number = np.arange(rounds * cycle + 1)
    place = number % cycle
    process = np.where(place < batch, number % producers, producers + number // cycle % consumers)
    f = np.where(place < batch, 0, 1 + place - batch)
    process[-1], f[-1] = producers + consumers, 4
    client = np.where(f == 0, 0, np.where(f == 4, 2, 1))
    start_ns = number * _STEP_NS
    columns = {
        "op": number,
        "process": process.astype(np.int32),
        "client": words(client, ["producer", "consumer", "auditor"]),
        "f": words(f, ["send", "receive", "ack", "nack", "audit"]),
        "start_ns": start_ns,
        "end_ns": start_ns + 900,
        "outcome": words(np.zeros(number.size), ["ok"]),
        "error": pa.nulls(number.size, OPERATIONS.field("error").type),
        "txn": pa.nulls(number.size, pa.int64()),
    }
    return pa.table([pa.array(columns[name]) for name in OPERATIONS.names], OPERATIONS)


def _observations(op: np.ndarray, nacks: np.ndarray, value: np.ndarray, settings: bool) -> pa.Table:
    """Build what consumers told, and the settings."""
    order = np.argsort(op, kind="stable")
    declared = SETTINGS if settings else {}
    count = op.size + len(declared)
    kinds = np.where(nacks, KINDS.index("nacked"), KINDS.index("acked"))[order]
    columns = {
        "op": np.concatenate([np.zeros(len(declared), np.int64), op[order]]),
        "kind": words(np.concatenate([np.full(len(declared), KINDS.index("declared")), kinds]), list(KINDS)),
        "topic": words(np.zeros(count), ["q"]),
        "partition": np.zeros(count, np.int32),
        "name": pa.array([*declared, *[None] * op.size], pa.string()).dictionary_encode(),
        "value": np.concatenate([np.zeros(len(declared), np.int64), value[order]]),
        "position": pa.array([*declared.values(), *[None] * op.size], pa.int64()),
    }
    return pa.table([pa.array(columns[name]) for name in OBSERVATIONS.names], OBSERVATIONS)


if __name__ == "__main__":
    main()
