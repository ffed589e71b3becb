"""One subscriber of the feed workload."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaoskit.contract.clients.feed import FeedClients, FeedSubscriber
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.reports import Reports
from chaoskit.load.settings import settings_of
from chaoskit.model.message import Delivery
from chaoskit.model.observations.feed import (
    DEADLINE_MISSED,
    NOT_ALIVE,
    PARTED,
    SUBSCRIBED,
    UNSUBSCRIBED,
    Began,
    Heard,
    Over,
    Promise,
)
from chaoskit.model.observations.row import Observation
from chaoskit.model.outcome import FAIL, OK
from workloads.feed.options import FeedOptions
from workloads.feed.roll import Answers

_POLL_TIMEOUT_S = 0.1
_MESSAGES_MAX = 1000
_NEVER_NS = 2**63 - 1
_OPERATIONS = {
    SUBSCRIBED: "subscribe",
    UNSUBSCRIBED: "unsubscribe",
    PARTED: "part",
    NOT_ALIVE: "alarm",
    DEADLINE_MISSED: "alarm",
}
"""The operation of each change of a subscription."""


def subscribe(job: Job[FeedOptions]) -> None:
    """Receive until stopped, or until it is time to leave, and answer the final read's messages."""
    options = job.options
    clients = job.clients.power(FeedClients)
    settings = settings_of(job.task, options.consumer)
    name = job.recorder.in_system(f"{job.task.role}-{job.task.index}")
    topics = [job.recorder.in_system(topic) for topic in options.topic_names()]
    late = options.is_late(job.task.index)
    if late:
        _wait(job, job.control.wait_start() + options.late_by, lambda: None)
    subscriber = clients.feed_subscriber(settings, name, topics)
    receiver = FeedReceiver(job.recorder, subscriber, clients.promise(options.producer, settings))
    receiver.note_changes()
    answers = Answers(job)
    start_ns = 0 if late else job.control.wait_start(lambda: answers.give(receiver.take()))
    leave_ns = start_ns + options.leave_after if options.leaves(job.task.index) else _NEVER_NS
    reports = Reports(job.control, job.recorder)
    while not job.control.stopping and time.monotonic_ns() < leave_ns:
        answers.give(receiver.take())
        reports.tell()
    answers.close()
    receiver.close()
    _wait(job, _NEVER_NS, reports.tell)
    reports.finish()


def _wait(job: Job[FeedOptions], until_ns: int, meanwhile: Callable[[], object]) -> None:
    while time.monotonic_ns() < until_ns and not job.control.stopping:
        time.sleep(_POLL_TIMEOUT_S)
        meanwhile()


class FeedReceiver:
    """Records what a subscriber receives, and when it is subscribed.

    Args:
        recorder: its recorder.
        subscriber: the client.
        promise: what its subscriptions promise.
        arrived: called with what arrived before it is recorded.
    """

    def __init__(
        self,
        recorder: Recorder,
        subscriber: FeedSubscriber,
        promise: Promise,
        arrived: Callable[[list[Delivery]], None] = lambda _: None,
    ) -> None:
        self._recorder = recorder
        self._subscriber = subscriber
        self._promise = promise
        self._arrived = arrived

    def take(self) -> list[tuple[str, int]]:
        """Receive what is available; return topic, by its name in the system, and value of each message."""
        op = self._recorder.invoke("receive")
        deliveries, error = self._subscriber.poll(_POLL_TIMEOUT_S, _MESSAGES_MAX)
        self._arrived(deliveries)
        received_ns, values = self._recorder.received(op, deliveries)
        self._recorder.complete(op, OK if error is None else FAIL, error, received_ns)
        self.note_changes()
        return [(delivery.topic, value) for delivery, value in zip(deliveries, values, strict=True)]

    def close(self) -> None:
        """Disconnect."""
        with self._recorder.operation("close"):
            self._subscriber.close()
        self.note_changes()

    def note_changes(self) -> None:
        """Record which subscriptions began or ended, or were told what, as operations that last as long as the time is
        uncertain."""
        for kind, topic, since_ns, until_ns, who in self._subscriber.changes():
            observation: Observation = Heard(kind, who)
            if kind == SUBSCRIBED:
                observation = Began(self._promise)
            elif kind == UNSUBSCRIBED:
                observation = Over(self._promise)
            op = self._recorder.invoke(_OPERATIONS[kind], since_ns)
            self._recorder.observe(op, topic, 0, observation)
            self._recorder.complete(op, OK, None, until_ns)
