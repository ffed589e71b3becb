"""Support for tests that use chaoskit: runs from Python."""

from chaoskit.testing.session import ChaosSession, Run, Settings, SharedCluster

__all__ = ["ChaosSession", "Run", "Settings", "SharedCluster"]
