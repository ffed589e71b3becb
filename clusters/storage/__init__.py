"""ZooKeeper and bookies, the common base of BookKeeper and Pulsar."""
