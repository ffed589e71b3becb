"""Reads the history of a run."""
