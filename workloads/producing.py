"""One producer of the log workload, and what any producer does with a message."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable
from itertools import cycle
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from chaoskit.contract.client import FAIL, INFO, OK, Completed, Producer
from chaoskit.contract.workload import Job, Progress
from chaoskit.history.schema import PRODUCER_SHIFT
from chaoskit.history.wal import NO_POSITION
from workloads import payload
from workloads.reporting import Reports

if TYPE_CHECKING:
    from workloads.log import LogOptions

P = TypeVar("P", bound=Producer)

_BURST = 64
"""Sends between two looks at completions."""

_POLL_MIN_S = 0.001
_POLL_MAX_S = 0.05

WARM_UP_TIMEOUT_S = 15
CLOSE_TIMEOUT_S = 45
"""Longer than the default delivery timeout, within which every send completes one way or another."""

Route = tuple[str, int, int, int, bytes | None]
"""Topic, its name id, partition, key id and key of one send."""


def connect(job: Job, completed: Completed) -> Producer:
    """Return the plain producer of a client."""
    return job.clients.producer(producer_settings(job), completed)


def produce(job: Job, connect: Callable[[Job, Completed], Producer] = connect) -> None:
    """Send until told to stop, then wait for every completion; `connect` makes the producer."""
    options: LogOptions = job.options
    sender = Sender(job, lambda completed: connect(job, completed))
    sender.warm_up(len(options.all_partitions()))
    start_ns = job.control.wait_start()
    schedule = Schedule(options.rate, options.producers, start_ns, sender.sequence)
    reports = Reports(job.control)
    while not job.control.stopping:
        now = time.monotonic_ns()
        room = options.in_flight - sender.producer.pending()
        for _ in range(int(min(schedule.due(now) - sender.sequence, room, _BURST))):
            sender.send(schedule.intended_ns(sender.sequence))
        sender.producer.poll(wait_s(schedule.intended_ns(sender.sequence), room))
        reports.tell(sender.progress)
    sender.producer.close(CLOSE_TIMEOUT_S)
    job.control.report(sender.progress)


class Schedule:
    """When each send is due: at the declared rate, which all producers share.

    Args:
        rate: sends a second of all of them together, or `max`.
        producers: how many they are.
        start_ns: start of the load, CLOCK_MONOTONIC.
        first: sequence of the first send of the load.
    """

    def __init__(self, rate: int | str, producers: int, start_ns: int, first: int) -> None:
        self._interval_ns = None if isinstance(rate, str) else 1e9 * producers / rate
        self._start_ns = start_ns
        self._first = first

    def intended_ns(self, sequence: int) -> int | None:
        """Return when a send is due; None at the maximum rate."""
        if self._interval_ns is None:
            return None
        return self._start_ns + int((sequence - self._first) * self._interval_ns)

    def due(self, now_ns: int) -> float:
        """Return the sequence up to which sends are due; without end at the maximum rate."""
        if self._interval_ns is None:
            return math.inf
        return self._first + 1 + (now_ns - self._start_ns) // self._interval_ns


def wait_s(next_ns: int | None, room: int) -> float:
    """Return how long to wait for completions, until the next send is due."""
    early_s = 0.0 if next_ns is None else (next_ns - time.monotonic_ns()) / 1e9
    if early_s <= 0 and room > 0:
        return 0
    return min(max(early_s, _POLL_MIN_S), _POLL_MAX_S)


class Sender(Generic[P]):
    """Sends messages one by one, recording each before it is handed over.

    Args:
        job: of this client.
        connect: makes its producer, which is to report completions to its argument.
    """

    def __init__(self, job: Job, connect: Callable[[Completed], P]) -> None:
        options: LogOptions = job.options
        self.sequence = 0
        self.progress = Progress()
        self.producer = connect(self._completed)
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
        deadline = time.monotonic() + WARM_UP_TIMEOUT_S
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


def producer_settings(job: Job) -> dict[str, Any]:
    """Return the producer settings of a client: in texts, `{producer}` and `{incarnation}` are its own numbers."""
    options: LogOptions = job.options
    task = job.task

    def filled(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return value.replace("{producer}", str(task.index)).replace("{incarnation}", str(task.incarnation))

    return {key: filled(value) for key, value in options.producer.items()}


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
