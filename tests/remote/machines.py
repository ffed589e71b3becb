"""Machines as a team has them: an SSH server, a user with a key and sudo, nothing that they share with the harness.

They are namespaces of this machine, made by hand and not by chaoskit's provider. Their root is Debian's, with packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from chaoskit.base.waiting import wait_until
from chaoskit.contract.hosts.host import Root
from clusters.hosts import roots

BRIDGE = "ckremote"
_NETWORK = "10.196.77"
_INIT = Path(__file__).with_name("machine.sh")
_BASIC = ("sudo", "supervisor")
_BOOT_S = 20


class Machines:
    """Running machines `k1`, `k2`, ...

    Attributes:
        folder: keys and system disks.
        names: the machines' names.
        addresses: their addresses.
        drivers: the addresses of further machines, `d1`, `d2`, ..., for load.
        known_hosts: file with their host keys.
    """

    def __init__(self, folder: Path, count: int, copied: Path, packages: Sequence[str], ahead_s: Sequence[int]) -> None:
        self._root = Root("trixie", dict.fromkeys((*packages, *_BASIC), ""))
        roots.make(self._root)
        self.folder = folder
        self.names = [f"k{number}" for number in range(1, count + 1)]
        self.addresses = {name: f"{_NETWORK}.{number}" for number, name in enumerate(self.names, 1)}
        self._ahead_s = {f"d{number}": seconds for number, seconds in enumerate(ahead_s, 1)}
        self.drivers = {name: f"{_NETWORK}.{100 + number}" for number, name in enumerate(self._ahead_s)}
        self._all = {**self.addresses, **self.drivers}
        self.known_hosts = folder / "known_hosts"
        self.key = folder / "key"
        self._running: list[subprocess.Popen[bytes]] = []
        self._prepare()
        _run("ip", "link", "add", BRIDGE, "type", "bridge")
        _run("ip", "address", "add", f"{_NETWORK}.254/24", "dev", BRIDGE)
        _run("ip", "link", "set", BRIDGE, "up")
        for name in self._all:
            self._boot(name, copied)
        for name in self._all:
            self._await(name)

    def ssh(self, name: str, command: str, content: bytes = b"") -> str:
        """Run a command on a machine as its user `deploy`, with OpenSSH; return its output."""
        argv = ["ssh", "-i", str(self.key), "-o", f"UserKnownHostsFile={self.known_hosts}", "-o", "BatchMode=yes"]
        done = subprocess.run(
            [*argv, f"deploy@{self._all[name]}", command], input=content, capture_output=True, check=False
        )
        assert done.returncode == 0, f"{name}: {command}: {done.stderr.decode()}"
        return done.stdout.decode()

    def put(self, name: str, path: str, content: str) -> None:
        """Write a file as root."""
        self.ssh(name, f"sudo mkdir -p $(dirname {path}) && sudo tee {path} > /dev/null", content.encode())

    def inventory(self, services: Any) -> dict[str, Any]:
        """Return the inventory of all machines; `services` returns those of a machine."""
        return {
            "defaults": {
                "user": "deploy",
                "key": str(self.key),
                "known_hosts": str(self.known_hosts),
                "data": "/var/lib/system",
            },
            "hosts": {
                name: {"address": address, "services": services(name)} for name, address in self.addresses.items()
            },
        }

    def listing(self) -> dict[str, list[str]]:
        """Return what there is on each machine that chaoskit could have left."""
        script = (
            "sudo sh -c 'ls -A /run /run/chaoskit /var/lib/system/.chaoskit /tmp /home/deploy 2> /dev/null; "
            "nft list ruleset; tc qdisc show; ps -eo stat=,args='"
        )
        own = ("sshd", "ps -eo", "sudo ")
        return {
            name: sorted(line[:60] for line in self.ssh(name, script).splitlines() if not any(o in line for o in own))
            for name in self.names
        }

    def close(self) -> None:
        """Stop the machines and remove everything of them."""
        for machine in self._running:
            machine.kill()
            machine.wait()
        remove()

    def _prepare(self) -> None:
        keys = [self.key, *(self.folder / name / "host_key" for name in self._all)]
        for key in keys:
            key.parent.mkdir(parents=True, exist_ok=True)
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        known = [f"{self._all[name]} {(self.folder / name / 'host_key.pub').read_text()}" for name in self._all]
        self.known_hosts.write_text("".join(known))
        table = "".join(f"{address} {name}\n" for name, address in self._all.items())
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n{table}")

    def _boot(self, name: str, copied: Path) -> None:
        namespaces = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
        if ahead_s := self._ahead_s.get(name, 0):
            namespaces += ["--time", "--monotonic", str(ahead_s), "--boottime", str(ahead_s)]
        script = ["sh", str(_INIT), str(self.folder), name, f"{self._all[name]}/24", str(roots.tree(self._root))]
        with (self.folder / f"{name}.log").open("ab") as log:
            machine = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", *namespaces, *script, str(copied)],
                stdin=subprocess.PIPE,
                stderr=log,
                env={"PATH": os.environ["PATH"]},
                start_new_session=True,
            )
        self._running.append(machine)
        children = Path(f"/proc/{machine.pid}/task/{machine.pid}/children")
        while not (pids := children.read_text().split()):
            time.sleep(0.01)
        _run("ip", "link", "add", f"{BRIDGE}{name}", "type", "veth", "peer", "name", "eth0", "netns", pids[0])
        _run("ip", "link", "set", f"{BRIDGE}{name}", "master", BRIDGE, "up")
        assert machine.stdin is not None
        machine.stdin.write(b"plugged in\n")
        machine.stdin.close()

    def _await(self, name: str) -> None:
        def answers() -> bool:
            try:
                return self.ssh(name, "true") == ""
            except AssertionError:
                return False

        booted = wait_until(answers, _BOOT_S)
        assert booted, f"{name} does not answer:\n{(self.folder / f'{name}.log').read_text()}"


@contextmanager
def machines(
    folder: Path, count: int, copied: Path, packages: Sequence[str], ahead_s: Sequence[int] = ()
) -> Iterator[Machines]:
    """Run machines for a while; first remove what a test that was killed left behind.

    Args:
        folder: for keys and system disks.
        count: how many.
        copied: a folder whose content each of them gets as /opt/system.
        packages: packages of Debian that they have.
        ahead_s: for each further machine for load, by how much its clock is ahead.
    """
    remove()
    if folder.exists():
        shutil.rmtree(folder)
    with closing(Machines(folder, count, copied, packages, ahead_s)) as running:
        yield running


def remove() -> None:
    """Remove the network of the machines; their processes end with the test's."""
    listed = subprocess.run(["ip", "-br", "link"], text=True, capture_output=True, check=True).stdout.splitlines()
    for name in (line.split()[0].partition("@")[0] for line in listed):
        if name.startswith(BRIDGE):
            subprocess.run(["ip", "link", "delete", name], check=False, capture_output=True)


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)
