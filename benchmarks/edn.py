"""How fast a Jepsen history is imported and judged.

    python -m benchmarks.edn [OPERATIONS] [--keys N] [--file FILE]

Makes an EDN file of so many operations (twice as many lines) and prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from chaoskit.interop.jepsen.importing import import_edn
from chaoskit.judge.verdict.check import check_run


def main() -> None:
    """Make, import, judge, print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("operations", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--keys", type=int, default=20)
    parser.add_argument("--processes", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.edn"
        write_history(path, options.operations, options.keys, options.processes)
        started_s, started_cpu_s = time.perf_counter(), time.process_time()
        run = import_edn(path, Path(folder) / "store")
        imported_s, imported_cpu_s = time.perf_counter() - started_s, time.process_time() - started_cpu_s
        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        started_s = time.perf_counter()
        verdict = check_run(run)
        figures = {
            **vars(options),
            "file_bytes": path.stat().st_size,
            "import_s": round(imported_s, 2),
            "import_cpu_s": round(imported_cpu_s, 2),
            "import_peak_bytes": peak_bytes,
            "check_s": round(time.perf_counter() - started_s, 2),
            "check_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "verdict": verdict.verdict,
            "anomalies": {name: anomaly.count for name, anomaly in verdict.anomalies.items()},
        }
    print(json.dumps(figures))


def write_history(path: Path, operations: int, keys: int, processes: int) -> None:
    """Write a correct history: half sends, half polls that each receive what was sent since."""
    logs: list[list[int]] = [[] for _ in range(keys)]
    read = [[0] * keys for _ in range(processes)]
    index = 0

    def line(kind: str, process: int, f: str, value: str) -> str:
        nonlocal index
        index += 1
        head = f":index {index - 1}, :time {index * 1000}, :type :{kind}, :process {process}"
        return f"{{{head}, :f :{f}, :value {value}}}\n"

    with path.open("w") as file:
        for number in range(operations):
            process = number % processes
            key = (number // 2 * 7) % keys
            if number % 2 == 0:
                file.write(line("invoke", process, "send", f"[[:send {key} {number}]]"))
                logs[key].append(number)
                file.write(line("ok", process, "send", f"[[:send {key} [{len(logs[key]) - 1} {number}]]]"))
            else:
                file.write(line("invoke", process, "poll", "[[:poll]]"))
                begin, end = read[process][key], len(logs[key])
                pairs = " ".join(f"[{at} {logs[key][at]}]" for at in range(begin, end))
                read[process][key] = end
                file.write(line("ok", process, "poll", f"[[:poll {{{key} [{pairs}]}}]]"))


if __name__ == "__main__":
    main()
