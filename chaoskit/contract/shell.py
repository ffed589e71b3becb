"""Runs bash scripts on a host, in one SSH command."""

from __future__ import annotations

from chaoskit.contract.host import Result, ServiceHost


def bash(host: ServiceHost, script: str, *arguments: str, check: bool = True, timeout_s: float = 30) -> Result:
    """Run a script with positional parameters.

    Start-up files are skipped: for a command over SSH, bash would read root's, which may take 100 ms.

    Raises:
        HostError: the host could not be reached in time, or `check` is true and the exit status is not 0.
    """
    argv = ["bash", "--norc", "-c", script, "chaoskit", *arguments]
    return host.run(argv, check=check, timeout_s=timeout_s)
