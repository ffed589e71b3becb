"""What any producer of a log does with a message."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import cycle
from typing import Any, Generic, TypeVar

from chaoskit.contract.client import Completed, Producer
from chaoskit.contract.workload import Job
from chaoskit.history import payload
from chaoskit.history.schema import PRODUCER_SHIFT
from workloads.common.schedule import WARM_UP_TIMEOUT_S
from workloads.log.options import LogOptions

P = TypeVar("P", bound=Producer)
Options = TypeVar("Options", bound=LogOptions)


class Sender(Generic[P]):
    """Sends messages one by one, recording each before it is handed over.

    Args:
        job: of this client.
        connect: makes its producer, which is to report completions to its argument.
    """

    def __init__(self, job: Job[Options], connect: Callable[[Completed], P]) -> None:
        options, recorder = job.options, job.recorder
        self.sequence = 0
        self.producer = connect(recorder.completed)
        self._recorder = recorder
        self._writer = payload.Writer(recorder.run_id, options.message_size)
        # Each incarnation counts as a producer of its own: it cannot know how far the one before came. Behind the
        # producers of each incarnation one number is left out: that of the auditor.
        number = job.task.index + job.task.incarnation * (options.producers + 1)
        self._first_value = number << PRODUCER_SHIFT
        named = ((recorder.in_system(topic), partition, key) for topic, partition, key in options.routes())
        self._routes = cycle(
            [(topic, recorder.topic_id(topic), partition, recorder.key_id(key), key) for topic, partition, key in named]
        )

    def warm_up(self, count: int) -> None:
        """Send so many messages and wait for them: connections, producer id and brokers' code are ready
        before the load begins, and its latency does not count them."""
        for _ in range(count):
            self.send(None)
        deadline = time.monotonic() + WARM_UP_TIMEOUT_S
        while self.producer.pending() and time.monotonic() < deadline:
            self.producer.poll(0.01)

    def send(self, intended_ns: int | None) -> None:
        """Send the next message, which was due at a time; None: now."""
        topic, topic_id, partition, key_id, key = next(self._routes)
        value = self._first_value | self.sequence
        self.sequence += 1
        sent_ns = time.monotonic_ns()
        intended_ns = sent_ns if intended_ns is None else intended_ns
        content = self._writer.build(value, intended_ns, sent_ns)
        op = self._recorder.send(topic_id, partition, key_id, value, intended_ns, sent_ns)
        while not self.producer.send(topic, partition, key, content, op):
            self.producer.poll(0.01)


def producer_settings(job: Job[Options]) -> dict[str, Any]:
    """Return the producer settings of a client: in texts, `{producer}` and `{incarnation}` are its own numbers."""
    task = job.task

    def filled(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return value.replace("{producer}", str(task.index)).replace("{incarnation}", str(task.incarnation))

    return {key: filled(value) for key, value in job.options.producer.items()}
