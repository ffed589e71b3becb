"""The scenarios that are shipped: read once, as reading all of them takes seconds."""

from __future__ import annotations

from functools import cache

from chaoskit.scenario.files import Written, find, ready_made


@cache
def variants() -> dict[str, Written]:
    """Return all variants of all ready-made scenarios by spec, such as `kafka/power-all:os-flush`."""
    paths = {}
    for name in ready_made():
        for written in find(name):
            variant = written.source.rpartition(":")[2] if ":" in written.source else ""
            paths[f"{name}:{variant}" if variant else name] = written
    return paths
