"""The worker processes of a run: started, started together, watched and stopped.

Load never runs in the harness process, so that it cannot delay a fault.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from chaoskit.errors import RunFailed
from chaoskit.heal import PROCESS, WORKER_MODULE
from chaoskit.journal import Journal
from chaoskit.workload import Progress, Task

_READY_TIMEOUT_S = 30
_HEAD_START_NS = 100_000_000
"""All clients start together, this long after the last was ready."""


@dataclass(slots=True)
class Worker:
    """One worker process and what it has said."""

    task: Task
    process: subprocess.Popen[bytes]
    log: Path
    listener: threading.Thread = field(init=False)
    ready: threading.Event = field(default_factory=threading.Event)
    progress: Progress = field(default_factory=Progress)
    result: dict[str, Any] = field(default_factory=dict)

    def listen(self) -> None:
        """Take in what the worker says, until it ends."""
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                message = json.loads(line)
                if "ready" in message:
                    self.ready.set()
                if "progress" in message:
                    self.progress = Progress(**message["progress"])
                self.result |= message.get("result", {})

    def tell(self, order: str) -> None:
        """Send an order; a worker that has ended takes none."""
        stdin: IO[bytes] | None = self.process.stdin
        assert stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # it ended, or was told no more
            stdin.write(order.encode() + b"\n")
            stdin.flush()

    def tell_no_more(self) -> None:
        """Close the link; a client that still runs takes it as the end."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()


class Fleet:
    """The clients of one run.

    Args:
        folder: the run folder; orders and write-ahead logs go to its `wal`.
        journal: processes are written down in it.
        order: what all workers are told; see `chaoskit.worker`.
    """

    def __init__(self, folder: Path, journal: Journal, order: dict[str, Any]) -> None:
        self._folder = folder
        self._journal = journal
        self._order = order
        self.workers: list[Worker] = []

    def launch(self, tasks: Sequence[Task]) -> list[Worker]:
        """Start a process for each task and return when all clients are connected.

        Raises:
            RunFailed: one ended or hung; the message has its last words.
        """
        launched = [self._start(task) for task in tasks]
        deadline = time.monotonic() + _READY_TIMEOUT_S
        for worker in launched:
            while not worker.ready.wait(0.02):
                if worker.process.poll() is not None or time.monotonic() > deadline:
                    raise RunFailed(f"client {worker.task.client} did not start:\n{_last_words(worker.log)}")
        return launched

    def go(self, workers: Sequence[Worker]) -> int:
        """Start the clients together; return the start, CLOCK_MONOTONIC ns."""
        start_ns = time.monotonic_ns() + _HEAD_START_NS
        for worker in workers:
            worker.tell(f"start {start_ns}")
        return start_ns

    def stop(self, workers: Sequence[Worker]) -> None:
        """Tell clients to end, without waiting."""
        for worker in workers:
            worker.tell("stop")

    def join(self, workers: Sequence[Worker], timeout_s: float) -> list[str]:
        """Wait for clients to end; end those that do not. Return what went wrong."""
        deadline = time.monotonic() + timeout_s
        problems = []
        for worker in workers:
            try:
                status = worker.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
                status = 0  # told here
                problems.append(f"client {worker.task.client} did not end within {timeout_s:g} s and was killed")
            worker.listener.join()
            worker.tell_no_more()
            if status != 0:
                problems.append(f"client {worker.task.client} ended with status {status}: {_last_words(worker.log)}")
        return problems

    def failures(self) -> list[str]:
        """Return the clients that ended by themselves with an error."""
        dead = [worker for worker in self.workers if worker.process.poll() not in (None, 0)]
        return [f"client {worker.task.client}: {_last_words(worker.log)}" for worker in dead]

    def progress(self) -> Progress:
        """Return the sums over all clients."""
        total = Progress()
        for worker in self.workers:
            part = worker.progress
            total.sent += part.sent
            total.acked += part.acked
            total.failed += part.failed
            total.indeterminate += part.indeterminate
            total.received += part.received
        return total

    def _start(self, task: Task) -> Worker:
        index = len(self.workers)
        order_path = self._folder / "wal" / f"{task.client}.order.json"
        order = {**self._order, "task": {"role": task.role, "index": task.index}, "process": index}
        order_path.write_text(json.dumps(order), encoding="utf-8")
        log = self._folder / "logs" / "clients" / f"{task.client}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        self._journal.record(PROCESS, mark=str(order_path))
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", WORKER_MODULE, str(order_path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        worker = Worker(task, process, log)
        self.workers.append(worker)
        worker.listener = threading.Thread(target=worker.listen, daemon=True)
        worker.listener.start()
        return worker


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return "\n".join(lines[-5:]) or "it said nothing"
