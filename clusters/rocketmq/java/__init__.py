"""RocketMQ's own (Java) clients, in a JVM for each client of a workload."""
