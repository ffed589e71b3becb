"""Whether figures are those of the system, or of its load generator and of a full machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chaoskit.judge.timing.machine import Machine, full

_SHORT = 0.99
_LATE_MS = 1.0


def doubts(rate: int | str, acked_per_s: float, document: dict[str, Any], machine: Machine | None) -> Iterator[str]:
    """Yield why a result does not tell the system's latency at a rate; nothing if it does.

    Args:
        rate: the rate that was wanted, or `max`.
        acked_per_s: the rate that was reached.
        document: OMB's result.
        machine: the machine meanwhile; None if it is not known.
    """
    if isinstance(rate, int) and acked_per_s < _SHORT * rate:
        yield f"{acked_per_s:,.0f}/s of {rate:,}/s were acknowledged"
    late_ms = document["aggregatedPublishDelayLatency50pct"] / 1000
    if isinstance(rate, int) and late_ms > _LATE_MS:
        yield f"half of the sends were made {late_ms:,.1f} ms late or more"
    if machine is not None:
        yield from full(machine)
