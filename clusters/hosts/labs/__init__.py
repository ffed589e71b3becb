"""What a lab has on this machine, from its name to its removal."""
