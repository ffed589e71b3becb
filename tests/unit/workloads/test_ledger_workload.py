"""What the clients of the ledger workload record, against ledgers in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from loads import Load, Powers, rows_of
from pydantic import ValidationError

from chaoskit.contract.clients.client import Completed
from chaoskit.contract.clients.ledger import Entry, LedgerError, NoSuchEntry, NoSuchLedger, Unreadable
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Task
from chaoskit.history.reading.reader import History
from chaoskit.judge.findings.checking import find
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import INFO, OK
from workloads.ledger.options import LedgerOptions
from workloads.ledger.recoverer import RECOVERER
from workloads.ledger.workload import LedgerWorkload


class Ledgers(Powers):
    """Ledgers in memory; see `chaoskit.contract.clients.ledger.LedgerClients`. An add to one that has ended fails."""

    first = 0

    def __init__(self) -> None:
        self.entries: list[list[bytes | None]] = []
        self.ended: set[int] = set()
        self.refused = 0
        self.unreadable: dict[tuple[int, int], int] = {}

    def ledger_client(self, settings: Any) -> Ledgers:
        return self

    def create(self, completed: Completed) -> Ledger:
        if self.refused:
            self.refused -= 1
            raise LedgerError(INFO, "NotEnoughBookiesException")
        self.entries.append([])
        return Ledger(self, len(self.entries) - 1, completed)

    def open(self, ledger: int, *, recover: bool) -> Ledger:
        if ledger >= len(self.entries):
            raise NoSuchLedger(INFO, "NoSuchLedgerExistsException")
        if recover:
            self.ended.add(ledger)
        return Ledger(self, ledger)

    def open_for_writing(self) -> list[int]:
        return [ledger for ledger in range(len(self.entries)) if ledger not in self.ended]

    def close(self) -> None:
        """Nothing is held."""


class Ledger:
    """One ledger, for its writer and for a reader."""

    failed = False

    def __init__(self, ledgers: Ledgers, ledger: int, completed: Any = None) -> None:
        self.ledgers, self.ledger, self._completed = ledgers, ledger, completed

    def add(self, payload: bytes, token: int) -> None:
        if self.ledger in self.ledgers.ended:
            self.failed = True
            self._completed(token, INFO, "LedgerFencedException", None)
        else:
            self.ledgers.entries[self.ledger].append(payload)
            self._completed(token, OK, None, len(self.ledgers.entries[self.ledger]) - 1)

    def pending(self) -> int:
        return 0

    def poll(self, timeout_s: float) -> None:
        """Everything was told at once."""

    def give_up(self) -> None:
        """Nothing is under way."""

    def confirmed(self) -> tuple[int, bool]:
        return len(self.ledgers.entries[self.ledger]), self.ledger in self.ledgers.ended

    def read(self, first: int, end: int) -> list[Entry]:
        for entry in range(first, end):
            if self.ledgers.unreadable.get((self.ledger, entry), 0):
                self.ledgers.unreadable[self.ledger, entry] -= first + 1 == end
                raise Unreadable(INFO, "ReadException")
        entries = self.ledgers.entries[self.ledger][first:end]
        if not any(entries):
            raise NoSuchLedger(INFO, "NoSuchLedgerExistsException")
        if None in entries:
            raise NoSuchEntry(INFO, "NoSuchEntryException")
        return [Entry(first + index, content) for index, content in enumerate(entries) if content is not None]

    def close(self, timeout_s: float = 0) -> int:
        if self._completed is not None:
            self.ledgers.ended.add(self.ledger)
        return len(self.ledgers.entries[self.ledger])


class Run(Load):
    """A run on ledgers in memory."""

    def __init__(self, folder: Path) -> None:
        self.ledgers: Any = Ledgers()
        super().__init__(folder, LedgerWorkload(), self.ledgers)

    def client(self, role: str, looks: int = 10, **given: Any) -> Any:
        """Let one client do its work; return what it told the harness."""
        options = LedgerOptions.model_validate({"rate": "max", "entries": 4, "readers": 0, **given})
        return self.work(Task(role, 0), 10_000 if role == AUDITOR else looks, options)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def _told(history: History) -> list[tuple[str, str]]:
    return [(row["f"], row["outcome"]) for row in history.operations.to_pylist()]


def _rows(history: History, ledger: int) -> list[tuple[str, int | None]]:
    """Return what is known of a ledger, in the order of the operations."""
    messages, observations = rows_of(history, "ledger", ledger)
    rows = [(row["op"], row["direction"], row["position"]) for row in messages]
    rows += [(row["op"], row["kind"], row["position"]) for row in observations]
    return [(name, position) for _, name, position in sorted(rows, key=lambda row: row[0])]


def test_a_writer_fills_one_ledger_after_the_other(run: Run) -> None:
    run.client(PRODUCER, looks=5)
    history = run.history()

    adds = [("add", "ok")] * 4
    whole = [("create", "ok"), *adds, ("close", "ok")]
    assert _told(history)[:12] == [*whole, *whole]
    filled = [("confirmed", 0), *(("sent", entry) for entry in range(4)), ("ended", 4)]
    assert _rows(history, 0) == _rows(history, 1) == filled


def test_a_writer_whose_ledger_was_ended_goes_on_with_another_one(run: Run) -> None:
    run.ledgers.ended.add(0)
    run.client(PRODUCER, looks=3)

    assert _told(run.history())[:4] == [("create", "ok"), ("add", "info"), ("create", "ok"), ("add", "ok")]


def test_a_writer_tries_until_a_ledger_is_made(run: Run) -> None:
    run.ledgers.refused = 2
    run.client(PRODUCER, looks=1)

    assert _told(run.history())[:4] == [("create", "info"), ("create", "info"), ("create", "ok"), ("add", "ok")]


def test_a_reader_reads_up_to_the_end_and_leaves(run: Run) -> None:
    writer = run.ledgers.create(lambda *_: None)
    for _ in range(3):
        writer.add(b"x", 0)
    run.client(CONSUMER, looks=2)
    run.ledgers.ended.add(0)
    history = run.history()

    assert _told(history) == [("open", "ok"), ("lac", "ok"), ("read", "ok"), ("lac", "ok")]
    received = [("received", entry) for entry in range(3)]
    assert _rows(history, 0) == [("confirmed", 3), ("confirmed", 3), *received, ("confirmed", 3)]


def test_the_recoverer_ends_what_is_open(run: Run) -> None:
    run.ledgers.create(lambda *_: None)
    run.client(RECOVERER, recover_every="1us", looks=3)
    history = run.history()

    assert _told(history) == [("recover", "ok")]
    assert _rows(history, 0) == [("ended", 0)]


def _whole_run(run: Run) -> History:
    run.client(PRODUCER, looks=5)
    assert run.client(AUDITOR) == {"accepted": True, "audited": True}
    return run.history()


def test_the_final_read_reads_every_ledger_twice(run: Run) -> None:
    history = _whole_run(run)

    ledgers = len(run.ledgers.entries)
    reads = _told(history)
    assert reads.count(("recover", "ok")) == 2 * ledgers
    assert all(audit is not None and audit.complete for audit in (history.audit("ledger", i) for i in range(ledgers)))
    assert find(history, 10**9).num_rows == 0


def test_an_entry_that_is_nowhere_is_lost_and_the_final_read_is_complete(run: Run) -> None:
    run.client(PRODUCER, looks=5)
    run.ledgers.entries[1][2] = None
    assert run.client(AUDITOR) == {"accepted": True, "audited": True}

    assert _found(run.history(), "lost-entry") == [(1, 2)]


@pytest.mark.parametrize(("refusals", "lost"), [(1, []), (100, [2])])
def test_an_entry_that_is_refused_twice_is_lost_and_the_others_are_read(
    run: Run, monkeypatch: pytest.MonkeyPatch, refusals: int, lost: list[int]
) -> None:
    monkeypatch.setattr("workloads.ledger.auditor._AGAIN_S", 0.01)
    run.client(PRODUCER, looks=5)
    run.ledgers.unreadable[0, 2] = refusals

    assert run.client(AUDITOR)["audited"]
    history = run.history()
    rows = find(history, 60 * 10**9).to_pylist()
    entries = [row for row in rows if row["anomaly"] == "lost-entry"]
    assert [entry["position"] for entry in entries] == lost
    assert all(entry["detail"] == "within the ledger, and the system cannot read it" for entry in entries)


def test_a_ledger_of_which_no_bookie_has_anything_is_lost_and_the_final_read_is_complete(run: Run) -> None:
    run.client(PRODUCER, looks=5)
    run.ledgers.entries[1] = [None] * len(run.ledgers.entries[1])
    assert run.client(AUDITOR) == {"accepted": True, "audited": True}

    assert [place for place, _ in _found(run.history(), "lost-entry")] == [1] * len(run.ledgers.entries[1])


def test_ledgers_that_the_system_forgot_are_lost(run: Run) -> None:
    run.client(PRODUCER, looks=5)
    forgotten = len(run.ledgers.entries[-1])
    run.ledgers.entries.append(run.ledgers.entries.pop())

    def forgetful(ledger: int, *, recover: bool) -> Ledger:
        if ledger == 0 or ledger >= len(run.ledgers.entries):
            raise NoSuchLedger(INFO, "NoSuchLedgerExistsException")
        return Ledger(run.ledgers, ledger)

    run.ledgers.open = forgetful
    run.client(AUDITOR)

    assert forgotten
    assert [place for place, _ in _found(run.history(), "lost-entry")] == [0] * 4


def test_ledgers_whose_ids_are_given_again_are_looked_for_beyond_the_newest(run: Run) -> None:
    run.client(PRODUCER, looks=5)
    written = len(run.ledgers.entries)
    run.ledgers.entries.clear()
    run.ledgers.ended.clear()
    run.client(AUDITOR)

    assert {place for place, _ in _found(run.history(), "lost-entry")} == set(range(written))


def _found(history: History, anomaly: str) -> list[tuple[int, int]]:
    rows = find(history, 10**9)
    rows = rows.filter(pa.array([name == anomaly for name in rows["anomaly"].to_pylist()]))
    return list(zip(rows["partition"].to_pylist(), rows["position"].to_pylist(), strict=True))


@pytest.mark.parametrize("given", [{"writers": 0}, {"entries": 0}, {"recover_every": "0s"}, {"producers": 1}])
def test_what_cannot_be_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LedgerOptions.model_validate(given)


def test_there_is_no_recoverer_unless_it_is_wanted() -> None:
    tasks = LedgerWorkload().tasks(LedgerOptions(recover_every=None))

    assert [task.client for task in tasks] == ["producer-0", "producer-1", "consumer-0"]
