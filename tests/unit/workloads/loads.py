"""A run in memory: the clients of a workload do their work one after the other, and the history is real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaoskit.contract.power import P, held
from chaoskit.contract.workloads.datamodel import LEDGER, LOG
from chaoskit.contract.workloads.workload import Job, Task
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.reading.reader import History, read_observations
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter

RUN = 1

Row = dict[str, Any]


class Control:
    """The load ends after so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.paused = False
        self.told: Any = None

    @property
    def stopping(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    def wait_start(self, meanwhile: Callable[[], object] | None = None) -> int:
        return 0

    def report(self, progress: Any) -> None:
        """Nobody listens."""

    def result(self, result: Any) -> None:
        self.told = {**(self.told or {}), **result}


class Powers:
    """Clients whose powers are their methods."""

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], "clients in memory")


class Load:
    """A run whose clients work one after the other."""

    def __init__(self, folder: Path, workload: Any, clients: Any) -> None:
        self.folder = folder
        self._workload = workload
        self._clients = clients
        self._processes = 0
        (folder / "wal").mkdir()
        write_origin(folder / "wal")
        write_topics(folder / "wal", {"log-0": LOG.name, "ledger": LEDGER.name})

    def work(self, task: Task, looks: int, options: Any) -> Any:
        """Let one client do its work; return what it told the harness."""
        control = Control(looks)
        with WalWriter(self.folder / "wal", task.client, self._processes) as wal:
            self._workload.run(Job(task, options, self._clients, WalRecorder(wal, RUN), control, 10**9))
        self._processes += 1
        return control.told

    def history(self) -> History:
        """Return what was recorded."""
        compact(self.folder)
        return History.open(self.folder)


def rows_of(history: History, topic: str, partition: int = 0) -> tuple[list[Row], list[Row]]:
    """Return the messages and the observations of a partition."""
    (own,) = (part for part in history.partitions if (part.topic, part.partition) == (topic, partition))
    return history.messages(topic, partition).to_pylist(), read_observations(own).to_pylist()
