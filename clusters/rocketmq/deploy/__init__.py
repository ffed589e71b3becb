"""RocketMQ on hosts: processes, readiness, settings in effect."""
