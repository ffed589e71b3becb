"""One producer of the log workload."""

from __future__ import annotations

import time
import zlib
from itertools import cycle
from typing import TYPE_CHECKING

from chaoskit.client import FAIL, INFO, OK
from chaoskit.history.schema import PRODUCER_SHIFT
from chaoskit.history.wal import NO_POSITION
from chaoskit.workload import Job, Progress
from workloads import payload

if TYPE_CHECKING:
    from workloads.log import LogOptions

_BURST = 64
"""Sends between two looks at completions."""

_REPORT_NS = 200_000_000
_WARM_UP_TIMEOUT_S = 15
_CLOSE_TIMEOUT_S = 45
"""Longer than the default delivery timeout, within which every send completes one way or another."""

Route = tuple[str, int, int, int, bytes | None]
"""Topic, its name id, partition, key id and key of one send."""


def produce(job: Job) -> None:
    """Send until told to stop, then wait for every completion."""
    options: LogOptions = job.options
    sender = _Sender(job)
    sender.warm_up(len(options.all_partitions()))
    start_ns = job.control.wait_start()
    first = sender.sequence
    interval_ns = None if options.rate == "max" else 1e9 * options.producers / options.rate
    reported_ns = start_ns
    while not job.control.stopping:
        now = time.monotonic_ns()
        due = sender.sequence + _BURST if interval_ns is None else first + int((now - start_ns) / interval_ns)
        room = options.in_flight - sender.producer.pending()
        for _ in range(min(due - sender.sequence, room, _BURST)):
            sender.send(None if interval_ns is None else start_ns + int((sender.sequence - first) * interval_ns))
        behind = due - sender.sequence > 0 and room > 0
        sender.producer.poll(0 if behind or (interval_ns is None and room > 0) else 0.001)
        if now - reported_ns > _REPORT_NS:
            job.control.report(sender.progress)
            reported_ns = now
    sender.producer.close(_CLOSE_TIMEOUT_S)
    job.control.report(sender.progress)


class _Sender:
    """Sends messages one by one, recording each before it is handed over."""

    def __init__(self, job: Job) -> None:
        options: LogOptions = job.options
        self.sequence = 0
        self.progress = Progress()
        self.producer = job.clients.producer(options.producer, self._completed)
        self._wal = job.wal
        self._writer = payload.Writer(job.control.run_id, options.message_size)
        # Each incarnation counts as a producer of its own: it cannot know how far the one before came. Behind the
        # producers of each incarnation one number is left out: that of the auditor.
        number = job.task.index + job.task.incarnation * (options.producers + 1)
        self._first_value = number << PRODUCER_SHIFT
        self._routes = cycle(routes(job))

    def warm_up(self, count: int) -> None:
        """Send so many messages and wait for them: connections, producer id and brokers' code are ready
        before the load begins, and its latency does not count them."""
        for _ in range(count):
            self.send(None)
        deadline = time.monotonic() + _WARM_UP_TIMEOUT_S
        while self.producer.pending() and time.monotonic() < deadline:
            self.producer.poll(0.01)

    def send(self, intended_ns: int | None) -> None:
        topic, topic_id, partition, key_id, key = next(self._routes)
        value = self._first_value | self.sequence
        self.sequence += 1
        sent_ns = time.monotonic_ns()
        intended_ns = sent_ns if intended_ns is None else intended_ns
        content = self._writer.build(value, intended_ns, sent_ns)
        token = self._wal.send(topic_id, partition, key_id, value, intended_ns, sent_ns)
        self.progress.sent += 1
        while not self.producer.send(topic, partition, key, content, token):
            self.producer.poll(0.01)

    def _completed(self, token: int, outcome: int, error: str | None, position: int | None) -> None:
        error_id = 0 if error is None else self._wal.name(error)
        at = NO_POSITION if position is None else position
        self._wal.complete(token, time.monotonic_ns(), outcome, error_id, at)
        if outcome == OK:
            self.progress.acked += 1
        elif outcome == FAIL:
            self.progress.failed += 1
        elif outcome == INFO:
            self.progress.indeterminate += 1


def routes(job: Job) -> list[Route]:
    """Return where successive messages go: partitions in turn, or the partitions of the keys in turn.

    A key's partition is CRC-32 of the key modulo the number of partitions, as librdkafka's
    `consistent` partitioner has it, decided here so that it is known even if a send never completes.
    """
    options: LogOptions = job.options
    wal = job.wal
    if options.keys == 0:
        return [(topic, wal.name(topic), partition, 0, None) for topic, partition in options.all_partitions()]
    result: list[Route] = []
    for topic in dict.fromkeys(topic for topic, _ in options.all_partitions()):
        for index in range(options.keys):
            key = f"key-{index}"
            partition = zlib.crc32(key.encode()) % options.partitions
            result.append((topic, wal.name(topic), partition, wal.name(key), key.encode()))
    return result
