"""For all tests: pytest's own plugin that runs pytest, and how many examples Hypothesis tries: few and always the
same ones, or (`make nightly`) thousands of new ones."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ["pytester"]

settings.register_profile("fast", max_examples=150, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=5000, deadline=None)
settings.load_profile("fast")
