"""The topic models that checkers handle."""

from __future__ import annotations

from chaoskit.history.models import DataModel

LOG = (DataModel.LOG,)
LEDGER = (DataModel.LEDGER,)
LOGS = (DataModel.LOG, DataModel.LEDGER)
"""A ledger is also a log."""

QUEUE = (DataModel.QUEUE,)
PUBSUB = (DataModel.PUBSUB,)
SENT = (*LOGS, *QUEUE, *PUBSUB)
"""Where messages are sent, and received: everywhere."""

DELIVERED = (*LOG, *QUEUE)
"""What consumers settle: messages of a log's subscription, or of a queue."""

ALL = tuple(DataModel)
