"""The power cut of a disk: from one instant on, nothing more reaches its image.

The shutdown ioctl of ext4 and XFS with the flag NOLOGFLUSH stops all I/O without flushing the log:
fsynced data survives, un-synced data is gone. A canary proves it after every cut: a file that was
written and not synced must be gone (or empty), one that was fsynced at boot must be whole.
"""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

from chaoskit.host import HostError

_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN: _IOR('X', 125, __u32)
_NO_LOG_FLUSH = (2).to_bytes(4, "little")
_FOLDER = ".chaoskit"
_SYNCED = "canary-synced"
_UNSYNCED = "canary-unsynced"
_SONG = b"tweet" * 200


def shut_down(mount_point: Path) -> None:
    """Stop all I/O of the file system mounted there, at once, losing what was not flushed."""
    descriptor = os.open(mount_point, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, _SHUTDOWN, _NO_LOG_FLUSH)
    finally:
        os.close(descriptor)


def write_synced_canary(mount_point: Path) -> None:
    """Write and fsync the negative control; done at boot, so that a cut forces nothing to disk."""
    folder = mount_point / _FOLDER
    folder.mkdir(exist_ok=True)
    (folder / _UNSYNCED).unlink(missing_ok=True)
    for path in (folder / _SYNCED, folder, mount_point):
        if path.name == _SYNCED:
            path.write_bytes(_SONG)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_unsynced_canary(mount_point: Path) -> None:
    """Write, without syncing, what the cut must destroy."""
    (mount_point / _FOLDER / _UNSYNCED).write_bytes(_SONG)


def read_canaries(mount_point: Path) -> str:
    """Return evidence that the last cut lost what was not synced and kept what was.

    Raises:
        HostError: it did not.
    """
    folder = mount_point / _FOLDER
    synced = (folder / _SYNCED).read_bytes() if (folder / _SYNCED).exists() else None
    if synced != _SONG:
        raise HostError(f"the disk at {mount_point} lost a file that was fsynced: not a power cut but a broken disk")
    unsynced = folder / _UNSYNCED
    if unsynced.exists() and unsynced.read_bytes() == _SONG:
        raise HostError(f"the disk at {mount_point} kept a file that was never synced: its power was not cut")
    state = "empty" if unsynced.exists() else "gone"
    return f"un-synced canary {state}, fsynced canary whole"


def main(verb: str, mount_point: Path) -> None:
    """Cut a scratch disk, or read what the cut left: how `chaoskit doctor` tries a file system."""
    if verb == "cut":
        write_synced_canary(mount_point)
        write_unsynced_canary(mount_point)
        shut_down(mount_point)
    else:
        sys.stdout.write(read_canaries(mount_point))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
