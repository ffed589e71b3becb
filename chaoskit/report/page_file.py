"""The file that a page is written to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chaoskit.base import durable, owner
from chaoskit.base.errors import BadInput, ChaoskitError


def write_page(path: Path, content: str) -> None:
    """Write the page of the option `--html` atomically.

    Raises:
        BadInput: it cannot be written.
    """
    try:
        durable.write(path, content.encode())
        owner.give([path])
    except OSError as error:
        raise BadInput(f"--html {path}: cannot be written: {error.strerror}; choose another file") from error


def tried(name: str, write: Callable[[], object]) -> str | None:
    """Write a page if possible; otherwise return the reason. A run never fails because of its pages.

    Args:
        name: how the page is called.
        write: writes it.
    """
    try:
        write()
    except PermissionError as error:
        return f"no {name}: {owner.refused(error)}"
    except ChaoskitError as error:
        return f"no {name}: {error}"
    except Exception as error:  # noqa: BLE001  # the boundary: a page must not cost a run its verdict
        return f"no {name}: {type(error).__name__}: {error}; please report this bug"
    return None
