"""Starts, monitors, crashes and stops the clients of a run. Each client is a worker process.

Load never runs in the harness process, so it cannot delay a fault.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np

from chaoskit.base import latency
from chaoskit.base.errors import RunFailed
from chaoskit.base.journal import Journal
from chaoskit.base.secrets import environment_in
from chaoskit.contract.driver import Driver
from chaoskit.contract.host import ServiceHost
from chaoskit.contract.seat import Seating
from chaoskit.contract.workload import CONSUMER, PRODUCER, Result, Task
from chaoskit.history.format.segment import HistoryFull
from chaoskit.history.recording.recorder import Progress
from chaoskit.run.crew import Crew
from chaoskit.run.heal import PROCESS, WORKER_MODULE
from chaoskit.run.seats import Seats
from chaoskit.run.worker import ON_DRIVER

_READY_TIMEOUT_S = 30
_ANSWER_S = 0.2
_START_S = 1
"""What each client of many that are started together may add to that; a core starts two a second."""

_HEAD_START_NS = 100_000_000
"""Delay from when the last client is ready to the common start."""


@dataclass(slots=True, eq=False)
class Worker:
    """One worker process (an incarnation of a client) and what it reported.

    `ahead_ns` returns by how much its clock is ahead of this machine's; `remote`: it runs on a driver; `boots`: how
    often its seat had booted when it began.
    """

    task: Task
    process: subprocess.Popen[bytes]
    log: Path
    listener: threading.Thread = field(init=False)
    ready: threading.Event = field(default_factory=threading.Event)
    progress: Progress = field(default_factory=Progress)
    latencies: deque[latency.Sparse] = field(default_factory=deque)
    result: Result = field(default_factory=Result)
    ahead_ns: Callable[[], int] = lambda: 0
    remote: bool = False
    boots: int = 0

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
    """A client of the workload, across all its incarnations; see `chaoskit.contract.nemesis.ClientProcess`.

    Args:
        task: task of the first incarnation.
        start: starts the process of an incarnation.
        seat: the host on which it runs; None: this machine, or a driver.
    """

    def __init__(self, task: Task, start: Callable[[Task], Worker], seat: ServiceHost | None = None) -> None:
        self.name = task.client
        self.seat = seat
        self.workers = [start(task)]
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
            self.await_ready(time.monotonic() + _READY_TIMEOUT_S)
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
                raise RunFailed(f"client {worker.task.client} did not start: {why}\n{_last_words(worker.log)}")

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
        return self._stopped and self.worker.process.poll() == 0

    def pause(self) -> None:
        """Have it receive nothing, including future incarnations, until `resume`."""
        self._paused = True
        self.worker.tell("pause")

    def resume(self) -> None:
        """Have it go on."""
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
            f"client {worker.task.client}: {_last_words(worker.log)}" for worker in ended if worker not in self._crashed
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
                problem = f"client {worker.task.client} exited with status {status}: {_last_words(worker.log)}"
        worker.listener.join()
        worker.tell_no_more()
        return problem


class Fleet:
    """The clients of one run.

    Args:
        folder: the run folder; orders and write-ahead logs are stored in its `wal`.
        journal: journal for the processes.
        order: the order for all workers; see `chaoskit.run.worker`.
        crew: the drivers that run clients.
        seats: the hosts that run clients.
        held: a context in which the user does not interrupt this thread.
    """

    def __init__(
        self,
        folder: Path,
        journal: Journal,
        order: dict[str, Any],
        crew: Crew,
        seats: Seats,
        *,
        held: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._held = held
        self._seats = seats
        self._folder = folder
        self._journal = journal
        self._order = order
        self._crew = crew
        self._started = count()
        self.clients: list[Client] = []

    def launch(self, tasks: Sequence[Task]) -> list[Client]:
        """Start a process for each task and wait until all clients are connected.

        Raises:
            RunFailed: a client exited or hung; the message has the end of its log.
        """
        with self._held():
            launched = [self._client(task) for task in tasks]
            self.clients += launched
        deadline = time.monotonic() + _READY_TIMEOUT_S + _START_S * len(launched)
        for client in launched:
            client.await_ready(deadline)
        return launched

    def go(self, clients: Sequence[Client]) -> int:
        """Start the clients simultaneously; return the start time, CLOCK_MONOTONIC ns."""
        start_ns = time.monotonic_ns() + _HEAD_START_NS
        for client in clients:
            client.worker.start_at(start_ns)
        return start_ns

    def stop(self, clients: Sequence[Client]) -> None:
        """Ask clients to stop, without waiting."""
        for client in clients:
            client.stop()

    def join(self, clients: Sequence[Client], timeout_s: float) -> list[str]:
        """Wait for clients to exit; kill those that do not. Return what went wrong."""
        deadline = time.monotonic() + timeout_s
        return [problem for client in clients for problem in client.join(deadline)]

    def here(self, clients: Iterable[Client]) -> dict[str, int]:
        """Return the processes of clients that run on this machine, by name."""
        return {each.worker.task.client: each.worker.process.pid for each in clients if not each.worker.remote}

    def failures(self) -> list[str]:
        """Return the clients that exited unexpectedly with an error."""
        return [failure for client in self.clients for failure in client.failures()]

    def full(self) -> HistoryFull | None:
        """Return why clients could not record any more; None if all could."""
        workers = (worker for client in self.clients for worker in client.workers)
        ended = (worker for worker in workers if worker.process.poll() == HistoryFull.status)
        return next((HistoryFull(_last_words(worker.log)) for worker in ended), None)

    def latency(self) -> str:
        """Return the latency of all clients since the last call, encoded; empty if there is none."""
        workers = [worker for client in self.clients for worker in client.workers]
        parts = [worker.latencies.popleft() for worker in workers for _ in range(len(worker.latencies))]
        bucket, count = (np.array([each for part in parts for each in part[side]], np.int64) for side in (0, 1))
        return latency.encoded(latency.merged(bucket, count)) if bucket.size else ""

    def progress(self) -> Progress:
        """Return the sums over all clients and their incarnations."""
        total = Progress()
        for worker in (worker for client in self.clients for worker in client.workers):
            part = worker.progress
            total.sent += part.sent
            total.acked += part.acked
            total.failed += part.failed
            total.indeterminate += part.indeterminate
            total.received += part.received
        return total

    def _client(self, task: Task) -> Client:
        seat = self._seats.next() if task.role in (PRODUCER, CONSUMER) else None
        return Client(task, partial(self._start, seat=seat), seat)

    def _start(self, task: Task, seat: ServiceHost | None) -> Worker:
        order = {**self._order, "task": asdict(task), "process": next(self._started)}
        log = self._folder / "logs" / "clients" / f"{task.client}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        driver = self._crew.next_for(task.client) if task.role in (PRODUCER, CONSUMER) else None
        worker = (
            self._start_here(task, order, log, seat) if driver is None else self._start_on(driver, task, order, log)
        )
        worker.listener = threading.Thread(target=worker.listen, daemon=True)
        worker.listener.start()
        return worker

    def _start_here(self, task: Task, order: dict[str, Any], log: Path, seat: ServiceHost | None) -> Worker:
        order_path = self._folder / "wal" / f"{task.client}.order.json"
        order_path.write_text(json.dumps(order), encoding="utf-8")
        self._journal.record(PROCESS, mark=str(order_path))
        argv = [sys.executable, "-m", WORKER_MODULE, str(order_path)]
        with log.open("wb") as errors:
            if seat is not None:
                seating = seat.power(Seating)
                return Worker(task, seating.seat(argv, errors), log, boots=seating.boots)
            process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        return Worker(task, process, log)

    def _start_on(self, driver: Driver, task: Task, order: dict[str, Any], log: Path) -> Worker:
        order |= {"wal": driver.folder, "environment": environment_in(order["connection"])}
        process = driver.spawn(task.client, [WORKER_MODULE, ON_DRIVER], log)
        worker = Worker(task, process, log, ahead_ns=partial(self._crew.ahead_ns, driver), remote=True)
        worker.tell(json.dumps(order))
        return worker


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return "\n".join(lines[-5:]) or "its log is empty"


def _same_boot(seat: ServiceHost, boots: int) -> bool:
    """Return whether a host has run since a client began on it."""
    return seat.power(Seating).boots == boots and seat.reachable(_ANSWER_S)
