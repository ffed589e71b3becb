"""How long a system took, and when it did not serve."""
