"""Support for tests that use chaoskit: runs from Python."""

from chaoskit.testing.result import Run
from chaoskit.testing.session import ChaosSession, Settings
from chaoskit.testing.shared import SharedCluster, live_cluster

__all__ = ["ChaosSession", "Run", "Settings", "SharedCluster", "live_cluster"]
