"""Who may use a run folder: an error for everyone else, and ownership for the user who called sudo."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterable
from pathlib import Path

from chaoskit.base.errors import BadInput


def refused(error: PermissionError, path: Path | None = None) -> BadInput:
    """Return what to tell a user who may not use a file: its name, its owner and the remedy.

    Args:
        error: what the system said.
        path: the file, unless the error names it.
    """
    name = Path(str(path if path is not None else error.filename or "a file"))
    owner = _owner(name)
    whose = f"; it belongs to {owner}" if owner else ""
    return BadInput(
        f"{name}: {error.strerror or 'permission denied'}{whose}. Run chaoskit with sudo, or let the owner give it to "
        "you: sudo chown -R $USER FOLDER"
    )


def give(paths: Iterable[Path]) -> None:
    """Give files, links and folders, but not what is in the folders, to the user who called sudo, if anybody did.

    The caller must have made them. Links are not followed.
    """
    if (user := _caller()) is None:
        return
    for path in paths:
        os.chown(path, *user, follow_symlinks=False)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, for the user who called sudo, if anybody did; it may exist.

    Raises:
        OSError: it cannot be made.
    """
    made = [ancestor for ancestor in (folder, *folder.parents) if not ancestor.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    give(made)


def give_all(folder: Path) -> None:
    """Give a folder that root made, and all in it that belongs to root, to the user who called sudo, if anybody did.

    Links are not followed, and files with further names elsewhere are left.
    """
    if (user := _caller()) is None or folder.is_symlink() or folder.lstat().st_uid not in {0, user[0]}:
        return
    os.chown(folder, *user, follow_symlinks=False)
    for _, folders, files, handle in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            state = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if state.st_uid == 0 and (stat.S_ISDIR(state.st_mode) or state.st_nlink == 1):
                os.chown(name, *user, dir_fd=handle, follow_symlinks=False)


def _caller() -> tuple[int, int] | None:
    """Return user and group of the caller of sudo; None if this process is not root by sudo."""
    user, group = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    if os.geteuid() != 0 or not (user.isdecimal() and group.isdecimal()) or int(user) == 0:
        return None
    return int(user), int(group)


def _owner(path: Path) -> str:
    """Return the owner of a file or, if that cannot be seen, of the nearest folder that can; empty if unknown."""
    for ancestor in (path, *path.parents):
        try:
            owner = ancestor.lstat().st_uid
        except OSError:
            continue
        try:
            return pwd.getpwuid(owner).pw_name
        except KeyError:
            return f"user {owner}"
    return ""
