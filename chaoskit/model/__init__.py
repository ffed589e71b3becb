"""The nouns that all rooms above share: places, outcomes, messages, and every observation that a workload writes and a
checker reads. A record writes itself into the rows of a history, and reads itself from them."""
