"""What operators do with a running Kafka cluster."""
