"""A worker process: one client of the workload, with its own write-ahead log.

The harness starts it with the path of its order (JSON) and exchanges JSON lines with it: the worker
reports `ready`, receives the start time, and reports progress and, if it is an auditor, its result. A
consumer may be told to `pause` and to `resume`, each client to `hang` and to go `on`, which it confirms. A worker exits
when it receives `stop`, or when its standard input closes because the harness has died.

On a driver the path is `-`: the order is the first line, with the environment variables of its secrets, which
so are never on the driver's disk.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from chaoskit.contract import installed
from chaoskit.contract.systems.system import Naming
from chaoskit.contract.workloads.workload import ClientReport, Job, Task
from chaoskit.history.format.segment import HistoryFull
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.progress import Progress

ON_DRIVER = "-"
PAUSE, RESUME = b"pause\n", b"resume\n"
HANG, GO_ON = b"hang\n", b"on\n"
_MEANWHILE_S = 0.2


class HarnessLink:
    """The worker's end of its link to the harness; see `chaoskit.contract.workloads.workload.Control`.

    Args:
        messages: where messages to the harness are written.
    """

    def __init__(self, messages: TextIO = sys.stdout) -> None:
        self.paused: bool = False
        self._stopping = False
        self._going = threading.Event()
        self._going.set()
        # Unbuffered: a thread blocked in a buffered read would hold its lock when the interpreter exits.
        self._orders = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115
        self._messages = messages

    @property
    def stopping(self) -> bool:
        if not self._going.is_set():
            self._say(hung=True)
            self._going.wait()
            self._say(hung=False)
        return self._stopping

    def order(self, path: str) -> dict[str, Any]:
        """Return the order of this worker."""
        if path != ON_DRIVER:
            return dict(json.loads(Path(path).read_text(encoding="utf-8")))
        order = json.loads(self._orders.readline())
        os.environ.update(order["environment"])
        return dict(order)

    def wait_start(self, meanwhile: Callable[[], object] | None = None) -> int:
        self._say(ready=True)
        while meanwhile and not select.select([self._orders], [], [], _MEANWHILE_S)[0]:
            meanwhile()
        line = self._orders.readline().decode()
        start_ns = 0
        if line.startswith("start"):
            start_ns = int(line.split()[1])
        else:
            self._stopping = True
        threading.Thread(target=self._await_stop, daemon=True).start()
        return start_ns

    def report(self, progress: Progress) -> None:
        self._say(progress=asdict(progress))

    def result(self, result: ClientReport) -> None:
        self._say(result=dict(result))

    def _await_stop(self) -> None:
        while (order := self._orders.readline()) in (PAUSE, RESUME, HANG, GO_ON):
            if order == HANG:
                self._going.clear()
            elif order == GO_ON:
                self._going.set()
            else:
                self.paused = order == PAUSE
        self._stopping = True
        self._going.set()

    def _say(self, **message: Any) -> None:
        try:
            self._messages.write(json.dumps(message) + "\n")
            self._messages.flush()
        except BrokenPipeError:
            self._stopping = True


def main(order_path: str) -> None:
    """Run one client to completion."""
    try:
        _run(order_path)
    except HistoryFull as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(HistoryFull.status)


def _apart() -> TextIO:
    """Return what standard output was. It is now the log, as standard error is: what a library prints must not get
    between the messages."""
    messages = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return messages


def _run(order_path: str) -> None:
    for number in (signal.SIGINT, signal.SIGHUP):  # handled by the harness, which stops the workers
        signal.signal(number, signal.SIG_IGN)
    link = HarnessLink(_apart())
    order = link.order(order_path)
    system = installed.system(order["system"], "cluster.system")
    workload = installed.workload(order["workload"], "workload.kind")
    task, connection = Task(**order["task"]), order["connection"]
    if isinstance(system, Naming):
        connection = system.named(connection, task.client)
    with WalWriter(Path(order["wal"]), task.client, order["process"]) as wal:
        workload.run(
            Job(
                task=task,
                options=workload.options.model_validate(order["options"]),
                clients=system.clients(connection),
                recorder=WalRecorder(wal, order["run_id"], order["namespace"]),
                control=link,
                bound_ns=order["bound_ns"],
                application_hosts=tuple(order["application_hosts"]),
                logs=Path(order["logs"]),
                database=order["database"],
                database_host=order["database_host"],
            )
        )


if __name__ == "__main__":
    main(sys.argv[1])
