"""Bookies, with the ZooKeeper servers that they need: the common base of BookKeeper and Pulsar."""
