"""PostgreSQL: its configuration, what a scenario must not set, whether it answers, and what becomes of its backends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from clusters.postgresql import PostgreSQL, backends, probe
from clusters.postgresql.settings import postgresql_conf

_SOON_S = 10.0


def test_settings_of_the_scenario_come_last() -> None:
    conf = postgresql_conf({"synchronous_commit": "off", "fsync": True, "shared_buffers": 64}, "10.0.0.6", "/data")

    assert "listen_addresses = '10.0.0.6'\n" in conf
    assert "data_directory = '/data/postgresql'\n" in conf
    assert conf.endswith("synchronous_commit = 'off'\nfsync = 'on'\nshared_buffers = '64'\n")
    assert "it = 'isn''t'\n" in postgresql_conf({"it": "isn't"}, "10.0.0.6", "/data")


@pytest.mark.parametrize("name", ["port", "listen_addresses", "Data_Directory", "hba_file"])
def test_what_chaoskit_sets_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=rf"workload.writes.0.postgresql.{name}: chaoskit sets it itself"):
        PostgreSQL().check({"fsync": "off", name: "x"}, "workload.writes.0.postgresql")
    PostgreSQL().check({"fsync": "off"}, "workload.writes.0.postgresql")


@pytest.mark.parametrize(("answer", "answers"), [(b"R\0\0\0\x08\0\0\0\0", True), (b"E\0\0\0\x05", False), (b"", False)])
def test_a_server_answers_once_it_lets_somebody_in(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, answers: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(probe, "PORT", server.getsockname()[1])

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                assert b"user\0chaoskit\0database\0postgres\0\0" in connection.recv(1000)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert probe.answers("127.0.0.1", 5) is answers
        thread.join()
    assert not probe.answers("127.0.0.1", 0.2)


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Starts processes of a name, each with a process group of its own, and ends them."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(*argv: str) -> subprocess.Popen[bytes]:
        processes.append(subprocess.Popen(argv, start_new_session=True))
        return processes[-1]

    yield start
    for process in processes:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait()


def state(process: subprocess.Popen[bytes]) -> str:
    """Return the state of a process, such as `T`."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def await_state(process: subprocess.Popen[bytes], wanted: str) -> None:
    """Wait until a process is in one of these states."""
    deadline = time.monotonic() + _SOON_S
    while state(process) not in wanted:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_backends_share_the_fate_of_their_server(
    tmp_path: Path, family: Callable[..., subprocess.Popen[bytes]]
) -> None:
    program = str(shutil.copy(shutil.which("sleep") or "", tmp_path / "of-no-postgres"))
    # A name of its own: others may run PostgreSQL on this machine.
    backend_program = str(shutil.copy(program, tmp_path / f"pg-{os.getpid()}"))
    server, backend, other = family(backend_program, "60"), family(backend_program, "60"), family(program, "60")
    family(sys.executable, backends.__file__, str(server.pid))

    server.send_signal(signal.SIGSTOP)
    await_state(backend, "T")
    assert state(other) == "S"
    server.send_signal(signal.SIGCONT)
    await_state(backend, "S")
    server.kill()
    server.wait()
    await_state(backend, "Z")
    assert state(other) == "S"
