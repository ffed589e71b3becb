"""A producer goes on through its clients: what it sends again, what it takes for confirmed, and how it is recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loads import Load, Powers

from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.workloads.workload import PRODUCER, Task
from chaoskit.load.restarts import Restarts
from chaoskit.model.outcome import DUPLICATE, INFO, OK
from workloads.dedup.options import DedupOptions
from workloads.dedup.workload import DedupWorkload


class Broker(Powers):
    """Stores what its clients send, and forgets to acknowledge the sequences of `silent` once: a client that has such a
    send under way is told nothing of it until it is given up.

    Attributes:
        stored: sequences, in order.
        lost: sequences that are not even stored the first time.
        claimed: what it says is the last sequence; None: what it stored.
        away: how often it cannot be asked.
    """

    def __init__(self, *, silent: Any = (), lost: Any = (), claimed: int | None = None, away: int = 0) -> None:
        self.silent, self.lost, self.claimed, self.away = set(silent), set(lost), claimed, away
        self.stored: list[int] = []
        self.clients: list[Client] = []

    def sequenced_producer(self, settings: Any, name: str, completed: Callable[..., None]) -> Client:
        assert name == "chaoskit-3"
        self.clients.append(Client(self, completed))
        return self.clients[-1]


class Client:
    """A client that reports unknown outcomes on its second poll after the send."""

    def __init__(self, broker: Broker, completed: Callable[..., None]) -> None:
        self._broker = broker
        self._completed = completed
        self._open: list[int] = []
        self._polls = 0

    def send_as(  # noqa: PLR0917
        self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int, sequence: int
    ) -> bool:
        broker = self._broker
        if sequence in broker.lost:
            broker.lost.remove(sequence)
            self._open.append(token)
            return True
        broker.stored.append(sequence)
        if sequence in broker.silent:
            broker.silent.remove(sequence)
            self._open.append(token)
        else:
            self._completed(token, OK, None, len(broker.stored))
        return True

    def last_sequence(self, topic: str, partition: int) -> int:
        if self._broker.away and len(self._broker.clients) > 1:
            self._broker.away -= 1
            raise Unreachable("Timeout")
        if self._broker.claimed is not None:
            return self._broker.claimed
        return max(self._broker.stored, default=-1)

    def poll(self, timeout_s: float) -> None:
        self._polls += 1
        if self._polls % 2 == 0:
            self.abandon()

    def abandon(self) -> None:
        while self._open:
            self._completed(self._open.pop(0), INFO, "Timeout", None)

    def pending(self) -> int:
        return len(self._open)

    def close(self, timeout_s: float) -> None:
        self.abandon()


Rows = list[dict[str, Any]]


def _recorded(tmp_path: Path, clients: Any, looks: int = 4, **given: Any) -> tuple[Rows, dict[int, int]]:
    """Return the operations, and the value of each send."""
    load = Load(tmp_path, DedupWorkload(), clients)
    load.work(Task(PRODUCER, 3), looks, DedupOptions.model_validate({"rate": "max", "in_flight": 3, **given}))
    history = load.history()
    sent = history.messages("log-0", 0).to_pylist()
    return history.operations.to_pylist(), {row["op"]: row["value"] & 0xFFFF for row in sent}


def _sends(rows: Rows, values: dict[int, int], value: int) -> list[tuple[str, str | None]]:
    return [(row["outcome"], row["error"]) for row in rows if values.get(row["op"]) == value]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workloads.dedup.resuming._AGAIN_S", 0)


def test_sequences_begin_at_one_and_ascend(tmp_path: Path) -> None:
    broker = Broker()
    rows, values = _recorded(tmp_path, broker)

    assert broker.stored == list(range(1, len(values) + 1))
    assert len(values) > 3
    assert {row["f"] for row in rows} == {"send"}


def test_what_the_system_has_is_confirmed_and_not_sent_again(tmp_path: Path) -> None:
    broker = Broker(silent=[2])
    rows, values = _recorded(tmp_path, broker)

    assert _sends(rows, values, 1) == [("ok", DUPLICATE)]
    assert broker.stored == sorted(set(broker.stored))
    assert [row["outcome"] for row in rows if row["f"] == "resume"] == ["ok"]
    assert len(broker.clients) == 2


def test_what_the_system_lacks_is_sent_again_in_order_with_its_sequence(tmp_path: Path) -> None:
    broker = Broker(lost=[2], silent=[3, 4], claimed=-1)
    rows, values = _recorded(tmp_path, broker)

    first, *_ = (row["op"] for row in rows if row["f"] == "resume")
    assert _sends(rows, values, 1) == [("info", "Timeout"), ("ok", None)]
    again = [value for op, value in values.items() if op > first]
    assert again[: again.index(1) + 1] == [1]
    assert broker.stored[broker.stored.index(2) :][:1] == [2]


def test_all_that_is_unconfirmed_is_left_to_the_system(tmp_path: Path) -> None:
    broker = Broker(silent=[2])
    rows, values = _recorded(tmp_path, broker, resend="unconfirmed")

    assert _sends(rows, values, 1) == [("info", "Timeout"), ("ok", None)]
    assert broker.stored.count(2) == 2


def test_at_once_sends_again_on_the_same_client_behind_later_messages(tmp_path: Path) -> None:
    broker = Broker(lost=[2])
    rows, values = _recorded(tmp_path, broker, resend="at-once")

    assert len(broker.clients) == 1
    assert _sends(rows, values, 1) == [("info", "Timeout"), ("ok", None)]
    assert broker.stored.index(2) > broker.stored.index(3)


def test_a_system_that_cannot_be_asked_is_asked_again(tmp_path: Path) -> None:
    broker = Broker(silent=[2], away=2)
    rows, values = _recorded(tmp_path, broker, looks=8)

    resumes = [(row["outcome"], row["error"]) for row in rows if row["f"] == "resume"]
    assert resumes == [("fail", "Timeout")] * 2 + [("ok", None)]
    assert _sends(rows, values, 1) == [("ok", DUPLICATE)]


def test_a_system_that_stays_away_ends_the_sends_as_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaoskit.load.producer.CLOSE_TIMEOUT_S", 0)
    broker = Broker(silent=[2], away=10**9)
    rows, values = _recorded(tmp_path, broker)

    assert _sends(rows, values, 1) == [("info", "Timeout")]
    assert all(row["end_ns"] is not None for row in rows)


def test_restarts_are_due_after_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr("time.monotonic_ns", lambda: now[0])
    restarts = Restarts(100)
    seen = []
    for now[0] in (50, 100, 150, 199, 200, 300):
        seen.append((now[0], restarts.due()))

    assert [at for at, due in seen if due] == [100, 200, 300]
    restarts.end()
    now[0] = 1000
    assert not restarts.due()
    assert not Restarts(None).due()


class PlainClients(Powers):
    """Clients without names or sequences (Kafka's): each producer keeps its first send open until it is closed."""

    def __init__(self) -> None:
        self.made = 0

    def producer(self, settings: Any, completed: Callable[..., None]) -> PlainProducer:
        self.made += 1
        return PlainProducer(completed)

    def consumer(self, *_: Any) -> None:
        raise AssertionError

    auditor = prober = consumer


class PlainProducer:
    def __init__(self, completed: Callable[..., None]) -> None:
        self._completed = completed
        self._open: list[int] = []
        self._first = True

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        if self._first:
            self._open.append(token)
        else:
            self._completed(token, OK, None, token)
        self._first = False
        return True

    def pending(self) -> int:
        return 0

    def poll(self, timeout_s: float) -> None:
        """Everything is told within `send`."""

    def close(self, timeout_s: float) -> None:
        for token in self._open:
            self._completed(token, INFO, "_PURGE_INFLIGHT", None)


def test_without_sequences_a_new_client_goes_on_with_the_next_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Restarts, "due", lambda _: True)
    clients = PlainClients()
    rows, values = _recorded(tmp_path, clients, restart_every="1s")

    assert clients.made > 1
    assert len(values.values()) == len(set(values.values()))
    unknown = [row["error"] for row in rows if row["outcome"] == "info"]
    assert set(unknown) == {"_PURGE_INFLIGHT"}
    assert len(unknown) >= clients.made - 1
    assert sum(row["f"] == "restart" for row in rows) == clients.made - 1


@pytest.mark.parametrize("given", [{"resend": "sometimes"}, {"restart_every": "50ms"}, {"restart_every": 3}])
def test_what_cannot_be_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"resend|restart_every"):
        DedupOptions.model_validate(given)
