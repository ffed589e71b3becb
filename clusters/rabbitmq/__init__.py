"""RabbitMQ from Debian's packages: classic and quorum queues."""

from clusters.rabbitmq.system import System

__all__ = ["System"]
