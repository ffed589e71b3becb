"""What clients did, in bounded memory, while the run lasts (`record: latency`)."""
