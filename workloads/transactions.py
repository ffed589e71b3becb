"""The transactions workload: the log workload, its producers writing in transactions over all partitions in turn.

Every producer registers under a lasting name, so that an incarnation fences the one before. Every registration,
begin and end is recorded, and of each send to which transaction it belongs (docs/history.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field

from chaoskit.contract.client import (
    FAIL,
    INFO,
    OK,
    Completed,
    ProducerFenced,
    TransactionalClients,
    TransactionalProducer,
)
from chaoskit.contract.workload import PRODUCER, Job
from workloads.log import LogOptions, LogWorkload
from workloads.producing import CLOSE_TIMEOUT_S, WARM_UP_TIMEOUT_S, Schedule, Sender, producer_settings
from workloads.reporting import Reports

_REGISTER_TIMEOUT_S = 5
_SENDS_TIMEOUT_S = 2
_AGE_MAX_NS = 10_000_000_000
"""When a transaction is ended before it has all its messages: systems abort what stays open for long."""

_IDLE_S = 0.05


class TransactionsOptions(LogOptions):
    """What a scenario may say of this workload, besides what it may say of `log`.

    Attributes:
        messages: sends of one transaction.
        abort_every: each producer aborts so many-th of its transactions on purpose; 0: none.
    """

    rate: Annotated[int, Field(ge=1)] | Literal["max"] = 200
    messages: int = Field(default=50, ge=1)
    abort_every: int = Field(default=10, ge=0)


class TransactionsWorkload(LogWorkload):
    """Entry point `transactions` of `chaoskit.workloads`."""

    options = TransactionsOptions
    needs = (TransactionalClients,)

    def run(self, job: Job) -> None:
        if job.task.role == PRODUCER:
            _Transactor(job).run()
        else:
            super().run(job)


class _Transactor:
    """One producer: transaction after transaction, until it is told to stop.

    When it is fenced it stops sending, as an application must, and waits for the end of the load.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._options: TransactionsOptions = job.options
        self._sender = Sender(job, self._connect)
        self._producer = self._sender.producer
        self._registered = False
        self._begun = 0
        self._reports = Reports(job.control)

    def run(self) -> None:
        control = self._job.control
        working = self._went_well(self._warm_up)
        start_ns = control.wait_start()
        if working:
            self._went_well(lambda: self._load(start_ns))
        while not control.stopping:
            time.sleep(_IDLE_S)
        self._producer.close(CLOSE_TIMEOUT_S)
        control.report(self._sender.progress)

    def _connect(self, completed: Completed) -> TransactionalProducer:
        clients = self._job.clients
        assert isinstance(clients, TransactionalClients)
        name = f"chaoskit-{self._job.task.index}"
        return clients.transactional_producer(producer_settings(self._job), name, completed)

    def _went_well(self, phase: Callable[[], None]) -> bool:
        """Return whether the producer can go on after a phase; tell the harness if not."""
        try:
            phase()
        except ProducerFenced as fenced:
            self._job.control.result({"failed": f"it can never go on: {fenced}"})
            return False
        return True

    def _warm_up(self) -> None:
        """Register, and send the first transaction; its end is left for after the start, since it may take long."""
        deadline = time.monotonic() + WARM_UP_TIMEOUT_S
        while not self._registered and (left_s := deadline - time.monotonic()) > 0:
            self._register(min(left_s, _REGISTER_TIMEOUT_S))
        if self._registered:
            self._begin()
            for _ in self._options.all_partitions():
                self._sender.send(None)
            self._await_sends(deadline)

    def _load(self, start_ns: int) -> None:
        schedule = Schedule(self._options.rate, self._options.producers, start_ns, self._sender.sequence)
        if self._registered:
            self._end(commit=True)
        while not self._job.control.stopping:
            if self._registered or self._register(_REGISTER_TIMEOUT_S):
                self._transaction(schedule)

    def _transaction(self, schedule: Schedule) -> None:
        self._begin()
        old_ns = time.monotonic_ns() + _AGE_MAX_NS
        for _ in range(self._options.messages):
            due_ns = schedule.intended_ns(self._sender.sequence)
            if not self._wait_until(due_ns) or time.monotonic_ns() > old_ns:
                break
            self._sender.send(due_ns)
        self._begun += 1
        every = self._options.abort_every
        self._end(commit=not every or self._begun % every != 0)

    def _wait_until(self, due_ns: int | None) -> bool:
        """Wait until a send is due and there is room for it; return whether that was before the end of the load."""
        while True:
            now = time.monotonic_ns()
            self._reports.tell(self._sender.progress)
            early_s = 0.0 if due_ns is None else max(0.0, (due_ns - now) / 1e9)
            full = self._producer.pending() >= self._options.in_flight
            if not early_s and not full:
                self._producer.poll(0)
                return True
            if self._job.control.stopping:
                return False
            self._producer.poll(min(early_s or _IDLE_S, _IDLE_S))

    def _register(self, timeout_s: float) -> bool:
        op = self._invoke("init")
        try:
            error = self._producer.register(timeout_s)
        except ProducerFenced as fenced:
            self._complete(op, INFO, str(fenced))
            raise
        self._complete(op, OK if error is None else INFO, error)
        self._registered = error is None
        return self._registered

    def _begin(self) -> None:
        op = self._invoke("begin")
        try:
            self._producer.begin()
        except ProducerFenced as fenced:
            self._complete(op, FAIL, str(fenced))
            raise
        self._complete(op, OK)

    def _end(self, *, commit: bool) -> None:
        op = self._invoke("end")
        if commit:
            self._complete(op, *self._producer.commit(CLOSE_TIMEOUT_S))
        else:
            self._await_sends(time.monotonic() + _SENDS_TIMEOUT_S)
            self._complete(op, FAIL, self._producer.abort(CLOSE_TIMEOUT_S) or "aborted on purpose")

    def _await_sends(self, deadline: float) -> None:
        """Have what was sent in the log: an abort would give up what still waits in the client."""
        while self._producer.pending() and time.monotonic() < deadline:
            self._producer.poll(_IDLE_S)

    def _invoke(self, f: str) -> int:
        return self._job.wal.invoke(self._job.wal.name(f), time.monotonic_ns())

    def _complete(self, op: int, outcome: int, error: str | None = None) -> None:
        error_id = 0 if error is None else self._job.wal.name(error)
        self._job.wal.complete(op, time.monotonic_ns(), outcome, error_id)
