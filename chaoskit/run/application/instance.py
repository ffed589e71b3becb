"""One instance of the application: a process on its host, started again when it ends, and recorded."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from chaoskit.contract.hosts.host import HostError, ServiceHost
from chaoskit.contract.hosts.seat import Seating
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.model.observations.pipeline import EXIT, START
from chaoskit.model.outcome import INFO, OK

SERVICE = "application"
"""The name of the service that an instance is on its host."""

_LOOK_S = 0.05
_KEPT_S = 5.0
_WORDS = 5
_STDIN = 'exec "$@" < /dev/null'


class Instance:
    """An instance.

    Args:
        name: its name in the history, such as `application-0`.
        host: the host that it has for itself.
        argv: its command.
        env: its environment, in addition to that of chaoskit.
        log: where its output is kept.
        lines: where its standard output is kept besides, for clients that read it; None: it is not.
        recorder: records when it begins and ends.
        restart_ns: how long after its end it is started again; None: never.
        held: returns whether a fault decides whether it runs.

    Attributes:
        name, host: as given.
        ends: how often it ended.
    """

    def __init__(  # noqa: PLR0917 - what an instance is
        self,
        name: str,
        host: ServiceHost,
        argv: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        lines: Path | None,
        recorder: WalRecorder,
        restart_ns: int | None,
        held: Callable[[str], bool],
    ) -> None:
        self.name = name
        self.host = host
        self.ends: int = 0
        self._argv = ["env", *(f"{key}={value}" for key, value in env.items()), "sh", "-c", _STDIN, "instance", *argv]
        self._log = log
        self._lines = lines
        self._recorder = recorder
        self._restart_ns = restart_ns
        self._held = held
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._keeping: threading.Thread | None = None
        self._ended_ns = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._supervise, name=name, daemon=True)

    def begin(self) -> None:
        """Start it, and from now on again whenever it ends.

        Raises:
            HostError: it could not be started.
        """
        self.start()
        self._thread.start()

    def start(self) -> None:
        """Start it, unless it runs."""
        with self._lock:
            if self._stopping.is_set() or (self._process is not None and self._process.poll() is None):
                return
            self._note_end()
            op = self._recorder.invoke(START)
            with self._log.open("ab") as output:
                self._process = self.host.power(Seating).seat(self._argv, output)
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._keeping = threading.Thread(target=self._keep, args=(self._process,), daemon=True)
            self._keeping.start()
            self.host.put(f"{_in_namespace(self._process.pid)}\n".encode(), self.host.pid_path(SERVICE))
            self._recorder.complete(op)

    def running(self) -> bool:
        """Return whether it runs; one that is stopped (SIGSTOP) does."""
        process = self._process
        return process is not None and process.poll() is None

    def last_words(self) -> str:
        """Return the end of its output."""
        lines = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        return "\n".join(lines[-_WORDS:]) or "it wrote nothing"

    def stop(self, timeout_s: float) -> bool:
        """End it with SIGTERM, or SIGKILL after a while, and start it no more; return whether SIGTERM was enough."""
        self._stopping.set()
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None:
                self._note_end()
                self._end_keeping()
                return True
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.terminate()
            try:
                process.wait(timeout_s)
                gentle = True
            except subprocess.TimeoutExpired:
                gentle = False
            with suppress(HostError):
                self.host.signal(SERVICE, "KILL")  # also what it started itself
            process.kill()
            process.wait()
            self._note_end()
            self._end_keeping()
        return gentle

    def _end_keeping(self) -> None:
        """Wait until all that it wrote is kept; what it started itself may still hold its output open."""
        if self._keeping is not None:
            self._keeping.join(_KEPT_S)

    def _supervise(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            if self.running():
                continue
            with self._lock:
                self._note_end()
            if self._restart_ns is None or self._held(self.host.name):
                continue
            if time.monotonic_ns() - self._ended_ns >= self._restart_ns:
                with suppress(HostError):  # its host has no power; it is tried again
                    self.start()

    def _note_end(self) -> None:
        """Record the end of the process, once."""
        process = self._process
        if process is None or process.poll() is None:
            return
        code, self._process, self._ended_ns = process.returncode, None, time.monotonic_ns()
        self.ends += 1
        op = self._recorder.invoke(EXIT)
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"
        self._recorder.complete(op, OK if code == 0 else INFO, how)

    def _keep(self, process: subprocess.Popen[bytes]) -> None:
        """Append what it writes to standard output to its log, and each whole line to where clients read it."""
        assert process.stdout is not None
        with ExitStack() as files:
            lines = files.enter_context(process.stdout)
            log = files.enter_context(self._log.open("ab", buffering=0))
            kept = None if self._lines is None else files.enter_context(self._lines.open("ab", buffering=0))
            for line in lines:
                log.write(line)
                if kept is not None and line.endswith(b"\n"):
                    kept.write(line)


def _in_namespace(pid: int) -> int:
    """Return the id of a process in its own namespace of process ids (proc_pid_status(5), `NSpid`)."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return pid
