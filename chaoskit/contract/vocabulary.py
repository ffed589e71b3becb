"""The words of a history, as clients and checkers use them: places, outcomes, audits, operations, observations."""

from __future__ import annotations

from chaoskit.history.format.audits import Audit, Bounds, Drained, Place
from chaoskit.history.format.schema import (
    ASKING,
    AUDITOR,
    DEAD_LETTER_REASONS,
    DIRECTIONS,
    DUPLICATE,
    FAIL,
    INFO,
    KINDS,
    OK,
    OTHER_QUEUE,
    OUTCOMES,
    PAYLOADS,
    PRODUCER_SHIFT,
    REPOSITIONING,
    SENDING,
    SUBSCRIPTION_TYPES,
    Outcome,
)

__all__ = [
    "ASKING",
    "AUDITOR",
    "DEAD_LETTER_REASONS",
    "DIRECTIONS",
    "DUPLICATE",
    "FAIL",
    "INFO",
    "KINDS",
    "OK",
    "OTHER_QUEUE",
    "OUTCOMES",
    "PAYLOADS",
    "PRODUCER_SHIFT",
    "REPOSITIONING",
    "SENDING",
    "SUBSCRIPTION_TYPES",
    "Audit",
    "Bounds",
    "Drained",
    "Outcome",
    "Place",
]
