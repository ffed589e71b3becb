"""Starts, monitors, crashes and stops the clients of a run. Each client is a worker process.

Load never runs in the harness process, so it cannot delay a fault.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from chaoskit.base import latency
from chaoskit.base.journal import Journal
from chaoskit.base.secrets import environment_in
from chaoskit.contract.clients.driver import LoadHost
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.hosts.seat import Seating
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Task
from chaoskit.history.format.segment import HistoryFull
from chaoskit.model.progress import Progress
from chaoskit.run.client import READY_TIMEOUT_S, Client, Worker, last_words
from chaoskit.run.crew import Crew
from chaoskit.run.heal import PROCESS, WORKER_MODULE
from chaoskit.run.seats import Seats
from chaoskit.run.worker import ON_DRIVER

_START_S = 1
"""What each client of many that are started together may add to that; a core starts two a second."""

_HEAD_START_NS = 100_000_000
"""Delay from when the last client is ready to the common start."""

STOP_TIMEOUT_S = 60
"""How long clients may take to end once they are asked to."""


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

    def number(self) -> int:
        """Return the next process number of the history."""
        return next(self._started)

    def launch(self, tasks: Sequence[Task]) -> list[Client]:
        """Start a process for each task and wait until all clients are connected.

        Raises:
            RunFailed: a client exited or hung; the message has the end of its log.
        """
        with self._held():
            launched = [self._client(task) for task in tasks]
            self.clients += launched
        deadline = time.monotonic() + READY_TIMEOUT_S + _START_S * len(launched)
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
        """Return the processes of clients on this machine, by name."""
        return {client.worker.task.client: client.worker.process.pid for client in clients if not client.worker.remote}

    def failures(self) -> list[str]:
        """Return the clients that exited unexpectedly with an error."""
        return [failure for client in self.clients for failure in client.failures()]

    def full(self) -> HistoryFull | None:
        """Return why clients could not record any more; None if all could."""
        workers = (worker for client in self.clients for worker in client.workers)
        full = (worker for worker in workers if worker.process.poll() == HistoryFull.status)
        return next((HistoryFull(last_words(worker.log)) for worker in full), None)

    def latency(self) -> str:
        """Return the latency of all clients since the last call, encoded; empty if there is none."""
        workers = [worker for client in self.clients for worker in client.workers]
        parts = [worker.latencies.popleft() for worker in workers for _ in range(len(worker.latencies))]
        bucket, count = (np.array([value for part in parts for value in part[side]], np.int64) for side in (0, 1))
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

    def _start_on(self, driver: LoadHost, task: Task, order: dict[str, Any], log: Path) -> Worker:
        order |= {"wal": driver.folder, "environment": environment_in(order["connection"])}
        process = driver.spawn(task.client, [WORKER_MODULE, ON_DRIVER], log)
        worker = Worker(task, process, log, ahead_ns=partial(self._crew.ahead_ns, driver), remote=True)
        worker.tell(json.dumps(order))
        return worker
