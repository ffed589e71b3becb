"""For all tests: pytest's own plugin that runs pytest."""

from __future__ import annotations

pytest_plugins = ["pytester"]
