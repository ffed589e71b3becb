"""The power cut of a disk: from one instant on, nothing reaches its image.

The shutdown ioctl of ext4 and XFS with the flag NOLOGFLUSH stops all I/O without flushing the log:
fsynced data survives, unsynced data is lost. Canaries prove it after every cut: a file that was
written but not synced must be missing (or empty); a file that was fsynced at boot must be intact.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from pathlib import Path

from chaoskit.contract.host import HostError

_FREEZE = 0xC0045877  # FIFREEZE: _IOWR('X', 119, int)
_THAW = 0xC0045878  # FITHAW: _IOWR('X', 120, int)
_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN: _IOR('X', 125, __u32)
_NO_LOG_FLUSH = (2).to_bytes(4, "little")
_FOLDER = ".chaoskit"
_SYNCED = "canary-synced"
_UNSYNCED = "canary-unsynced"
_SONG = b"tweet" * 200


def shut_down(mount_point: Path) -> None:
    """Stop all I/O of the file system mounted there immediately; unflushed data is lost."""
    _control(mount_point, _SHUTDOWN, _NO_LOG_FLUSH)


def freeze(mount_point: Path) -> None:
    """Sync the file system mounted there and block writers until `thaw`."""
    _control(mount_point, _FREEZE, bytes(4))


def thaw(mount_point: Path) -> None:
    """Unblock writers; does nothing if it is not frozen, or no longer mounted."""
    try:
        _control(mount_point, _THAW, bytes(4))
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT, errno.EIO, errno.ENOTTY, errno.ESRCH):
            raise


def write_synced_canary(mount_point: Path) -> None:
    """Write and fsync the negative control. This happens at boot, so that a cut does not flush anything."""
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


def write_unsynced_canary(mount_point: Path) -> bool:
    """Write, without syncing, the file that the cut must destroy; return False if the disk refuses writes."""
    try:
        (mount_point / _FOLDER / _UNSYNCED).write_bytes(_SONG)
    except OSError as error:
        if error.errno not in (errno.EIO, errno.EROFS, errno.ENOSPC, errno.ESHUTDOWN):
            raise
        return False
    return True


def read_canaries(mount_point: Path) -> str:
    """Return evidence that the last cut lost unsynced data and kept synced data.

    Raises:
        HostError: it did not.
    """
    evidence = read_synced_canary(mount_point)
    unsynced = mount_point / _FOLDER / _UNSYNCED
    if unsynced.exists() and unsynced.read_bytes() == _SONG:
        raise HostError(f"the disk at {mount_point} kept a file that was never synced: its power was not cut")
    state = "empty" if unsynced.exists() else "gone"
    return f"unsynced canary {state}, {evidence}"


def read_synced_canary(mount_point: Path) -> str:
    """Return evidence that the last cut kept synced data.

    Raises:
        HostError: it did not.
    """
    path = mount_point / _FOLDER / _SYNCED
    if not path.exists() or path.read_bytes() != _SONG:
        raise HostError(
            f"the disk at {mount_point} lost a file that was fsynced: this is a broken disk, not a power cut"
        )
    return "fsynced canary intact"


def _control(mount_point: Path, request: int, argument: bytes) -> None:
    descriptor = os.open(mount_point, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, request, argument)
    finally:
        os.close(descriptor)


def main(verb: str, mount_point: Path) -> None:
    """Cut a scratch disk, or read the canaries afterwards; `chaoskit doctor` tests a file system with it."""
    if verb == "cut":
        write_synced_canary(mount_point)
        write_unsynced_canary(mount_point)
        shut_down(mount_point)
    else:
        sys.stdout.write(read_canaries(mount_point))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
