"""What the settings of Kafka promise and allow, by topic."""
