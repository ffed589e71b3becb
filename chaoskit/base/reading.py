"""Reading files that may be damaged: whatever is wrong with one, the error names it, its fault and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from chaoskit.base import owner
from chaoskit.base.errors import BadInput

RESTORE = "Restore it from a copy, or run the scenario again"

_DAMAGE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError, RecursionError,
    pa.ArrowException,
)  # fmt: skip
"""What decoders raise when they get something else than what was written."""

_WORDS_MAX = 300


@contextmanager
def reading(path: Path, remedy: str = RESTORE) -> Iterator[None]:
    """Turn errors of decoding a file into BadInput. The block must only read, decode and examine this file.

    Args:
        path: the file.
        remedy: what the user can do, as a sentence without a full stop.

    Raises:
        BadInput: the file is missing, damaged, or may not be read.
    """
    try:
        yield
    except PermissionError as error:
        raise owner.refused(error, path) from error
    except _DAMAGE as error:
        raise BadInput(f"{path}: cannot be read: {_words(error)}. {remedy}") from error


def shaped(content: Any, shape: Any) -> Any:
    """Return a decoded document if it has a shape: a type, such as a TypedDict, that pydantic understands.

    Raises:
        ValueError: it has another shape.
    """
    return _adapter(shape).validate_python(content)


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _words(error: BaseException) -> str:
    """Return an error on one line."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return f"{where}: {first['msg']}" if where else first["msg"]
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    said = " ".join(str(error).split())[:_WORDS_MAX].rstrip(".")
    return f"missing: {said}" if isinstance(error, KeyError) else said or type(error).__name__
