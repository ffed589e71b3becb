"""Java properties files: `name=value`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Scalar = str | int | float | bool | None
"""Value of a setting; null keeps the system's default."""


def properties(*layers: Mapping[str, Any]) -> str:
    """Return a file with these settings. Later layers override earlier ones; null does not override."""
    chosen = {key: value for layer in layers for key, value in layer.items() if value is not None}
    return "".join(f"{key}={text(value)}\n" for key, value in chosen.items())


def setting(config: Mapping[str, Scalar], name: str, default: Any) -> Any:
    """Return a setting; null means the default."""
    value = config.get(name)
    return default if value is None else value


def text(value: Any) -> str:
    """Return a setting's value in the syntax of these files."""
    return str(value).lower() if isinstance(value, bool) else str(value)
