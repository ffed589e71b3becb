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
    from chaoskit.base.errors import BadInput, ChaoskitError, FaultError, RunFailed
    from chaoskit.judge.verdict.verdict import Found, Verdict
    from chaoskit.testing.live import BlockFault, LiveCluster
    from chaoskit.testing.result import Run
    from chaoskit.testing.session import ChaosSession, Settings
    from chaoskit.testing.shared import ShareCluster, SharedCluster, live_cluster

__all__ = [
    "BadInput",
    "BlockFault",
    "ChaosSession",
    "ChaoskitError",
    "FaultError",
    "Found",
    "LiveCluster",
    "Run",
    "RunFailed",
    "Settings",
    "ShareCluster",
    "SharedCluster",
    "Verdict",
    "live_cluster",
]

_HOMES = {
    **dict.fromkeys(("BadInput", "ChaoskitError", "FaultError", "RunFailed"), "chaoskit.base.errors"),
    **dict.fromkeys(("Found", "Verdict"), "chaoskit.judge.verdict.verdict"),
    **dict.fromkeys(("BlockFault", "LiveCluster"), "chaoskit.testing.live"),
    "Run": "chaoskit.testing.result",
    **dict.fromkeys(("ChaosSession", "Settings"), "chaoskit.testing.session"),
    **dict.fromkeys(("ShareCluster", "SharedCluster", "live_cluster"), "chaoskit.testing.shared"),
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value: object = getattr(import_module(_HOMES[name]), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
