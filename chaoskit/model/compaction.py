"""What a compacted log keeps: for each key the latest message; what a later one of its key stands for may be removed.

A message without content is a deletion: it removes its key, and is itself removed after a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_RETENTION, _LAG = "delete-retention-ns", "compaction-lag-ns"


@dataclass(frozen=True, slots=True)
class Compaction:
    """How a log is compacted.

    Attributes:
        retention_ns: how long a deletion is kept at least.
        lag_ns: how long every message is kept at least.
    """

    retention_ns: int
    lag_ns: int = 0

    @property
    def settings(self) -> Mapping[str, int]:
        """It as settings of a topic; see `chaoskit.contract.systems.system.Imposing`."""
        return {_RETENTION: self.retention_ns, _LAG: self.lag_ns}

    @classmethod
    def of(cls, settings: Iterable[tuple[str, int]]) -> Compaction | None:
        """Return how a topic with these settings is compacted; None: it is not."""
        known = dict(settings)
        return cls(known[_RETENTION], known[_LAG]) if _RETENTION in known else None
