"""Cost of recording a message, and of compacting a run. Prints one line of JSON.

    python -m benchmarks.wal [MESSAGES]

Half of the messages are sent by two producers and acknowledged, and each is received once by one of
two consumers in polls of 500, over 8 partitions.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.origin import write_origin
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.outcome import OK

PARTITIONS = 8
POLL = 500


def clock(messages: int) -> list[int]:
    """Return rising times at random distances, as a clock would give them, but free to read."""
    steps = np.random.default_rng(7).integers(1_000, 20_000, messages)
    times: list[int] = (time.monotonic_ns() + np.cumsum(steps)).tolist()
    return times


def produce(wal: Path, producer: int, messages: int) -> float:
    """Record sends and their completions; return ns for both."""
    times = clock(messages)
    with WalWriter(wal, f"producer-{producer}", producer) as log:
        topic = log.name("topic")
        begun = time.perf_counter_ns()
        for sequence, now in enumerate(times):
            value = producer << PRODUCER_SHIFT | sequence
            op = log.send(topic, sequence % PARTITIONS, 0, value, now, now)
            log.complete(op, now + 700_000, OK, 0, sequence // PARTITIONS)
        return (time.perf_counter_ns() - begun) / messages


def consume(wal: Path, consumer: int, messages: int) -> float:
    """Record polls; return ns for each message received."""
    times = clock(messages)
    with WalWriter(wal, f"consumer-{consumer}", 2 + consumer) as log:
        topic, poll = log.name("topic"), log.name("poll")
        begun = time.perf_counter_ns()
        op = 0
        for sequence, now in enumerate(times):
            if sequence % POLL == 0:
                op = log.invoke(poll, now)
            value = consumer << PRODUCER_SHIFT | sequence
            position = sequence // PARTITIONS
            log.received(op, topic, sequence % PARTITIONS, 0, value, position, now, now, now, 0)
        return (time.perf_counter_ns() - begun) / messages


def main() -> None:
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        run, wal = Path(folder), Path(folder) / "wal"
        wal.mkdir()
        write_origin(wal)
        send_ns = [produce(wal, index, messages // 4) for index in range(2)]
        received_ns = [consume(wal, index, messages // 4) for index in range(2)]
        begun = time.perf_counter()
        compacted = compact(run)
        took_s = time.perf_counter() - begun
        rows = compacted.operations + compacted.messages
        print(
            json.dumps(
                {
                    "benchmark": "wal",
                    "messages": compacted.messages,
                    "send_complete_ns": round(sum(send_ns) / 2),
                    "received_ns": round(sum(received_ns) / 2),
                    "compact_s": round(took_s, 2),
                    "compact_rows_per_s": round(rows / took_s),
                    "bytes_per_message": round(
                        sum(path.stat().st_size for path in run.rglob("*.parquet") if path.is_file())
                        / compacted.messages,
                        1,
                    ),
                }
            )
        )


if __name__ == "__main__":
    main()
