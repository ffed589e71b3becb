"""Implementations by name, from entry points: ours and third parties' alike."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from chaoskit.base.errors import BadInput, nearest

_GROUPS = {
    "host": "chaoskit.hosts",
    "cluster": "chaoskit.clusters",
    "workload": "chaoskit.workloads",
    "nemesis": "chaoskit.nemeses",
    "checker": "chaoskit.checkers",
    "synthesizer": "chaoskit.synthesizers",
    "analysis": "chaoskit.analysis",
}


@cache
def _entries(noun: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=_GROUPS[noun])}


def names(noun: str) -> list[str]:
    """Return the names of everything installed of one noun (`host`, `cluster`, `workload`, ...)."""
    return sorted(_entries(noun))


@cache
def load(noun: str, name: str, key: str) -> Any:
    """Return an instance of the named implementation, the same one at every call.

    Args:
        noun: what it is.
        name: entry point.
        key: where the user wrote the name, for the error.

    Raises:
        BadInput: nothing of that name is installed, or a package that it needs is missing.
    """
    entry = _entries(noun).get(name)
    if entry is None:
        raise BadInput(f"{key}: there is no {noun} {name!r}; {nearest(name, _entries(noun))}")
    try:
        return entry.load()()
    except ModuleNotFoundError as error:
        raise BadInput(
            f"{key}: {noun} {name!r} needs the package {error.name}: pip install 'chaoskit[{name}]'"
        ) from error
