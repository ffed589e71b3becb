"""What an application writes to standard output, to files and to a database: read as it comes, and at the end."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from loads import RUN, Control, rows_of

from chaoskit.base.errors import BadInput
from chaoskit.contract.workloads.application import stdout_name
from chaoskit.contract.workloads.workload import Job, Task
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.observations.pipeline import GONE, UNIDENTIFIED
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.sinks.tail import Tail
from workloads.pipeline.workload import PipelineWorkload

_SOON_S = 10.0
QUERY = "select order_id from paid"


class Reading(Control):
    """The load lasts until it is told to end."""

    def __init__(self) -> None:
        super().__init__(0)
        self.begun, self.over = threading.Event(), threading.Event()
        self.received = 0

    @property
    def stopping(self) -> bool:
        return self.over.is_set()

    def wait_start(self, meanwhile: Callable[[], object] | None = None) -> int:
        self.begun.set()
        return time.monotonic_ns()

    def report(self, progress: Any) -> None:
        self.received = progress.received


class Client:
    """The client of one sink, in a thread."""

    def __init__(self, folder: Path, role: str, **given: Any) -> None:
        self.folder = folder
        self.options = PipelineOptions.model_validate({"reads": {"topic": "orders"}, **given})
        (folder / "wal").mkdir()
        write_origin(folder / "wal")
        topics = PipelineWorkload().topics(self.options, 3)
        write_topics(folder / "wal", {topic.name: topic.model.name for topic in topics})
        self.control = Reading()
        self._thread = threading.Thread(target=self._work, args=(Task(role, 0),), daemon=True)
        self._thread.start()
        assert self.control.begun.wait(_SOON_S)

    def _work(self, task: Task) -> None:
        with WalWriter(self.folder / "wal", task.client, 1) as wal:
            recorder: Any = WalRecorder(wal, RUN)
            PipelineWorkload().run(Job(task, self.options, None, recorder, self.control, 10**9, logs=self.folder))  # type: ignore[arg-type]

    def await_received(self, count: int) -> None:
        """Wait until it has received so many outputs."""
        deadline = time.monotonic() + _SOON_S
        while self.control.received < count:
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def end(self) -> History:
        """Have it read for the last time; return the history."""
        self.control.over.set()
        self._thread.join()
        compact(self.folder)
        return History.open(self.folder)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Starts a client, and ends it."""
    clients: list[Client] = []

    def start(role: str, **given: Any) -> Client:
        clients.append(Client(tmp_path, role, **given))
        return clients[-1]

    yield start
    for started in clients:
        started.control.over.set()


def received(history: History, topic: str, partition: int = 0) -> list[tuple[int, int]]:
    """Return value and position of each output."""
    return [(row["value"], row["position"]) for row in rows_of(history, topic, partition)[0]]


def gone(history: History, topic: str) -> list[int]:
    """Return the positions of the outputs that were missed."""
    return [row["position"] for row in rows_of(history, topic)[1] if row["kind"] == GONE]


def test_lines_with_an_id_are_outputs(tmp_path: Path, client: Callable[..., Client]) -> None:
    app = {"run": ["app"], "instances": 2}
    reading = client("lines", writes={"lines": "stdout"}, identity={"regex": "^paid ([0-9]+)"}, application=app)
    (tmp_path / stdout_name(0)).write_text("starting 3 workers\npaid 4\npaid 5\npaid 6")
    (tmp_path / stdout_name(1)).write_text("paid 7\n")
    reading.await_received(3)
    with (tmp_path / stdout_name(0)).open("a") as printed:
        printed.write("\npaid 4\n")
    history = reading.end()

    assert received(history, "lines:stdout") == [(4, 1), (5, 2), (6, 3), (4, 4)]
    assert received(history, "lines:stdout", 1) == [(7, 0)]
    audit = history.audit("lines:stdout", 0)
    assert audit is not None
    assert audit.complete
    assert reading.control.told["why"] == ""


def test_lines_that_no_identity_fits_are_shown(tmp_path: Path, client: Callable[..., Client]) -> None:
    application = {"run": ["app"]}
    reading = client("lines", writes={"lines": "stdout"}, identity={"json": "/id"}, application=application)
    (tmp_path / stdout_name(0)).write_text("paid 4\n")
    history = reading.end()

    assert received(history, "lines:stdout") == [(UNIDENTIFIED, 0)]
    why = reading.control.told["why"]
    assert why == "lines:stdout: identity fits no output; the first one is 'paid 4'"


def test_a_file_that_loses_lines(tmp_path: Path, client: Callable[..., Client]) -> None:
    path = tmp_path / "payments-0.log"
    reading = client("lines", writes={"lines": f"{tmp_path}/payments-{{instance}}.log"}, application={"external": True})
    path.write_text("2\n3\n")
    reading.await_received(2)
    os.truncate(path, 2)  # at once: writing it anew would empty it for a moment
    history = reading.end()

    name = f"lines:{tmp_path}/payments-{{instance}}.log"
    assert received(history, name) == [(2, 0), (3, 1)]
    assert gone(history, name) == [1]


def test_a_file_of_an_earlier_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "payments-1.log").write_text("1\n")
    writes = {"lines": f"{tmp_path}/payments-{{instance}}.log"}
    given = {"reads": {"topic": "orders"}, "writes": writes, "application": {"run": ["app"], "instances": 2}}
    with pytest.raises(
        BadInput, match=r"writes.0.lines: .*payments-1.log is not empty.* write lines: payments-1.log, a new"
    ):
        PipelineWorkload().check(PipelineOptions.model_validate(given))


def test_a_file_in_the_folder_of_the_run_is_new(tmp_path: Path, client: Callable[..., Client]) -> None:
    given = {"writes": {"lines": "paid-{instance}.log"}, "application": {"run": ["app"]}}
    PipelineWorkload().check(PipelineOptions.model_validate({"reads": {"topic": "orders"}, **given}))
    reading = client("lines", **given)
    (tmp_path / "paid-0.log").write_text("4\n")
    reading.await_received(1)

    assert received(reading.end(), "lines:paid-{instance}.log") == [(4, 0)]


def test_a_file_is_read_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    tail = Tail(path)
    assert tail.read(whole=False) == (0, [])
    path.write_bytes(b"a\nb")
    assert tail.read(whole=False) == (0, [b"a"])
    path.write_bytes(b"a\nbc\nd\n")
    assert tail.read(whole=False) == (1, [b"bc", b"d"])
    path.write_bytes(b"a\nbx\nd\ne\n")
    assert tail.read(whole=True) == (1, [b"bx", b"d", b"e"])
    path.write_bytes(b"a\n")
    assert tail.read(whole=False) == (1, [])
    path.unlink()
    assert tail.read(whole=True) == (0, [])


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with the table `paid`."""
    path = tmp_path / "paid.db"
    execute(path, "create table paid (order_id text, amount integer)")
    return path


def execute(path: Path, statement: str, *values: Any) -> None:
    """Execute a statement."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def pay(path: Path, *orders: Any) -> None:
    """Insert a row for each order."""
    for order in orders:
        execute(path, "insert into paid values (?, 7)", str(order))


def of(path: Path, query: str = QUERY, **more: Any) -> dict[str, Any]:
    """The options of a sink that reads a database."""
    return {"writes": {"sql": query, "url": f"sqlite:///{path}"}, "application": {"external": True}, **more}


def test_rows_are_outputs(database: Path, client: Callable[..., Client]) -> None:
    reading = client("rows", **of(database))
    pay(database, 1, 2, 2)
    reading.await_received(3)
    pay(database, "three", 4)
    history = reading.end()

    name = f"sql:{QUERY}"
    assert received(history, name) == [(1, 0), (2, 1), (2, 2), (UNIDENTIFIED, 3), (4, 4)]
    assert gone(history, name) == []
    audit = history.audit(name, 0)
    assert audit is not None
    assert audit.complete


def test_rows_that_are_gone_at_the_end_are_recorded(database: Path, client: Callable[..., Client]) -> None:
    reading = client("rows", **of(database))
    pay(database, 1, 2, 3, 3)
    reading.await_received(4)
    execute(database, "delete from paid where order_id in ('2', '3')")
    pay(database, 3)
    history = reading.end()

    assert gone(history, f"sql:{QUERY}") in (
        [1, 3],
        [1, 2, 3],
    )  # the last row is the copy of 3 that stayed, or a new one


def test_an_identity_is_in_the_whole_row(database: Path, client: Callable[..., Client]) -> None:
    reading = client("rows", **of(database, "select amount, order_id from paid", identity={"json": "/order_id"}))
    pay(database, 5)
    history = reading.end()

    assert received(history, "sql:select amount, order_id from paid") == [(5, 0)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select order_id from payments", "no such table: payments"),
        ("select orders from paid", "no such column: orders"),
        ("selec 1", "syntax error"),
        ("delete from paid", "readonly database"),
    ],
)
def test_a_query_is_refused_before_the_start(database: Path, query: str, words: str) -> None:
    pay(database)
    with pytest.raises(BadInput, match=words) as refused:
        PipelineWorkload().check(PipelineOptions.model_validate({"reads": {"topic": "orders"}, **of(database, query)}))

    assert str(refused.value).startswith("workload.writes.0.")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("paid.db", "is no URL of a database"),
        ("postgresql://me:secret@db/paid", "has a password"),
        ("nosql://db/paid", "SQLAlchemy knows no 'nosql'"),
        ("oracle://db/paid", "needs the package"),
        ("sqlite:////nowhere/paid.db", "does not answer: unable to open database file"),
        ({"env": "CHAOSKIT_NO_SUCH_URL"}, "CHAOSKIT_NO_SUCH_URL is not set"),
    ],
)
def test_a_database_is_refused_before_the_start(url: Any, words: str) -> None:
    writes = {"sql": QUERY, "url": url}
    given = {"reads": {"topic": "orders"}, "writes": writes, "application": {"external": True}}
    with pytest.raises(BadInput, match=words):
        PipelineWorkload().check(PipelineOptions.model_validate(given))


def test_rows_of_an_earlier_run_are_refused(database: Path) -> None:
    pay(database, 1, 2)
    with pytest.raises(BadInput, match="2 rows are there before the load"):
        PipelineWorkload().check(PipelineOptions.model_validate({"reads": {"topic": "orders"}, **of(database)}))


def test_a_missing_driver_is_told_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    writes = {"sql": QUERY, "postgresql": {}}
    given = {"reads": {"topic": "orders"}, "writes": writes, "application": {"run": ["app"]}}
    with pytest.raises(BadInput, match=r"workload.writes.0.url: .* needs the package psycopg: pip install"):
        PipelineWorkload().check(PipelineOptions.model_validate(given))
