"""Zenoh's Python package as a folder that hosts can have: their processes may not read the one that is installed."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import zenoh

from chaoskit.base import state

_NAME = "zenoh"


def folder(version: str) -> Path:
    """Return the folder in the cache that has the package; it may not be there."""
    return state.cache_folder() / f"eclipse-zenoh-{version}"


def provide(version: str) -> Path:
    """Copy the installed package into the cache, unless it is there; return the folder."""
    target = folder(version)
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as unfinished:
            whole = Path(unfinished) / target.name
            installed = Path(str(zenoh.__file__)).parent
            shutil.copytree(installed, whole / _NAME, ignore=shutil.ignore_patterns("__pycache__"))
            whole.rename(target)
    return target
