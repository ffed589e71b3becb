"""Judging: from a run folder to its verdict."""
