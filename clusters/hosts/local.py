"""Hosts on this machine: namespaces, an overlay of the root file system, data disks on loop devices.

A local host is controlled over SSH like any other; this file adds only the power switch, the disks and
the cable. Everything lives in the namespaces of the host's first process: when that process dies, so do
the other processes, the mounts, the loop devices and the cable. The rest, the bridge and the lab's folder,
is journalled.
"""

from __future__ import annotations

import hashlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from chaoskit.base.state import cache_folder
from chaoskit.contract.hosts.host import Doubt, DoubtfulCut, HostError
from clusters.hosts.canary import CanariesKept
from clusters.hosts.clock.host import ClockHost
from clusters.hosts.disk.plain import PlainDisk
from clusters.hosts.limits import HostLimits
from clusters.hosts.network import PREFIX_LENGTH6, address6, ip, take_down
from clusters.hosts.seat import seated
from clusters.hosts.ssh import SERVICE_USER
from clusters.hosts.standstill import stop_all
from clusters.hosts.witness import SyncWitness

LAB_VARIABLE = "CHAOSKIT_LAB"
"""Environment variable that marks the first processes of a lab's hosts, so that only those are killed."""

_BOOT_TIMEOUT_S = 20
_LINES_MAX = 3
_SYNC_AGE_MAX_NS = 1_000_000_000
"""A sync that was longer ago is nothing that the evidence of a power cut tells."""

_UNSYNCED_NS, _AWAITED_NS = 300_000_000, 3_000_000_000
"""What is written in so much time is enough to lose; nobody waits longer for it than the second one."""

_SYNCED = "another process synced all file systems of this machine"
_INIT = Path(__file__).with_name("host-init.sh")


class LocalHost(ClockHost, HostLimits):
    """A host in namespaces of this machine.

    Args:
        lab: name of its lab.
        folder: the lab's folder, with keys and sshd_config.
        name: host name.
        address: address with prefix length, on the lab's bridge.
        disks: its data disks.
        witness: of syncs of all file systems.
        root: the lower layer of its root file system, which it does not change.
    """

    def __init__(  # noqa: PLR0917
        self,
        lab: str,
        folder: Path,
        name: str,
        address: str,
        disks: Sequence[PlainDisk],
        witness: SyncWitness,
        root: Path = Path("/"),
    ) -> None:
        super().__init__(name, address.split("/", maxsplit=1)[0], folder / "client_key")
        HostLimits.__init__(self, lab, name)
        self.address6 = address6(self.address)
        self._lab = lab
        self._witness = witness
        self._synced_before: list[str] = []
        self._root = root
        self._folder = folder
        self._address = address
        self._address6 = f"{self.address6}/{PREFIX_LENGTH6}" if self.address6 else ""
        self._disks = {disk.name: disk for disk in disks}
        self._cable = f"{lab}{name}"
        # The same after every boot, like a real machine's: peers cache it for half a minute.
        self._mac = "02:" + ":".join(f"{byte:02x}" for byte in hashlib.sha256(self._cable.encode()).digest()[:5])
        self._init: subprocess.Popen[bytes] | None = None
        self._seated: list[subprocess.Popen[bytes]] = []
        self._init_pid = 0
        self._console_start = 0
        self.boots = 0

    @property
    def disks(self) -> Mapping[str, PlainDisk]:
        return self._disks

    def boot(self) -> None:
        """Start the host and connect its cable, without waiting for it to answer."""
        for part in ("upper", "work", "root"):
            (self._folder / self.name / part).mkdir(parents=True, exist_ok=True)
        for disk in self._disks.values():
            disk.prepare()
        namespaces = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
        disks = [f"{disk.name}:{disk.filesystem}:{disk.served_by}" for disk in self._disks.values()]
        script = ["sh", str(_INIT), str(self._folder), self.name, self._address, self._address6]
        script += [str(self._root), str(cache_folder()), str(SERVICE_USER), *disks]
        with (self._folder / self.name / "console.log").open("ab") as console:
            self._console_start = console.tell()
            self._init = subprocess.Popen(
                ["unshare", *namespaces, *script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=console,
                start_new_session=True,
                env={"PATH": os.environ["PATH"], LAB_VARIABLE: self._lab},
            )
        self._init_pid = self._await_first_process()
        self.adopt(self._init_pid)
        ip(
            f"link add {self._cable} type veth peer name eth0 address {self._mac} netns {self._init_pid}",
            f"link set {self._cable} master {self._lab} up",
        )
        assert self._init.stdin is not None
        self._init.stdin.write(b"plugged in\n")
        self._init.stdin.close()

    def wait_booted(self) -> None:
        """Wait until the host answers and its disks can be used.

        Raises:
            HostError: it did not answer; the message has its console output.
        """
        assert self._init is not None
        assert self._init.stdout is not None
        readable, _, _ = select.select([self._init.stdout], [], [], _BOOT_TIMEOUT_S)
        mounted = bool(readable) and self._init.stdout.readline() == b"mounted\n"
        self._init.stdout.close()
        deadline = time.monotonic() + _BOOT_TIMEOUT_S
        while not (mounted and self.reachable()):
            if not mounted or self._init.poll() is not None or time.monotonic() > deadline:
                raise HostError(f"host {self.name} did not boot:\n{self._console()}")
            time.sleep(0.005)
        for disk in self._disks.values():
            disk.attach(Path(f"/proc/{self._init_pid}/root"))
        self.boots += 1

    def seat(self, argv: Sequence[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        """See `chaoskit.contract.hosts.seat.Seating`."""
        if self._init is None:
            raise HostError(f"host {self.name} has no power")
        try:
            process = seated(self._init_pid, argv, errors, self.clock_variables(f"/proc/{self._init_pid}/root"))
        except OSError as error:
            raise HostError(f"host {self.name}: {error}") from error
        self.adopt(process.pid)
        self._seated = [client for client in self._seated if client.poll() is None] + [process]
        return process

    def await_unsynced(self) -> None:
        """See `chaoskit.contract.hosts.host.SyncWatch`."""
        self._witness.await_quiet(_UNSYNCED_NS, _AWAITED_NS)

    def power_cut(self) -> None:
        """Cut cable, disks and processes, in this order: peers receive nothing, as when a machine loses power.

        The processes stand still from the first instant, so that nothing is flushed which nobody can ask for any more.
        """
        if self._init is None:
            return
        self._synced_before = self._tell_last_sync()
        try:
            stop_all(self._init_pid, without={pid for disk in self._disks.values() for pid in disk.servers()})
            for disk in self._disks.values():
                disk.release()
            take_down(self._cable)
            for disk in self._disks.values():
                disk.stop()
        finally:  # nobody else would let them go on
            self.kill()

    def kill(self) -> None:
        """Kill the host's first process and with it everything in its namespaces."""
        if self._init is None:
            return
        for disk in self._disks.values():
            disk.release()
        with suppress(ProcessLookupError):
            os.kill(self._init_pid, signal.SIGKILL)
        for client in self._seated:
            client.wait()  # the host's first process ends only once all others in its namespace were reaped
        self._seated = []
        self._init.wait()
        self._init = None
        # The kernel removes it too, but too late for a host that boots again immediately.
        ip(f"link delete {self._cable}", check=False)
        self.disconnect()
        for disk in self._disks.values():
            disk.detach()

    def power_on(self) -> None:
        if self._init is not None and self._init.poll() is None:
            return  # it has power and is only slow to answer; a second boot would share its disks
        self.boot()
        self.wait_booted()

    def prove_cut(self) -> str:
        doubts: list[Doubt] = []
        proofs = [self._prove(disk, doubts) for disk in self._disks.values()]
        evidence = "; ".join([*proofs, *self._synced_before])
        if doubts:
            raise DoubtfulCut(evidence, doubts)
        return evidence

    def get(self, path: str, local: Path) -> None:
        if self._init is not None:
            super().get(path, local)
            return
        survivor = self._folder / self.name / "upper" / path.lstrip("/")
        if not survivor.exists():
            raise HostError(f"host {self.name} is down and {path} is not on its system disk")
        local.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(survivor, local)

    def _console(self) -> str:
        """Return what this boot wrote to the console. After a power cut, `unshare` writes there how its child ended."""
        content = (self._folder / self.name / "console.log").read_bytes()
        return content[self._console_start :].decode(errors="replace").strip()

    def _last_words(self) -> str:
        lines = self._console().splitlines()[-_LINES_MAX:]
        return f"; last on its console: {' | '.join(lines)}" if lines else ""

    def _tell_last_sync(self) -> list[str]:
        """Return how long ago all file systems were synced, if that is short enough to be told."""
        last_ns, now_ns = self._witness.last(), time.monotonic_ns()
        if last_ns is None or now_ns - last_ns > _SYNC_AGE_MAX_NS:
            return []
        return [f"{_SYNCED} {(now_ns - last_ns) / 1e6:.0f} ms before"]

    def _prove(self, disk: PlainDisk, doubts: list[Doubt]) -> str:
        """Return evidence of the cut of a disk; add why it may have lost little."""
        name = f"disk {disk.name}: " if len(self._disks) > 1 else ""
        try:
            return f"{name}{disk.prove_cut()}"
        except CanariesKept as kept:
            synced_ns = self._witness.first_after(kept.began_ns)
            if synced_ns is None:
                raise
            doubts.append(Doubt(synced_ns, _SYNCED, f"the cut of {self.name} had little left to lose"))
            disk.arm_canary()
            return f"{name}all writes were refused after the cut, and {_SYNCED} right before"

    def _await_first_process(self) -> int:
        assert self._init is not None
        children = Path(f"/proc/{self._init.pid}/task/{self._init.pid}/children")
        while self._init.poll() is None:
            if pids := children.read_text().split():
                return int(pids[0])
            time.sleep(0.001)
        raise HostError(
            f"host {self.name}: unshare could not create namespaces; `chaoskit doctor` shows what is missing"
        )
