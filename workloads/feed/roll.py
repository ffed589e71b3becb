"""The roll call of the final read: subscribers answer that they received its messages, through the system itself.

Each answers to a topic of its own, which is not part of the load: answers say who is there, and prove nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from chaoskit.contract.clients.client import Producer
from chaoskit.contract.clients.feed import FeedClients
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.settings import settings_of
from chaoskit.model import payload
from chaoskit.model.message import PRODUCER_SHIFT
from workloads.feed.options import FeedOptions

_ROLL = "roll"
_CLOSE_S = 1.0
_STEP_S = 0.1


def roll_topic(index: int) -> str:
    """Return the topic to which a subscriber answers."""
    return f"{_ROLL}-{index}"


class Answers:
    """Answers that one subscriber gives.

    Args:
        job: the subscriber's job.
    """

    def __init__(self, job: Job[FeedOptions]) -> None:
        self._job = job
        self._recorder = job.recorder
        self._topic = job.recorder.in_system(roll_topic(job.task.index))
        self._publisher: Producer | None = None
        self._given: set[int] = set()

    def give(self, received: Sequence[tuple[str, int]]) -> None:
        """Answer those of the messages that are the final read's, each once."""
        for topic, value in received:
            ours = value != payload.NO_VALUE and value >> PRODUCER_SHIFT == self._job.options.producers
            if ours and value not in self._given:
                self._given.add(value)
                self._answer(self._recorder.in_history(topic))

    def close(self) -> None:
        """Disconnect."""
        if self._publisher is not None:
            self._publisher.close(_CLOSE_S)

    def _answer(self, topic: str) -> None:
        with self._recorder.operation("answer"):
            if self._publisher is None:
                self._publisher = self._connect()
            content = f"{self._job.task.index} {topic}".encode()
            self._publisher.send(self._topic, 0, None, content, len(self._given))
            self._publisher.poll(_STEP_S)

    def _connect(self) -> Producer:
        settings = settings_of(self._job.task, self._job.options.producer)
        clients = self._job.clients.power(FeedClients)
        return clients.feed_publisher(settings, self._topic, [self._topic], lambda *_: None)


class Roll:
    """Listens to the answers of all subscribers.

    Args:
        job: the final read's job.

    Attributes:
        missing: index of each subscriber, and topic, that has not answered.
    """

    def __init__(self, job: Job[FeedOptions]) -> None:
        options, recorder = job.options, job.recorder
        staying = [index for index in range(options.consumers) if not options.leaves(index)]
        self.missing = {(index, topic) for index in staying for topic in options.topic_names()}
        settings = settings_of(job.task, options.consumer)
        topics, name = [recorder.in_system(roll_topic(index)) for index in staying], recorder.in_system(_ROLL)
        clients = job.clients.power(FeedClients)
        self._subscriber = clients.feed_subscriber(settings, name, topics) if topics else None

    def listen(self, timeout_s: float) -> None:
        """Listen for so long, or until nobody is missing."""
        deadline = time.monotonic() + timeout_s
        while self._subscriber and self.missing and time.monotonic() < deadline:
            for delivery in self._subscriber.poll(_STEP_S, 100)[0]:
                index, _, topic = delivery.payload.decode(errors="replace").partition(" ")
                if index.isdigit():
                    self.missing.discard((int(index), topic))

    def close(self) -> None:
        """Disconnect."""
        if self._subscriber is not None:
            self._subscriber.close()
