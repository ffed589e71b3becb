"""What the settings of RabbitMQ promise and allow, by topic."""
