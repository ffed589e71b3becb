"""Secrets, written as references: `{env: NAME}` or `{file: PATH}`.

References are what scenarios, run folders, journals and orders of workers hold. Whoever connects resolves them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from chaoskit.base.errors import BadInput, Problems

_HOW = "write {env: NAME} or {file: PATH}"


def is_reference(value: Any) -> bool:
    """Return whether a value refers to a secret."""
    return isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in ("env", "file")


def resolved(settings: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return settings with the secrets that they refer to.

    Args:
        settings: the settings.
        key: where they are written, such as `cluster.attach`.

    Raises:
        BadInput: an environment variable is not set, or a file cannot be read.
    """
    return {
        name: _resolve(value, f"{key}.{name}") if is_reference(value) else value for name, value in settings.items()
    }


def check_secrets(settings: Mapping[str, Any], key: str, secret: Collection[str]) -> None:
    """Reject secrets that are written out, and references that cannot be resolved; see `resolved`.

    Raises:
        BadInput: names each.
    """
    problems = Problems()
    for name in settings.keys() & set(secret):
        if not is_reference(settings[name]):
            problems.add(BadInput(f"{key}.{name}: a scenario is stored with each run, so {_HOW}"))
    problems.tried(resolved, settings, key)
    problems.raise_any()


def environment_in(settings: Any) -> dict[str, str]:
    """Return the environment variables that settings refer to, at any depth, with their values."""
    if is_reference(settings):
        ((kind, where),) = settings.items()
        return {where: os.environ[where]} if kind == "env" and where in os.environ else {}
    return {name: value for inner in _inside(settings) for name, value in environment_in(inner).items()}


def files_in(settings: Any) -> list[str]:
    """Return the files that settings name or refer to, at any depth."""
    if isinstance(settings, str):
        return [settings] if os.sep in settings and Path(settings).is_file() else []
    return [path for inner in _inside(settings) for path in files_in(inner)]


def _inside(settings: Any) -> Iterable[Any]:
    if isinstance(settings, Mapping):
        return settings.values()
    return settings if isinstance(settings, list | tuple) else ()


def _resolve(reference: Mapping[str, Any], key: str) -> str:
    ((kind, where),) = reference.items()
    if kind == "env":
        if (value := os.environ.get(str(where))) is None:
            raise BadInput(f"{key}: the environment variable {where} is not set")
        return value
    try:
        return Path(str(where)).expanduser().read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{key}: {where} cannot be read: {error}") from error
