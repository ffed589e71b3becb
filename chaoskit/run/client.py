"""A client of a run: a worker process, and its following incarnations, as the harness sees them."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from chaoskit.base import latency
from chaoskit.base.errors import RunFailed
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.hosts.seat import Seating
from chaoskit.contract.workloads.workload import ClientReport, Task
from chaoskit.model.progress import Progress

_ANSWER_S = 0.2
READY_TIMEOUT_S = 30
"""A client must be connected within this time, seconds."""


@dataclass(slots=True, eq=False)
class Worker:
    """One worker process (an incarnation of a client) and what it reported.

    `ahead_ns` returns by how much its clock is ahead of this machine's; `remote`: it runs on a driver; `boots`: how
    often its seat had booted when it began; `hung`: it stands still, as it said.
    """

    task: Task
    process: subprocess.Popen[bytes]
    log: Path
    listener: threading.Thread = field(init=False)
    ready: threading.Event = field(default_factory=threading.Event)
    progress: Progress = field(default_factory=Progress)
    latencies: deque[latency.Sparse] = field(default_factory=deque)
    result: ClientReport = field(default_factory=ClientReport)
    ahead_ns: Callable[[], int] = lambda: 0
    remote: bool = False
    boots: int = 0
    hung: bool = False

    def listen(self) -> None:
        """Process the worker's messages until it exits."""
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                message = json.loads(line)
                if "ready" in message:
                    self.ready.set()
                if "progress" in message:
                    self.progress = Progress(**message["progress"])
                    self.latencies.append(self.progress.latency)
                self.hung = message.get("hung", self.hung)
                self.result |= message.get("result", {})

    def start_at(self, start_ns: int) -> None:
        """Have it begin then, CLOCK_MONOTONIC of this machine."""
        self.tell(f"start {start_ns + self.ahead_ns()}")

    def tell(self, order: str) -> None:
        """Send an order; does nothing if the worker has exited."""
        stdin: IO[bytes] | None = self.process.stdin
        assert stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # it exited, or its link is closed
            stdin.write(order.encode() + b"\n")
            stdin.flush()

    def tell_no_more(self) -> None:
        """Close the link; a client that is still running then stops."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()


class Client:
    """A client of the workload, across all its incarnations; see `chaoskit.contract.faults.nemesis.ClientProcess`.

    Args:
        task: task of the first incarnation.
        start: starts the process of an incarnation.
        seat: the host on which it runs; None: this machine, or a driver.
    """

    def __init__(self, task: Task, start: Callable[[Task], Worker], seat: ServiceHost | None = None) -> None:
        self.name: str = task.client
        self.seat = seat
        self.workers: list[Worker] = [start(task)]
        self._start = start
        self._crashed: list[Worker] = []
        self._fallen: list[Worker] = []
        self._paused = False
        self._stopped = False

    @property
    def worker(self) -> Worker:
        """The current, or else the last, incarnation."""
        return self.workers[-1]

    @property
    def pid(self) -> int:
        return self.worker.process.pid

    def running(self) -> bool:
        return self.worker.process.poll() is None

    @property
    def former(self) -> list[int]:
        """Process ids of earlier incarnations that are still running."""
        return [worker.process.pid for worker in self.workers[:-1] if worker.process.poll() is None]

    def crash(self) -> None:
        self._kill(self.worker)

    def leave(self) -> None:
        self.worker.tell("stop")

    def left(self) -> bool:
        return self.worker.process.poll() == 0

    def restart(self) -> None:
        if not self.running():
            self.start_next()

    def end_former(self) -> None:
        for worker in self.workers[:-1]:
            self._kill(worker)

    def start_next(self) -> None:
        incarnation = 1 + max(worker.task.incarnation for worker in self.workers)
        following = self._start(replace(self.worker.task, incarnation=incarnation))
        self.workers.append(following)
        try:
            self.await_ready(time.monotonic() + READY_TIMEOUT_S)
        except RunFailed:
            following.process.kill()
            self._crashed.append(following)
            self.workers.insert(0, self.workers.pop())  # the previous incarnation remains the current one
            raise
        following.start_at(time.monotonic_ns())
        if self._paused:
            following.tell("pause")
        if self._stopped:
            following.tell("stop")

    def _kill(self, worker: Worker) -> None:
        if worker.process.poll() is None:
            self._crashed.append(worker)
            worker.process.kill()
            worker.process.wait()

    def await_ready(self, deadline: float) -> None:
        """Wait until the client is connected.

        Raises:
            RunFailed: it exited or hung; the message has the end of its log.
        """
        worker = self.worker
        while not worker.ready.wait(0.02):
            code = worker.process.poll()
            if code is not None or time.monotonic() > deadline:
                why = "it was not ready in time" if code is None else f"it exited with code {code}"
                raise RunFailed(f"client {worker.task.client} did not start: {why}\n{last_words(worker.log)}")

    def died_with_host(self) -> bool:
        """Return whether its current incarnation ended because its host lost power; then that is no failure."""
        worker = self.worker
        if self.seat is None or self._stopped or worker.process.poll() != -signal.SIGKILL:
            return False
        if worker in self._crashed or _same_boot(self.seat, worker.boots):
            return worker in self._fallen
        self._crashed.append(worker)
        self._fallen.append(worker)
        return True

    def lost(self) -> bool:
        """Whether it does not run, or reported that it never works again."""
        return not self.running() or "failed" in self.worker.result

    def ended(self) -> bool:
        return self._stopped and self.left()

    def hang(self) -> None:
        self.worker.tell("hang")

    def go_on(self) -> None:
        self.worker.tell("on")

    def hung(self) -> bool:
        return self.worker.hung

    def pause(self) -> None:
        """Have it receive nothing, including future incarnations, until `resume`."""
        self._paused = True
        self.worker.tell("pause")

    def resume(self) -> None:
        """Have it receive again."""
        self._paused = False
        self.worker.tell("resume")

    def stop(self) -> None:
        """Stop it, including future incarnations."""
        self._stopped = True
        for worker in self.workers:
            worker.tell("stop")

    def failures(self) -> list[str]:
        """Return the incarnations that exited unexpectedly with an error, with the end of their logs."""
        self.died_with_host()
        ended = [worker for worker in self.workers if worker.process.poll() not in (None, 0)]
        return [
            f"client {worker.task.client}: {last_words(worker.log)}" for worker in ended if worker not in self._crashed
        ]

    def join(self, deadline: float) -> list[str]:
        """Wait for it to exit, and kill it at the deadline; return what went wrong."""
        problems = [problem for worker in self.workers if (problem := self._join(worker, deadline)) is not None]
        if reason := self.worker.result.get("failed"):
            problems.append(f"client {self.worker.task.client} failed permanently: {reason}")
        return problems

    def _join(self, worker: Worker, deadline: float) -> str | None:
        problem = None
        try:
            status = worker.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
            problem = f"client {worker.task.client} did not exit in time and was killed"
        else:
            if status != 0 and worker not in self._crashed:
                problem = f"client {worker.task.client} exited with status {status}: {last_words(worker.log)}"
        worker.listener.join()
        worker.tell_no_more()
        return problem


def last_words(log: Path) -> str:
    """Return the end of a log."""
    lines = log.read_text(errors="replace").strip().splitlines()
    return "\n".join(lines[-5:]) or "its log is empty"


def _same_boot(seat: ServiceHost, boots: int) -> bool:
    """Return whether a host has run since a client began on it."""
    return seat.power(Seating).boots == boots and seat.reachable(_ANSWER_S)
