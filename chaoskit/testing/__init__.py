"""For tests that use chaoskit: runs from Python."""

from chaoskit.testing.session import ChaosSession, Run, Settings

__all__ = ["ChaosSession", "Run", "Settings"]
