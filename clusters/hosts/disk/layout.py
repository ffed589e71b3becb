"""File names of a data disk, in its folder: `LAB/HOST/disks/NAME`."""

from __future__ import annotations

DISKS = "disks"
IMAGE = "disk"
"""The persistent content."""

SETTINGS = "disk-settings.json"
"""The settings that the server loads at every boot."""

SOCKET = "disk-control"
CUTS = "disk-cuts.jsonl"
"""One record per power cut; see `survivors.CutRecord`."""

MOUNT = "fuse"
SERVED = "disk"
"""The only file in `MOUNT`, which backs the loop device."""

BASE = "disk-base"
"""The disk before the first recorded operation."""

LOG = "disk-operations"

END = "disk-end.json"
"""When the recorded run ended, and whether its host was synced then; see `end.Ended`."""

SNAPSHOT = "disk-snapshot"

THROTTLE = "disk-throttled"
"""The number of the device that the kernel throttles; see `throttle`."""
