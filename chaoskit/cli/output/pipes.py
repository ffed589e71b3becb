"""Writing to a stdout that the reader may close early."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from chaoskit.base.errors import BadInput


@contextmanager
def to_stdout() -> Iterator[None]:
    """Tolerate a reader of stdout that exits early, such as `head`: the rest is dropped without an error.

    Raises:
        BadInput: stdout cannot be written, for example because the disk is full.
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
    """Discard buffered output; otherwise Python reports an error when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
