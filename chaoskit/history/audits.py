"""What the final read knew of each partition: where it ends, or that it was drained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """The final read of a log or a ledger, whose ends the system tells.

    Attributes:
        low: first position that the system still held (earlier ones expired).
        end: end position that the system reported after healing: one past the last readable one.
        complete: whether the final read reached `end`.
    """

    low: int
    end: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Drained:
    """The final read of a queue, or of a topic that keeps nothing: it took what there was.

    Attributes:
        complete: whether it took everything, and then nothing more came.
    """

    complete: bool


Audit = Bounds | Drained
