"""Where messages are."""

from __future__ import annotations

Place = tuple[str, int]
"""Topic and partition."""
