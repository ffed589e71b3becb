"""The ping-pong workload: one message there and one back, the next as soon as the answer has come.

A send is acknowledged when its answer is there, so that all its times are those of round trips, and the system's own
acknowledgement counts for nothing. What has no answer within a second is given up. The other client answers before it
records anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from chaoskit.base.quantities import SECOND
from chaoskit.contract.clients.client import Completed
from chaoskit.contract.clients.feed import FeedClients
from chaoskit.contract.workloads.datamodel import PUBSUB
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Job
from chaoskit.load.options import MessageSize
from chaoskit.load.producer import produce
from chaoskit.load.reports import Reports
from chaoskit.load.settings import settings_of
from chaoskit.model.message import Delivery
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import INFO, OK, Outcome
from workloads.feed.auditor import audit
from workloads.feed.options import FeedOptions
from workloads.feed.roll import Answers
from workloads.feed.subscriber import FeedReceiver
from workloads.feed.workload import FeedWorkload

_PING, _PONG = "ping", "pong"
_ANSWERED_NS = SECOND
_TAKEN_MAX = 100


class PingPongOptions(FeedOptions):
    """The options of this workload: those of `feed`, but for the load, which is one message under way."""

    topics: Literal[1] = 1
    producers: Literal[1] = 1
    consumers: Literal[1] = 1
    late: Literal[0] = 0
    leavers: Literal[0] = 0
    rate: Literal["max"] = "max"
    in_flight: Literal[1] = 1
    message_size: MessageSize = 64

    def topic_names(self) -> list[str]:
        return [_PING]


class PingPongWorkload(FeedWorkload):
    """Entry point `ping-pong` of `chaoskit.workloads`."""

    options: type[FeedOptions] = PingPongOptions
    measures: Literal["round trips"] = "round trips"

    def side_topics(self, options: FeedOptions) -> list[Topic]:
        return [*super().side_topics(options), Topic(_PONG, PUBSUB)]

    def traits(self, options: FeedOptions) -> tuple[object, ...]:
        """Return nothing: with one message under way nobody outruns anybody."""
        return ()

    def run(self, job: Job[Any]) -> None:
        run: dict[str, Callable[[Job[Any]], None]] = {PRODUCER: _ping, CONSUMER: _answer, AUDITOR: audit}
        run[job.task.role](job)


def _ping(job: Job[PingPongOptions]) -> None:
    produce(job, _Pinger)


class _Ping(NamedTuple):
    """A message under way, and until when its answer is awaited, CLOCK_MONOTONIC, ns."""

    token: int
    payload: bytes
    until_ns: int


class _Pinger:
    """See `chaoskit.contract.clients.client.Producer`: a send completes with its answer.

    Args:
        job: the producer's job.
        completed: called once per send.
    """

    def __init__(self, job: Job[PingPongOptions], completed: Completed) -> None:
        options, recorder, clients = job.options, job.recorder, job.clients.power(FeedClients)
        self._completed = completed
        self._ping: _Ping | None = None
        name, ping, pong = (recorder.in_system(plain) for plain in (f"{job.task.role}-{job.task.index}", _PING, _PONG))
        hearing = settings_of(job.task, options.consumer)
        self._subscriber = clients.feed_subscriber(hearing, f"{name}-answers", [pong])
        sending, own = settings_of(job.task, options.producer), recorder.in_system(job.task.client)
        self._publisher = clients.feed_publisher(sending, own, [ping], self._published)

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        self._ping = _Ping(token, payload, time.monotonic_ns() + _ANSWERED_NS)
        taken = self._publisher.send(topic, partition, key, payload, token)
        if not taken:
            self._ping = None
        return taken

    def pending(self) -> int:
        return int(self._ping is not None)

    def poll(self, timeout_s: float) -> None:
        self._publisher.poll(0)
        if self._ping is None:
            time.sleep(timeout_s)
            return
        answers = self._subscriber.poll(timeout_s, _TAKEN_MAX)[0]
        if any(answer.payload == self._ping.payload for answer in answers):
            self._end(OK, None)
        elif time.monotonic_ns() > self._ping.until_ns:
            self._end(INFO, "no answer within 1 s")

    def close(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while self._ping and time.monotonic() < deadline:
            self.poll(0.01)
        self._publisher.close(timeout_s)
        self._subscriber.close()
        if self._ping:
            self._end(INFO, "no answer")

    def _published(
        self, token: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None
    ) -> None:
        """Take note of a ping that failed; of one that was accepted, only the answer tells."""
        if outcome != OK and self._ping and self._ping.token == token:
            self._end(outcome, error, at_ns)

    def _end(self, outcome: Outcome, error: str | None, at_ns: int | None = None) -> None:
        assert self._ping
        token, self._ping = self._ping.token, None
        self._completed(token, outcome, error, None, at_ns)


def _answer(job: Job[FeedOptions]) -> None:
    """Answer until stopped; the final read's messages, too."""
    options, recorder, clients = job.options, job.recorder, job.clients.power(FeedClients)
    settings = settings_of(job.task, options.consumer)
    name, ping, pong = (recorder.in_system(plain) for plain in (f"{job.task.role}-{job.task.index}", _PING, _PONG))
    sending = settings_of(job.task, options.producer)
    publisher = clients.feed_publisher(sending, f"{name}-answers", [pong], lambda *_: None)

    def answered(deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            publisher.send(pong, 0, None, delivery.payload, 0)
        publisher.poll(0)

    subscriber = clients.feed_subscriber(settings, name, [ping])
    receiver = FeedReceiver(recorder, subscriber, clients.promise(options.producer, settings), answered)
    receiver.note_changes()
    answers, reports = Answers(job), Reports(job.control, recorder)
    job.control.wait_start(lambda: answers.give(receiver.take()))
    while not job.control.stopping:
        answers.give(receiver.take())
        reports.tell()
    answers.close()
    receiver.close()
    publisher.close(1.0)
    reports.finish()
