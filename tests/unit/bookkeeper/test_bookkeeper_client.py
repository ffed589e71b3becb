"""How completions of BookKeeper's client are classified, and in which order they are told."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from chaoskit.contract.clients.ledger import LedgerError, NoSuchEntry, NoSuchLedger, Unreadable
from chaoskit.model.outcome import FAIL, INFO, OK, Outcome
from clusters.bookkeeper.client import BookKeeperReader, BookKeeperWriter
from clusters.bookkeeper.gateway import Gateway


class JavaClass:
    """The class of a Java exception."""

    def __init__(self, name: str) -> None:
        self._name = name

    def getName(self) -> str:  # noqa: N802
        return self._name

    def getSimpleName(self) -> str:  # noqa: N802
        return self._name.rpartition(".")[2].rpartition("$")[2]


class JavaException:
    """A Java exception behind py4j."""

    _target_id = "o1"

    def __init__(self, name: str, cause: JavaException | None = None) -> None:
        self._class = JavaClass(name)
        self._cause = cause

    def getClass(self) -> JavaClass:  # noqa: N802
        return self._class

    def getCause(self) -> JavaException | None:  # noqa: N802
        return self._cause


def raised(name: str) -> Py4JJavaError:
    """An error of BookKeeper as a future raises it."""
    cause = JavaException(f"org.apache.bookkeeper.client.BKException$BK{name}")
    return Py4JJavaError("", JavaException("java.util.concurrent.CompletionException", cause))


class Future:
    """A future whose outcome is told in advance: None: not yet."""

    def __init__(self, outcome: int | str | None) -> None:
        self.outcome = outcome

    def getNow(self, absent: None) -> int | None:  # noqa: N802
        if isinstance(self.outcome, str):
            raise raised(self.outcome)
        return self.outcome

    def get(self, timeout_ms: int, unit: Any) -> Any:
        return self.getNow(None)


class Handle:
    """A ledger handle that hands out futures."""

    def __init__(self, *outcomes: int | str | None) -> None:
        self.futures = [Future(outcome) for outcome in outcomes]
        self._next = iter(self.futures)
        self.ended = False
        self.known = 4

    def getId(self) -> int:  # noqa: N802
        return 7

    def appendAsync(self, payload: bytes) -> Future:  # noqa: N802
        return next(self._next)

    def isClosed(self) -> bool:  # noqa: N802
        return self.ended

    def readLastAddConfirmedAsync(self) -> Future:  # noqa: N802
        return Future(2)

    def getLastAddConfirmed(self) -> int:  # noqa: N802
        return self.known


def _gateway() -> Gateway:
    gateway = Gateway.__new__(Gateway)
    gateway._milliseconds = None
    return gateway


def _writer(handle: Any) -> tuple[BookKeeperWriter, list[Any]]:
    completions: list[Any] = []
    writer = BookKeeperWriter(_gateway(), handle, lambda *completion: completions.append(completion))
    for token in range(len(handle.futures)):
        writer.add(b"x", token)
    return writer, completions


def test_adds_are_told_in_their_order() -> None:
    handle = Handle(0, None, 2)
    writer, completions = _writer(handle)
    writer.poll(0)

    assert completions == [(0, OK, None, 0)]
    assert writer.pending() == 2
    handle.futures[1].outcome = 1
    writer.poll(0)
    assert completions[1:] == [(1, OK, None, 1), (2, OK, None, 2)]
    assert not writer.failed


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("LedgerFencedException", INFO),
        ("LedgerClosedException", INFO),
        ("NotEnoughBookiesException", INFO),
        ("IncorrectParameterException", FAIL),
    ],
)
def test_an_add_that_failed_is_classified_by_its_error(error: str, outcome: Outcome) -> None:
    writer, completions = _writer(Handle(error))
    writer.poll(0)

    assert completions == [(0, outcome, error, None)]
    assert writer.failed


def test_what_never_completed_is_unknown() -> None:
    writer, completions = _writer(Handle(0, None))
    writer.give_up()

    assert completions == [(0, OK, None, 0), (1, INFO, "never completed", None)]
    assert writer.pending() == 0


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("NoSuchLedgerExistsException", NoSuchLedger),
        ("NoSuchLedgerExistsOnMetadataServerException", NoSuchLedger),
        ("NoSuchEntryException", NoSuchEntry),
        ("ReadException", Unreadable),
        ("DigestMatchException", Unreadable),
        ("LedgerRecoveryException", LedgerError),
    ],
)
def test_an_error_is_told_by_its_name(error: str, kind: type[LedgerError]) -> None:
    failure = _gateway().error(raised(error))

    assert (type(failure), str(failure)) == (kind, error)


def test_a_timeout_of_ours_leaves_it_open_what_became_of_it() -> None:
    error = _gateway().error(Py4JJavaError("", JavaException("java.util.concurrent.TimeoutException")))

    assert (str(error), error.outcome) == ("TimeoutException", INFO)


def test_a_reader_tells_what_its_handle_knows_and_not_what_one_bookie_says() -> None:
    handle: Any = Handle()
    reader = BookKeeperReader(_gateway(), handle)

    assert reader.confirmed() == (5, False)
    handle.ended = True
    assert reader.confirmed() == (5, True)
