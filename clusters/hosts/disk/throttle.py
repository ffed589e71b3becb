"""Limits of a plain data disk: the kernel throttles its loop device through the root blkio cgroup (v1).

A limit belongs to a device number and outlives the host, so the number is recorded first; see `lift`.
"""

from __future__ import annotations

from pathlib import Path

from chaoskit.contract.hosts.disk import DiskLimits

_GROUP = Path("/sys/fs/cgroup/blkio")
_FILES = {
    "read_bandwidth": "blkio.throttle.read_bps_device",
    "write_bandwidth": "blkio.throttle.write_bps_device",
    "read_iops": "blkio.throttle.read_iops_device",
    "write_iops": "blkio.throttle.write_iops_device",
}


def available() -> bool:
    """Return whether this kernel supports this kind of throttling."""
    return all((_GROUP / name).exists() for name in _FILES.values())


def limit(device: str, limits: DiskLimits, note: Path) -> None:
    """Set the limits of a device (`MAJOR:MINOR`), after recording its number."""
    if note.exists() and note.read_text() != device:
        lift(note)
    note.write_text(device)
    for field, name in _FILES.items():
        (_GROUP / name).write_text(f"{device} {getattr(limits, field) or 0}")


def lift(note: Path) -> None:
    """Remove the limits of the recorded device, if any, and delete the record."""
    if note.exists():
        limit(note.read_text(), DiskLimits(), note)
        note.unlink()
