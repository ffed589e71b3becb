"""Faults of clients, on real processes with real connections."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from trial import BUSY_S, fault, sooner_or_later, strike_of

from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.workloads.workload import Task
from chaoskit.run.client import Client, Worker
from nemeses import clients as faults_of_clients
from nemeses.clients import ClientCrash, ClientDisconnect, ClientHang, ClientHijack, ClientLeave, ClientPause

_SILENCE_S = 0.3
_HEARTBEATS = 30

_CLIENT = """
import socket, sys, time
while True:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        try:
            while connection.send(b"x"):
                time.sleep(0.01)
        except OSError:
            pass
"""


_PARENT = """
import subprocess, sys
with subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1]]) as child:
    sys.stdin.read()
    child.kill()
"""
"""A client that has another process connect, which ends with it, as the JVM of a Java client does."""


class TickingClient:
    """A client whose process sends a byte every 10 ms and connects anew when its connection breaks."""

    name = "producer-0"

    def __init__(self, server: socket.socket, program: str = _CLIENT, stdin: int | None = None) -> None:
        self._server = server
        self._program = program
        self._stdin = stdin
        self._earlier: list[tuple[subprocess.Popen[bytes], socket.socket]] = []
        self._begin()

    @property
    def pid(self) -> int:
        return self.process.pid

    def running(self) -> bool:
        return self.process.poll() is None

    def ended(self) -> bool:
        return False

    def crash(self) -> None:
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        if not self.running():
            self.connection.close()
            self._begin()

    def _begin(self) -> None:
        port = str(self._server.getsockname()[1])
        command = [sys.executable, "-c", self._program, port, _CLIENT]
        self.process = subprocess.Popen(command, stdin=self._stdin)
        self.connection = self._server.accept()[0]

    @property
    def former(self) -> list[int]:
        return [process.pid for process, _ in self._earlier if process.poll() is None]

    def start_next(self) -> None:
        self._earlier.append((self.process, self.connection))
        self._begin()

    def end_former(self) -> None:
        for process, connection in self._earlier:
            process.kill()
            process.wait()
            connection.close()

    def former_ticks(self) -> bool:
        """Return whether bytes of the one before arrive."""
        return _ticks(self._earlier[-1][1])

    def accept(self) -> None:
        """Take the connection that the client makes."""
        self.connection.close()
        self.connection = self._server.accept()[0]

    def was_reset(self) -> bool:
        """Return whether the connection ends with a reset."""
        self.connection.settimeout(BUSY_S)
        try:
            while self.connection.recv(65536):
                pass
        except ConnectionResetError:
            return True
        return False

    def ticks(self) -> bool:
        """Return whether bytes arrive."""
        return _ticks(self.connection)

    def falls_silent(self) -> bool:
        """Return whether nothing arrives any more; what is on its way may, and a crash ends the connection."""
        deadline = time.monotonic() + BUSY_S
        self.connection.settimeout(_SILENCE_S)
        try:
            while self.connection.recv(65536):
                if time.monotonic() > deadline:
                    return False
        except (TimeoutError, ConnectionResetError):
            pass
        return True


@pytest.fixture
def client() -> Iterator[TickingClient]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(BUSY_S)
        client = TickingClient(server)
        assert client.ticks()
        yield client
        client.crash()
        client.connection.close()


def test_a_crash_ends_the_client_and_healing_brings_it_back(client: TickingClient) -> None:
    with fault(ClientCrash(), [client], None) as evidence:
        assert evidence == "killed with SIGKILL: producer-0"
        assert client.falls_silent()
    assert client.ticks()


def test_a_paused_client_is_silent_and_goes_on_afterwards(client: TickingClient) -> None:
    with fault(ClientPause(), [client], None) as evidence:
        assert evidence == "stopped (state T): producer-0"
        assert client.falls_silent()
    assert client.ticks()


def test_what_a_client_has_started_pauses_and_is_disconnected_with_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(BUSY_S)
        client = TickingClient(server, _PARENT, subprocess.PIPE)
        with fault(ClientPause(), [client], None):
            assert client.falls_silent()
        assert client.ticks()
        with fault(ClientDisconnect(), [client], None) as evidence:
            assert evidence == "connections reset: 1 of producer-0"
            client.accept()
        assert client.ticks()
        client.process.communicate()
        client.connection.close()


def test_a_disconnected_client_sees_a_reset_and_comes_back(client: TickingClient) -> None:
    with fault(ClientDisconnect(), [client], None) as evidence:
        assert evidence == "connections reset: 1 of producer-0"
        assert client.was_reset()
        client.accept()
    assert client.ticks()


@pytest.mark.parametrize(
    ("nemesis", "seen"),
    [
        (ClientCrash(), "still running after SIGKILL: producer-0"),
        (ClientPause(), "should be stopped; its state is (sleeping|running)"),
    ],
)
def test_a_fault_that_was_not_made_is_not_proved(client: TickingClient, nemesis: ClientCrash, seen: str) -> None:
    strike = strike_of(nemesis, [client], None)

    with pytest.raises(NemesisError, match=seen):
        nemesis.verify(strike)


def test_a_connection_that_stays_is_not_proved_to_be_reset(client: TickingClient) -> None:
    strike = strike_of(ClientDisconnect(), [client], None)
    ClientDisconnect().inject(strike)
    client.accept()
    strike.kept(faults_of_clients._Connected).before = {client.name: {_own_end(client)}}

    with pytest.raises(NemesisError, match="producer-0 still has 127"):
        ClientDisconnect().verify(strike)


def test_a_paused_client_wakes_when_the_harness_is_killed(client: TickingClient, tmp_path: Path) -> None:
    script = """
import sys, time
sys.path.insert(0, sys.argv[2])
from types import SimpleNamespace
from trial import strike_of
from nemeses.clients import ClientPause
client = SimpleNamespace(name="producer-0", pid=int(sys.argv[1]))
ClientPause().inject(strike_of(ClientPause(), [client], None))
print("paused", flush=True)
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, str(client.pid), str(Path(__file__).parents[1])], stdout=subprocess.PIPE
    ) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"paused\n"
        assert client.falls_silent()
        os.kill(harness.pid, signal.SIGKILL)

    assert client.ticks()


def test_a_hijacked_client_runs_twice_until_it_is_healed(client: TickingClient) -> None:
    first = client.pid
    with fault(ClientHijack(), [client], None) as evidence:
        assert evidence == f"producer-0 runs as process {client.pid} and as {first}"
        assert client.ticks()
        assert client.former_ticks()
    assert client.former == []
    assert client.ticks()


def test_a_client_that_nobody_hijacked_runs_once(client: TickingClient) -> None:
    strike = strike_of(ClientHijack(), [client], None)

    with pytest.raises(NemesisError, match="no earlier incarnation of producer-0 is running"):
        ClientHijack().verify(strike)


def test_a_hijacked_client_that_still_runs_twice_is_not_healed(client: TickingClient) -> None:
    strike = strike_of(ClientHijack(), [client], None)
    ClientHijack().inject(strike)

    with pytest.raises(NemesisError, match="earlier incarnations of producer-0 are still running"):
        ClientHijack().verify_healed(strike)
    ClientHijack().heal(strike)


def _ticks(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        pass
    connection.settimeout(BUSY_S)
    try:
        return connection.recv(1) == b"x"
    except OSError:
        return False


def _own_end(client: TickingClient) -> str:
    address, port = client.connection.getpeername()
    return f"{address}:{port}"


_LOOPING = """
import contextlib, socket, sys, threading, time
from chaoskit.run.worker import HarnessLink, _apart

link = HarnessLink(_apart())
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    def beat():
        with contextlib.suppress(OSError):
            while connection.send(b"heartbeat "):
                time.sleep(0.01)

    threading.Thread(target=beat, daemon=True).start()
    link.wait_start()
    with contextlib.suppress(OSError):
        while not link.stopping and connection.send(b"work "):
            time.sleep(float(sys.argv[2]))
"""


@contextmanager
def _looping(tmp_path: Path, every_s: float = 0.01) -> Iterator[tuple[Client, socket.socket]]:
    """A worker, as the harness starts it, that works in its loop while a thread of its own sends heartbeats."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(BUSY_S)

        def start(task: Task) -> Worker:
            command = [sys.executable, "-c", _LOOPING, str(server.getsockname()[1]), str(every_s)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
            worker = Worker(task, process, tmp_path / "log")
            worker.log.touch()
            worker.listener = threading.Thread(target=worker.listen)
            worker.listener.start()
            return worker

        client = Client(Task("consumer", 0), start)
        connection = server.accept()[0]
        client.await_ready(time.monotonic() + BUSY_S)
        client.worker.start_at(time.monotonic_ns())
        try:
            with connection:
                assert sooner_or_later(lambda: b"work" in connection.recv(65536))
                yield client, connection
        finally:
            client.stop()
            client.join(time.monotonic() + BUSY_S)


def _heard(connection: socket.socket) -> bytes:
    """Return what arrives until some heartbeats have, without what had arrived before."""
    connection.setblocking(False)
    with suppress(BlockingIOError):
        while connection.recv(65536):
            pass
    connection.settimeout(BUSY_S)
    heard = b""
    while heard.count(b"heartbeat ") < _HEARTBEATS:
        arrived = connection.recv(65536)
        assert arrived, "the client closed its connection"
        heard += arrived
    return heard


def test_a_client_that_hangs_works_no_more_while_its_library_goes_on(tmp_path: Path) -> None:
    with _looping(tmp_path) as (client, connection):
        with fault(ClientHang(), [client], None) as evidence:
            assert evidence.startswith(f"hung between two operations: consumer-0 (process {client.pid}, ")
            heard = _heard(connection)
            assert b"work" not in heard
            assert b"heartbeat" in heard
        assert sooner_or_later(lambda: b"work" in _heard(connection))


def test_a_client_whose_operation_does_not_end_is_not_proved_to_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults_of_clients, "_OPERATION_S", 0.2)
    with _looping(tmp_path, every_s=600) as (client, _):
        strike = strike_of(ClientHang(), [client], None)
        ClientHang().inject(strike)
        with pytest.raises(NemesisError, match=r"has not stopped within 0\.2 s: its operation did not end"):
            ClientHang().verify(strike)
        client.crash()
        with pytest.raises(NemesisError, match="consumer-0 has ended"):
            ClientHang().verify(strike)


def test_a_client_that_leaves_ends_in_order_and_comes_back(tmp_path: Path) -> None:
    with _looping(tmp_path) as (client, _):
        pid = client.pid
        strike = strike_of(ClientLeave(), [client], None)
        ClientLeave().inject(strike)
        assert ClientLeave().verify(strike).sentence == "ended in order: consumer-0"
        assert client.worker.process.returncode == 0
        assert client.failures() == []
        ClientLeave().heal(strike)
        assert ClientLeave().verify_healed(strike).sentence == "connected again: consumer-0"
        assert client.pid != pid


def test_a_client_whose_operation_does_not_end_is_not_proved_to_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults_of_clients, "_LEAVE_S", 0.2)
    with _looping(tmp_path, every_s=600) as (client, _):
        strike = strike_of(ClientLeave(), [client], None)
        ClientLeave().inject(strike)
        with pytest.raises(NemesisError, match=r"has not ended within 0\.2 s"):
            ClientLeave().verify(strike)
        client.crash()
        with pytest.raises(NemesisError, match="consumer-0 ended with an error"):
            ClientLeave().verify(strike)
        ClientLeave().heal(strike)
        assert ClientLeave().verify_healed(strike).sentence == "connected again: consumer-0"


def test_a_client_that_hangs_ends_with_the_harness(tmp_path: Path) -> None:
    with _looping(tmp_path) as (client, _):
        strike = strike_of(ClientHang(), [client], None)
        ClientHang().inject(strike)
        ClientHang().verify(strike)
        client.worker.tell_no_more()
        assert client.worker.process.wait(BUSY_S) == 0
