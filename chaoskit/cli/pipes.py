"""Writing to a stdout that somebody else may close."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from chaoskit.base.errors import BadInput


@contextmanager
def to_stdout() -> Iterator[None]:
    """Let who reads stdout leave early, as `head` does: the rest is not written, and nothing failed.

    Raises:
        BadInput: stdout cannot be written, as on a full disk.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_the_rest()
    except OSError as error:
        _drop_the_rest()
        raise BadInput(f"stdout: cannot be written: {error.strerror}") from error


def _drop_the_rest() -> None:
    """Send what is still buffered nowhere, or Python complains about it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
