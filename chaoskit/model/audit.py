"""The result of the final read of a partition: its bounds, or that it was drained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """The final read of a log or a ledger, whose bounds the system reports.

    Attributes:
        low: first position that still existed in the system (earlier ones expired).
        end: end position that the system reported after healing: one past the last readable position.
        complete: whether the final read reached `end`.
        reached: position up to which it read; None: unknown.
        local: first position that the brokers themselves had when it had ended: what is before was in an object store
            only; None: there is none, or nobody told.
    """

    low: int
    end: int
    complete: bool
    reached: int | None = None
    local: int | None = None


@dataclass(frozen=True, slots=True)
class Drained:
    """The final read of a queue, or of a topic without storage: it received what was there.

    Attributes:
        complete: whether it received everything, until nothing more arrived.
    """

    complete: bool


Audit = Bounds | Drained
