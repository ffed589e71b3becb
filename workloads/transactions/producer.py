"""One producer of the transactions workload."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaoskit.contract.clients.client import Completed, ProducerFenced, TransactionalClients, TransactionalProducer
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.reports import Reports
from chaoskit.load.schedule import CLOSE_TIMEOUT_S, WARM_UP_TIMEOUT_S, Schedule
from chaoskit.load.sender import Sender
from chaoskit.load.settings import settings_of
from chaoskit.model.outcome import FAIL, INFO, OK
from workloads.transactions.options import TransactionsOptions

_REGISTER_TIMEOUT_S = 5
_SENDS_TIMEOUT_S = 2
_AGE_MAX_NS = 10_000_000_000
"""Age at which an incomplete transaction is ended, because systems abort transactions that stay open for long."""

_IDLE_S = 0.05


def produce(job: Job[TransactionsOptions]) -> None:
    """Write transactions one after the other until stopped."""
    _Transactor(job).run()


class _Transactor:
    """One producer, which writes transactions one after the other until stopped.

    If it is fenced, it stops sending, as an application must, and waits for the end of the load.
    """

    def __init__(self, job: Job[TransactionsOptions]) -> None:
        self._job = job
        self._options = job.options
        self._recorder = job.recorder
        self._sender = Sender(job, self._connect)
        self._producer = self._sender.producer
        self._registered = False
        self._begun = 0
        self._reports = Reports(job.control, job.recorder)

    def run(self) -> None:
        control = self._job.control
        working = self._went_well(self._warm_up)
        start_ns = control.wait_start()
        if working:
            self._went_well(lambda: self._load(start_ns))
        while not control.stopping:
            time.sleep(_IDLE_S)
        self._producer.close(CLOSE_TIMEOUT_S)
        self._reports.finish()

    def _connect(self, completed: Completed) -> TransactionalProducer:
        clients = self._job.clients.power(TransactionalClients)
        name = self._recorder.in_system(f"chaoskit-{self._job.task.index}")
        return clients.transactional_producer(settings_of(self._job.task, self._job.options.producer), name, completed)

    def _went_well(self, phase: Callable[[], None]) -> bool:
        """Return whether the producer can continue after a phase; if not, report it to the harness."""
        try:
            phase()
        except ProducerFenced as fenced:
            self._job.control.result({"failed": str(fenced)})
            return False
        return True

    def _warm_up(self) -> None:
        """Register and send the first transaction. It is ended after the start of the load, as that may take long."""
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
        """Wait until a send is due and possible; return whether that was before the end of the load."""
        while True:
            now = time.monotonic_ns()
            self._reports.tell()
            early_s = 0.0 if due_ns is None else max(0.0, (due_ns - now) / 1e9)
            full = self._producer.pending() >= self._options.in_flight
            if not early_s and not full:
                self._producer.poll(0)
                return True
            if self._job.control.stopping:
                return False
            self._producer.poll(min(early_s or _IDLE_S, _IDLE_S))

    def _register(self, timeout_s: float) -> bool:
        op = self._recorder.invoke("init")
        try:
            error = self._producer.register(timeout_s)
        except ProducerFenced as fenced:
            self._recorder.complete(op, INFO, str(fenced))
            raise
        self._recorder.complete(op, OK if error is None else INFO, error)
        self._registered = error is None
        return self._registered

    def _begin(self) -> None:
        op = self._recorder.invoke("begin")
        try:
            self._producer.begin()
        except ProducerFenced as fenced:
            self._recorder.complete(op, FAIL, str(fenced))
            raise
        self._recorder.complete(op, OK)

    def _end(self, *, commit: bool) -> None:
        op = self._recorder.invoke("end")
        if commit:
            self._recorder.complete(op, *self._producer.commit(CLOSE_TIMEOUT_S))
        else:
            self._await_sends(time.monotonic() + _SENDS_TIMEOUT_S)
            self._recorder.complete(op, FAIL, self._producer.abort(CLOSE_TIMEOUT_S) or "aborted on purpose")

    def _await_sends(self, deadline: float) -> None:
        """Wait for all sends to be in the log; an abort would discard those that are queued in the client."""
        while self._producer.pending() and time.monotonic() < deadline:
            self._producer.poll(_IDLE_S)
