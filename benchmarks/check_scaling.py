"""How the time of checking grows with the history, on one core, in process.

    python -m benchmarks.check_scaling [1M 10M 100M] [--partitions 1 16] [--store DIR]

Writes a correct history of each size (`chaoskit synthesize`), reads it back partition by partition, and
checks it three times. Prints one JSON line for each size and layout, then the ratios from size to size.
Times are of this process (CPU, user and system): the median of the three, and the first, in which the kernel
(in a virtual machine: also its host) hands out the memory for the first time. Memory is the growth of the
peak over that of the tables alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from chaoskit.base.memory import keep_freed_memory
from chaoskit.contract.checkers.checker import Part, PartitionSetting
from chaoskit.history.reading.reader import History
from chaoskit.judge.findings.checking import check_partition, controlling, relevant, settings
from chaoskit.model.tables import OBSERVATIONS
from checkers.log.logs import LogChecker

BOUND_NS = 60 * 10**9
_TIMES = 3


def main() -> None:
    """Write, check, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", default=["1M", "10M", "100M"])
    parser.add_argument("--partitions", type=int, nargs="*", default=[1, 16])
    parser.add_argument("--store", type=Path, help="where the histories are written (and removed)")
    options = parser.parse_args()
    for partitions in options.partitions:
        before = None
        for size in options.sizes:
            with tempfile.TemporaryDirectory(dir=options.store) as store:
                figures = _measured(Path(store), size, partitions)
            print(json.dumps(figures), flush=True)
            if before:
                ratio = figures["log_check_s"] / before["log_check_s"]
                grown = figures["messages"] / before["messages"]
                print(json.dumps({"messages_x": round(grown, 2), "log_check_time_x": round(ratio, 2)}), flush=True)
            before = figures


def _measured(store: Path, size: str, partitions: int) -> dict[str, float]:
    program = Path(sys.executable).with_name("chaoskit")
    load = ["--messages", size, "--partitions", str(partitions), "--rate", "200000"]
    done = subprocess.run([program, "synthesize", "--store", store, *load], capture_output=True, text=True, check=True)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_check, (done.stdout.strip(), partitions))


def _check(folder: str, partitions: int) -> dict[str, float]:
    keep_freed_memory()
    history = History.open(Path(folder))
    operations = history.operations
    control = controlling(operations)
    log, first, everything, read_s, extra = 0.0, 0.0, 0.0, 0.0, 0.0
    count = sum(partition.rows for partition in history.partitions)
    for setting in settings(history, BOUND_NS):
        began = time.process_time()
        messages = history.messages(setting.topic, setting.partition)
        needed = relevant([messages], operations, control)
        read_s += time.process_time() - began
        Path("/proc/self/clear_refs").write_text("5")
        resident = _bytes("VmRSS")
        took_s = [_check_s(_part(setting, messages, needed)) for _ in range(_TIMES)]
        extra = max(extra, (_bytes("VmHWM") - resident) / messages.num_rows)
        log, first = log + statistics.median(took_s), first + took_s[0]
        if partitions > 1:
            began = time.process_time()
            check_partition(_part(setting, messages, needed))
            everything += time.process_time() - began
    return {
        "messages": count,
        "partitions": partitions,
        "read_s": round(read_s, 2),
        "log_check_s": round(log, 3),
        "first_log_check_s": round(first, 3),
        "messages_per_cpu_s": round(count / log),
        "extra_bytes_per_message": round(extra, 1),
        **({"all_checks_s": round(everything, 2)} if partitions > 1 else {}),
        "peak_gib": round(_peak_gib(), 2),
    }


def _part(setting: PartitionSetting, messages: pa.Table, operations: pa.Table) -> Part:
    return Part(setting, messages, operations, OBSERVATIONS.empty_table())


def _check_s(part: Part) -> float:
    began = time.process_time()
    findings = LogChecker().check(part).num_rows
    took_s = time.process_time() - began
    assert findings == 0, f"{findings} findings in a correct history"
    return took_s


def _bytes(field: str) -> int:
    match = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert match
    return int(match[1]) * 1024


def _peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
