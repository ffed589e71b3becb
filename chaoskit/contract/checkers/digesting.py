"""What sets of messages show of a log, where a run records latencies only (`record: latency`)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Protocol, runtime_checkable

from chaoskit.contract.checkers.anomaly import Anomaly


class Fate(Enum):
    """What became of a message, told from sets of sequences and positions.

    `LOST`, `UNSEEN`, `EXPIRED`: it was acknowledged, and the log does not have it, may not have it, or deleted it.
    `CUT`: it is lost, although a reader had it. `PHANTOM`: it was received and never sent. `FAILED_VISIBLE`: it was
    received, and its send had failed. `MISROUTED`: it was received from another place than it was sent to. `TWICE`: it
    was received at two positions. `DISORDERED`: it was received after a later one of its producer. `CORRUPT`: it was
    received damaged.
    """

    LOST = auto()
    UNSEEN = auto()
    EXPIRED = auto()
    CUT = auto()
    PHANTOM = auto()
    FAILED_VISIBLE = auto()
    MISROUTED = auto()
    TWICE = auto()
    DISORDERED = auto()
    CORRUPT = auto()


@runtime_checkable
class Digesting(Protocol):
    """Optional power of a checker: it says which of its anomalies each fate is.

    Attributes:
        fates: one of its anomalies for each fate.
    """

    @property
    def fates(self) -> Mapping[Fate, Anomaly]: ...
