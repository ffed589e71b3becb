"""What a transactional producer records: registrations, transactions and their ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loads import Load, Powers

from chaoskit.contract.clients.client import ProducerFenced
from chaoskit.contract.workloads.workload import PRODUCER, Job, Task
from chaoskit.load.settings import settings_of
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import FAIL, INFO, OK, Outcome
from workloads.transactions.options import TransactionsOptions
from workloads.transactions.workload import TransactionsWorkload


class Clients(Powers):
    """Clients whose transactional producer acknowledges every send; `commits` are the outcomes of its commits, in
    turn, and then it is fenced."""

    def __init__(self, commits: list[tuple[Outcome, str | None]], unregistered: int = 0) -> None:
        self._commits = commits
        self._unregistered = unregistered
        self.given: dict[str, Any] = {}
        self.aborts = 0

    def transactional_producer(self, settings: dict[str, Any], name: str, completed: Callable[..., None]) -> Clients:
        self.given = {"name": name, **settings}
        self._completed = completed
        return self

    def register(self, timeout_s: float) -> str | None:
        self._unregistered -= 1
        return None if self._unregistered < 0 else "_TIMED_OUT"

    def begin(self) -> None:
        if not self._commits:
            raise ProducerFenced("_FENCED")

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        self._completed(token, OK, None, token)
        return True

    def commit(self, timeout_s: float) -> tuple[Outcome, str | None]:
        return self._commits.pop(0)

    def abort(self, timeout_s: float) -> str | None:
        self.aborts += 1
        return None

    def pending(self) -> int:
        return 0

    def poll(self, timeout_s: float) -> None:
        """Everything was acknowledged at once."""

    def close(self, timeout_s: float) -> None:
        """Nothing is under way."""


def _recorded(tmp_path: Path, clients: Any, looks: int = 20, **given: Any) -> list[dict[str, Any]]:
    load = Load(tmp_path, TransactionsWorkload(), clients)
    options = TransactionsOptions.model_validate({"messages": 2, "rate": "max", **given})
    load.work(Task(PRODUCER, 3), looks, options)
    rows: list[dict[str, Any]] = load.history().operations.to_pylist()
    return rows


def test_every_transaction_is_recorded_with_its_end(tmp_path: Path) -> None:
    clients = Clients([(OK, None), (OK, None), (FAIL, "X"), (INFO, "Y")])
    rows = _recorded(tmp_path, clients, abort_every=3)

    ends = [(row["f"], row["outcome"], row["error"], row["txn"]) for row in rows]
    warm_up = [("init", "ok", None, None), ("begin", "ok", None, 1), ("send", "ok", None, 1), ("end", "ok", None, 1)]
    sends = [[("send", "ok", None, begin)] * 2 for begin in (4, 8, 12, 16)]
    assert ends == [
        *warm_up,
        ("begin", "ok", None, 4), *sends[0], ("end", "ok", None, 4),
        ("begin", "ok", None, 8), *sends[1], ("end", "fail", "X", 8),
        ("begin", "ok", None, 12), *sends[2], ("end", "fail", "aborted on purpose", 12),
        ("begin", "ok", None, 16), *sends[3], ("end", "info", "Y", 16),
        ("begin", "fail", "_FENCED", 20),
    ]  # fmt: skip
    assert clients.aborts == 1


def test_registering_is_tried_until_it_is_done(tmp_path: Path) -> None:
    rows = _recorded(tmp_path, Clients([(OK, None)], unregistered=2))

    assert [row["outcome"] for row in rows if row["f"] == "init"] == ["info", "info", "ok"]


def test_a_producer_that_is_fenced_before_the_load_waits_for_its_end(tmp_path: Path) -> None:
    rows = _recorded(tmp_path, Clients([]), looks=2)

    assert [row["f"] for row in rows] == ["init", "begin"]


def test_texts_of_settings_have_the_numbers_of_their_producer(tmp_path: Path) -> None:
    options = TransactionsOptions.model_validate(
        {"producer": {"transactional.id": "a-{producer}-{incarnation}", "linger.ms": 0, "client.id": "{x}"}}
    )
    nothing: Any = None
    job = Job(Task(PRODUCER, 3, incarnation=2), options, nothing, nothing, nothing, 0)

    settings = settings_of(job.task, job.options.producer)
    assert settings == {"transactional.id": "a-3-2", "linger.ms": 0, "client.id": "{x}"}


def test_a_producer_registers_under_a_name_of_its_own(tmp_path: Path) -> None:
    clients = Clients([(OK, None)])
    _recorded(tmp_path, clients, producer={"acks": "all"})

    assert clients.given == {"name": "chaoskit-3", "acks": "all"}


@pytest.mark.parametrize("given", [{"messages": 0}, {"abort_every": -1}, {"rate": 0}])
def test_what_cannot_be_is_refused(given: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"greater than or equal|sends per second"):
        TransactionsOptions.model_validate(given)


class Audited(Clients):
    """The same, with an empty log to read."""

    def auditor(self, settings: Any) -> Audited:
        return self

    producer = consumer = prober = auditor

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        return 10, 10

    def assign(self, partitions: Any) -> None:
        """Nothing is read."""

    def position(self, topic: str, partition: int) -> int:
        return 10

    def close(self, timeout_s: float = 0) -> None:
        """Nothing is under way."""


@pytest.mark.parametrize(
    ("commits", "accepted"),
    [([(OK, None)], True), ([(INFO, "_TIMED_OUT")], False), ([(FAIL, "X")], False), ([], False)],
)
def test_a_system_that_commits_no_transaction_after_healing_did_not_recover(
    tmp_path: Path, commits: list[tuple[Outcome, str | None]], *, accepted: bool
) -> None:
    fenced = not commits
    load = Load(tmp_path, TransactionsWorkload(), Audited(commits, unregistered=1))
    result = load.work(Task(AUDITOR, 0), 10, TransactionsOptions(partitions=2))

    assert result["accepted"] is accepted
    names = [row["f"] for row in load.history().operations.to_pylist()]
    assert names[:4] == ["init", "init", "begin", "audit" if fenced else "send"]
