"""A consumer of queues: one of a shared subscription, which acknowledges or refuses each message.

A message belongs to its consumer until the consumer settles it or its connection ends. Acknowledgements have no
receipt. Those that are sent off while there is a connection are `ok`, others `info`: the library sends them later, if
it can. Consumers themselves count returns, and publish a message to the dead letters before they acknowledge it.
"""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pulsar

from chaoskit.contract.clients.client import Settlement, Unreachable
from chaoskit.contract.clients.queue import Arrival, ConsumerChange, Death
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.topic import DEAD
from chaoskit.model.message import NO_POSITION, Delivery
from chaoskit.model.outcome import INFO, OK, Outcome
from clusters.pulsar.clients.queue_settings import REFUSAL_DELAY, consumer_settings
from clusters.pulsar.clients.queues import QUEUES
from clusters.pulsar.connection import close_soon, connect, full_name, name_of, subscription
from clusters.pulsar.deploy.admin import Admin
from clusters.pulsar.settings import BROKER_PORT

_LIMITLESS = 1000
"""Messages that the library fetches ahead where the workload sets no limit."""

ASK_TIMEOUT_S = 5
"""How long a broker is waited for that is asked how many messages are left."""

_WAIT_S = 0.001
"""How long one of several queues is waited for before the next one is looked at."""

_FROM = "REAL_TOPIC"
"""Property of a dead letter: the topic that it was in before."""

_NOT_CONNECTED = "NotConnected"
_DESCRIPTORS = Path("/proc/self/fd")
_TICKS, _TELL_S = 4 / 3, 1.5
"""The library looks at refusals three times within their delay; then it asks brokers, or publishes dead letters.
Refusals that are younger are forgotten when it is closed, so a consumer that is not to crash waits for them."""

Source = Any
"""A consumer of one queue."""


class PulsarQueueConsumer:
    """See `chaoskit.contract.clients.queue.QueueConsumer`.

    Args:
        connection: see `PulsarCluster.client_settings`.
        settings: of `pulsar.Client.subscribe`.
        prefetch: number of unsettled deliveries of each queue at which nothing more is taken, and number of messages
            that the library fetches ahead, since brokers do not count what is not settled; 0: none.
    """

    def __init__(self, connection: Mapping[str, Any], settings: Mapping[str, Any], prefetch: int) -> None:
        self._client = connect(connection)
        self._admin = Admin(connection["brokers"])
        self._subscription = subscription(connection)
        self._declared: Mapping[str, Mapping[str, int]] = connection[QUEUES]
        self._takes = prefetch
        self._settings = {**consumer_settings(settings), "receiver_queue_size": prefetch or _LIMITLESS}
        self._sources: dict[str, Source | None] = {}
        self._unsettled: dict[int, tuple[str, pulsar.Message]] = {}
        self._taken: Counter[str] = Counter()
        self._tag = 0
        self._next = 0
        self._refusal_s = refusal_s(self._settings[REFUSAL_DELAY])
        self._refused_until = 0.0

    def consume(self, queues: Sequence[str]) -> None:
        self._sources = dict.fromkeys(queues)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Arrival], str | None]:
        arrivals: list[Arrival] = []
        failure = self._connect_missing()
        deadline = time.monotonic() + timeout_s
        while True:
            able = [(queue, source) for queue, source in self._sources.items() if source and self._room(queue)]
            for queue, source in able:
                failure = self._take(queue, source, arrivals, messages_max, 0) or failure
            left_s = deadline - time.monotonic()
            if arrivals or failure or left_s <= 0:
                return arrivals, failure
            if not able:
                time.sleep(left_s)
                continue
            self._next = (self._next + 1) % len(able)
            queue, source = able[self._next]
            failure = self._take(queue, source, arrivals, 1, left_s if len(able) == 1 else min(left_s, _WAIT_S))

    def settle(self, tags: Sequence[int], how: Settlement) -> tuple[Outcome, str | None]:
        outcome: tuple[Outcome, str | None] = OK, None
        for tag in tags:
            queue, message = self._unsettled.pop(tag)
            self._taken[queue] -= 1
            source: Any = self._sources[queue]
            try:
                if not source.is_connected():
                    outcome = INFO, _NOT_CONNECTED
                if how == "nack":
                    source.negative_acknowledge(message)
                    self._refused_until = time.monotonic() + self._refusal_s
                else:
                    source.acknowledge(message)
            except pulsar.PulsarException as error:
                outcome = INFO, name_of(error)
        return outcome

    def changes(self) -> list[ConsumerChange]:
        """Return none: brokers never end a consumer and leave its connection."""
        return []

    def left(self, queue: str) -> tuple[int, int]:
        """Return how many messages nobody has acknowledged, and the number of consumers.

        Among them are those that wait for their time, and those that a consumer has.
        """
        try:
            return self._admin.backlog(queue, 0, self._subscription, ASK_TIMEOUT_S)
        except ServiceError as error:
            raise Unreachable(f"queue {queue}: {error}") from error

    def close(self, *, abruptly: bool = False) -> None:
        if abruptly:
            _cut(BROKER_PORT)
            close_soon(self._client)
            return
        time.sleep(max(self._refused_until - time.monotonic(), 0))
        try:
            self._client.close()
        except pulsar.PulsarException:
            self._client.shutdown()

    def _connect_missing(self) -> str | None:
        """Subscribe to the queues that are not; return why one could not be."""
        failure = None
        for queue, source in self._sources.items():
            if source is None:
                try:
                    self._sources[queue] = self._subscribe(queue)
                except pulsar.PulsarException as error:
                    failure = name_of(error)
        return failure

    def _subscribe(self, queue: str) -> Source:
        settings = {**self._settings, "consumer_type": pulsar.ConsumerType.Shared}
        if limit := self._declared.get(queue, {}).get("delivery-limit"):
            settings["dead_letter_policy"] = pulsar.ConsumerDeadLetterPolicy(limit, full_name(queue + DEAD, 0))
        earliest = pulsar.InitialPosition.Earliest
        return self._client.subscribe(full_name(queue, 0), self._subscription, initial_position=earliest, **settings)

    def _room(self, queue: str) -> bool:
        return not self._takes or self._taken[queue] < self._takes

    def _take(
        self, queue: str, source: Source, arrivals: list[Arrival], messages_max: int, wait_s: float
    ) -> str | None:
        """Receive what is there, waiting for the first message; return an error, if any."""
        while len(arrivals) < messages_max and self._room(queue):
            try:
                message = source.receive(int(wait_s * 1000))
            except pulsar.Timeout:
                return None
            except pulsar.PulsarException as error:
                return name_of(error)
            wait_s = 0
            arrivals.append(self._arrival(queue, message))
        return None

    def _arrival(self, queue: str, message: pulsar.Message) -> Arrival:
        self._tag += 1
        self._taken[queue] += 1
        self._unsettled[self._tag] = queue, message
        delivery = Delivery(queue, 0, None, message.data(), NO_POSITION, message.redelivery_count())
        return Arrival(delivery, self._tag, death_of(message.properties()))


def death_of(properties: Mapping[str, str]) -> Death | None:
    """Return why a message was dead-lettered, for which Pulsar has one reason only; None if it was not."""
    topic = properties.get(_FROM)
    return None if topic is None else death_from(topic)


def death_from(topic: str) -> Death:
    """Return why a message was dead-lettered that was in a topic before."""
    return Death("delivery_limit", queue_named(topic), 1)


def queue_named(topic: str) -> str:
    """Return the queue that is a topic, or the one partition of it; see `full_name`."""
    return topic.rpartition("/")[2].removesuffix("-partition-0")


def refusal_s(delay_ms: float) -> float:
    """Return within how many seconds a client has told brokers what was refused, or published it to the dead letters.

    Args:
        delay_ms: how long refused messages wait in the client.
    """
    return delay_ms / 1000 * _TICKS + _TELL_S


def _cut(port: int) -> None:
    """End all connections of this process to a port of any host without a word of their protocol; pulsar-client has no
    such thing."""
    for descriptor in _DESCRIPTORS.iterdir():
        try:
            if not descriptor.readlink().name.startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(descriptor.name))) as connection:
                if connection.family == socket.AF_INET and connection.getpeername()[1] == port:
                    connection.shutdown(socket.SHUT_RDWR)
        except OSError:  # it is closed, or connected to nobody
            continue
