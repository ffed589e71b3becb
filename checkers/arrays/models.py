"""The data models in which anomalies occur."""

from __future__ import annotations

from chaoskit.contract.workloads.datamodel import LEDGER, LOG, MODELS, PUBSUB, QUEUE

IN_LOGS = (LOG,)
LEDGERS = (LEDGER,)
QUEUES = (QUEUE,)
FEEDS = (PUBSUB,)
LOGS = (LOG, LEDGER)
"""A ledger is also a log."""

SENT = (*LOGS, *QUEUES, *FEEDS)
"""Where messages are sent, and received: everywhere."""

DELIVERED = (*IN_LOGS, *QUEUES)
"""What consumers settle: messages of a log's subscription, or of a queue."""

ALL = MODELS
