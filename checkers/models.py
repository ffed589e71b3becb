"""The topic models that checkers handle."""

from __future__ import annotations

from chaoskit.history.models import DataModel

LOG = (DataModel.LOG,)
LEDGER = (DataModel.LEDGER,)
LOGS = (DataModel.LOG, DataModel.LEDGER)
"""A ledger is also a log."""

ALL = tuple(DataModel)
