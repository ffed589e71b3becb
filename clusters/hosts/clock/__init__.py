"""The wall clock of a host's services."""
