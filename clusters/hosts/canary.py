"""Canaries: files that a power cut must keep, and files that it must lose.

One file is written and fsynced when a host boots; a cut must keep it. Several more are written right before the cut
by the thread that cuts, and never synced; a cut must lose them. A sync by somebody else in between saves them only if
it begins and ends within the microseconds from the first of them to the cut. One that is lost proves the cut, since
without it the kernel writes back all of them.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from chaoskit.contract.hosts.host import HostError, NothingToLose
from clusters.hosts.power import shut_down_around

_FOLDER = ".chaoskit"
_SYNCED = "canary-synced"
_UNSYNCED = "canary-unsynced"
_SONG = b"tweet" * 200
_UNSYNCED_COUNT = 8
_REFUSALS = (errno.EIO, errno.EROFS, errno.ENOSPC, errno.ESHUTDOWN)


@dataclass(frozen=True, slots=True)
class Cut:
    """A power cut of one disk, as seen by the thread that made it.

    Attributes:
        flock: names of the canaries that the disk accepted right before, unsynced.
        silent: whether it refused one right afterwards.
        began_ns: when the first was written, CLOCK_MONOTONIC.
    """

    flock: tuple[str, ...]
    silent: bool
    began_ns: int


class CanariesKept(HostError):
    """A disk refused all writes after its power cut, and kept what was unsynced before.

    Attributes:
        began_ns: when the cut began, CLOCK_MONOTONIC.
    """

    def __init__(self, message: str, began_ns: int) -> None:
        super().__init__(message)
        self.began_ns = began_ns


def write_synced_canary(mount_point: Path) -> None:
    """Write and fsync the file that cuts must keep. This happens at boot, so that a cut does not flush anything."""
    folder = mount_point / _FOLDER
    folder.mkdir(exist_ok=True)
    for left in folder.glob(f"{_UNSYNCED}*"):
        left.unlink()
    for path in (folder / _SYNCED, folder, mount_point):
        if path.name == _SYNCED:
            path.write_bytes(_SONG)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def cut(mount_point: Path) -> Cut:
    """Write the canaries that the cut must lose, and shut the file system down."""
    folder = os.open(mount_point / _FOLDER, os.O_RDONLY | os.O_DIRECTORY)
    try:
        names = [f"{_UNSYNCED}-{secrets.token_hex(4)}" for _ in range(_UNSYNCED_COUNT + 1)]
        began_ns = time.monotonic_ns()
        flock = tuple(name for name in names[:-1] if _sing(folder, name))
        shut_down_around(folder)
        return Cut(flock, not _sing(folder, names[-1]), began_ns)
    finally:
        os.close(folder)


def read_canaries(mount_point: Path, cut: Cut) -> str:
    """Return evidence that the last cut lost unsynced data and kept synced data.

    Raises:
        CanariesKept: the disk refused writes after the cut, but lost nothing that was unsynced.
        NothingToLose: nothing unsynced was on it.
        HostError: it was not cut, or lost synced data.
    """
    evidence = read_synced_canary(mount_point)
    if not cut.flock:
        raise NothingToLose(f"the disk at {mount_point} refused the unsynced canaries: it proves no power cut")
    kept = sum(_sings(mount_point / _FOLDER / name) for name in cut.flock)
    if kept == len(cut.flock):
        message = f"the disk at {mount_point} kept {kept} files that were never synced: its power was not cut"
        raise CanariesKept(message, cut.began_ns) if cut.silent else HostError(message)
    return f"{len(cut.flock) - kept} of {len(cut.flock)} unsynced canaries gone, {evidence}"


def read_synced_canary(mount_point: Path) -> str:
    """Return evidence that the last cut kept synced data.

    Raises:
        HostError: it did not.
    """
    if not _sings(mount_point / _FOLDER / _SYNCED):
        raise HostError(
            f"the disk at {mount_point} lost a file that was fsynced: this is a broken disk, not a power cut"
        )
    return "fsynced canary intact"


def _sing(folder: int, name: str) -> bool:
    """Write a canary without syncing it; return whether the disk accepted it."""
    try:
        descriptor = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=folder)
        try:
            return os.write(descriptor, _SONG) == len(_SONG)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        return False


def _sings(path: Path) -> bool:
    return path.exists() and path.read_bytes() == _SONG


def main(mount_point: Path, made: str = "") -> None:
    """Cut a scratch disk and print how; or, given what was printed, read the canaries. `chaoskit doctor` does both."""
    if made:
        sys.stdout.write(read_canaries(mount_point, Cut(**json.loads(made))))
    else:
        write_synced_canary(mount_point)
        sys.stdout.write(json.dumps(asdict(cut(mount_point))))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
