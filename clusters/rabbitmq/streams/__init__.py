"""RabbitMQ's streams: logs, over the stream protocol (rstream)."""
