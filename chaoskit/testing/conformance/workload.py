"""Conformance suite for workloads."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from chaoskit.base.quantities import SECOND
from chaoskit.contract.installed import anomalies
from chaoskit.contract.installed import workload as installed
from chaoskit.contract.power import Powered
from chaoskit.contract.workloads.datamodel import DataModel
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Job, Task, Workload, example_options
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.judge.findings.checking import find
from chaoskit.model.operation import AUDITOR
from chaoskit.model.progress import Progress
from chaoskit.testing.conformance.wants import Wants

_BROKERS = 3
_LOAD_S = 2.0
_END_S = 60.0
_BOUND_NS = 30 * SECOND


def check_workload(
    workload: str | Workload,
    clients: Powered | None = None,
    namespace: str = "",
    options: Mapping[str, Any] | None = None,
) -> None:
    """Check a workload.

    Args:
        workload: the workload, or the name of its entry point.
        clients: clients of a running system that has the workload's topics. If given, every task runs for two seconds,
            followed by the final read, and the history must be correct.
        namespace: prefix of the topic names in the system.
        options: options of the workload for that run.

    Raises:
        AssertionError: lists what is missing.
    """
    instance = installed(workload, "workload") if isinstance(workload, str) else workload
    with Wants(f"workload {workload if isinstance(workload, str) else type(workload).__name__}") as wants:
        if not wants.attributes(instance, "options", "client_powers", "topics", "tasks", "client_settings", "traits"):
            return
        wants.attributes(instance, "run")
        wants.options(instance.options, "options")
        wants.powers(instance.client_powers)
        with wants.step("default options"):
            _check_declarations(instance, example_options(instance), wants)
        if clients is not None:
            _check_run(instance, clients, namespace, instance.options.model_validate(options or {}), wants)


def _check_declarations(workload: Workload, options: Any, wants: Wants) -> None:
    topics = workload.topics(options, _BROKERS)
    for topic in topics:
        wants.that(isinstance(topic, Topic) and isinstance(topic.model, DataModel), f"{topic!r} is not a Topic")
    tasks = workload.tasks(options)
    names = [task.client for task in tasks]
    wants.that(len(set(names)) == len(names), f"two tasks have the same name: {names}")
    wants.that(not tasks or any(task.role == PRODUCER for task in tasks), f"no task has the role {PRODUCER}")
    wants.that(AUDITOR not in names, "the auditor must not be among the tasks: it is added to every run")
    for role in (PRODUCER, CONSUMER):
        wants.that(isinstance(workload.client_settings(options, role), Mapping), f"no client settings for a {role}")
    for trait in workload.traits(options):
        wants.record(trait, "a trait")


def _check_run(workload: Workload, clients: Powered, namespace: str, options: Any, wants: Wants) -> None:
    with tempfile.TemporaryDirectory() as name:
        run = _Run(workload, clients, namespace, options, Path(name))
        topics = workload.topics(options, _BROKERS)
        with wants.step("its tasks"):
            run.load(wants, stay=not all(topic.model.keeps for topic in topics))
        with wants.step("the final read"):
            run.work(Task(AUDITOR, 0))
            audit = run.results.get(AUDITOR, {})
            wants.that(audit.get("accepted"), f"the final read's probe was not accepted: {audit}")
            wants.that(audit.get("audited"), f"the final read is not complete: {audit}")
            run.end(wants)
        with wants.step("its history"):
            _check_history(run.history(), wants)


def _check_history(history: History, wants: Wants) -> None:
    operations = history.operations.to_pylist()
    wants.that(any(row["outcome"] == "ok" for row in operations), "nothing was acknowledged")
    open_ones = sum(row["end_ns"] is None for row in operations)
    wants.that(not open_ones, f"{open_ones} operations were invoked and never completed")
    for partition in history.partitions:
        place = f"{partition.topic}/{partition.partition}"
        audit = history.audit(partition.topic, partition.partition)
        wants.that(audit is not None, f"{place} has messages, but no final read")
    findings = find(history, _BOUND_NS).to_pylist()
    wrong = sorted({row["anomaly"] for row in findings if not anomalies()[row["anomaly"]].measured})
    wants.that(not wrong, f"checkers find {', '.join(wrong)} in a run without faults")


class _Run:
    """A run without a harness: its clients are threads."""

    def __init__(self, workload: Workload, clients: Powered, namespace: str, options: Any, folder: Path) -> None:
        self.results: dict[str, Mapping[str, Any]] = {}
        self._workload = workload
        self._clients = clients
        self._namespace = namespace
        self._options = options
        self._folder = folder
        self._stop: dict[str, threading.Event] = defaultdict(threading.Event)
        self._threads: dict[Task, threading.Thread] = {}
        self._processes = 0
        self._errors: list[str] = []
        (folder / "wal").mkdir()
        write_origin(folder / "wal")
        topics = workload.topics(options, _BROKERS)
        write_topics(folder / "wal", {topic.name: topic.model.name for topic in topics})

    def load(self, wants: Wants, *, stay: bool) -> None:
        """Run all tasks for a while, then stop them; consumers may stay for the final read."""
        tasks = self._workload.tasks(self._options)
        self._threads = {task: threading.Thread(target=self._guarded, args=(task,), daemon=True) for task in tasks}
        for thread in self._threads.values():
            thread.start()
        time.sleep(_LOAD_S)
        self._end({PRODUCER}, wants)
        if not stay:
            self.end(wants)

    def end(self, wants: Wants) -> None:
        """Stop all others, if they still run."""
        self._end({task.role for task in self._threads}, wants)
        for error in self._errors:
            wants.that(False, error)
        self._errors = []

    def _end(self, roles: Collection[str], wants: Wants) -> None:
        for role in roles:
            self._stop[role].set()
        for task, thread in self._threads.items():
            if task.role in roles:
                thread.join(_END_S)
                wants.that(not thread.is_alive(), f"{task.client} does not exit within {_END_S:g} s of being stopped")

    def work(self, task: Task) -> None:
        """Run one client to completion."""
        self._processes += 1
        with WalWriter(self._folder / "wal", task.client, self._processes) as wal:
            recorder = WalRecorder(wal, 1, self._namespace)
            control = _Control(task.client, self._stop[task.role], self.results)
            self._workload.run(Job(task, self._options, self._clients, recorder, control, _BOUND_NS))

    def history(self) -> History:
        """Return the recorded history."""
        compact(self._folder)
        return History.open(self._folder)

    def _guarded(self, task: Task) -> None:
        try:
            self.work(task)
        except Exception as error:  # noqa: BLE001  # reported by the suite
            self._errors.append(f"{task.client}: {type(error).__name__}: {error}")


class _Control:
    """See `chaoskit.contract.workloads.workload.Control`."""

    def __init__(self, client: str, stop: threading.Event, results: dict[str, Mapping[str, Any]]) -> None:
        self.paused = False
        self._client = client
        self._stop = stop
        self._results = results

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def wait_start(self, meanwhile: Callable[[], object] | None = None) -> int:
        if meanwhile:
            meanwhile()
        return time.monotonic_ns()

    def report(self, progress: Progress) -> None:
        """Ignore progress."""

    def result(self, result: Mapping[str, Any]) -> None:
        self._results[self._client] = {**self._results.get(self._client, {}), **result}
