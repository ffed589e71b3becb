"""Modules that are imported at their first use: they need packages that may be missing where runs are judged."""

from __future__ import annotations

from typing import Any

from chaoskit.base import plugins


class Later:
    """A module of a system.

    Args:
        system: the system's name.
        path: full name of the module.
    """

    def __init__(self, system: str, path: str) -> None:
        self._system = system
        self._path = path

    def __getattr__(self, name: str) -> Any:
        """Return what the module has of this name.

        Raises:
            BadInput: a package that the module needs is missing.
        """
        return getattr(plugins.module("cluster", self._system, "cluster.system", self._path), name)
