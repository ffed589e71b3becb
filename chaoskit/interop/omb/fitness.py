"""Whether figures are those of the system, or of its load generator and of a full machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chaoskit.judge.machine import Machine

_SHORT = 0.99
_BUSY, _FULL, _STOLEN = 0.9, 0.05, 0.02
"""Share of a core that a client can use, share of the machine that must be idle, and share that may be stolen."""

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
    if machine is None:
        return
    for name, used in machine["clients"].items():
        if used > _BUSY:
            yield f"{name} used {used:.2f} of the one core that it can use"
    if machine["idle"] < _FULL * machine["cores"]:
        yield f"{machine['idle']:.2f} of {machine['cores']} cores were idle"
    if machine["steal"] > _STOLEN * machine["cores"]:
        yield f"the hypervisor took {machine['steal']:.2f} of {machine['cores']} cores"
