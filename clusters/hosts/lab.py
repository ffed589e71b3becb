"""A lab: the local hosts of one run, side by side with other labs on the same machine."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from chaoskit.doctor import Finding
from chaoskit.errors import BadInput
from chaoskit.host import HostError, PowerSwitch
from chaoskit.journal import Journal, claims
from chaoskit.quantities import Size
from chaoskit.state import state_folder
from clusters.hosts import capabilities
from clusters.hosts.local import LAB_VARIABLE, LocalHost, attached
from clusters.hosts.network import PREFIX_LENGTH, choosing, free_range, ip, links

_PROVIDER = "local"
_HOSTS_MAX = 200
_NAME_LENGTH = 8
"""With a host's name behind it, within the 15 characters of an interface name."""
_XFS_SIZE_MIN = 300 * 2**20
_DETACH_TIMEOUT_S = 10

_SSHD_CONFIG = """\
Port 22
ListenAddress 0.0.0.0
HostKey /run/ssh-of-lab/host_key
AuthorizedKeysFile /run/ssh-of-lab/client_key.pub
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin prohibit-password
PasswordAuthentication no
PidFile none
MaxSessions 200
MaxStartups 200
LogLevel FATAL
Subsystem sftp internal-sftp
"""


class LocalOptions(BaseModel):
    """The data disk of each local host: `cluster: {disk: {size: 2GiB, filesystem: xfs}}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: Size = 4 * 2**30
    filesystem: Literal["ext4", "xfs"] = "ext4"


class LocalLab:
    """Running local hosts.

    Args:
        name: lab name, also of its bridge.
        folder: keys, disk images and system disks.
        hosts: booted hosts.
    """

    def __init__(self, name: str, folder: Path, hosts: Sequence[LocalHost]) -> None:
        self.name = name
        self.folder = folder
        self.hosts = hosts

    def access(self) -> list[str]:
        return [f"ssh -i {self.folder / 'client_key'} root@{host.address}" for host in self.hosts]

    def close(self) -> None:
        with ThreadPoolExecutor(len(self.hosts)) as pool:
            list(pool.map(LocalHost.kill, self.hosts))
        _remove(self.name, self.folder)


class LocalProvider:
    """Hosts in namespaces of this machine (entry point `local`)."""

    options = LocalOptions
    powers = (PowerSwitch,)

    def check(self, count: int, options: LocalOptions) -> None:
        if not 1 <= count <= _HOSTS_MAX:
            raise BadInput(f"cluster.hosts is {count}; a lab has 1 to {_HOSTS_MAX} hosts")
        if options.filesystem == "xfs" and options.size < _XFS_SIZE_MIN:
            raise BadInput("cluster.disk.size: XFS needs at least 300MiB")
        capabilities.require(options.filesystem)

    def provision(self, journal: Journal, count: int, options: LocalOptions) -> LocalLab:
        with choosing():
            taken = {link[:_NAME_LENGTH] for link in links()}
            name = next(name for name in iter(_draw_name, None) if name not in taken)
            folder = state_folder() / "labs" / name
            network = free_range(claims("network"))
            journal.record(_PROVIDER, lab=name, folder=str(folder), network=str(network))
            gateway = network.broadcast_address - 1
            ip(
                f"link add {name} type bridge",
                f"address add {gateway}/{PREFIX_LENGTH} dev {name}",
                f"link set {name} up",
            )
        try:
            hosts = _prepare(name, folder, network, count, options)
            lab = LocalLab(name, folder, hosts)
            with ThreadPoolExecutor(count) as pool:
                list(pool.map(LocalHost.boot, hosts))
                list(pool.map(LocalHost.wait_booted, hosts))
                list(pool.map(LocalHost.arm_canary, hosts))
        except BaseException:
            _remove(name, folder)
            raise
        return lab

    def undo(self, entry: Mapping[str, Any]) -> list[str]:
        return _remove(entry["lab"], Path(entry["folder"]))

    def diagnose(self) -> list[Finding]:
        return capabilities.diagnose()


def _draw_name() -> str:
    return f"ck{secrets.token_hex((_NAME_LENGTH - 2) // 2)}"


def _prepare(lab: str, folder: Path, network: IPv4Network, count: int, options: LocalOptions) -> list[LocalHost]:
    """Make keys, the table of names and the disks."""
    folder.mkdir(parents=True, mode=0o700)
    for key in ("host_key", "client_key"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key))
    addresses = {f"n{index}": network[index] for index in range(1, count + 1)}
    table = "".join(f"{address} {name}\n" for name, address in addresses.items())
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n{table}")
    (folder / "sshd_config").write_text(_SSHD_CONFIG)
    hosts = [
        LocalHost(lab, folder, name, f"{address}/{PREFIX_LENGTH}", options.filesystem)
        for name, address in addresses.items()
    ]
    for host in hosts:
        _make_disk(host.disk, options)
    return hosts


def _make_disk(image: Path, options: LocalOptions) -> None:
    image.parent.mkdir(parents=True)
    with image.open("wb") as file:
        file.truncate(options.size)
    if options.filesystem == "ext4":
        _run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard", str(image))
    else:
        _run("mkfs.xfs", "-q", "-K", str(image))


def _remove(lab: str, folder: Path) -> list[str]:
    """Remove every trace of a lab that is still there; idempotent."""
    removed = []
    for pid in _first_processes(lab):
        os.kill(pid, signal.SIGKILL)
        removed.append(f"process {pid}")
    _await_all_detached(folder)
    for link in links():
        if link.startswith(lab):
            ip(f"link delete {link}", check=False)
            removed.append(f"interface {link}")
    if folder.exists():
        shutil.rmtree(folder)
        removed.append(f"folder {folder}")
    return removed


def _first_processes(lab: str) -> list[int]:
    mark = f"{LAB_VARIABLE}={lab}".encode()
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environment.read_bytes().split(b"\0"):
                found.append(int(environment.parent.name))
        except OSError:  # the process ended while we looked
            continue
    return found


def _await_all_detached(folder: Path) -> None:
    """Wait for the kernel to detach the disks of hosts that were just ended."""
    deadline = time.monotonic() + _DETACH_TIMEOUT_S
    for image in folder.glob("*/disk"):
        while devices := attached(image):
            if time.monotonic() > deadline:
                raise HostError(f"{image} is still attached to {', '.join(devices)}: something keeps it mounted")
            time.sleep(0.005)


def _run(*argv: str) -> None:
    done = subprocess.run(argv, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise HostError(f"{argv[0]} failed: {done.stderr.strip()}")
