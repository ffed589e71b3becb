"""What the settings of RocketMQ promise and allow, by topic."""
