"""ZooKeeper's servers: BookKeeper, Pulsar and releases of Kafka before 4.0 keep their metadata in them."""
