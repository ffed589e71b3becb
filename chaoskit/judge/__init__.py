"""From a run folder to its verdict."""
