"""One producer: sends at the declared rate, or as fast as it can."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaoskit.contract.clients.client import Completed, LogClients, Producer
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.reports import Reports
from chaoskit.load.rerouting import Reroutes
from chaoskit.load.schedule import CLOSE_TIMEOUT_S, Schedule, wake_on_time
from chaoskit.load.sender import Options, Sender
from chaoskit.load.settings import settings_of

_BURST = 64
"""Number of sends between two polls for completions."""


def connect(job: Job[Options], completed: Completed) -> Producer:
    """Return the plain producer of a client."""
    return job.clients.power(LogClients).producer(settings_of(job.task, job.options.producer), completed)


def produce(
    job: Job[Options],
    connect: Callable[[Job[Options], Completed], Producer] = connect,
    deletes: Callable[[int], bool] | None = None,
) -> None:
    """Send until stopped, then wait for every completion; `connect` creates the producer, `deletes` as of `Sender`."""
    options = job.options
    sender = Sender(job, lambda completed: connect(job, completed), deletes)
    reroutes = Reroutes(job, sender)
    sender.warm_up(len(options.all_partitions()))
    wake_on_time()
    start_ns = job.control.wait_start(lambda: sender.producer.poll(0))
    schedule = Schedule(options.rate, options.producers, start_ns, sender.sequence)
    reports = Reports(job.control, job.recorder)
    while not job.control.stopping:
        reroutes.look()
        now = time.monotonic_ns()
        room = options.in_flight - sender.producer.pending()
        sender.burst(max(0, int(min(schedule.due(now) - sender.sequence, room, _BURST))), schedule)
        sender.producer.poll(schedule.wait_s(sender.sequence, room))
        reports.tell()
    sender.producer.close(CLOSE_TIMEOUT_S)
    reports.finish()
