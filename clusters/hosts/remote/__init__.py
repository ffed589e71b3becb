"""Hosts of others, named in an inventory and reached over SSH."""
