"""chaoskit: chaos and durability tests for message systems.

What stands in `__all__` is stable: it changes only with a major release, and the changelog says how. So are the command
line, the scenarios, the run folder and the history (docs/). For plug-ins, `chaoskit.contract` and `chaoskit.model` are.
Everything else may change at any time.

The names are imported when they are used, so that `import chaoskit` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaoskit.base.errors import BadInput, ChaoskitError, RunFailed
    from chaoskit.judge.verdict.verdict import Found, Verdict
    from chaoskit.testing.session import ChaosSession, Run, Settings, ShareCluster, SharedCluster

__all__ = [
    "BadInput",
    "ChaosSession",
    "ChaoskitError",
    "Found",
    "Run",
    "RunFailed",
    "Settings",
    "ShareCluster",
    "SharedCluster",
    "Verdict",
]

_HOMES = {
    **dict.fromkeys(("BadInput", "ChaoskitError", "RunFailed"), "chaoskit.base.errors"),
    **dict.fromkeys(("Found", "Verdict"), "chaoskit.judge.verdict.verdict"),
    **dict.fromkeys(("ChaosSession", "Run", "Settings", "ShareCluster", "SharedCluster"), "chaoskit.testing.session"),
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value: object = getattr(import_module(_HOMES[name]), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
