"""Runs bash scripts on a host, in one SSH command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from chaoskit.contract.hosts.host import CommandResult


class Runner(Protocol):
    """What runs commands, such as a host."""

    def run(self, argv: Sequence[str], *, timeout_s: float = 30, check: bool = True) -> CommandResult:
        """Run a command; see `chaoskit.contract.hosts.host.Host`."""
        ...


def bash(host: Runner, script: str, *arguments: str, check: bool = True, timeout_s: float = 30) -> CommandResult:
    """Run a script with positional parameters.

    Start-up files are skipped: for a command over SSH, bash would read root's, which may take 100 ms.

    Raises:
        HostError: the host could not be reached in time, or `check` is true and the exit status is not 0.
    """
    argv = ["bash", "--norc", "-c", script, "chaoskit", *arguments]
    return host.run(argv, check=check, timeout_s=timeout_s)
