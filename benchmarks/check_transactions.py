"""A million transactions with one planted cycle of three: how long it takes to find and explain it.

    python -m benchmarks.check_transactions [TRANSACTIONS]

Prints the cycles that were found, and one JSON line.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from chaoskit.history.reading.reader import History
from chaoskit.judge.findings.checking import find
from checkers.transaction.cycles import CYCLES

BOUND_NS = 60 * 10**9


def main() -> None:
    """Write, check, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("transactions", nargs="?", default="1M")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as store:
        program = Path(sys.executable).with_name("chaoskit")
        load = ["--mode", "transactions", "--transactions", options.transactions, "--inject", "cycle=1"]
        done = subprocess.run(
            [program, "synthesize", "--store", store, *load], capture_output=True, text=True, check=True
        )
        history = History.open(Path(done.stdout.strip()))
        began = time.process_time()
        findings = find(history, BOUND_NS).to_pylist()
        took_s = time.process_time() - began
        messages = sum(partition.rows for partition in history.partitions)
    for row in findings:
        if row["anomaly"] in CYCLES:
            print(f"{row['anomaly']}: {row['detail']}")
    figures = {
        "transactions": options.transactions,
        "messages": messages,
        "check_s": round(took_s, 1),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
