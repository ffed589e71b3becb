"""What explains a finding of an application, and which instance is to blame for it."""

from __future__ import annotations

from typing import NamedTuple

from chaoskit.base.columns import NONE


class Blame(NamedTuple):
    """Why something became of an input.

    Attributes:
        words: the habit, with instance and times.
        op: the operation by which the instance that is to blame ended, if it did, or else had begun; `NONE`: the record
            proves no instance.
    """

    words: str
    op: int = NONE
