"""The verdict of a run, and its files."""
