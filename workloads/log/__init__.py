"""The log workload: producers append numbered messages to partitions, consumers read them in order."""
