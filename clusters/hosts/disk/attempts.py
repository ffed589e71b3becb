"""Checks, with scratch disks, whether this machine supports programmable disks and slow plain disks."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from chaoskit.base.state import state_folder
from chaoskit.contract.hosts.disk import DiskLimits, DiskSettings
from clusters.hosts.disk import layout
from clusters.hosts.disk.throttle import available, lift, limit

_TIMEOUT_S = 20

_SERVE = """
mount --make-rprivate /
mkfs.ext4 -q "$1/disk"
mount --bind "$1/fuse" "$1/fuse"
mount --make-shared "$1/fuse"
unshare --mount --propagation unchanged "$2" -m clusters.hosts.disk.server "$1" &
until [ -e "$1/fuse/disk" ]; do kill -0 $! 2>/dev/null || exit; sleep 0.02; done
mount -t ext4 -o loop "$1/fuse/disk" "$1/mount"
echo flushed > "$1/mount/file"
sync "$1/mount/file"
"""


def try_programmable() -> str:
    """Serve a disk, mount it and flush a file, in separate namespaces.

    Raises:
        OSError, subprocess.SubprocessError: it did not work.
    """
    with tempfile.TemporaryDirectory(dir=state_folder()) as folder:
        for name in (layout.MOUNT, "mount"):
            Path(folder, name).mkdir()
        with Path(folder, layout.IMAGE).open("wb") as image:
            image.truncate(64 * 2**20)
        Path(folder, layout.SETTINGS).write_text(DiskSettings().model_dump_json())
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        argv = [*namespaces, "sh", "-euc", _SERVE, "try", folder, sys.executable]
        subprocess.run(argv, text=True, capture_output=True, check=True, timeout=_TIMEOUT_S)
    return "a file was flushed through it"


def try_throttle() -> str:
    """Throttle a scratch loop device to 20 requests per second and measure it.

    Raises:
        OSError, subprocess.SubprocessError: it did not work.
    """
    if not available():
        raise OSError("/sys/fs/cgroup/blkio has no blkio.throttle files")
    with tempfile.TemporaryDirectory(dir=state_folder()) as folder:
        image, note = Path(folder, "disk"), Path(folder, "note")
        with image.open("wb") as file:
            file.truncate(2**20)
        device = _run("losetup", "--find", "--show", str(image))
        try:
            limit(_run("lsblk", "-dno", "MAJ:MIN", device).strip(), DiskLimits(write_iops=20), note)
            began = time.monotonic()
            _run("dd", "if=/dev/zero", f"of={device}", "bs=4k", "count=10", "oflag=direct", "status=none")
            took_s = time.monotonic() - began
        finally:
            lift(note)
            _run("losetup", "--detach", device)
    if took_s < 0.3:
        raise OSError(f"10 writes at 20 per second took {took_s:.2f} s")
    return f"10 writes at 20 per second took {took_s:.2f} s"


def _run(*argv: str) -> str:
    done = subprocess.run(argv, text=True, capture_output=True, check=True, timeout=_TIMEOUT_S)
    return done.stdout.strip()
