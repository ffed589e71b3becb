"""RocketMQ's clients, and their settings."""
