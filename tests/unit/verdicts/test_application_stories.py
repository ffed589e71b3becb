"""Runs of an application, judged by its promise; a fault of an instance with nothing to do proves nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from runs import StoryRun, counts_of

from chaoskit.contract.workloads.datamodel import LOG, OUTPUT, QUEUE
from chaoskit.history.format.models import write_topics
from chaoskit.judge.verdict.verdict import Verdict
from chaoskit.model.audit import Bounds, Drained
from chaoskit.model.message import NO_POSITION

ORDERS, PAYMENTS = "orders", "payments"


class ApplicationRun(StoryRun):
    """A run of two instances on n4 and n5, which read one partition and write another."""

    def __init__(
        self, folder: Path, promise: str, writes: Sequence[Mapping[str, Any]] = ({"topic": PAYMENTS},)
    ) -> None:
        application = {"run": ["app"], "instances": 2}
        load = {"kind": "pipeline", "reads": {"topic": ORDERS}, "writes": list(writes), "duration": "60s"}
        super().__init__(folder, {**load, "promise": promise, "rate": 10, "application": application})
        write_topics(self.folder / "wal", {ORDERS: LOG.name, PAYMENTS: OUTPUT.name})
        self.led("n1", topics=(ORDERS, PAYMENTS))
        self.op("producer-0", "feed", 0.0, observed=[("fed", ORDERS, 0, None, 0, None)])
        self.op("consumer-0", "collect", 0.0, observed=[("outputs", PAYMENTS, 0, None, 1, 1)])
        self.op("observer-0", "owner-seen", 0.01, observed=[("owned", ORDERS, 0, None, 0, None)])
        for value in range(400):
            self.send("producer-0", value, 0.02 + value * 0.1, value, topic=ORDERS)
        self._written = 0

    def wrote(self, values: Iterable[int], at: float) -> None:
        """These outputs were read."""
        rows = []
        for value in values:
            rows.append((PAYMENTS, 0, value, self._written, 0.0, 0))
            self._written += 1
        self.op("consumer-0", "poll", at, received=rows)

    def committed(self, next_position: int, at: float) -> None:
        """The group of the application's committed."""
        self.op("observer-0", "commit-seen", at, observed=[("progressed", ORDERS, 0, "pay", None, next_position)])

    def ended(self, *_: object, **__: object) -> None:
        """Everything was read at the end."""
        inputs = [(ORDERS, 0, value, value, 0.0, 0) for value in range(400)]
        self.op("auditor", "poll", 101, received=inputs)
        ends = {(ORDERS, 0): Bounds(0, 400, True, 400), (PAYMENTS, 0): Bounds(0, self._written, True, self._written)}
        self.audit(100, ends)
        super().ended(40, 10)


def _verdict(run: ApplicationRun) -> Verdict:
    return run.judged(40, 10)


@pytest.mark.parametrize(
    ("promise", "missing", "repeated"),
    [
        ("at-least-once", (10, False), (5, True)),
        ("at-most-once", (10, True), (5, False)),
        ("exactly-once", (10, False), (5, False)),
    ],
)
def test_a_promise_decides(tmp_path: Path, promise: str, missing: tuple[int, bool], repeated: tuple[int, bool]) -> None:
    run = ApplicationRun(tmp_path, promise)
    run.wrote(range(200), 30)
    run.fault("kill", ("n4",), 30.5, 32.5)
    run.committed(210, 30.4)
    run.wrote(range(210, 400), 50)
    run.wrote(range(205, 205), 51)
    run.wrote(range(210, 215), 52)
    run.committed(400, 55)
    verdict = _verdict(run)

    assert counts_of(verdict)["unprocessed"] == missing
    assert counts_of(verdict)["processed-twice"] == repeated
    assert verdict.verdict == ("valid" if missing[1] and repeated[1] else "invalid")


@pytest.mark.parametrize(("host", "verdict", "at_stake"), [("n4", "valid", True), ("n5", "unknown", False)])
def test_a_fault_of_an_instance_that_owns_nothing_proves_nothing(
    tmp_path: Path, host: str, verdict: str, at_stake: bool
) -> None:
    run = ApplicationRun(tmp_path, "at-least-once")
    run.fault("kill", (host,), 20, 22)
    run.committed(100, 19)
    run.wrote(range(400), 50)
    run.committed(400, 55)
    judged = _verdict(run)

    assert judged.verdict == verdict, judged.problems
    assert bool(judged.faults[0]["at_stake"]) == at_stake
    assert any("nothing was at stake" in problem for problem in judged.problems) != at_stake


@pytest.mark.parametrize(("host", "at_stake"), [("n4", 7), ("n5", 0)])
def test_of_a_partition_that_is_shared_an_instance_could_lose_what_it_held(
    tmp_path: Path, host: str, at_stake: int
) -> None:
    run = ApplicationRun(tmp_path, "at-least-once")
    shares = [("owned", ORDERS, 0, None, 0, 7), ("owned", ORDERS, 0, None, 1, 0)]
    run.op("observer-0", "owner-seen", 19.8, observed=shares)
    run.fault("kill", (host,), 20, 22)
    run.committed(100, 19)
    run.wrote(range(400), 50)
    run.committed(400, 55)

    assert _verdict(run).faults[0]["at_stake"] == at_stake


@pytest.mark.parametrize(("committed", "at_stake"), [(4.0, 96), (19.5, 200)])
def test_a_fault_of_the_database_may_take_what_was_committed_right_before(
    tmp_path: Path, committed: float, at_stake: int
) -> None:
    database = {"sql": "select id from paid", "postgresql": {}}
    run = ApplicationRun(tmp_path, "at-least-once", [{"topic": PAYMENTS}, database])
    run.fault("power-cut", ("n6",), 20, 22)
    run.committed(104, committed)
    run.wrote(range(400), 50)
    run.committed(400, 55)

    assert _verdict(run).faults[0]["at_stake"] == at_stake


class QueuedRun(StoryRun):
    """A run of two instances on n4 and n5, which share a queue and write another."""

    cluster: Mapping[str, Any] = {"system": "rabbitmq", "hosts": 3}

    def __init__(self, folder: Path) -> None:
        application = {"run": ["app"], "instances": 2}
        load = {"kind": "pipeline", "reads": {"queue": ORDERS}, "writes": {"queue": PAYMENTS}, "duration": "60s"}
        super().__init__(folder, {**load, "rate": 10, "application": application})
        write_topics(self.folder / "wal", {ORDERS: QUEUE.name, PAYMENTS: OUTPUT.name})
        self.led("n1", topics=(ORDERS, PAYMENTS))
        self.op("producer-0", "feed", 0.0, observed=[("fed", ORDERS, 0, None, 0, None)])
        self.op("consumer-0", "collect", 0.0, observed=[("outputs", PAYMENTS, 0, None, 1, 1)])
        self.op("observer-0", "declare", 0.0, observed=[("declared", ORDERS, 0, "application", None, 1)])
        for value in range(400):
            self.send("producer-0", value, 0.02 + value * 0.1, NO_POSITION, topic=ORDERS)

    def handled(self, value: int, given: float, settled: float | None, written: float | None) -> None:
        """The first instance was given an input, settled it, and its output was read."""
        acted = "acted", ORDERS, 0
        message = (ORDERS, 0, value, NO_POSITION, given, 0)
        self.op("observer-0", "receive", given, received=[message], observed=[(*acted, "given", value, 0)])
        if settled is not None:
            rows = [("acked", ORDERS, 0, None, value, None), (*acted, "ack", value, 0)]
            self.op("observer-0", "ack", settled, observed=rows)
        if written is not None:
            self.op("consumer-0", "receive", written, received=[(PAYMENTS, 0, value, NO_POSITION, written, 0)])

    def ended(self, *_: object, **__: object) -> None:
        """Everything was drained at the end."""
        self.audit(100, {(ORDERS, 0): Drained(complete=True), (PAYMENTS, 0): Drained(complete=True)})
        super().ended(40, 10)


@pytest.mark.parametrize(("host", "at_stake"), [("n4", 2), ("n5", 0)])
@pytest.mark.parametrize(("settled", "counts"), [(19.9, {"unprocessed": 2}), (None, {"unacked-vanished": 2})])
def test_an_application_is_to_blame_for_what_it_settled(
    tmp_path: Path, host: str, at_stake: int, settled: float | None, counts: dict[str, int]
) -> None:
    run = QueuedRun(tmp_path)
    for value in range(400):
        at = 0.1 + value * 0.1
        if value in (197, 198):
            run.handled(value, at, settled, None)
        else:
            run.handled(value, at, at + 0.02, at + 0.01)
    run.fault("kill", (host,), 20.05, 22)
    judged = run.judged(40, 10)

    assert {name: count for name, (count, allowed) in counts_of(judged).items() if count and not allowed} == counts
    assert judged.verdict == "invalid"
    assert judged.faults[0]["at_stake"] == at_stake
