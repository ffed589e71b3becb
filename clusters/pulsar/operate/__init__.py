"""What operators do with a running Pulsar cluster."""
