"""ZooKeeper and bookies, as BookKeeper and Pulsar run on them."""
