"""The names of the anomalies of transactions that depend on each other in a circle."""

from __future__ import annotations

_ORDERS, _BASES = ("", "-process", "-realtime"), ("G0", "G1c", "G-single", "G2")

CYCLES = tuple(base + order for order in _ORDERS for base in _BASES)
"""All of them: see docs/anomalies.md."""
