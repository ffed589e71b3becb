"""The file that a page is written to."""

from __future__ import annotations

from pathlib import Path

from chaoskit.base import durable, owner
from chaoskit.base.errors import BadInput


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
