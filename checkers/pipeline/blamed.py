"""What explains a finding of an application, and which instance is to blame for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from chaoskit.base.columns import NONE, Flags


class Blame(NamedTuple):
    """Why something became of an input.

    Attributes:
        words: the habit, with instance and times.
        op: the operation by which the instance that is to blame ended, if it did, or else had begun; `NONE`: the record
            proves no instance.
    """

    words: str
    op: int = NONE


def accused(blames: Sequence[Blame], mine: Flags) -> pa.ListArray:
    """Return the operation by which the instance of each chosen finding is known, if it is."""
    return pa.array(
        [
            None if blame.op == NONE else [blame.op]
            for blame, chosen in zip(blames, mine.tolist(), strict=True)
            if chosen
        ],
        pa.list_(pa.int64()),
    )
