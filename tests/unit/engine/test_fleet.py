"""Worker processes: started together, watched, stopped, and their last words kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chaoskit.base.errors import RunFailed
from chaoskit.base.journal import Journal, claims
from chaoskit.base.waiting import wait_until
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Task
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.reading.reader import History
from chaoskit.model.operation import AUDITOR
from chaoskit.model.progress import Progress
from chaoskit.run.client import Client, Worker
from chaoskit.run.crew import Crew
from chaoskit.run.fleet import Fleet
from chaoskit.run.seats import Seats

_THIRD_PARTY = """
import time
from pydantic import BaseModel
from chaoskit.model.progress import Progress
from chaoskit.model.operation import AUDITOR

class Options(BaseModel):
    fail: str = ""

class TinyWorkload:
    options = Options

    def run(self, job):
        if job.options.fail == "start":
            raise SystemExit("cannot connect to nowhere")
        if job.options.fail == "second" and job.task.incarnation:
            raise SystemExit("the name is taken")
        start_ns = job.control.wait_start()
        if job.options.fail == "hopeless":
            job.control.result({"failed": "it was fenced"})
        recorder = job.recorder
        recorder.send(recorder.topic_id("t"), 0, 0, job.task.index, start_ns, start_ns)
        job.control.report(Progress(sent=job.task.index + 1, acked=1))
        if job.options.fail == "later":
            raise SystemExit("the disk is full")
        if job.task.role == AUDITOR:
            job.control.result({"accepted": True, "audited": True})
            return
        while not job.control.stopping or job.options.fail == "deaf":
            job.control.report(Progress(sent=job.task.index + 1, acked=1, received=int(job.control.paused)))
            time.sleep(0.01)

class TinySystem:
    def clients(self, settings):
        return None
"""
_ENTRY_POINTS = """
[chaoskit.workloads]
tiny = tiny_workload:TinyWorkload
[chaoskit.clusters]
tiny = tiny_workload:TinySystem
"""


@pytest.fixture(autouse=True)
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a workload and a system where only worker processes see them."""
    site = tmp_path / "site"
    metadata = site / "tiny-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "tiny_workload.py").write_text(_THIRD_PARTY)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(_ENTRY_POINTS)
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("CHAOSKIT_STATE", str(tmp_path / "state"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / "wal").mkdir(parents=True)
    write_origin(folder / "wal")
    write_topics(folder / "wal", {"t": LOG.name})
    return folder


@pytest.fixture
def journal() -> Iterator[Journal]:
    with Journal("test") as journal:
        yield journal


def _fleet(run: Path, journal: Journal, fail: str = "") -> Fleet:
    order = {
        "system": "tiny",
        "workload": "tiny",
        "options": {"fail": fail},
        "connection": {},
        "wal": str(run / "wal"),
        "run_id": 1,
        "namespace": "",
        "bound_ns": 0,
        "application_hosts": [],
        "logs": "",
        "database": "",
        "database_host": "",
    }
    return Fleet(run, journal, order, Crew([], run), Seats(()), held=nullcontext)


def _await_sent(fleet: Fleet, sent: int) -> None:
    assert wait_until(lambda: fleet.progress().sent >= sent, 20), fleet.progress()


def test_clients_start_together_report_and_end_when_told(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal)
    clients = fleet.launch([Task(PRODUCER, 0), Task(PRODUCER, 1), Task(CONSUMER, 0)])

    start_ns = fleet.go(clients)
    _await_sent(fleet, 4)
    assert fleet.progress() == Progress(sent=4, acked=3)
    assert fleet.failures() == []
    fleet.stop(clients)
    problems = fleet.join(clients, 20)
    compact(run)

    assert problems == []
    operations = History.open(run).operations.to_pylist()
    assert sorted(row["client"] for row in operations) == ["consumer-0", "producer-0", "producer-1"]
    assert len({row["start_ns"] for row in operations}) == 1
    assert start_ns > 0
    assert len(set(claims("mark"))) == 3


def test_the_auditor_tells_its_result(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal)
    auditors = fleet.launch([Task(AUDITOR, 0)])

    fleet.go(auditors)
    problems = fleet.join(auditors, 20)

    assert problems == []
    assert auditors[0].worker.result == {"accepted": True, "audited": True}


def test_a_client_that_does_not_start_is_told_with_its_last_words(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal, "start")

    with pytest.raises(RunFailed, match=r"did not start: it exited with code 1\ncannot connect to nowhere"):
        fleet.launch([Task(PRODUCER, 0)])

    fleet.join(fleet.clients, 20)


def test_a_client_that_dies_is_seen_and_told(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal, "later")
    clients = fleet.launch([Task(PRODUCER, 0)])

    fleet.go(clients)
    problems = fleet.join(clients, 20)
    fleet.stop(clients)

    assert fleet.failures() == ["client producer-0: the disk is full"]
    assert problems == ["client producer-0 exited with status 1: the disk is full"]


def test_a_client_that_does_not_end_is_killed_and_told(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal, "deaf")
    clients = fleet.launch([Task(PRODUCER, 0)])

    fleet.go(clients)
    fleet.stop(clients)
    problems = fleet.join(clients, 0.5)

    assert problems == ["client producer-0 did not exit in time and was killed"]
    assert clients[0].worker.process.returncode == -9


def test_clients_end_when_their_harness_is_gone(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal)
    (client,) = fleet.launch([Task(PRODUCER, 0)])
    fleet.go([client])

    client.worker.tell_no_more()

    assert client.worker.process.wait(20) == 0
    assert fleet.join([client], 20) == []


def test_a_client_that_was_killed_is_told(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal)
    (client,) = fleet.launch([Task(PRODUCER, 0)])
    fleet.go([client])
    client.worker.process.kill()

    assert fleet.join([client], 20) == ["client producer-0 exited with status -9: its log is empty"]


def test_a_client_that_has_ended_takes_no_more_orders(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal)
    clients = fleet.launch([Task(PRODUCER, 0)])
    fleet.stop(clients)
    fleet.join(clients, 20)

    fleet.stop(clients)

    assert fleet.join(clients, 20) == []


def test_a_client_that_was_crashed_comes_back_as_its_next_incarnation(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal)
    (client,) = fleet.launch([Task(PRODUCER, 0)])
    fleet.go([client])
    _await_sent(fleet, 1)

    client.crash()
    assert not client.running()
    assert fleet.failures() == []
    client.restart()
    client.restart()

    assert client.running()
    assert len(client.workers) == 2
    _await_sent(fleet, 2)
    fleet.stop([client])
    assert fleet.join([client], 20) == []
    compact(run)
    names = {row["client"] for row in History.open(run).operations.to_pylist()}
    assert names == {"producer-0", "producer-0#1"}


def test_a_client_that_comes_back_after_it_was_told_to_end_ends(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal)
    (client,) = fleet.launch([Task(PRODUCER, 0)])
    fleet.go([client])
    client.crash()

    fleet.stop([client])
    client.restart()

    assert fleet.join([client], 20) == []


def test_a_client_that_stays_crashed_is_no_failure(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal)
    (client,) = fleet.launch([Task(PRODUCER, 0)])
    fleet.go([client])

    client.crash()

    assert fleet.failures() == []
    assert fleet.join([client], 20) == []


def test_a_next_incarnation_runs_beside_the_one_before_until_that_is_ended(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal)
    (client,) = fleet.launch([Task(PRODUCER, 0)])
    fleet.go([client])
    first = client.pid

    client.start_next()
    assert client.former == [first]
    assert client.pid != first
    client.end_former()

    assert client.former == []
    assert client.running()
    assert fleet.failures() == []
    fleet.stop([client])
    assert fleet.join([client], 20) == []


def test_all_incarnations_are_stopped_and_waited_for(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal)
    (client,) = fleet.launch([Task(PRODUCER, 0)])
    fleet.go([client])
    client.start_next()

    fleet.stop([client])

    assert fleet.join([client], 20) == []
    assert [worker.process.returncode for worker in client.workers] == [0, 0]


def test_a_client_that_can_never_work_again_is_told(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal, "hopeless")
    clients = fleet.launch([Task(PRODUCER, 0)])
    fleet.go(clients)
    fleet.stop(clients)

    assert fleet.join(clients, 20) == ["client producer-0 failed permanently: it was fenced"]


def test_a_next_incarnation_that_does_not_start_leaves_the_one_before(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal, "second")
    (client,) = fleet.launch([Task(PRODUCER, 0)])
    fleet.go([client])
    first = client.pid

    with pytest.raises(RunFailed, match="producer-0#1 did not start"):
        client.start_next()

    assert (client.pid, client.former) == (first, [])
    assert client.running()
    fleet.stop([client])
    assert fleet.join([client], 20) == []
    assert client.ended()


def test_a_consumer_that_is_paused_stays_so_when_it_is_started_again(run: Path, journal: Journal) -> None:
    fleet = _fleet(run, journal)
    clients = fleet.launch([Task(PRODUCER, 0), Task(CONSUMER, 0)])
    fleet.go(clients)
    consumer = clients[1]

    consumer.pause()
    assert wait_until(lambda: fleet.progress().received == 1, 20)
    consumer.crash()
    consumer.restart()
    assert wait_until(lambda: consumer.worker.progress.received == 1, 20), "the new one is told, too"
    consumer.resume()
    assert wait_until(lambda: consumer.worker.progress.received == 0, 20)
    fleet.stop(clients)
    assert fleet.join(clients, 20) == []


class _Seat:
    """A host as a seat, which has booted so many times."""

    def __init__(self) -> None:
        self.boots, self.lit = 1, True

    def power(self, kind: type) -> _Seat:
        return self

    def reachable(self, timeout_s: float = 1) -> bool:
        return self.lit


def _on(seat: _Seat) -> Client:
    process: Any = SimpleNamespace(poll=lambda: -9, kill=lambda: None, wait=lambda: None)
    return Client(Task("producer", 0), lambda task: Worker(task, process, Path(), boots=1), cast("Any", seat))


def test_a_client_dies_with_its_host_and_not_by_a_crash_of_its_own() -> None:
    seat = _Seat()
    client = _on(seat)
    assert not client.died_with_host(), "its host runs"
    seat.lit = False
    assert client.died_with_host()
    seat.lit, seat.boots = True, 2
    assert client.died_with_host(), "it has not begun again"

    crashed = _on(_Seat())
    crashed._crashed.append(crashed.worker)
    assert not crashed.died_with_host(), "who crashed it starts it again"
