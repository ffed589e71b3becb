"""Local hosts: reached over SSH, separate from each other, and gone without a trace."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from machine import settled, snapshot

from chaoskit.base.journal import Journal
from chaoskit.base.waiting import wait_until
from chaoskit.contract.hosts.host import HostError, ServiceState
from chaoskit.run.heal import heal
from clusters.hosts.lab import LocalLab, LocalOptions, LocalProvider
from clusters.hosts.ssh import SERVICE_USER

SMALL = LocalOptions.model_validate({"size": "512MiB"})


def test_a_host_has_its_own_name_processes_network_and_disk(lab: LocalLab) -> None:
    host, other = lab.hosts

    assert host.run(["hostname"]).out == "n1\n"
    assert "sshd" in host.run(["cat", "/proc/1/comm"]).out
    assert host.address in host.run(["ip", "-4", "address", "show", "eth0"]).out
    assert " /data " in host.run(["cat", "/proc/mounts"]).out
    host.put(b"mine", "/data/x")
    assert other.run(["test", "-e", "/data/x"], check=False).status == 1


def test_hosts_reach_each_other_by_name(lab: LocalLab) -> None:
    assert lab.hosts[0].run(["ping", "-c1", "-W1", "n2"]).status == 0


def test_a_host_writes_nothing_to_this_machine(lab: LocalLab) -> None:
    lab.hosts[0].put(b"x", "/etc/chaoskit-was-here")

    assert not Path("/etc/chaoskit-was-here").exists()


_LISTEN = """
import socket
server = socket.create_server(("::", 7007), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    server.accept()
"""
_CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 7007), timeout=2)"


@pytest.mark.parametrize("family", ["address", "address6"])
def test_only_root_reaches_the_hosts_of_a_lab(lab: LocalLab, family: str) -> None:
    address = getattr(lab.hosts[0], family)
    if not address:
        pytest.skip("IPv6 is disabled on this machine")

    def connected(*user: str) -> subprocess.CompletedProcess[str]:
        argv = [*user, "/usr/bin/python3", "-c", _CONNECT, address]
        return subprocess.run(argv, text=True, capture_output=True, check=False)

    lab.hosts[0].spawn("listener", ["/usr/bin/python3", "-c", _LISTEN], {})
    assert wait_until(lambda: connected().returncode == 0, 30), "root is let in"
    refused = connected("setpriv", "--reuid", "65534", "--clear-groups")
    assert refused.returncode == 1
    assert "refused" in refused.stderr or "unreachable" in refused.stderr or "not permitted" in refused.stderr


def test_a_failing_command_raises_with_its_error_output(lab: LocalLab) -> None:
    with pytest.raises(HostError, match=r"host n1: exit status 2 .*\n.*no-such-file"):
        lab.hosts[0].run(["ls", "/no-such-file"])


def test_a_command_that_takes_too_long_raises(lab: LocalLab) -> None:
    with pytest.raises(HostError, match="did not answer"):
        lab.hosts[0].run(["sleep", "5"], timeout_s=0.2)


def test_large_outputs_and_inputs_come_through_whole(lab: LocalLab) -> None:
    content = bytes(range(256)) * 20_000

    lab.hosts[0].put(content, "/data/large")

    assert lab.hosts[0].run(["sha256sum", "/data/large"]).out.split()[0] == _sha256(content)
    assert len(lab.hosts[0].run(["base64", "/data/large"]).out) > len(content)


def test_services_are_spawned_paused_resumed_and_killed_by_name(lab: LocalLab) -> None:
    host = lab.hosts[0]
    assert host.state("sleeper") is ServiceState.GONE

    host.spawn("sleeper", ["sh", "-c", "echo $GREETING; sleep 60"], {"GREETING": "hello"})
    assert host.state("sleeper") is ServiceState.RUNNING
    assert host.run(["cat", host.log_path("sleeper")]).out == "hello\n"
    for sent, expected in (("STOP", ServiceState.PAUSED), ("CONT", ServiceState.RUNNING), ("KILL", ServiceState.GONE)):
        host.signal("sleeper", sent)
        _wait_for(lambda expected=expected: host.state("sleeper") is expected)


def test_services_own_the_data_disks_and_nothing_else(lab: LocalLab) -> None:
    host = lab.hosts[0]
    tries = "id -u; touch /data/mine && echo disk; touch /etc/mine || touch /root/mine || kill -0 1 || echo no more"

    host.spawn("user", ["sh", "-c", tries], {})
    _wait_for(lambda: host.state("user") is ServiceState.GONE)

    said = host.run(["cat", host.log_path("user")]).out.splitlines()
    assert (said[0], said[1], said[-1]) == (str(SERVICE_USER), "disk", "no more")
    assert host.run(["stat", "-c", "%u", "/data/mine"]).out.strip() == str(SERVICE_USER)


def test_an_installed_folder_is_there_and_copied_where_it_is_not(lab: LocalLab, tmp_path: Path) -> None:
    folder = tmp_path / "artifacts-1"
    folder.mkdir()
    (folder / "jar").write_bytes(b"bytes")

    assert lab.hosts[0].install(folder) == str(folder)
    assert lab.hosts[0].run(["cat", f"{folder}/jar"]).out == "bytes"
    outside_root = Path("/dev/shm") / tmp_path.name
    assert not outside_root.exists()


def test_two_labs_do_not_disturb_each_other(lab: LocalLab) -> None:
    with Journal("test-second-lab") as journal:
        second = LocalProvider().provision(journal, 2, SMALL)
        try:
            assert {host.address for host in second.hosts}.isdisjoint(host.address for host in lab.hosts)
            second.hosts[0].power_cut()
            assert lab.hosts[0].run(["hostname"]).out == "n1\n"
            with pytest.raises(HostError):
                lab.hosts[0].run(["ping", "-c1", "-W1", second.hosts[1].address])
        finally:
            second.close()
            journal.close()
    assert lab.hosts[1].reachable()


@pytest.mark.usefixtures("own_state")
def test_a_closed_lab_leaves_no_trace() -> None:
    before = snapshot()

    with Journal("test-trace") as journal:
        lab = LocalProvider().provision(journal, 3, SMALL)
        assert snapshot() != before
        lab.hosts[1].power_cut()
        lab.close()
        journal.close()

    assert snapshot() == before


@pytest.mark.usefixtures("own_state")
def test_heal_removes_the_lab_of_a_killed_harness_and_then_finds_nothing() -> None:
    before = snapshot()
    script = """
import time
from chaoskit.base.journal import Journal
from clusters.hosts.lab import LocalOptions, LocalProvider
with Journal("test-killed") as journal:
    lab = LocalProvider().provision(journal, 2, LocalOptions(size="512MiB"))
    print("up", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "up\n"
        alive = settled()
        assert heal() == [], "a live run must be left alone"
        assert snapshot() == alive
        harness.send_signal(signal.SIGKILL)

    assert snapshot() != before
    assert any("interface" in item for item in heal())
    assert snapshot() == before
    assert heal() == []


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _wait_for(condition: object, timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_commands_that_end_at_once_in_several_threads_lose_no_connection(lab: LocalLab) -> None:
    host = lab.hosts[0]

    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: host.run(["true"]).status, range(900)))

    assert done == [0] * 900


def test_a_command_that_takes_too_long_ends_no_other(lab: LocalLab) -> None:
    host = lab.hosts[0]

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(host.run, ["sh", "-c", "sleep 2; echo done"])
        with pytest.raises(HostError, match="did not answer"):
            host.run(["sleep", "3"], timeout_s=0.5)

        assert other.result().out == "done\n"
