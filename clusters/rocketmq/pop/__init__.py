"""Consumers that pop messages of queues through proxies, in a JVM for each: RocketMQ's client by gRPC."""
