"""What of the things that clients experienced under a fault the machine may have made alone.

Where naps of 5 ms end late, every thread on the way of a message may wait as long: of the client, the leader, the
followers, and back. `chaoskit.run.gauge` measures it each second on the machine where clients run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_THREADS = 10
"""How many threads on the way of a message and its acknowledgement may have waited."""


def beyond(changed: Mapping[str, Any] | None, late_ms: float) -> dict[str, Any] | None:
    """Return what is left of a change of behaviour without what the machine may have made; None if nothing is.

    >>> beyond({"stalled_ms": 900.0, "send": {"p99_ms": [20.0, 950.0]}}, late_ms=30.0)
    {'stalled_ms': 900.0, 'send': {'p99_ms': [20.0, 950.0]}}
    >>> beyond({"stalled_ms": 900.0, "send": {"p50_ms": [20.0, 1100.0]}}, late_ms=100.0)
    {'send': {'p50_ms': [20.0, 1100.0]}}
    >>> beyond({"stalled_ms": 900.0}, late_ms=100.0)
    >>> beyond({"lasted_ms": {"held-back": 2000.0, "unowned": 900.0}}, late_ms=100.0)
    {'lasted_ms': {'held-back': 2000.0}}

    Args:
        changed: as of `chaoskit.judge.timing.behaviour` and `chaoskit.judge.faults.lasting`, or None.
        late_ms: by how much the worst nap while the fault held was late, in ms.
    """
    if not changed:
        return None if changed is None else {}
    own_ms, left = _THREADS * late_ms, dict(changed)
    for name in ("stalled_ms", "degraded_ms", "unheard_ms"):
        if left.get(name, own_ms) <= own_ms:
            left.pop(name, None)
    if "acks_per_s" in left:
        usual, under = left["acks_per_s"]
        if 1 - under / usual <= own_ms / 1000:
            del left["acks_per_s"]
    lasted = {name: ms for name, ms in left.pop("lasted_ms", {}).items() if ms > own_ms}
    if lasted:
        left["lasted_ms"] = lasted
    for name in ("send", "end_to_end"):
        points = {key: pair for key, pair in left.pop(name, {}).items() if pair[1] - pair[0] > own_ms}
        if points:
            left[name] = points
    return left or None
