"""Sending and recording of messages, common to all producers of logs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from chaoskit.contract.clients.client import Bursting, Completed, DeletingProducer, Producer
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.options import LoadOptions
from chaoskit.load.schedule import WARM_UP_TIMEOUT_S, Schedule
from chaoskit.model import payload
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.operation import DELETE, SEND

P = TypeVar("P", bound=Producer)
Options = TypeVar("Options", bound=LoadOptions)


class Sender(Generic[P]):
    """Sends messages one by one; each is recorded before it is passed to the client.

    Args:
        job: the client's job.
        connect: creates the producer, which reports completions to its argument.
        deletes: whether the message with a sequence deletes its key; then the producer is a `DeletingProducer`.
    """

    def __init__(
        self, job: Job[Options], connect: Callable[[Completed], P], deletes: Callable[[int], bool] | None = None
    ) -> None:
        options, recorder = job.options, job.recorder
        self.sequence = 0
        self.producer = connect(recorder.completed)
        self._recorder = recorder
        self._writer = payload.Writer(recorder.run_id, options.message_size)
        # Each incarnation has its own producer number, because it does not know the progress of the previous one. One
        # number after the producers of each incarnation is reserved for the auditor.
        number = job.task.index + job.task.incarnation * (options.producers + 1)
        self._first_value = number << PRODUCER_SHIFT
        self.route(options.routes())
        producer = self.producer
        self._deletes = deletes
        self._burst = None
        if deletes is None and isinstance(producer, Bursting) and producer.tells_positions:
            self._burst = recorder.burst_through(producer)

    def route(self, routes: Sequence[tuple[str, int, bytes | None]]) -> None:
        """Send the next messages to these topics and partitions in turn, each with its key."""
        recorder = self._recorder
        named = ((recorder.in_system(topic), partition, key) for topic, partition, key in routes)
        self._routes = tuple(
            (topic, recorder.topic_id(topic), partition, recorder.key_id(key), key) for topic, partition, key in named
        )

    def warm_up(self, count: int) -> None:
        """Send `count` messages and wait for them, so that connections, producer ids and the brokers' compiled code
        are ready before the load begins. They do not count for its latency."""
        for _ in range(count):
            self.send(None)
        deadline = time.monotonic() + WARM_UP_TIMEOUT_S
        while self.producer.pending() and time.monotonic() < deadline:
            self.producer.poll(0.01)

    def burst(self, count: int, schedule: Schedule) -> None:
        """Send the next messages."""
        if self._burst is None:
            for _ in range(count):
                self.send(schedule.intended_ns(self.sequence))
            return
        times = schedule.start_ns, schedule.first, schedule.interval_ns or 0.0
        self._burst(self._wait, self._routes, self._writer.filler, self._first_value, self.sequence, count, *times)
        self.sequence += count

    def send(self, intended_ns: int | None) -> None:
        """Send the next message, which is due at `intended_ns`, or now if that is None."""
        topic, topic_id, partition, key_id, key = self._routes[self.sequence % len(self._routes)]
        value = self._first_value | self.sequence
        deletes = self._deletes is not None and self._deletes(self.sequence)
        self.sequence += 1
        sent_ns = time.monotonic_ns()
        intended_ns = sent_ns if intended_ns is None else intended_ns
        content = self._writer.build(value, intended_ns, sent_ns)
        f_code = DELETE if deletes else SEND
        op = self._recorder.send(topic_id, partition, key_id, value, intended_ns, sent_ns, f_code)
        while not self._enqueue(topic, partition, key, content, op, deletes=deletes):
            self._wait()

    def _enqueue(
        self, topic: str, partition: int, key: bytes | None, content: bytes, op: int, *, deletes: bool
    ) -> bool:
        if not deletes:
            return self.producer.send(topic, partition, key, content, op)
        assert key is not None
        assert isinstance(self.producer, DeletingProducer)
        return self.producer.delete(topic, partition, key, content, op)

    def _wait(self) -> None:
        """Wait for room in the client's queue."""
        self.producer.poll(0.01)
