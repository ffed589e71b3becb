"""Faults of data disks."""
