"""Where a programmable disk keeps what: names of files in the host's folder of the lab."""

from __future__ import annotations

IMAGE = "disk"
"""What is persistent."""

SETTINGS = "disk-settings.json"
"""What the server begins with at every boot."""

SOCKET = "disk-control"
CUTS = "disk-cuts.jsonl"
"""One record a power cut; see `survivors.CutRecord`."""

MOUNT = "fuse"
SERVED = "disk"
"""The one file below `MOUNT`, on which the loop device lies."""

BASE = "disk-base"
"""The disk before the first recorded operation."""

LOG = "disk-operations"

SNAPSHOT = "disk-snapshot"

THROTTLE = "disk-throttled"
"""The number of the device that the kernel throttles; see `throttle`."""
