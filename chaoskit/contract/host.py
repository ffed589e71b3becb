"""A host: a machine that a system runs on. Every host, local or remote, is driven over SSH."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from chaoskit.base.errors import ChaoskitError
from chaoskit.base.journal import Journal
from chaoskit.contract.capability import Capability
from chaoskit.contract.power import Powered


class HostError(ChaoskitError):
    """A host did not do what it was told; the message names the host, the command and its error output."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a command left behind: exit status and decoded output."""

    status: int
    out: str
    err: str


class ServiceState(Enum):
    """What a named service is doing."""

    RUNNING = "running"
    PAUSED = "paused"
    GONE = "gone"


class Host(Powered, Protocol):
    """A machine that runs commands and keeps data.

    Attributes:
        name: short name, resolvable on every host of the same lab.
        address: IP address that clients reach it by.
        address6: its IPv6 address; empty if it has none.
        data_dir: mount point of its data disk.
    """

    name: str
    address: str
    address6: str
    data_dir: str

    def run(self, argv: Sequence[str], *, timeout_s: float = 30, check: bool = True) -> Result:
        """Run a command to its end.

        Raises:
            HostError: the host could not be reached in time, or `check` and the status is not 0.
        """
        ...

    def put(self, content: bytes, path: str) -> None:
        """Write a file on the host, making its folder."""
        ...

    def get(self, path: str, local: Path) -> None:
        """Copy a file from the host; also from one that is down, where its disk can still be read."""
        ...

    def install(self, folder: Path) -> str:
        """Make a local folder, whose name identifies its content, available; return its path there."""
        ...

    def reachable(self, timeout_s: float = 0.5) -> bool:
        """Return whether the host answers on its SSH port."""
        ...


class Services(Protocol):
    """Named long-running processes on a host."""

    def spawn(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Start a service in the background, its output appended to its log."""
        ...

    def signal(self, name: str, signal: str) -> None:
        """Send a signal, such as `KILL`, to a service's process group; nothing if it is gone."""
        ...

    def state(self, name: str) -> ServiceState:
        """Return what the service is doing now."""
        ...

    def pid_path(self, name: str) -> str:
        """Return the path, on the host, of the file that holds the id of a service's process group."""
        ...

    def log_path(self, name: str) -> str:
        """Return the path of a service's output on the host."""
        ...


@runtime_checkable
class PowerSwitch(Protocol):
    """Optional power: cut the power of a host and its disk at once, and restore it."""

    def power_cut(self) -> None:
        """Cut cable, disk and processes; whatever was not fsynced is gone."""
        ...

    def power_on(self) -> None:
        """Boot the host again; return when it answers."""
        ...

    def prove_cut(self) -> str:
        """Return evidence, after `power_on`, that unsynced data was lost and synced data was kept.

        Raises:
            HostError: the disk kept what it should have lost, or lost what it should have kept.
        """
        ...


@runtime_checkable
class ResourceLimits(Protocol):
    """Optional power: limit what a whole host may use of CPU and memory."""

    def limit_cpu(self, cores: float | None) -> None:
        """Let it use this many cores' time; None: all."""
        ...

    def limit_memory(self, size: int | None) -> None:
        """Let it use this many bytes, its page cache included; None: all."""
        ...

    def throttled(self) -> int:
        """Return how often it was stopped because it had used up its CPU."""
        ...

    def memory_used(self) -> int:
        """Return how many bytes its processes hold that cannot be read from disk again."""
        ...

    def memory_refused(self) -> int:
        """Return how often memory had to be reclaimed because the limit was reached."""
        ...


class ServiceHost(Host, Services, Protocol):
    """A host that runs services: what every provider gives. All else are powers."""


class Lab(Protocol):
    """The hosts of one run."""

    hosts: Sequence[ServiceHost]

    def access(self) -> list[str]:
        """Return, for each host, the command that opens a shell on it."""
        ...

    def keep(self, folder: Path) -> Sequence[Path]:
        """Copy what the disks of hosts recorded to a folder, one folder a host; return those folders."""
        ...

    def close(self) -> None:
        """Remove the hosts and everything made for them."""
        ...


class HostProvider(Protocol):
    """Makes hosts (entry point group `chaoskit.hosts`)."""

    options: type[BaseModel]

    def host_powers(self, options: Any) -> tuple[type, ...]:
        """Return the powers of hosts with these options."""
        ...

    def seeded(self, options: Any, seed: int) -> Any:
        """Return the options with the run's seed for what the hosts draw, where they do not say their own."""
        ...

    def check(self, count: int, options: Any, needed: Collection[type]) -> None:
        """Refuse, before anything is made, what this machine cannot provide.

        Raises:
            BadInput: with the remedy.
        """
        ...

    def provision(self, journal: Journal, count: int, options: Any, needed: Collection[type] = ()) -> Lab:
        """Make the hosts, journalled before each step, and return when all answer; if that fails,
        remove what was made. `needed`: optional powers that the faults of the run use."""
        ...

    def undo(self, entry: Mapping[str, Any]) -> list[str]:
        """Undo one journal entry, whether or not it was carried out; return what was removed."""
        ...

    def diagnose(self) -> list[Capability]:
        """Return what this machine can do for this provider."""
        ...
