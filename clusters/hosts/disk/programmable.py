"""A data disk whose requests pass through a program of chaoskit; see `server`."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from chaoskit.contract.hosts.disk import DiskLimits, DiskSettings
from chaoskit.contract.hosts.host import HostError
from clusters.hosts import canary
from clusters.hosts.disk import layout
from clusters.hosts.disk.control import ask, last_cut, server
from clusters.hosts.disk.crash import copy_sparse
from clusters.hosts.disk.options import DiskOptions
from clusters.hosts.disk.plain import PlainDisk


class SoftwareDisk(PlainDisk):
    """Also offers ProgrammableDisk.

    Args:
        name, folder, options, image: see `PlainDisk`.
        owner: unique in the lab: each disk needs its own random sequence.
    """

    served_by = sys.executable

    def __init__(self, name: str, folder: Path, options: DiskOptions, image: Path | None, owner: str) -> None:
        super().__init__(name, folder, options, image)
        seed = zlib.crc32(f"{options.seed}:{owner}".encode())
        self._configured = options.settings().model_copy(update={"seed": seed})
        self._settings = self._configured
        self._cuts = 0
        (folder / layout.MOUNT).mkdir()
        if options.record:
            copy_sparse(self.image, folder / layout.BASE)

    @property
    def backing(self) -> Path:
        return self._folder / layout.MOUNT / layout.SERVED

    def prepare(self) -> None:
        (self._folder / layout.SETTINGS).write_text(self._settings.model_dump_json())

    def release(self) -> None:
        """Do nothing: blocked requests end when the server exits."""

    def servers(self) -> Collection[int]:
        return (server(self._folder),)

    def stop(self) -> None:
        ask(self._folder, "cut")
        self._cuts += 1
        self._settings = self._settings.model_copy(update={"frozen": False})  # otherwise no boot would finish

    def prove_cut(self) -> str:
        """Prove it from the disk's own record; the fsynced canary must be intact, unless flushes are lies."""
        cut = self.last_cut()
        if cut.get("cut") != self._cuts:
            raise HostError(f"the disk at {self.path} recorded {cut.get('cut', 0)} power cuts, not {self._cuts}")
        damage = f"cut with {cut['sectors']} unflushed sectors in {cut['writes']} writes: {cut['kept']} kept"
        evidence = f"{damage} ({cut['mode']}, {cut['torn']} writes torn, seed {cut['seed']})"
        if not self._configured.flush_lies:
            evidence += f"; {canary.read_synced_canary(self.mounted)}"
        self.arm_canary()
        return f"{evidence}; {cut['lies']} acknowledged flushes were lies" if cut["lies"] else evidence

    def settings(self) -> DiskSettings:
        if self._root is None:
            return self._settings
        return DiskSettings.model_validate(ask(self._folder, "settings"))

    def program(self, changes: Mapping[str, Any]) -> None:
        settings = DiskSettings.model_validate(self._settings.model_dump() | dict(changes))
        if self._root is not None:
            ask(self._folder, "program", settings=settings.model_dump(mode="json"))
        self._settings = settings

    def reset(self, names: Collection[str]) -> None:
        self.program(self._configured.model_dump(include=set(names), mode="json"))

    def counters(self) -> dict[str, int]:
        return ask(self._folder, "counters")

    def last_cut(self) -> dict[str, Any]:
        return last_cut(self._folder)

    def limit(self, limits: DiskLimits) -> None:
        self.program(limits.model_dump(mode="json"))

    def fail(self) -> None:
        broken = {"read_errors": 1, "write_errors": 1, "flush_errors": 1}
        ask(self._folder, "program", settings=self._settings.model_copy(update=broken).model_dump(mode="json"))

    def _apply_limits(self) -> None:
        """Do nothing: the limits are part of the settings."""
