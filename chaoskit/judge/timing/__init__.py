"""Times and counts: latencies, silences, what was made and what was not."""
