"""The clients of a pipeline, in memory: inputs are fed, outputs are attributed, an endpoint takes calls."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any

import pytest
from loads import RUN, Control, Powers

from chaoskit.contract.clients.application import ReadRecord
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Job, Task
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.observations.pipeline import UNIDENTIFIED
from chaoskit.model.outcome import OK
from workloads.pipeline.options import PipelineOptions
from workloads.pipeline.workload import PipelineWorkload

_SECOND = 1_000_000_000


class Memory(Powers):
    """A system in memory."""

    def __init__(self) -> None:
        self.inputs: list[ReadRecord] = []

    def producer(self, settings: Any, completed: Any) -> Any:
        self._completed = completed
        return self

    prober, consumer, auditor = producer, producer, producer

    def send(self, topic: str, partition: int, key: bytes | None, payload: bytes, token: int) -> bool:
        self.inputs.append(ReadRecord(topic, partition, len(self.inputs), key, payload, {}))
        self._completed(token, OK, None, len(self.inputs) - 1)
        return True

    def pending(self) -> int:
        return 0

    def poll(self, timeout_s: float) -> None:
        time.sleep(min(timeout_s, 0.001))

    def records(self, places: Any) -> Any:
        return Outputs(self.inputs)

    def group_observer(self, topics: Any) -> Any:
        raise NotImplementedError

    def close(self, *_: Any) -> None:
        """Nothing is open."""


class Outputs:
    """What the application wrote: a copy of each input, the first one again, and something without an id."""

    def __init__(self, inputs: Sequence[ReadRecord]) -> None:
        outputs = [record._replace(topic="t1-payments") for record in inputs]
        again, strange = outputs[0]._replace(position=100), outputs[0]._replace(position=101, value=b"?")
        self._fresh = [*outputs, again, strange]

    def poll(self, timeout_s: float) -> tuple[list[ReadRecord], None]:
        fresh, self._fresh = self._fresh, []
        return fresh, None

    def close(self) -> None:
        """Nothing is open."""


class Run:
    """A run whose clients work one after the other, or beside each other."""

    def __init__(self, folder: Path, **given: Any) -> None:
        self.folder = folder
        self.options = PipelineOptions.model_validate(
            {"reads": {"topic": "orders"}, "writes": {"topic": "payments"}, "application": {"run": ["app"]}, **given}
        )
        (folder / "wal").mkdir()
        write_origin(folder / "wal")
        topics = PipelineWorkload().topics(self.options, 3)
        write_topics(folder / "wal", {topic.name: topic.model.name for topic in topics})
        self._count = 0

    def work(self, task: Task, clients: Any, control: Any) -> None:
        """Have a client do its work."""
        self._count += 1
        with WalWriter(self.folder / "wal", task.client, self._count) as wal:
            recorder = WalRecorder(wal, RUN, "t1-")
            PipelineWorkload().run(Job(task, self.options, clients, recorder, control, _SECOND))

    def received(self, topic: str) -> list[tuple[int, int]]:
        """Return value and position of what was received from a topic."""
        compact(self.folder)
        rows = History.open(self.folder).messages(topic, 0).to_pylist()
        return [(row["value"], row["position"]) for row in rows if row["direction"] == "received"]


def test_outputs_are_attributed_to_inputs(tmp_path: Path) -> None:
    run, memory = Run(tmp_path, rate=1000, payload={"json": {"id": "{id}"}}, identity={"json": "/id"}), Memory()
    run.work(Task(PRODUCER, 0), memory, Control(3))
    run.work(Task(CONSUMER, 0), memory, Control(3))

    received = run.received("payments")
    values = [value for value, _ in received]
    assert values[:-2] == list(range(len(memory.inputs)))
    assert received[-2:] == [(0, 100), (UNIDENTIFIED, 101)]


class Serving(Control):
    """The load lasts until it is told to end."""

    def __init__(self) -> None:
        super().__init__(0)
        self.over = threading.Event()

    @property
    def stopping(self) -> bool:
        return self.over.is_set()

    def wait_start(self, meanwhile: Callable[[], object] | None = None) -> int:
        return time.monotonic_ns()


@pytest.fixture
def calls(tmp_path: Path) -> Any:
    """Serves an endpoint; returns what calls it, and what was taken."""
    running: list[tuple[Serving, threading.Thread]] = []

    def serve(**sink: Any) -> tuple[Callable[..., int], Callable[[], Sequence[tuple[int, int]]]]:
        run, control = Run(tmp_path, writes={"http": "/pay", **sink}), Serving()
        thread = threading.Thread(target=run.work, args=(Task("endpoint", 0), None, control))
        thread.start()
        running.append((control, thread))
        while not control.told:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{control.told['serves']['http:/pay']}"

        def call(body: str, key: str = "") -> int:
            request = urllib.request.Request(url, body.encode(), {"Key": key} if key else {}, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=5) as answer:
                    return int(answer.status)
            except urllib.error.HTTPError as error:
                with error:
                    return error.code
            except (RemoteDisconnected, ConnectionError):
                return 0

        def taken() -> list[tuple[int, int]]:
            control.over.set()
            thread.join()
            return run.received("http:/pay")

        return call, taken

    yield serve
    for control, thread in running:
        control.over.set()
        thread.join()


def test_an_endpoint_takes_each_call(calls: Any) -> None:
    call, taken = calls()

    assert [call("3"), call("3"), call("4")] == [200, 200, 200]
    assert taken() == [(3, 0), (3, 1), (4, 2)]


def test_a_key_makes_a_call_once(calls: Any) -> None:
    call, taken = calls(key="Key")

    assert [call("3", "a"), call("3", "a"), call("4", "b"), call("5")] == [200] * 4
    assert taken() == [(3, 0), (4, 1), (5, 2)]


@pytest.mark.parametrize(("do", "status", "count"), [("drop", 0, 2), ("refuse", 500, 0), ("slow", 200, 2)])
def test_an_endpoint_misbehaves(calls: Any, do: str, status: int, count: int) -> None:
    call, taken = calls(answers=[{"from": "0s", "to": "60s", "do": do, "by": "50ms"}])

    assert [call("3"), call("3")] == [status, status]
    assert len(taken()) == count


def test_every_second_call_is_dropped(calls: Any) -> None:
    call, taken = calls(answers=[{"from": "0s", "to": "60s", "do": "drop", "every": 2}])

    assert [call("1"), call("2"), call("3")] == [200, 0, 200]
    assert [value for value, _ in taken()] == [1, 2, 3]
