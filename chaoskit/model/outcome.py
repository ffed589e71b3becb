"""How operations end."""

from __future__ import annotations

from enum import IntEnum

from chaoskit.base.errors import ChaoskitError


class Outcome(IntEnum):
    """How an operation ended. `OK`: it happened. `FAIL`: it definitely did not happen. `INFO`: nobody knows."""

    OK = 0
    FAIL = 1
    INFO = 2


OK, FAIL, INFO = Outcome
OUTCOMES = tuple(outcome.name.lower() for outcome in Outcome)
"""Their names in a history, by code."""

NOT_CONNECTED = "not connected"
"""Error of an operation that found no connection and made none, so that nothing was sent, and nothing can have come."""

DUPLICATE = "duplicate"
"""Error of an ok send that the system did not store again because it is a duplicate."""


class OperationFailed(ChaoskitError):
    """An operation failed; the message is the client library's name for the error.

    Attributes:
        outcome: outcome code: `FAIL` or `INFO`.
    """

    def __init__(self, outcome: Outcome, name: str) -> None:
        super().__init__(name)
        self.outcome = outcome
