"""The data disks of hosts: the settings of a programmable disk, and the powers that there may be over a disk.

A programmable disk passes every read, write and flush through a chaoskit program:
`cluster: {disk: {kind: programmable, flush: 2ms}}`. Its settings can be changed while the system runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Annotated, Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, field_validator

from chaoskit.base.quantities import Duration, Size
from chaoskit.contract.power import Powered

DATA = "data"
"""Name of the data disk that every host has."""

SECTOR = 512
"""Number of bytes that a disk writes atomically."""

Rate = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]


class CutMode(StrEnum):
    """Which unflushed writes a disk keeps when its power is cut. A write is one request of the kernel.

    `drop`: none. The volatile cache is lost, as a strict reading of the flush command allows.
    `prefix`: all up to a random one, as with a cache that is written back in order.
    `torn`: as `prefix`, plus some sectors of the next write: the write that the cut interrupts.
    `reorder`: each write with probability `keep`. A later one may be kept and an earlier one lost.
    `sectors`: each sector of each write with probability `keep`: both reordered and torn.
    `whole`: all of them, as with a cache that has a battery.
    """

    DROP = "drop"
    PREFIX = "prefix"
    TORN = "torn"
    REORDER = "reorder"
    SECTORS = "sectors"
    WHOLE = "whole"


class OnCut(BaseModel):
    """What happens to unflushed writes at a power cut. `keep` is the probability for `reorder` and `sectors`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: CutMode = CutMode.DROP
    keep: Rate = 0.5


class DiskLimits(BaseModel):
    """Limits of a slow disk: bytes and requests per second; an absent key means no limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    read_bandwidth: Annotated[Size, Field(gt=0)] | None = None
    write_bandwidth: Annotated[Size, Field(gt=0)] | None = None
    read_iops: Positive | None = None
    write_iops: Positive | None = None


class DiskSettings(DiskLimits):
    """How a programmable disk handles requests.

    Attributes:
        seed: seed for all random decisions of the disk.
        flush: duration of each flush. An fsync on ext4 issues two flushes.
        flush_lies: flushes are acknowledged but persist nothing.
        cache: size of the volatile write cache; the oldest data beyond it reaches the medium without a flush.
        on_cut: what happens to the cache at a power cut.
        read_errors, write_errors, flush_errors: fraction of requests that fail with EIO.
        bad_sectors: ranges [first, last] of 512-byte sectors that can be neither read nor written.
        read_flips, write_flips: fraction of requests in which one bit is silently inverted.
        frozen: no request is answered.
    """

    seed: int = 0
    flush: Duration = 0
    flush_lies: bool = False
    cache: Size = 64 * 2**20
    on_cut: OnCut = OnCut()
    read_errors: Rate = 0
    write_errors: Rate = 0
    flush_errors: Rate = 0
    bad_sectors: tuple[tuple[int, int], ...] = ()
    read_flips: Rate = 0
    write_flips: Rate = 0
    frozen: bool = False

    @field_validator("bad_sectors")
    @classmethod
    def _ranges(cls, ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        for first, last in ranges:
            if not 0 <= first <= last:
                raise ValueError(f"[{first}, {last}] is not a range of sectors; write [first, last]")
        return ranges


class DataDisk(Powered, Protocol):
    """A data disk of a host; it loses its power together with the host.

    Attributes:
        name: unique on its host.
        path: its mount point on the host.
    """

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...


@runtime_checkable
class SlowDisk(Protocol):
    """Optional power of a data disk: limit its speed."""

    def limit(self, limits: DiskLimits) -> None:
        """Set all limits; they persist across reboots. `DiskLimits()` removes them."""
        ...


@runtime_checkable
class BreakableDisk(Protocol):
    """Optional power of a data disk: make it fail."""

    def fail(self) -> None:
        """Fail every request from now on until the host reboots; unsynced data is lost."""
        ...


@runtime_checkable
class ReplaceableDisk(Protocol):
    """Optional power of a data disk: take a snapshot of it, and replace it while the power is off."""

    def snapshot(self) -> str:
        """Take a synced point-in-time copy of the disk, replacing any earlier one; return a description."""
        ...

    def has_snapshot(self) -> bool:
        """Return whether a snapshot exists."""
        ...

    def restore(self) -> None:
        """Restore the last snapshot; the host must be powered off."""
        ...

    def wipe(self) -> None:
        """Replace the content with an empty file system; the host must be powered off."""
        ...


@runtime_checkable
class ProgrammableDisk(Protocol):
    """Optional power of a data disk: it is programmable."""

    def settings(self) -> DiskSettings:
        """Return the current settings; if the host has power, as the disk itself reports them."""
        ...

    def program(self, changes: Mapping[str, Any]) -> None:
        """Change some settings, by name, from the next request on; they persist across reboots."""
        ...

    def reset(self, names: Collection[str]) -> None:
        """Reset some settings to the values that the lab was created with."""
        ...

    def counters(self) -> dict[str, int]:
        """Return the disk's counters since the host booted, and the size of its cache.

        reads, writes, flushes, bytes_read, bytes_written; errors: requests failed with EIO; flips: bits inverted;
        lies: flushes acknowledged but not done; unflushed_writes, unflushed_sectors: currently in the cache.
        """
        ...

    def last_cut(self) -> dict[str, Any]:
        """Return what was in the disk's cache at the last power cut, and what was kept: writes, sectors, kept
        (sectors), torn (writes kept in part), lies (flushes acknowledged but not persistent), mode, seed."""
        ...
