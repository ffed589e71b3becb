"""The tables of a history, for checkers that read them and for synthesizers that write them."""

from __future__ import annotations

from chaoskit.history.compacting.dataset import ROW_GROUP_ROWS, PartitionsWriter, write_operations
from chaoskit.history.format.schema import FAULTS, MESSAGES, OBSERVATIONS, OPERATIONS

__all__ = [
    "FAULTS",
    "MESSAGES",
    "OBSERVATIONS",
    "OPERATIONS",
    "ROW_GROUP_ROWS",
    "PartitionsWriter",
    "write_operations",
]
