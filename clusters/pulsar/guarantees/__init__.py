"""What the settings of Pulsar promise and allow, by topic."""
