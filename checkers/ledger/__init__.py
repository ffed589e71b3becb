"""Ledgers: entries, confirmed positions and ends."""
