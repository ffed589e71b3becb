"""Recording of messages: in C where it was compiled (`hot.c`), and else in Python (`lane`), which does the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaoskit.history.recording.lane import Lane, delivered

    COMPILED = True
else:
    try:
        from chaoskit.history.recording._hot import Lane, delivered

        COMPILED = True
    except ImportError:
        from chaoskit.history.recording.lane import Lane, delivered

        COMPILED = False

__all__ = ["COMPILED", "Lane", "delivered"]
