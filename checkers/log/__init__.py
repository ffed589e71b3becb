"""Logs: order, real time, and sequences of producers."""
