"""Looks up implementations by name through entry points, our own and third-party ones alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from chaoskit.base.errors import BadInput, nearest
from chaoskit.base.installing import with_extra

_GROUPS = {
    "host": "chaoskit.hosts",
    "cluster": "chaoskit.clusters",
    "database": "chaoskit.databases",
    "workload": "chaoskit.workloads",
    "nemesis": "chaoskit.nemeses",
    "checker": "chaoskit.checkers",
    "synthesizer": "chaoskit.synthesizers",
    "analysis": "chaoskit.analysis",
}


_WORDS = {"host": "host provider", "cluster": "system", "nemesis": "kind of fault"}
"""What a plug-in is called in errors, unless by its noun."""


@cache
def _entries(noun: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=_GROUPS[noun])}


def names(noun: str) -> list[str]:
    """Return the names of all installed plug-ins of one noun (`host`, `cluster`, `workload`, ...)."""
    return sorted(_entries(noun))


@cache
def load(noun: str, name: str, key: str) -> Any:
    """Return the instance of a named implementation; every call returns the same one.

    Args:
        noun: kind of plug-in.
        name: name of the entry point.
        key: where the user wrote the name, for error messages.

    Raises:
        BadInput: no plug-in of that name is installed, or a package that it needs is missing.
    """
    entry = _entries(noun).get(name)
    if entry is None:
        what = _WORDS.get(noun, noun)
        raise BadInput(f"{key}: there is no {what} {name!r}; {nearest(name, _entries(noun))}")
    with _install_hint(noun, name, key):
        return entry.load()()


def module(noun: str, name: str, key: str, path: str) -> ModuleType:
    """Return a module of a named implementation, which `load` did not import.

    Args:
        noun: kind of plug-in.
        name: name of the entry point.
        key: where the user wrote the name, for error messages.
        path: full name of the module.

    Raises:
        BadInput: a package that it needs is missing.
    """
    with _install_hint(noun, name, key):
        return import_module(path)


@contextmanager
def _install_hint(noun: str, name: str, key: str) -> Iterator[None]:
    """Tell what installs a package that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise BadInput(f"{key}: {noun} {name!r} needs the package {error.name}: {with_extra(name)}") from error
