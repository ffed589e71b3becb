"""Ledgers: logs of one writer each, which anybody may end (BookKeeper). Positions are entry ids, from 0.

Ends are told as positions, too: one past the last entry, so that an empty ledger ends at 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from chaoskit.contract.client import Completed
from chaoskit.history.recorder import OperationFailed


class LedgerError(OperationFailed):
    """A ledger operation did not succeed."""


class NoSuchLedger(LedgerError):
    """There is no ledger of this id."""


class NoSuchEntry(LedgerError):
    """Every bookie that is to have an entry answered that it has none."""


class Entry(NamedTuple):
    """One entry as it was read."""

    position: int
    payload: bytes


class LedgerWriter(Protocol):
    """Adds entries to the ledger that it made, asynchronously; completions arrive during `poll`.

    Attributes:
        ledger: its id.
        failed: whether an add did not succeed: then no later one will.
    """

    ledger: int
    failed: bool

    def add(self, payload: bytes, token: int) -> None:
        """Hand over one entry."""
        ...

    def pending(self) -> int:
        """Return how many adds have not completed."""
        ...

    def poll(self, timeout_s: float) -> None:
        """Wait for a completion, at most this long, and report all that there are."""
        ...

    def close(self, timeout_s: float) -> int:
        """End the ledger and return where: no entry is added any more.

        Raises:
            LedgerError: it may not have been ended, or somebody else ended it elsewhere.
        """
        ...

    def give_up(self) -> None:
        """Report what has not completed as unknown, and leave the ledger as it is."""
        ...


class LedgerReader(Protocol):
    """Reads one ledger."""

    def confirmed(self) -> tuple[int, bool]:
        """Return one past the last confirmed entry that the reader knows of now, having asked; and whether the ledger
        has ended there.

        Raises:
            LedgerError: nobody could be asked.
        """
        ...

    def read(self, first: int, end: int) -> list[Entry]:
        """Return the entries from `first` to before `end`.

        Raises:
            NoSuchEntry: one of them is nowhere.
            LedgerError: one of them could not be read now.
        """
        ...

    def close(self) -> None:
        """Forget the ledger."""
        ...


class LedgerClient(Protocol):
    """One connection to the system.

    Attributes:
        first: ledgers below this id were there before the trial began.
    """

    first: int

    def create(self, completed: Completed) -> LedgerWriter:
        """Make a ledger.

        Raises:
            LedgerError: it may not have been made.
        """
        ...

    def open(self, ledger: int, *, recover: bool) -> LedgerReader:
        """Open a ledger to read it.

        Args:
            ledger: its id.
            recover: end it first, unless it has ended, and fence its writer.

        Raises:
            NoSuchLedger: there is none.
            LedgerError: it could not be opened now.
        """
        ...

    def open_for_writing(self) -> Sequence[int]:
        """Return the ids of the ledgers that have not ended, ascending.

        Raises:
            LedgerError: nobody could be asked.
        """
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


@runtime_checkable
class LedgerClients(Protocol):
    """Optional power of a system's clients: ledgers."""

    def ledger_client(self, settings: Mapping[str, Any]) -> LedgerClient:
        """Connect with the system's own client settings by name."""
        ...
