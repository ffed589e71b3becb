"""Which topics checkers judge."""

from __future__ import annotations

from chaoskit.history.models import DataModel

LOG = (DataModel.LOG,)
LEDGER = (DataModel.LEDGER,)
LOGS = (DataModel.LOG, DataModel.LEDGER)
"""A ledger is a log, too."""

ALL = tuple(DataModel)
