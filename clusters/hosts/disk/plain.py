"""A data disk of a local host: an image on a loop device, mounted in the host's own mount namespace."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path

from chaoskit.base.quantities import format_size
from chaoskit.contract.hosts.disk import DATA, DiskLimits
from chaoskit.contract.hosts.host import HostError
from chaoskit.contract.power import P, held
from clusters.hosts import canary, power
from clusters.hosts.disk import layout, throttle
from clusters.hosts.disk.crash import copy_sparse
from clusters.hosts.disk.options import DiskOptions, make_image

_DETACH_TIMEOUT_S = 20


class PlainDisk:
    """Offers SlowDisk, BreakableDisk and ReplaceableDisk; its host calls the rest.

    Args:
        name: unique on its host.
        folder: folder for its image; the image is created here.
        options: its options.
        image: an image to start from instead of an empty file system.
    """

    served_by = ""
    """The Python that serves its requests; empty if the kernel does."""

    def __init__(self, name: str, folder: Path, options: DiskOptions, image: Path | None = None) -> None:
        self.name = name
        self.path = mount_point(name)
        self.filesystem = options.filesystem
        self._folder = folder
        self._options = options
        self._root: Path | None = None
        self._limits = DiskLimits()
        self._fresh = True
        self._cut: canary.Cut | None = None
        folder.mkdir(parents=True)
        make_image(self.image, options, image)

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], f"disk {self.name}")

    @property
    def image(self) -> Path:
        """Its persistent content."""
        return self._folder / layout.IMAGE

    @property
    def backing(self) -> Path:
        """The backing file of its loop device, by its path in the host's mount namespace."""
        return self.image

    def prepare(self) -> None:
        """Write what the next boot needs."""

    def attach(self, root: Path) -> None:
        """Use it in a host that has just booted; `root` is the host's root folder, as seen from this machine."""
        self._root = root
        if self._fresh:
            self.arm_canary()
        self._apply_limits()

    def arm_canary(self) -> None:
        """Write the fsynced canary, which must survive a later power cut."""
        canary.write_synced_canary(self.mounted)
        self._fresh = False

    def release(self) -> None:
        """Release blocked requests: a host cannot exit while it waits for a disk."""
        throttle.lift(self._folder / layout.THROTTLE)
        if self._root is not None:
            power.thaw(self.mounted)

    def servers(self) -> Collection[int]:
        """Return the ids of processes on its host without which the disk does not answer."""
        return ()

    def stop(self) -> None:
        """Ensure that nothing reaches the image from now on."""
        self._cut = canary.cut(self.mounted)

    def detach(self) -> None:
        """Wait until the kernel has let go of it, after its host was killed."""
        self._root = None
        deadline = time.monotonic() + _DETACH_TIMEOUT_S
        while attached(self.backing):
            if time.monotonic() > deadline:
                raise HostError(f"the loop device of {self.image} did not detach")
            time.sleep(0.005)

    def prove_cut(self) -> str:
        """Return evidence that the last power cut lost unsynced data and kept synced data.

        Raises:
            CanariesKept: it lost nothing that was unsynced, although it has refused all writes since.
            NothingToLose: nothing unsynced was on it.
            HostError: it was not cut, or lost synced data.
        """
        if self._cut is None:
            raise HostError(f"the power of the disk at {self.path} was not cut since it was last proved")
        evidence = canary.read_canaries(self.mounted, self._cut)
        self._cut = None
        self.arm_canary()
        return evidence

    def limit(self, limits: DiskLimits) -> None:
        self._limits = limits
        self._apply_limits()

    def fail(self) -> None:
        power.shut_down(self.mounted)

    def snapshot(self) -> str:
        power.freeze(self.mounted)
        try:
            copy_sparse(self.image, self._folder / layout.SNAPSHOT)
        finally:
            power.thaw(self.mounted)
        return f"{format_size((self._folder / layout.SNAPSHOT).stat().st_blocks * 512)} of {self.image}"

    def has_snapshot(self) -> bool:
        return (self._folder / layout.SNAPSHOT).exists()

    def restore(self) -> None:
        self._require_replaceable()
        copy_sparse(self._folder / layout.SNAPSHOT, self.image)

    def wipe(self) -> None:
        self._require_replaceable()
        make_image(self.image, self._options)
        self._fresh = True

    @property
    def mounted(self) -> Path:
        """Its mount point, as seen from this machine, while its host is up."""
        assert self._root is not None
        return self._root / self.path.lstrip("/")

    def _require_replaceable(self) -> None:
        if self._root is not None:
            raise HostError(f"the host of disk {self.image} has power: the disk cannot be replaced")
        if self._options.record:
            raise HostError(f"disk {self.image} is recorded, and a recorded disk cannot be replaced")

    def _apply_limits(self) -> None:
        if self._root is None:
            return
        if self._limits == DiskLimits():
            throttle.lift(self._folder / layout.THROTTLE)
        else:
            number = self.mounted.stat().st_dev
            throttle.limit(f"{os.major(number)}:{os.minor(number)}", self._limits, self._folder / layout.THROTTLE)


def mount_point(name: str) -> str:
    """Return where a host mounts a data disk."""
    return "/data" if name == DATA else f"/disks/{name}"


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
