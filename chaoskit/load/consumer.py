"""One consumer of a log: of partitions of its own, or as a member of a group."""

from __future__ import annotations

import time

from chaoskit.contract.clients.client import LogClients, SeekingClients
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.partitioned import GroupedOptions
from chaoskit.load.reader import Reader
from chaoskit.load.receiver import NOBODY
from chaoskit.load.replay import Replay
from chaoskit.load.reports import Reports
from chaoskit.load.settings import settings_of


def consume(job: Job[GroupedOptions]) -> None:
    """Read until stopped."""
    options = job.options
    grouped = options.consumption == "group"
    settings, group = settings_of(job.task, options.consumer), job.task.index % options.groups
    seeking = options.replay and job.clients.power(SeekingClients).seeking_consumer(settings, group)
    consumer = seeking or job.clients.power(LogClients).consumer(settings, group)
    reader = Reader(job.recorder, consumer, options.producers if grouped else NOBODY)
    if grouped:
        reader.subscribe(options.topic_names())
    else:
        everything = options.all_partitions()
        index, members = job.task.index % len(everything), options.consumers
        reader.assign(everything[index::members] if members < len(everything) else [everything[index]])
    start_ns = job.control.wait_start()
    replay = Replay(job.recorder, seeking, options.replay, start_ns) if seeking and options.replay else None
    reports = Reports(job.control, job.recorder)
    committed_ns = time.monotonic_ns()
    while not job.control.stopping:
        reader.hold(paused=job.control.paused)
        received = reader.poll()
        if replay is not None:
            replay.heard(delivery for _, delivery in received)
        reported = reports.tell()
        now = time.monotonic_ns()
        if not grouped:
            continue
        if reported:
            job.control.result(reader.told())
        if now - committed_ns > options.commit_every:
            reader.commit()
            committed_ns = now
    reader.close()
    reports.finish()
