"""RabbitMQ's clients, and their settings."""
