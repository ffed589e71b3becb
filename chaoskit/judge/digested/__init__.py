"""The same, of a run whose logs were digested while it lasted (`record: latency`)."""
