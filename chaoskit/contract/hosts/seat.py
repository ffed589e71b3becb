"""Seats: hosts of the lab as places where clients run."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import IO, Protocol, runtime_checkable


@runtime_checkable
class Seating(Protocol):
    """Optional power of a host: run clients, as processes of this machine whose files are outside the host.

    What happens to the host's network, clock and power happens to them: a power cut kills them, and what they recorded
    stays. They see the files of this machine.

    Attributes:
        boots: how often the host has booted; a client of an earlier boot is dead.
    """

    @property
    def boots(self) -> int: ...

    def seat(self, argv: Sequence[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a process on the host, with pipes to its standard input and output.

        Args:
            argv: the command and its arguments.
            errors: file for its standard error.

        Raises:
            HostError: the host has no power.
        """
        ...
