"""One consumer of the subscription workload."""

from __future__ import annotations

import time
from collections.abc import Sequence

from chaoskit.contract.clients.client import Settlement, Subscriber, SubscribingClients
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.choices import Choices
from chaoskit.load.receiver import Poller
from chaoskit.load.reports import Reports
from chaoskit.load.restarts import Restarts
from chaoskit.load.settings import settings_of
from chaoskit.model.message import Delivery
from chaoskit.model.observations.subscription import Subscribed, SubscriptionSettled
from chaoskit.model.outcome import FAIL, INFO, OK
from workloads.subscription.options import SubscriptionOptions

_DRAIN_MAX_S = 40
"""Less than the time that the harness waits for a client to exit."""

_SUBSCRIPTION = "chaoskit"


def subscribe(job: Job[SubscriptionOptions]) -> None:
    """Receive from the subscription until stopped, then until nothing more arrives."""
    options = job.options
    member = _Member(job)
    job.control.wait_start()
    crashes = Restarts(options.crash_every, (options.crash_every or 0) * job.task.index // options.consumers)
    reports = Reports(job.control, job.recorder)
    while not job.control.stopping:
        member.take()
        if crashes.due():
            member.crash()
        if reports.tell():
            job.control.result(member.reader.told())
    member.drain()
    member.reader.close()
    reports.finish()


class _Member:
    """A consumer, across all its clients."""

    def __init__(self, job: Job[SubscriptionOptions]) -> None:
        self._clients = job.clients.power(SubscribingClients)
        self._recorder = job.recorder
        self._options = job.options
        self._settings = settings_of(job.task, job.options.consumer)
        self._left: dict[tuple[str, int, int], Delivery] = {}
        self._choices = Choices(job.options.nack_every, job.options.leave_every)
        self._join()

    def take(self) -> int:
        """Receive and settle what is available; return the number of messages."""
        received = self.reader.poll()
        nacked: list[Delivery] = []
        left: list[Delivery] = []
        acked: list[Delivery] = []
        for value, delivery in received:
            (nacked if self._choices.refuses(value) else left if self._choices.leaves(value) else acked).append(
                delivery
            )
        self._left |= {(delivery.topic, delivery.partition, delivery.position): delivery for delivery in left}
        self._settle(nacked, "nack")
        self._settle(acked, "ack")
        return len(received)

    def crash(self) -> None:
        """Disconnect abruptly with unacknowledged messages, and continue as a new client."""
        with self._recorder.operation("crash"):
            self.subscriber.close(abruptly=True)
            self._left = {}
        before = self.reader
        self._join()
        self.reader.probed, self.reader.received = before.probed, before.received

    def drain(self) -> None:
        """Acknowledge all messages that were left unacknowledged and all that still arrive."""
        op = self._recorder.invoke("drain")
        self._choices.settles_all = True
        self._settle(list(self._left.values()), "ack")
        idle_s = self._options.drain / 1e9
        deadline = time.monotonic() + _DRAIN_MAX_S
        quiet_since = time.monotonic()
        while time.monotonic() < deadline and time.monotonic() - quiet_since < idle_s:
            if self.take():
                quiet_since = time.monotonic()
        self._recorder.complete(op, OK if time.monotonic() - quiet_since >= idle_s else INFO)

    def _join(self) -> None:
        kind, recorder = self._options.subscription, self._recorder
        self.subscriber: Subscriber = self._clients.subscriber(self._settings, kind)
        self.reader = Poller(recorder, self.subscriber, "receive", self._options.producers)
        places = [(recorder.in_system(topic), partition) for topic, partition in self._options.all_partitions()]
        with recorder.operation("subscribe") as op:
            for place in places:
                self._recorder.observe(op, *place, Subscribed(_SUBSCRIPTION, kind))
            self.subscriber.join(places)

    def _settle(self, deliveries: Sequence[Delivery], how: Settlement) -> None:
        if not deliveries:
            return
        last = list({(delivery.topic, delivery.partition): delivery for delivery in deliveries}.values())
        cumulative = how == "ack" and self._options.acks == "cumulative"
        op = self._recorder.invoke(how)
        for delivery in deliveries:
            self._recorder.observe(
                op, delivery.topic, delivery.partition, SubscriptionSettled(_SUBSCRIPTION, delivery.position, how)
            )
        outcome, error = self.subscriber.settle(*((last, "ack-cumulative") if cumulative else (deliveries, how)))
        if how == "ack" and outcome == FAIL:
            self._left |= {(delivery.topic, delivery.partition, delivery.position): delivery for delivery in deliveries}
        self._recorder.complete(op, outcome, error)
