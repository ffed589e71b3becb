"""One run: its hosts, its system, its load, its faults, its final read."""
