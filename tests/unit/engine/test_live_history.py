"""What clients of others say they did becomes a history, which the same checkers judge."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.application import ReadRecord
from chaoskit.history.compacting.faults import FaultLog
from chaoskit.history.compacting.finish import finish
from chaoskit.history.compacting.placements import PlacementLog, Standing
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import read_run_id, write_origin
from chaoskit.judge.verdict.check import check_run
from chaoskit.judge.verdict.verdict import Verdict
from chaoskit.model.place import Place
from chaoskit.report.summary import summary
from chaoskit.run.live.final_read import read_all
from chaoskit.run.live.history import LiveHistory, Sending
from chaoskit.run.live.plans import LivePlan

ORDERS = "orders"


class Log:
    """Topics in memory, as the final read reads them: contents by partition, each with its position."""

    def __init__(self, places: int = 3) -> None:
        self.content: dict[Place, list[bytes]] = {(ORDERS, number): [] for number in range(places)}

    def append(self, partition: int, payload: bytes) -> int:
        """Store a message; return its position."""
        self.content[ORDERS, partition].append(payload)
        return len(self.content[ORDERS, partition]) - 1

    def records(self, places: Sequence[Place]) -> Any:
        self._reached = dict.fromkeys(places, 0)
        return self

    def group_observer(self, topics: Sequence[str]) -> Any:
        raise NotImplementedError

    def poll(self, timeout_s: float) -> tuple[list[ReadRecord], str | None]:
        came = [
            ReadRecord(*place, position, None, payload, {})
            for place in self._reached
            for position, payload in enumerate(self.content[place])
        ]
        self._reached = {place: len(self.content[place]) for place in self._reached}
        return came, None

    def bounds(self, place: Place, timeout_s: float) -> tuple[int, int]:
        return 0, len(self.content[place])

    def reached(self, place: Place) -> int:
        return self._reached[place]

    def close(self) -> None:
        pass


class Recording:
    """A run folder with a history that a test writes."""

    def __init__(self, folder: Path, partitions: int = 3) -> None:
        self.folder = folder
        (folder / "wal").mkdir()
        self.plan = LivePlan.of({"system": "kafka"}, "live", "live", seed=7, producer={"acks": "all"})
        self.plan.add(ORDERS, partitions, None)
        store.write_yaml(folder / store.SCENARIO, self.plan.now.resolved())
        write_topics(folder / "wal", {ORDERS: "log"})
        write_origin(folder / "wal")
        FaultLog(folder / "wal").close()
        placements = PlacementLog(folder / "wal")
        for number in range(partitions):
            hosts = frozenset(["n1", "n2", "n3"])
            placements.record((ORDERS, number), Standing(0, "n1", hosts, hosts, 1))
        placements.close()
        self.run_id = read_run_id(folder / "wal")
        self.history = LiveHistory(folder, self.run_id, self.plan.topic, "kafka")
        self.log = Log(partitions)

    def send(self, number: int, partition: int = 0, *, stored: bool = True) -> None:
        """Send a message that is acknowledged."""
        payload = f"order {number}".encode()
        sending = self.history.sent(ORDERS, number, payload=payload)
        position = self.log.append(partition, payload) if stored else None
        sending.ok(partition=partition, position=position)

    def judge(self) -> Verdict:
        """Read all, and judge; the history goes on."""
        self.history.flush()
        clients: Any = self
        where: Any = {"wal": self.folder / "wal", "run_id": self.run_id, "namespace": ""}
        problems = read_all(clients, self.plan.now.declared.topics, self.history, **where)
        recovery = {"recovered": True, "bound_s": 60, "took_s": 1, "load_start_ns": 0, "problems": problems}
        store.write_json(self.folder / store.RECOVERY, recovery)
        finish(self.folder)
        return check_run(self.folder)

    def power(self, kind: type) -> Any:
        """Stand for clients that can read."""
        return self.log


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    made = Recording(tmp_path)
    yield made
    made.history.close()


def _counts(verdict: Verdict) -> dict[str, int]:
    measured = {"unavailable"}
    return {name: found.count for name, found in verdict.anomalies.items() if found.count and name not in measured}


def test_what_was_acknowledged_and_is_there_is_kept(recording: Recording) -> None:
    for number in range(30):
        recording.send(number, number % 3)
        recording.history.received(ORDERS, number)

    verdict = recording.judge()

    assert (verdict.verdict, _counts(verdict)) == ("valid", {})
    assert (verdict.counts["acked"], verdict.counts["received"]) == (30, 30)


def test_what_was_acknowledged_and_is_not_there_is_lost(recording: Recording) -> None:
    for number in range(30):
        recording.send(number, number % 3, stored=number != 7)

    verdict = recording.judge()

    assert verdict.verdict == "invalid"
    assert _counts(verdict) == {"lost": 1, "sequence-jump": 1}


def test_it_is_judged_again_and_what_is_lost_meanwhile_counts(recording: Recording) -> None:
    for number in range(6):
        recording.send(number)
    assert recording.judge().verdict == "valid"

    recording.log.content[ORDERS, 0].pop()
    verdict = recording.judge()

    assert verdict.verdict == "invalid"
    assert _counts(verdict)["lost"] == 1


def test_without_contents_a_loss_cannot_be_excluded(recording: Recording) -> None:
    for number in range(3):
        recording.history.sent(ORDERS, number, partition=0).ok()

    verdict = recording.judge()

    assert (verdict.verdict, _counts(verdict)) == ("unknown", {"unseen": 3})
    assert not verdict.audit["complete"]
    assert "no final read of orders: not every message was recorded with its content" in verdict.reasons[0]


def test_equal_contents_cannot_be_told_apart(recording: Recording) -> None:
    for number in range(2):
        recording.history.sent(ORDERS, number, partition=0, payload=b"same").ok()

    assert not recording.history.readable(ORDERS)


def test_a_message_is_received_before_anybody_says_where_it_is(recording: Recording) -> None:
    sending = recording.history.sent(ORDERS, "one", payload=b"one")
    recording.history.received(ORDERS, "one")
    sending.ok(partition=2, position=recording.log.append(2, b"one"))

    verdict = recording.judge()

    assert (verdict.verdict, _counts(verdict)) == ("valid", {})


def test_sends_at_the_same_time_have_no_order_and_others_do(recording: Recording) -> None:
    first, second = (recording.history.sent(ORDERS, n, partition=0, payload=b"%d" % n) for n in (1, 2))
    second.ok(position=recording.log.append(0, b"2"))
    first.ok(position=recording.log.append(0, b"1"))
    assert _counts(recording.judge()) == {}

    for number, position in ((3, 3), (4, 2)):
        recording.history.sent(ORDERS, number, partition=0, payload=b"%d" % number).ok(position=position)
    recording.log.content[ORDERS, 0] += [b"4", b"3"]

    assert {"reordered", "order-violation"} <= _counts(recording.judge()).keys()


def test_a_send_whose_outcome_nobody_knows_may_come_later(recording: Recording) -> None:
    recording.history.sent(ORDERS, 1, partition=0, payload=b"1").unknown("timed out")
    recording.history.sent(ORDERS, 2, partition=0, payload=b"2").ok(position=recording.log.append(0, b"2"))
    recording.log.append(0, b"1")

    assert _counts(recording.judge()) == {}


def test_a_send_that_failed_must_not_be_there(recording: Recording) -> None:
    recording.send(0)
    recording.history.sent(ORDERS, 1, partition=0, payload=b"1").failed("refused")
    recording.log.append(0, b"1")

    assert _counts(recording.judge()) == {"failed-visible": 1}


def test_what_nobody_sent_is_a_phantom(recording: Recording) -> None:
    recording.send(0)
    recording.history.received(ORDERS, "never sent")

    assert _counts(recording.judge()) == {"phantom": 1}


def test_a_block_acknowledges_or_does_not_know(recording: Recording) -> None:
    with recording.history.sent(ORDERS, 0, partition=0, payload=b"0"):
        recording.log.append(0, b"0")
    with pytest.raises(TimeoutError), recording.history.sent(ORDERS, 1, partition=0, payload=b"1"):
        raise TimeoutError

    counts = recording.judge().counts
    assert (counts["acked"], counts["indeterminate"]) == (1, 1)


def test_threads_share_a_history(recording: Recording) -> None:
    def work(first: int) -> None:
        for number in range(first, first + 100):
            recording.history.sent(ORDERS, number, partition=0).ok()
            recording.history.received(ORDERS, number)

    threads = [threading.Thread(target=work, args=(100 * index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    counts = recording.judge().counts
    assert (counts["acked"], counts["received"]) == (400, 400)


def test_findings_name_messages_as_their_sender_does(recording: Recording) -> None:
    recording.send(170, stored=False)
    with (recording.folder / "ids.jsonl").open("a") as file:
        file.write('{"value": 1, "topic": "or')  # torn by a crash

    verdict = recording.judge()

    assert verdict.anomalies["lost"].examples[0]["value_id"] == "170"
    assert "for example: orders/0: message 170" in summary(verdict, recording.folder)


def test_nothing_is_recorded_after_the_end(recording: Recording) -> None:
    late = recording.history.sent(ORDERS, 1, partition=0)
    recording.history.close()

    late.ok()  # a client library may report that at any time
    with pytest.raises(BadInput, match=r"kafka.history.sent: the cluster is down"):
        recording.history.sent(ORDERS, 2, partition=0)


def _twice(sending: Sending) -> None:
    sending.ok(partition=0)
    sending.failed("late")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda history: history.sent("payments", 1), "there is no topic 'payments'; Known: orders"),
        (lambda history: history.sent(ORDERS, 1, partition=3), "'orders' has no partition 3; it has 3"),
        (lambda history: history.received(ORDERS, 1, partition=-1), "'orders' has no partition -1"),
        (lambda history: history.sent(ORDERS, 1).ok(), "has several partitions; say which one the message is in"),
        (lambda history: _twice(history.sent(ORDERS, 1)), "was recorded before; record it once"),
    ],
)
def test_bad_input_names_the_remedy(recording: Recording, call: Callable[[LiveHistory], object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        call(recording.history)
