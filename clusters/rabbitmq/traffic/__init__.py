"""What an application under test does with RabbitMQ's queues, read from the packets between its hosts and the nodes."""
