"""What operators do with a running RabbitMQ cluster."""
