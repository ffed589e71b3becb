"""One subscriber of the feed workload."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaoskit.contract.feed import (
    DEADLINE,
    DEADLINE_MISSED,
    EXCLUSIVE,
    LIVELINESS,
    NOT_ALIVE,
    PARTED,
    REPLAYED,
    RETAINED,
    SHARED,
    FeedClients,
    FeedSubscriber,
    Promise,
)
from chaoskit.contract.recording import Delivery, Recorder
from chaoskit.contract.vocabulary import FAIL, OK
from chaoskit.contract.workload import Job
from chaoskit.load.reports import Reports
from chaoskit.load.settings import settings_of
from workloads.feed.options import FeedOptions
from workloads.feed.roll import Answers

_POLL_TIMEOUT_S = 0.1
_MESSAGES_MAX = 1000
_NEVER_NS = 2**63 - 1
_TOLD = {PARTED: "part", NOT_ALIVE: "alarm", DEADLINE_MISSED: "alarm"}


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
    receiver = Receiver(job.recorder, subscriber, clients.promise(options.producer, settings))
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


class Receiver:
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
            if kind in _TOLD:
                op = self._recorder.invoke(_TOLD[kind], since_ns)
                self._recorder.observed(op, kind, topic, 0, name=who or None)
                self._recorder.complete(op, OK, None, until_ns)
                continue
            began = kind == "subscribed"
            op = self._recorder.invoke("subscribe" if began else "unsubscribe", since_ns)
            told = self._promise
            self._recorder.observed(
                op, kind, topic, 0, name=told.delivery, value=int(told.lasting), position=told.keeps
            )
            if began and told.share:
                self._recorder.observed(op, SHARED, topic, 0, name=told.share)
            if began and told.retained:
                self._recorder.observed(op, RETAINED, topic, 0, value=1)
            elif began and told.replays:
                self._recorder.observed(op, REPLAYED, topic, 0, value=told.replays)
            if began and told.exclusive:
                self._recorder.observed(op, EXCLUSIVE, topic, 0, value=1)
            for what, within_ns in ((LIVELINESS, told.liveliness_ns), (DEADLINE, told.deadline_ns)):
                if began and within_ns:
                    self._recorder.observed(op, what, topic, 0, value=within_ns)
            self._recorder.complete(op, OK, None, until_ns)
