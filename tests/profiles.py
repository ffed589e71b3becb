"""How many examples Hypothesis tries in a test that is too slow, or too quick, for the numbers of the profiles."""

from __future__ import annotations

from hypothesis import settings

_FAST_MAX = 100
"""The profile `nightly` tries more than this; see conftest.py."""


def examples(*, fast: int, nightly: int) -> settings:
    """Return the settings of a test by the profile that was chosen."""
    return settings(max_examples=nightly if settings().max_examples > _FAST_MAX else fast)
