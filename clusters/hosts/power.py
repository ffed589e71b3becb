"""The power cut of a disk: from one instant on, nothing reaches its image.

The shutdown ioctl of ext4 and XFS with the flag NOLOGFLUSH stops all I/O without flushing the log:
fsynced data survives, unsynced data is lost. Canaries prove it after every cut; see `canary`.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

_FREEZE = 0xC0045877  # FIFREEZE: _IOWR('X', 119, int)
_THAW = 0xC0045878  # FITHAW: _IOWR('X', 120, int)
_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN: _IOR('X', 125, __u32)
_NO_LOG_FLUSH = (2).to_bytes(4, "little")


def shut_down(mount_point: Path) -> None:
    """Stop all I/O of the file system mounted there immediately; unflushed data is lost."""
    _control(mount_point, _SHUTDOWN, _NO_LOG_FLUSH)


def shut_down_around(descriptor: int) -> None:
    """Stop all I/O of the file system of an open file or folder immediately, as `shut_down` does."""
    fcntl.ioctl(descriptor, _SHUTDOWN, _NO_LOG_FLUSH)


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


def _control(mount_point: Path, request: int, argument: bytes) -> None:
    descriptor = os.open(mount_point, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, request, argument)
    finally:
        os.close(descriptor)
