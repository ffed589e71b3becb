"""The last client of a run: checks that every topic works again, for every subscriber.

It publishes one message to each topic, and again while a subscriber has not answered, as one that was still away would
never receive it. Then it waits a moment: what was published before must have arrived by then.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from chaoskit.contract.clients.feed import FeedClients
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.settings import settings_of
from chaoskit.model import payload
from chaoskit.model.audit import Drained
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.outcome import FAIL, INFO, OK, Outcome
from workloads.feed.options import FeedOptions
from workloads.feed.roll import Roll

_AGAIN_S = 1.0
_SETTLE_S = 3.0
"""Longer than a message may be under way until checkers miss it (`checkers.pubsub.view.ARRIVES_NS`)."""

_CLOSE_S = 10.0

_PROBE_SIZE_MAX = 64 * 1024
"""Bytes; they are published again and again, and only have to arrive."""


_NAMED = 3


def audit(job: Job[FeedOptions]) -> None:
    """Probe until every subscriber has answered, and record whether all did."""
    recorder = job.recorder
    job.control.wait_start()
    op = recorder.invoke("audit")
    deadline = time.monotonic() + job.bound_ns / 1e9
    roll, probes = Roll(job), _Probes(job)
    while True:
        probes.send()
        probes.poll(_AGAIN_S / 2)
        roll.listen(_AGAIN_S / 2)
        if (probes.accepted and not roll.missing) or time.monotonic() > deadline or job.control.stopping:
            break
    probes.close()
    complete = probes.accepted and not roll.missing
    job.control.result({"accepted": complete})
    if complete:
        time.sleep(_SETTLE_S)
    for topic in job.options.topic_names():
        recorder.audited(recorder.in_system(topic), 0, Drained(complete=complete))
    roll.close()
    why = _why(roll.missing)
    recorder.complete(op, OK if complete else INFO, why or None)
    job.control.report(recorder.report())
    job.control.result({"audited": complete, "why": why})


def _why(missing: Collection[tuple[int, str]]) -> str:
    """Return who did not answer, and of which topics."""
    topics: dict[int, list[str]] = {}
    for index, topic in sorted(missing):
        topics.setdefault(index, []).append(topic)
    reasons = []
    for index, lacking in topics.items():
        more = f" and {len(lacking) - _NAMED:,} more topics" if len(lacking) > _NAMED else ""
        reasons.append(f"consumer-{index} did not receive anything of {', '.join(lacking[:_NAMED])}{more}")
    return "; ".join(reasons)


class _Probes:
    """Messages to every topic, until one to each was acknowledged and received.

    Args:
        job: the final read's job.
    """

    def __init__(self, job: Job[FeedOptions]) -> None:
        options, recorder = job.options, job.recorder
        self._recorder = recorder
        self._topics = [recorder.in_system(topic) for topic in options.topic_names()]
        self._first_value = options.producers << PRODUCER_SHIFT
        self._sequence = 0
        self._writer = payload.Writer(recorder.run_id, min(options.message_size, _PROBE_SIZE_MAX))
        self._topic_of: dict[int, str] = {}
        self._acked: set[str] = set()
        settings, name = settings_of(job.task, options.producer), recorder.in_system(job.task.role)
        self._publisher = job.clients.power(FeedClients).feed_publisher(settings, name, self._topics, self.completed)

    @property
    def accepted(self) -> bool:
        """Whether each topic acknowledged one."""
        return self._acked == set(self._topics)

    def send(self) -> None:
        """Publish one to each topic."""
        for topic in self._topics:
            now = time.monotonic_ns()
            value = self._first_value | self._sequence
            self._sequence += 1
            op = self._recorder.send(self._recorder.topic_id(topic), 0, 0, value, now, now)
            self._topic_of[op] = topic
            if not self._publisher.send(topic, 0, None, self._writer.build(value, now, now), op):
                self.completed(op, FAIL, "queue full", None)

    def completed(
        self, op: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None
    ) -> None:
        """See `chaoskit.contract.clients.client.Completed`."""
        if outcome == OK:
            self._acked.add(self._topic_of[op])
        self._recorder.completed(op, outcome, error, position, at_ns)

    def poll(self, timeout_s: float) -> None:
        """Wait for completions."""
        deadline = time.monotonic() + timeout_s
        while self._publisher.pending() and time.monotonic() < deadline:
            self._publisher.poll(max(0.0, deadline - time.monotonic()))

    def close(self) -> None:
        """Wait for what is under way, and disconnect."""
        self._publisher.close(_CLOSE_S)
