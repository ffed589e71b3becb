"""A lab: the local hosts of one run. Several labs can coexist on a machine."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from ipaddress import IPv4Network
from pathlib import Path
from threading import Thread
from typing import Any

import psutil

from chaoskit.base.errors import BadInput
from chaoskit.base.journal import Journal, claims
from chaoskit.base.parallel import on_each
from chaoskit.base.state import state_folder
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.clock import SettableClock
from chaoskit.contract.hosts.disk import (
    DATA,
    BreakableDisk,
    CutMode,
    OnCut,
    ProgrammableDisk,
    ReplaceableDisk,
    SlowDisk,
)
from chaoskit.contract.hosts.host import HostError, PowerSwitch, ResourceLimits, Root
from chaoskit.contract.hosts.recorded_disk import DiskOperations, Stored
from clusters.hosts import capabilities, roots
from clusters.hosts.clock.library import clock_library
from clusters.hosts.disk.crash import copy_sparse, crash_state, make_crash_image, read_operations
from clusters.hosts.disk.ending import end_recording, ended_ns
from clusters.hosts.disk.layout import BASE, DISKS, END, LOG, THROTTLE
from clusters.hosts.disk.options import DiskOptions, check_disk
from clusters.hosts.disk.plain import PlainDisk, attached
from clusters.hosts.disk.programmable import SoftwareDisk
from clusters.hosts.disk.stored import stored
from clusters.hosts.disk.throttle import available as throttling
from clusters.hosts.disk.throttle import lift
from clusters.hosts.exposure import shield, unshield
from clusters.hosts.limits import remove_limits
from clusters.hosts.local import LAB_VARIABLE, LocalHost
from clusters.hosts.network import PREFIX_LENGTH, PREFIX_LENGTH6, address6, choosing, free_range, ip, links
from clusters.hosts.power import thaw
from clusters.hosts.witness import SyncWitness

_PROVIDER = "local"
_HOSTS_MAX = 200
_NAME_LENGTH = 8
"""Length of a lab's name; with a host's name appended, it fits the 15 characters of an interface name."""
_DETACH_TIMEOUT_S = 10
_THAW_TIMEOUT_S = 1

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


class LocalOptions(DiskOptions):
    """The options of local hosts: their data disks (`cluster.disk`)."""


class LocalLab:
    """Running local hosts.

    Args:
        name: name of the lab and of its bridge.
        folder: folder with keys, disk images and system disks.
        hosts: the booted hosts.
        witness: of syncs of all file systems.
    """

    def __init__(self, name: str, folder: Path, hosts: Sequence[LocalHost], witness: SyncWitness) -> None:
        self.name = name
        self.folder = folder
        self.hosts = hosts
        self._witness = witness

    def access(self) -> list[str]:
        return [f"ssh -i {self.folder / 'client_key'} root@{host.address}" for host in self.hosts]

    def keep(self, folder: Path) -> list[Path]:
        """Copy the disk recordings (`cluster.disk.record`) to a folder, one subfolder per host. Call before `close`.

        Returns:
            The subfolders, each with `disk-base` and `disk-operations`; see `clusters.hosts.disk.crash`.
        """
        recorded = {
            host: disk for host in self.hosts if ((disk := self.folder / host.name / DISKS / DATA) / BASE).exists()
        }
        syncs_ns = self._witness.syncs_ns()
        on_each(list(recorded), lambda host: end_recording(host, host.disks[DATA].path, recorded[host], syncs_ns))
        for host, disk in recorded.items():
            target = folder / host.name
            target.mkdir(parents=True, exist_ok=True)
            for name in (BASE, LOG, END):
                copy_sparse(disk / name, target / name)
        return [folder / host.name for host in recorded]

    def close(self) -> None:
        on_each(self.hosts, lambda host: host.kill())
        self._witness.close()
        _remove(self.name, self.folder)


class LocalProvider:
    """Hosts in namespaces of this machine (entry point `local`)."""

    options = LocalOptions

    def host_powers(self, options: LocalOptions) -> tuple[type, ...]:
        return (PowerSwitch, ResourceLimits, SettableClock)

    def disk_powers(self, options: LocalOptions) -> dict[str, tuple[type, ...]]:
        plain = (SlowDisk, BreakableDisk, ReplaceableDisk)
        kinds = {"plain": plain, "programmable": (*plain, ProgrammableDisk)}
        return {name: kinds[disk.kind] for name, disk in options.each().items()}

    def seeded(self, options: LocalOptions, seed: int) -> LocalOptions:
        if options.kind == "plain" or "seed" in options.model_fields_set:
            return options
        return options.model_copy(update={"seed": seed})

    def check(self, count: int, options: LocalOptions, needed: Collection[type]) -> None:
        if not 1 <= count <= _HOSTS_MAX:
            raise BadInput(f"cluster.hosts is {count}; a lab has 1 to {_HOSTS_MAX} hosts")
        check_disk(options, count)
        if SettableClock in needed:
            clock_library()
        plain = any(disk.kind == "plain" for disk in options.each().values())
        if SlowDisk in needed and plain and not throttling():
            raise BadInput(
                "disk-slow: this kernel cannot throttle devices with a blkio cgroup (v1); "
                "set cluster.disk.kind: programmable"
            )
        capabilities.require({disk.filesystem for disk in options.each().values()})

    def make_root(self, root: Root) -> None:
        roots.make(root)

    def provision(
        self,
        journal: Journal,
        count: int,
        options: LocalOptions,
        needed: Collection[type] = (),
        *,
        root: Root | None = None,
    ) -> LocalLab:
        lower = Path("/") if root is None else roots.tree(root)
        name, folder, network = _claim(journal)
        try:
            gateway = network.broadcast_address - 1
            ip(f"link set {name} up")
            shield(name)
            if gateway6 := address6(str(gateway)):
                ip(f"address add {gateway6}/{PREFIX_LENGTH6} dev {name} nodad")
            _furnish(folder, network, count)
            witness = SyncWitness(folder / "witness", {LAB_VARIABLE: name})
            hosts = [
                LocalHost(name, folder, host, address, _disks(folder / host / DISKS, host, options), witness, lower)
                for host, address in _addresses(network, count).items()
            ]
            lab = LocalLab(name, folder, hosts, witness)
            if SettableClock in needed:
                for host in hosts:
                    host.make_clock_settable()
            on_each(hosts, lambda host: host.boot())
            on_each(hosts, lambda host: host.wait_booted())
        except BaseException:
            _remove(name, folder)
            raise
        return lab

    def undo(self, entry: Mapping[str, Any]) -> list[str]:
        if os.geteuid() != 0:
            raise BadInput("removing the hosts that were left behind requires root: sudo chaoskit heal")
        return _remove(entry["lab"], Path(entry["folder"]))

    def operations(self, recording: Path) -> DiskOperations:
        return read_operations(recording / LOG, ended_ns(recording))

    def crash_state(self, recording: Path, after: int, on_cut: str, seed: int) -> str:
        return crash_state(recording / LOG, after=after, on_cut=OnCut(mode=CutMode(on_cut)), seed=seed)

    def crash_image(self, recording: Path, image: Path, after: int, on_cut: str, seed: int) -> dict[str, Any]:
        survivors = OnCut(mode=CutMode(on_cut))
        cut = make_crash_image(recording / BASE, recording / LOG, image, after=after, on_cut=survivors, seed=seed)
        return cut.as_json()

    def stored(self, recording: Path, run_id: int, size: int) -> Stored:
        return stored(recording, run_id, size)

    def disk_with(self, options: LocalOptions, images: Mapping[str, Path]) -> dict[str, Any]:
        return options.model_copy(update={"kind": "plain", "record": False, "images": images}).model_dump(mode="json")

    def diagnose(self) -> list[Capability]:
        return capabilities.diagnose()


def _draw_name() -> str:
    return f"ck{secrets.token_hex((_NAME_LENGTH - 2) // 2)}"


def _claim(journal: Journal) -> tuple[str, Path, IPv4Network]:
    """Choose the name, the folder and the address range of a lab, and make its bridge, which shows the range to all."""
    with choosing():
        taken = {link[:_NAME_LENGTH] for link in links()}
        name = next(name for name in iter(_draw_name, None) if name not in taken)
        folder = state_folder() / "labs" / name
        network = free_range(claims("network"))
        journal.record(_PROVIDER, lab=name, folder=str(folder), network=str(network))
        address = f"{network.broadcast_address - 1}/{PREFIX_LENGTH}"
        try:
            ip(f"link add {name} type bridge", f"address add {address} dev {name}")
        except BaseException:
            _remove(name, folder)
            raise
    return name, folder, network


def _addresses(network: IPv4Network, count: int) -> dict[str, str]:
    """Return the address, with prefix length, of each host."""
    return {f"n{index}": f"{network[index]}/{PREFIX_LENGTH}" for index in range(1, count + 1)}


def _furnish(folder: Path, network: IPv4Network, count: int) -> None:
    """Create the folder with the keys, the hosts file and the configuration of sshd."""
    folder.mkdir(parents=True, mode=0o700)
    for key in ("host_key", "client_key"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key))
    addresses = {name: address.split("/")[0] for name, address in _addresses(network, count).items()}
    table = "".join(f"{address} {name}\n" for name, address in addresses.items())
    table6 = "".join(f"{address6(address)} {name}-v6\n" for name, address in addresses.items() if address6(address))
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n{table}{table6}")
    (folder / "sshd_config").write_text(_SSHD_CONFIG)


def _disks(folder: Path, host: str, options: LocalOptions) -> list[PlainDisk]:
    """Create the data disks of a host."""
    disks = []
    for name, disk in options.each().items():
        image = options.images.get(host) if name == DATA else None
        if disk.kind == "plain":
            disks.append(PlainDisk(name, folder / name, disk, image))
        else:
            owner = host if name == DATA else f"{host}:{name}"
            disks.append(SoftwareDisk(name, folder / name, disk, image, owner))
    return disks


def _remove(lab: str, folder: Path) -> list[str]:
    """Remove everything that is left of a lab; idempotent."""
    removed = []
    for note in folder.glob(f"*/{DISKS}/*/{THROTTLE}"):
        lift(note)
    processes = _first_processes(lab)
    _thaw_all(processes)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
        removed.append(f"process {process.pid}")
    _await_all_detached(folder)
    remove_limits(lab)
    if unshield(lab):
        removed.append(f"nftables table {lab}")
    for link in links():
        if link.startswith(lab):
            ip(f"link delete {link}", check=False)
            removed.append(f"interface {link}")
    if folder.exists():
        shutil.rmtree(folder)
        removed.append(f"folder {folder}")
    return removed


def _first_processes(lab: str) -> list[psutil.Process]:
    processes = psutil.process_iter(["environ"])
    return [process for process in processes if (process.info["environ"] or {}).get(LAB_VARIABLE) == lab]


def _thaw_all(processes: Sequence[psutil.Process]) -> None:
    """Thaw the hosts' disks while the hosts are alive; afterwards it is not possible.

    A disk that hangs for another reason blocks this call until its host ends, so it is not waited for.
    """
    roots = [Path(f"/proc/{child.pid}/root") for process in processes for child in _children(process)]
    mounts = [mount for root in roots for mount in (root / "data", *(root / "disks").glob("*"))]
    threads = [Thread(target=thaw, args=(mount,), daemon=True) for mount in mounts]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + _THAW_TIMEOUT_S
    for thread in threads:
        thread.join(max(0, deadline - time.monotonic()))


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.NoSuchProcess:  # it exited in the meantime
        return []


def _await_all_detached(folder: Path) -> None:
    """Wait for the kernel to detach the disks of hosts that were just stopped."""
    deadline = time.monotonic() + _DETACH_TIMEOUT_S
    while devices := attached(folder):
        if time.monotonic() > deadline:
            raise HostError(
                f"disks in {folder} are still attached to {', '.join(devices)}: something keeps them mounted"
            )
        time.sleep(0.005)


def _run(*argv: str) -> None:
    done = subprocess.run(argv, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise HostError(f"{argv[0]} failed: {done.stderr.strip()}")
