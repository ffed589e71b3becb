"""Disks of hosts: the settings of a programmable disk, and what a host may be able to do with its data disk.

A programmable disk passes every read, write and flush of the host's data disk through a program of ours:
`cluster: {disk: {kind: programmable, flush: 2ms}}`. Its settings can be changed while the system runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, field_validator

from chaoskit.base.quantities import Duration, Size

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""

Rate = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]


class CutMode(StrEnum):
    """Which un-flushed writes a disk keeps when its power is cut. A write is what the kernel sent as one request.

    `drop`: none: the volatile cache is lost, as a strict reading of the flush command allows.
    `prefix`: those up to a drawn one: a cache that is written out in order.
    `torn`: as `prefix`, but of the next write only some sectors: a write that the cut interrupts.
    `reorder`: each write with probability `keep`: a later one may be kept and an earlier one lost.
    `sectors`: each sector of each write with probability `keep`: reordered and torn at once.
    """

    DROP = "drop"
    PREFIX = "prefix"
    TORN = "torn"
    REORDER = "reorder"
    SECTORS = "sectors"


class OnCut(BaseModel):
    """What becomes of un-flushed writes at a power cut. `keep` is the probability of `reorder` and `sectors`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: CutMode = CutMode.DROP
    keep: Rate = 0.5


class DiskLimits(BaseModel):
    """Limits of a slow disk: bytes and requests per second; none where absent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    read_bandwidth: Annotated[Size, Field(gt=0)] | None = None
    write_bandwidth: Annotated[Size, Field(gt=0)] | None = None
    read_iops: Positive | None = None
    write_iops: Positive | None = None


class DiskSettings(DiskLimits):
    """What a programmable disk does with requests.

    Attributes:
        seed: of everything that the disk draws.
        flush: how long each flush takes. An fsync of ext4 costs two flushes.
        flush_lies: a flush is acknowledged and persists nothing.
        cache: size of the volatile write cache; what is beyond it reaches the medium without a flush.
        on_cut: what becomes of the cache at a power cut.
        read_errors, write_errors, flush_errors: share of requests that fail with EIO.
        bad_sectors: ranges [first, last] of 512-byte sectors that can be neither read nor written.
        read_flips, write_flips: share of requests in which one bit is inverted, silently.
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


@runtime_checkable
class SlowDisk(Protocol):
    """Optional power of a host: limit how fast its data disk is."""

    def limit_disk(self, limits: DiskLimits) -> None:
        """Set all limits, also for after a reboot; `DiskLimits()` lifts them."""
        ...


@runtime_checkable
class BreakableDisk(Protocol):
    """Optional power of a host: let its data disk die."""

    def break_disk(self) -> None:
        """Fail every request from now on, until the host is booted again; un-synced data is lost."""
        ...


@runtime_checkable
class ReplaceableDisk(Protocol):
    """Optional power of a host: copy its data disk, and replace it while the power is off."""

    def snapshot_disk(self) -> str:
        """Copy the disk as it is at one instant, synced, in place of an earlier copy; return what was copied."""
        ...

    def has_snapshot(self) -> bool:
        """Return whether there is a copy."""
        ...

    def restore_disk(self) -> None:
        """Put the last copy back; the host must have no power."""
        ...

    def wipe_disk(self) -> None:
        """Put an empty file system in its place; the host must have no power."""
        ...


@runtime_checkable
class ProgrammableDisk(Protocol):
    """Optional power of a host: its data disk is programmable."""

    def disk_settings(self) -> DiskSettings:
        """Return what holds now, as the disk itself says if the host has power."""
        ...

    def program_disk(self, changes: Mapping[str, Any]) -> None:
        """Change some settings, by name, from the next request on; they hold after a reboot too."""
        ...

    def reset_disk(self, names: Collection[str]) -> None:
        """Set some settings to what the lab was made with."""
        ...

    def disk_counters(self) -> dict[str, int]:
        """Return what the disk did since the host booted, and what it holds back now.

        reads, writes, flushes, bytes_read, bytes_written; errors: requests failed with EIO; flips: bits inverted;
        lies: flushes acknowledged and not done; unflushed_writes, unflushed_sectors: in its cache now.
        """
        ...

    def last_cut(self) -> dict[str, Any]:
        """Return what the last power cut found in the disk's cache and kept: writes, sectors, kept (sectors), torn
        (writes kept in part), lies (flushes acknowledged of which nothing was persistent), mode, seed."""
        ...


@runtime_checkable
class CrashPoints(Protocol):
    """Optional power of a provider of hosts: make a recorded disk again as a power cut would have left it."""

    def operation_times(self, recording: Path) -> list[int]:
        """Return when each operation of a recorded disk was, CLOCK_MONOTONIC ns; the first is operation 1."""
        ...

    def crash_image(self, recording: Path, image: Path, after: int, on_cut: str, seed: int) -> dict[str, Any]:
        """Write the image of the disk, its power cut right after an operation; return what the cut found and kept.

        Args:
            recording: of a host, as `Lab.keep` left it.
            image: written anew.
            after: number of the operation; 0 is before the first.
            on_cut: a `CutMode`.
            seed: of what is kept.
        """
        ...

    def disk_with(self, options: Any, images: Mapping[str, Path]) -> dict[str, Any]:
        """Return `cluster.disk` of a scenario whose hosts begin with these images; else as `options`, and not
        recorded."""
        ...
