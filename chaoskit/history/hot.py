"""Recording of messages: in C where it was compiled (`hot.c`), and else in Python (`lane`), which does the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaoskit.history.lane import Cursor, Lane, delivered

    COMPILED = True
else:
    try:
        from chaoskit.history._hot import Cursor, Lane, delivered

        COMPILED = True
    except ImportError:
        from chaoskit.history.lane import Cursor, Lane, delivered

        COMPILED = False

__all__ = ["COMPILED", "Cursor", "Lane", "delivered"]
