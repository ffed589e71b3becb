"""Ledgers: single-writer logs that any client may close. Positions are entry ids, from 0.

Ends are positions, too: one past the last entry. An empty ledger ends at 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from chaoskit.contract.clients.client import Completed
from chaoskit.model.outcome import OperationFailed


class LedgerError(OperationFailed):
    """A ledger operation failed."""


class NoSuchLedger(LedgerError):
    """No ledger has this id."""


class NoSuchEntry(LedgerError):
    """All storage nodes of an entry's write set answered that they do not have it."""


class Unreadable(LedgerError):
    """The storage nodes of an entry's write set answered, and none could read it whole."""


class Entry(NamedTuple):
    """One entry as read."""

    position: int
    payload: bytes


class LedgerWriter(Protocol):
    """Adds entries asynchronously to the ledger that it created; completions are reported during `poll`.

    Attributes:
        ledger: id of the ledger.
        failed: whether an add failed; all later ones fail, too.
    """

    @property
    def ledger(self) -> int: ...
    @property
    def failed(self) -> bool: ...

    def add(self, payload: bytes, token: int) -> None:
        """Enqueue one entry."""
        ...

    def pending(self) -> int:
        """Return the number of adds in flight."""
        ...

    def poll(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` for a completion and report all that have arrived."""
        ...

    def close(self, timeout_s: float) -> int:
        """Close the ledger, so that no entry can be added, and return its end.

        Raises:
            LedgerError: it may not be closed, or another client closed it at a different end.
        """
        ...

    def give_up(self) -> None:
        """Report all adds in flight as unknown, and leave the ledger as it is."""
        ...


class LedgerReader(Protocol):
    """Reads one ledger."""

    def confirmed(self) -> tuple[int, bool]:
        """Query the last confirmed entry; return the position after it, and whether the ledger is closed there.

        Raises:
            LedgerError: no server could be reached.
        """
        ...

    def read(self, first: int, end: int) -> list[Entry]:
        """Return the entries from `first` up to, but not including, `end`.

        Raises:
            NoSuchEntry: an entry does not exist on any storage node.
            Unreadable: no storage node can read an entry.
            LedgerError: an entry cannot be read at the moment.
        """
        ...

    def close(self) -> None:
        """Release the reader."""
        ...


class LedgerClient(Protocol):
    """One connection to the system.

    Attributes:
        first: ledgers with lower ids existed before the trial began.
    """

    @property
    def first(self) -> int: ...

    def create(self, completed: Completed) -> LedgerWriter:
        """Create a ledger.

        Raises:
            LedgerError: it may not have been created.
        """
        ...

    def open(self, ledger: int, *, recover: bool) -> LedgerReader:
        """Open a ledger for reading.

        Args:
            ledger: its id.
            recover: unless the ledger is closed, fence its writer and close it first.

        Raises:
            NoSuchLedger: no ledger has this id.
            LedgerError: it cannot be opened at the moment.
        """
        ...

    def open_for_writing(self) -> Sequence[int]:
        """Return the ids of the ledgers that are not closed, ascending.

        Raises:
            LedgerError: no server could be reached.
        """
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


@runtime_checkable
class LedgerClients(Protocol):
    """Optional power of a system's clients: ledgers."""

    def ledger_client(self, settings: Mapping[str, Any]) -> LedgerClient:
        """Connect; `settings` are the system's own client settings, by name."""
        ...
