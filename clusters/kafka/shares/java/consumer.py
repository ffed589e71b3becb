"""A consumer of queues: a member of a share group by Kafka's own client, in a JVM of its own."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.clients.queue import Death
from clusters.common.relay.process import Jvm
from clusters.common.relay.queue_consumer import JavaQueueConsumer
from clusters.kafka.shares.groups import unsettled

PREFETCH = "chaoskit.prefetch"
"""Setting of the relay: most messages that are handed out and not settled; 0: any number."""


class KafkaJavaShareConsumer(JavaQueueConsumer):
    """See `chaoskit.contract.clients.queue.QueueConsumer`.

    Args:
        jvm: the JVM of its client.
        addresses: the brokers' addresses.
        group: the share group.
    """

    def __init__(self, jvm: Jvm, addresses: Sequence[str], group: str) -> None:
        super().__init__(jvm)
        self._addresses = addresses
        self._group = group

    def sources(self, queues: Sequence[str]) -> Sequence[Sequence[str]]:
        """Return one for all queues: a member of the group."""
        return [queues]

    def queue_of(self, name: str) -> str:
        return name

    def death(self, queue: str, origin: str) -> Death | None:
        """Return None: there are no dead letters."""
        return None

    def left(self, queue: str) -> tuple[int, int]:
        return unsettled(self._addresses, self._group, queue)

    def close(self, *, abruptly: bool = False) -> None:
        if self._consumes and not abruptly:
            self.ended()
        self._dialogue.close()
