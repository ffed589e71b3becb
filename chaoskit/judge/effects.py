"""The faults of a run as guarantees see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.cluster import Effect


def effects(faults: Sequence[Mapping[str, Any]]) -> list[Effect]:
    """Return the recorded faults that were begun: one that was not proved may have done its damage all the same."""
    return [
        Effect(row["kind"], tuple(row["targets"]), row["start_ns"], row["healed_ns"])
        for row in faults
        if row["targets"]
    ]
