"""Publishers to queues, and consumers of them, by RocketMQ's Python client (rocketmq-python-client)."""
