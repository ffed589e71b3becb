"""RocketMQ: name servers, brokers with masters and slaves, and controllers that elect masters."""

from clusters.rocketmq.system import RocketSystem

__all__ = ["RocketSystem"]
