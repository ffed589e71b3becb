"""Local hosts with plain and with programmable data disks."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from chaoskit.base.quantities import format_size
from chaoskit.contract.disk import DiskLimits, DiskSettings
from chaoskit.contract.host import HostError
from clusters.hosts import power
from clusters.hosts.disk import layout, throttle
from clusters.hosts.disk.control import ask, last_cut
from clusters.hosts.disk.crash import copy_sparse
from clusters.hosts.disk.options import DiskOptions, make_image
from clusters.hosts.local import LocalHost


class PlainDiskHost(LocalHost):
    """A host whose data disk is an image on a loop device. Offers SlowDisk, BreakableDisk and ReplaceableDisk.

    Args:
        lab, folder, name, address: see `LocalHost`.
        options: options of its data disk; the image is created here.
    """

    def __init__(self, lab: str, folder: Path, name: str, address: str, options: DiskOptions) -> None:
        super().__init__(lab, folder, name, address, options.filesystem)
        self._options = options
        self._own = folder / name
        self._own.mkdir(parents=True)
        self._limits = DiskLimits()
        self._fresh = True
        make_image(self.disk, options, options.images.get(name))

    def power_on(self) -> None:
        super().power_on()
        if self._fresh:
            self.arm_canary()
        self._apply_limits()

    def arm_canary(self) -> None:
        super().arm_canary()
        self._fresh = False

    def power_cut(self) -> None:
        self._release_disk()
        super().power_cut()

    def kill(self) -> None:
        self._release_disk()
        super().kill()

    def limit_disk(self, limits: DiskLimits) -> None:
        self._limits = limits
        self._apply_limits()

    def break_disk(self) -> None:
        power.shut_down(self._mount_point)

    def snapshot_disk(self) -> str:
        power.freeze(self._mount_point)
        try:
            copy_sparse(self.disk, self._own / layout.SNAPSHOT)
        finally:
            power.thaw(self._mount_point)
        return f"{format_size((self._own / layout.SNAPSHOT).stat().st_blocks * 512)} of {self.disk}"

    def has_snapshot(self) -> bool:
        return (self._own / layout.SNAPSHOT).exists()

    def restore_disk(self) -> None:
        self._require_off()
        copy_sparse(self._own / layout.SNAPSHOT, self.disk)

    def wipe_disk(self) -> None:
        self._require_off()
        make_image(self.disk, self._options)
        self._fresh = True

    def _require_off(self) -> None:
        if self._init is not None:
            raise HostError(f"host {self.name} has power: its disk cannot be replaced")
        if self._options.record:
            raise HostError(f"the disk of host {self.name} is recorded, and a recorded disk cannot be replaced")

    def _apply_limits(self) -> None:
        if self._init is None:
            return
        if self._limits == DiskLimits():
            throttle.lift(self._own / layout.THROTTLE)
        else:
            number = self._mount_point.stat().st_dev
            throttle.limit(f"{os.major(number)}:{os.minor(number)}", self._limits, self._own / layout.THROTTLE)

    def _release_disk(self) -> None:
        """Release blocked requests: a host cannot exit while it waits for its disk."""
        throttle.lift(self._own / layout.THROTTLE)
        if self._init is not None:
            power.thaw(self._mount_point)


class ProgrammableDiskHost(PlainDiskHost):
    """A host whose data disk is programmable. Also offers ProgrammableDisk."""

    def __init__(self, lab: str, folder: Path, name: str, address: str, options: DiskOptions) -> None:
        super().__init__(lab, folder, name, address, options)
        seed = zlib.crc32(f"{options.seed}:{name}".encode())  # each host needs its own random sequence
        self._configured = options.settings().model_copy(update={"seed": seed})
        self._settings = self._configured
        self._cuts = 0
        (self._own / layout.MOUNT).mkdir()
        if options.record:
            copy_sparse(self.disk, self._own / layout.BASE)

    @property
    def backing(self) -> Path:
        return self._own / layout.MOUNT / layout.SERVED

    def boot(self) -> None:
        (self._own / layout.SETTINGS).write_text(self._settings.model_dump_json())
        super().boot()

    def power_cut(self) -> None:
        super().power_cut()
        self._settings = self._settings.model_copy(update={"frozen": False})  # otherwise no boot would finish

    def disk_settings(self) -> DiskSettings:
        if self._init is None:
            return self._settings
        return DiskSettings.model_validate(ask(self._own, "settings"))

    def program_disk(self, changes: Mapping[str, Any]) -> None:
        settings = DiskSettings.model_validate(self._settings.model_dump() | dict(changes))
        if self._init is not None:
            ask(self._own, "program", settings=settings.model_dump(mode="json"))
        self._settings = settings

    def reset_disk(self, names: Collection[str]) -> None:
        self.program_disk(self._configured.model_dump(include=set(names), mode="json"))

    def disk_counters(self) -> dict[str, int]:
        return ask(self._own, "counters")

    def last_cut(self) -> dict[str, Any]:
        return last_cut(self._own)

    def limit_disk(self, limits: DiskLimits) -> None:
        self.program_disk(limits.model_dump(mode="json"))

    def break_disk(self) -> None:
        broken = {"read_errors": 1, "write_errors": 1, "flush_errors": 1}
        ask(self._own, "program", settings=self._settings.model_copy(update=broken).model_dump(mode="json"))

    def prove_cut(self) -> str:
        """Prove it from the disk's own record; the fsynced canary must be intact, unless flushes are lies."""
        cut = self.last_cut()
        if cut.get("cut") != self._cuts:
            raise HostError(f"the disk of {self.name} recorded {cut.get('cut', 0)} power cuts, not {self._cuts}")
        found = f"cut with {cut['sectors']} unflushed sectors in {cut['writes']} writes: {cut['kept']} kept"
        evidence = f"{found} ({cut['mode']}, {cut['torn']} writes torn, seed {cut['seed']})"
        if not self._configured.flush_lies:
            evidence += f"; {power.read_synced_canary(self._mount_point)}"
        self.arm_canary()
        return f"{evidence}; {cut['lies']} acknowledged flushes were lies" if cut["lies"] else evidence

    def _arguments(self) -> list[str]:
        return [*super()._arguments(), sys.executable]

    def _stop_disk(self) -> None:
        ask(self._own, "cut")
        self._cuts += 1

    def _sing(self) -> None:
        """Write no unsynced canary: the disk may keep it; its own record is the proof."""

    def _release_disk(self) -> None:
        """Do nothing: blocked requests end when the server exits."""

    def _apply_limits(self) -> None:
        """Do nothing: the limits are part of the settings."""
