"""A publisher to queues: a producer of topics whose messages may wait on the brokers before they are delivered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from chaoskit.contract.clients.client import Completed
from chaoskit.model.outcome import Outcome
from clusters.pulsar.clients.producer import PulsarProducer
from clusters.pulsar.clients.queues import DELAY, QUEUES, publisher_settings


class PulsarPublisher(PulsarProducer):
    """See `chaoskit.contract.clients.queue.Publisher`."""

    def __init__(self, connection: Mapping[str, Any], settings: Mapping[str, Any], completed: Completed) -> None:
        super().__init__(connection, publisher_settings(settings), without_position(completed))
        self._delays = {queue: timedelta(milliseconds=delay_ms) for queue, delay_ms in delays_ms(connection).items()}

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        return self.publish(topic, payload, token, None)

    def publish(self, topic: str, payload: bytes, token: int, priority: int | None) -> bool:
        """See `chaoskit.contract.clients.queue.Publisher`; there are no priorities."""
        delay = self._delays.get(topic)
        more = {} if delay is None else {"deliver_after": delay}
        return self._hand_over((topic, 0), None, payload, token, **more)


def delays_ms(connection: Mapping[str, Any]) -> dict[str, int]:
    """Return for how many ms the messages of each queue wait on the brokers, if they do."""
    declared: Mapping[str, Mapping[str, int]] = connection[QUEUES]
    return {queue: given[DELAY] for queue, given in declared.items() if given.get(DELAY)}


def without_position(completed: Completed) -> Completed:
    """Return a callback that tells no positions: a queue has none."""

    def complete(
        token: int, outcome: Outcome, error: str | None, position: int | None, at_ns: int | None = None, /
    ) -> None:
        completed(token, outcome, error, None, at_ns)

    return complete
