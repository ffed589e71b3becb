"""Functions of the user's, which a scenario names as `package.module:function`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator


def _importable(name: str) -> str:
    if name:
        function(name)
    return name


FunctionName = Annotated[str, AfterValidator(_importable)]
"""A function, such as `mypackage.orders:make`; empty: none."""


def function(name: str) -> Callable[..., Any]:
    """Return a function; modules are also looked for in the current folder.

    Raises:
        ValueError: there is no such function.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ValueError(f"{name!r} names no function; write package.module:function")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        named: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{name!r} cannot be imported from {here}: {error}") from error
    if not callable(named):
        raise ValueError(f"{name!r} is no function")
    chosen: Callable[..., Any] = named
    return chosen
