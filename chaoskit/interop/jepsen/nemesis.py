"""Converts the nemesis of a Jepsen history to faults; the names of actions show which start or end one."""

from __future__ import annotations

import re
from typing import Any

from chaoskit.interop.jepsen.lines import NemesisLine

_ENDS = {
    "heal": "partition",
    "resume": "pause",
    "restart": "kill",
    "fast": "slow",
    "fast-net": "slow-net",
    "reset": "clock",
}
_BEGINS = (
    "start",
    "kill",
    "pause",
    "partition",
    "slow",
    "slow-net",
    "bump",
    "strobe",
    "isolate",
    "crash",
    "truncate",
    "bitflip",
)


class Faults:
    """Pairs the start and the end of each fault; both appear twice: at invocation and at completion."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.ignored = 0
        self._open: dict[str, dict[str, Any]] = {}

    def add(self, event: NemesisLine) -> None:
        """Process the next event."""
        ended = self._ended(event.f)
        if ended is not None:
            row = self._open[ended]
            if row["heal_ns"] is None:
                row["heal_ns"] = event.time_ns
            else:
                row["healed_ns"] = event.time_ns
                del self._open[ended]
            return
        kind = _kind(event.f)
        if kind is None:
            self.ignored += 1
        elif kind in self._open:
            row = self._open[kind]
            row["effective_ns"] = row["effective_ns"] or event.time_ns
            row["evidence"] = event.value
            row["targets"] = sorted({*row["targets"], *_targets(event.value)})
        else:
            row = {"kind": kind, "targets": _targets(event.value), "parameters": "{}", "start_ns": event.time_ns}
            row["evidence"] = event.value
            row |= {"fault": len(self.rows), "effective_ns": None, "heal_ns": None, "healed_ns": None}
            self.rows.append(row)
            self._open[kind] = row

    def _ended(self, f: str) -> str | None:
        """Return the open fault that this action ends."""
        if f == "start":
            return next((kind for kind in ("kill", "crash") if kind in self._open), None)
        if f in _ENDS:
            return _ENDS[f] if _ENDS[f] in self._open else None
        match = re.fullmatch(r"(?:stop|heal|end|resume|reset)-?(.*)", f)
        if match is None:
            return None
        kind = match[1] or "start"
        return kind if kind in self._open else None


def _targets(value: str) -> list[str]:
    """Return the nodes that the value of an action names: the keys of a map, or a list or set of names.

    >>> _targets('{"n1" :killed, "n2" :killed}'), _targets('["n3"]'), _targets(":one"), _targets("nil")
    (['n1', 'n2'], ['n3'], [], [])
    """
    return sorted(set(re.findall(r'"([^"\\]+)"', value)))


def _kind(f: str) -> str | None:
    """Return the kind of fault that this action starts, or None.

    >>> _kind("start-partition"), _kind("kill"), _kind("check-offsets")
    ('partition', 'kill', None)
    """
    if f.startswith("start-"):
        return f.removeprefix("start-")
    return f if f in _BEGINS or f.split("-", maxsplit=1)[0] in ("partition", "kill", "pause", "bump", "slow") else None
