"""Who may use a run folder: an error for everyone else, and ownership for the user who called sudo."""

from __future__ import annotations

import pwd
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


def _owner(path: Path) -> str:
    """Return the owner of a file or, if that cannot be seen, of the nearest folder that can; empty if unknown."""
    for each in (path, *path.parents):
        try:
            owner = each.lstat().st_uid
        except OSError:
            continue
        try:
            return pwd.getpwuid(owner).pw_name
        except KeyError:
            return f"user {owner}"
    return ""
