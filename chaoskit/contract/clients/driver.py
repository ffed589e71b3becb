"""Drivers: machines besides the harness's own that run clients of a workload."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from chaoskit.base.journal import Journal


class LoadHost(Protocol):
    """A machine that runs clients.

    Attributes:
        name: its name in the inventory.
        folder: folder there that holds what clients of this run record.
    """

    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> str: ...

    def spawn(self, name: str, argv: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Run a module of chaoskit there; return the process here that its standard input and output belong to.

        It must end when its standard input closes.

        Args:
            name: unique name of the process in this run.
            argv: the module and its arguments.
            log: file here for its standard error.
        """
        ...

    def gather(self, wal: Path) -> None:
        """End what still runs there, and copy what clients recorded to a `wal` folder here. May be repeated.

        Raises:
            HostError: it cannot be reached, or the copy failed.
        """
        ...

    def close(self) -> None:
        """Remove what this run has there, once it has been gathered, and disconnect.

        Raises:
            HostError: it cannot be reached.
        """
        ...


@runtime_checkable
class Driving(Protocol):
    """Optional power of a provider of hosts: machines that run clients."""

    def driver_names(self, options: Any) -> Collection[str]:
        """Return the names of all drivers."""
        ...

    def check_drivers(self, options: Any, names: Sequence[str], files: Collection[str]) -> None:
        """Reject drivers that cannot run clients.

        Args:
            options: the provider's options.
            names: the drivers that a run uses.
            files: files that clients read, which must be at the same place there.

        Raises:
            BadInput: names each driver, what is wrong there, and the remedy.
        """
        ...

    def drivers(self, journal: Journal, options: Any, names: Sequence[str], wal: Path) -> Sequence[LoadHost]:
        """Return drivers, ready to run clients. What they record is journalled before: undoing that gathers it.

        Args:
            journal: the journal.
            options: the provider's options.
            names: the drivers that the run uses.
            wal: folder here that what they record belongs to.
        """
        ...
