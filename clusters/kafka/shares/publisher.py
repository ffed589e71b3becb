"""A publisher to queues: a producer."""

from __future__ import annotations

from clusters.kafka.clients.producer import KafkaProducer


class KafkaPublisher(KafkaProducer):
    """See `chaoskit.contract.clients.queue.Publisher`; messages have no priorities."""

    def publish(self, topic: str, payload: bytes, token: int, priority: int | None) -> bool:
        return self.send(topic, 0, None, payload, token)
