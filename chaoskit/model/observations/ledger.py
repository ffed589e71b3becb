"""What clients learn of ledgers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import pyarrow as pa

from chaoskit.base.columns import Flags, Ints, integers, is_one_of
from chaoskit.model.observations.row import Row, of_kinds

CONFIRMED, ENDED = "confirmed", "ended"


@dataclass(frozen=True, slots=True)
class LedgerConfirmed:
    """A reader learned how far a ledger is confirmed (`create`, `open`, `lac`).

    Attributes:
        end: one past the last confirmed entry.
    """

    end: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(CONFIRMED, position=self.end)


@dataclass(frozen=True, slots=True)
class LedgerEnded:
    """A client learned where a closed ledger ends (`close`, `recover`, `lac`).

    Attributes:
        end: one past its last entry.
    """

    end: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(ENDED, position=self.end)


class LedgerEnds(NamedTuple):
    """All that was learned of a ledger, in order of `op`.

    Attributes:
        op: the operation.
        end: one past the last entry, as it was learned.
        ended: whether the ledger was closed; otherwise it was confirmed so far.
    """

    op: Ints
    end: Ints
    ended: Flags

    @classmethod
    def read(cls, observations: pa.Table) -> Self:
        """Read it from the observations of a ledger."""
        rows = of_kinds(observations, CONFIRMED, ENDED)
        return cls(integers(rows["op"]), integers(rows["position"]), is_one_of(rows["kind"], [ENDED]))
