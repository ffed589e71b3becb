"""Hosts on this machine: namespaces, an overlay of the root file system, a data disk on a loop device.

A local host is controlled over SSH like any other; this file adds only the power switch, the disk and
the cable. Everything lives in the namespaces of the host's first process: when that process dies, so do
the other processes, the mounts, the loop device and the cable. The rest, the bridge and the lab's folder,
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
from contextlib import suppress
from pathlib import Path

from chaoskit.contract.host import HostError
from clusters.hosts import power
from clusters.hosts.clock.host import ClockHost
from clusters.hosts.limits import HostLimits
from clusters.hosts.network import PREFIX_LENGTH6, address6, ip

LAB_VARIABLE = "CHAOSKIT_LAB"
"""Environment variable that marks the first processes of a lab's hosts, so that only those are killed."""

_BOOT_TIMEOUT_S = 20
_INIT = Path(__file__).with_name("host-init.sh")


class LocalHost(ClockHost, HostLimits):
    """A host in namespaces of this machine.

    Args:
        lab: name of its lab.
        folder: the lab's folder, with keys and sshd_config.
        name: host name.
        address: address with prefix length, on the lab's bridge.
        filesystem: file system of its data disk (`ext4` or `xfs`); the image must exist.
    """

    def __init__(self, lab: str, folder: Path, name: str, address: str, filesystem: str) -> None:
        super().__init__(name, address.split("/", maxsplit=1)[0], folder / "client_key")
        HostLimits.__init__(self, lab, name)
        self.address6 = address6(self.address)
        self._lab = lab
        self._folder = folder
        self._address = address
        self._address6 = f"{self.address6}/{PREFIX_LENGTH6}" if self.address6 else ""
        self._filesystem = filesystem
        self._cable = f"{lab}{name}"
        # The same after every boot, like a real machine's: peers cache it for half a minute.
        self._mac = "02:" + ":".join(f"{byte:02x}" for byte in hashlib.sha256(self._cable.encode()).digest()[:5])
        self._init: subprocess.Popen[bytes] | None = None
        self._init_pid = 0
        self._sung = False

    @property
    def disk(self) -> Path:
        """The image of its data disk."""
        return self._folder / self.name / "disk"

    @property
    def backing(self) -> Path:
        """The backing file of its loop device, by its path in the host's mount namespace."""
        return self.disk

    def boot(self) -> None:
        """Start the host and connect its cable, without waiting for it to answer."""
        for part in ("upper", "work", "root"):
            (self._folder / self.name / part).mkdir(parents=True, exist_ok=True)
        namespaces = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
        script = ["sh", str(_INIT), str(self._folder), self.name, self._address, self._address6, *self._arguments()]
        with (self._folder / self.name / "console.log").open("ab") as console:
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
        """Wait until the host answers.

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
                console = (self._folder / self.name / "console.log").read_text(errors="replace")
                raise HostError(f"host {self.name} did not boot:\n{console.strip()}")
            time.sleep(0.005)

    def arm_canary(self) -> None:
        """Write the fsynced canary, which must survive a later power cut."""
        power.write_synced_canary(self._mount_point)

    def power_cut(self) -> None:
        """Cut cable, disk and processes, in this order: peers receive nothing, as when a machine loses power."""
        self._sing()
        ip(f"link set {self._cable} down")
        self._stop_disk()
        self.kill()

    def kill(self) -> None:
        """Kill the host's first process and with it everything in its namespaces."""
        if self._init is None:
            return
        with suppress(ProcessLookupError):
            os.kill(self._init_pid, signal.SIGKILL)
        self._init.wait()
        self._init = None
        # The kernel removes it too, but too late for a host that boots again immediately.
        ip(f"link delete {self._cable}", check=False)
        self.disconnect()
        self._await_detached()

    def power_on(self) -> None:
        if self._init is not None and self._init.poll() is None:
            return  # it has power and is only slow to answer; a second boot would share its disk
        self.boot()
        self.wait_booted()

    def prove_cut(self) -> str:
        evidence = power.read_canaries(self._mount_point)
        if not self._sung:
            raise HostError(f"the disk of {self.name} refused the unsynced canary: that it is gone proves no power cut")
        self._sung = False
        power.write_synced_canary(self._mount_point)
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

    def _arguments(self) -> list[str]:
        """Return the arguments of host-init.sh that describe the data disk."""
        return [self._filesystem]

    def _sing(self) -> None:
        """Write the unsynced canary."""
        self._sung = power.write_unsynced_canary(self._mount_point)

    def _stop_disk(self) -> None:
        """Ensure that nothing reaches the disk from now on."""
        power.shut_down(self._mount_point)

    @property
    def _mount_point(self) -> Path:
        return Path(f"/proc/{self._init_pid}/root{self.data_dir}")

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

    def _await_detached(self) -> None:
        deadline = time.monotonic() + _BOOT_TIMEOUT_S
        while attached(self.backing):
            if time.monotonic() > deadline:
                raise HostError(f"host {self.name}: the loop device of {self.disk} did not detach")
            time.sleep(0.005)


def attached(backing: Path) -> list[str]:
    """Return the loop devices that are backed by a file, or by files in a folder."""
    devices = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            if Path(path.read_text().strip()).is_relative_to(backing):
                devices.append(f"/dev/{path.parts[3]}")
        except OSError:  # detached in the meantime
            continue
    return devices
