"""RabbitMQ from Debian's packages: classic and quorum queues."""

from clusters.rabbitmq.system import RabbitSystem

__all__ = ["RabbitSystem"]
