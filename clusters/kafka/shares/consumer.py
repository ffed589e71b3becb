"""A consumer of queues: a member of a share group (librdkafka through confluent-kafka, a preview in 2.16).

librdkafka polls no more before everything that it returned is acknowledged. So what it returned is handed out in parts
of at most `prefetch` messages, and the next poll follows when all are settled.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer

from chaoskit.contract.clients.client import Settlement
from chaoskit.contract.clients.queue import Arrival, ConsumerChange
from chaoskit.model.message import NO_POSITION, Delivery
from chaoskit.model.outcome import INFO, OK, Outcome
from clusters.kafka.connection import BOOTSTRAP, CONNECTION_DEFAULTS
from clusters.kafka.shares.groups import unsettled

_MODE = "share.acknowledgement.mode"
_SETTLES_S = 5.0
NOT_ANSWERED = "NotAnswered"
"""The client did not say what became of an acknowledgement; `ShareQueues.java` says so, too."""

_KINDS = {"ack": AcknowledgeType.ACCEPT, "nack": AcknowledgeType.RELEASE, "reject": AcknowledgeType.REJECT}


class KafkaShareConsumer:
    """See `chaoskit.contract.clients.queue.QueueConsumer`.

    Args:
        settings: of librdkafka, with the id of the share group.
        prefetch: most messages that are handed out and not settled; 0: any number.
    """

    def __init__(self, settings: Mapping[str, Any], prefetch: int) -> None:
        self._consumer = ShareConsumer({**CONNECTION_DEFAULTS, **settings, _MODE: "explicit"})
        self._group = str(settings["group.id"])
        self._addresses = str(settings[BOOTSTRAP]).split(",")
        self._most = prefetch
        self._fetched: deque[Message] = deque()
        self._held: dict[int, Message] = {}
        self._tag = 0

    def consume(self, queues: Sequence[str]) -> None:
        if queues:
            self._consumer.subscribe(list(queues))

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Arrival], str | None]:
        error = None
        if not self._fetched and not self._held:
            error = self._fetch(timeout_s)
        room = min(messages_max, (self._most or messages_max) - len(self._held))
        arrivals = [self._arrival(self._fetched.popleft()) for _ in range(min(room, len(self._fetched)))]
        if not arrivals and self._held:
            time.sleep(timeout_s)
        return arrivals, error

    def settle(self, tags: Sequence[int], how: Settlement) -> tuple[Outcome, str | None]:
        settled = [self._held.pop(tag) for tag in tags]
        try:
            for message in settled:
                self._consumer.acknowledge(message, _KINDS[how])
            answers = self._consumer.commit_sync(_SETTLES_S)
        except KafkaException as error:
            return INFO, error.args[0].name()
        failures = [error for error in answers.values() if error is not None]
        if failures:
            return INFO, failures[0].args[0].name()
        answered = {(place.topic, place.partition) for place in answers}
        every = all((message.topic(), message.partition()) in answered for message in settled)
        return (OK, None) if every else (INFO, NOT_ANSWERED)

    def changes(self) -> list[ConsumerChange]:
        """Return none: brokers never end a consumer and leave its connection."""
        return []

    def left(self, queue: str) -> tuple[int, int]:
        return unsettled(self._addresses, self._group, queue)

    def close(self, *, abruptly: bool = False) -> None:
        """Leave the group: what is not settled is released. A share consumer cannot end without a word."""
        try:
            self._consumer.close()
        except KafkaException:
            return  # what was not settled comes again when its lock expires

    def _fetch(self, timeout_s: float) -> str | None:
        """Ask for messages; return the name of an error."""
        try:
            polled = list(self._consumer.poll(timeout_s))
        except KafkaException as error:
            return str(error.args[0].name())
        self._fetched += [message for message in polled if message.error() is None]
        failures = [failure for message in polled if (failure := message.error()) is not None]
        return str(failures[0].name()) if failures else None

    def _arrival(self, message: Message) -> Arrival:
        self._tag += 1
        self._held[self._tag] = message
        times = (message.delivery_count() or 1) - 1
        delivery = Delivery(message.topic() or "", 0, None, message.value() or b"", NO_POSITION, times)
        return Arrival(delivery, self._tag)
