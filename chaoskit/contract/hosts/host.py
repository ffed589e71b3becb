"""A host: a machine that a system runs on. Every host, local or remote, is controlled over SSH."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from chaoskit.base.errors import ChaoskitError
from chaoskit.base.journal import Journal
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.disk import DataDisk
from chaoskit.contract.power import Powered


class HostError(ChaoskitError):
    """An operation on a host failed; the message names the host, the command and its error output."""


class NothingToLose(HostError):
    """The disk took no unsynced data before its power was cut, so that nothing it lost could prove the cut."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a fault that took effect and was healed may have shown little.

    Attributes:
        at_ns: when it happened, CLOCK_MONOTONIC.
        event: what happened, such as `another process synced all file systems of this machine`.
        consequence: what follows, such as `the cut of n1 had little left to lose`.
    """

    at_ns: int
    event: str
    consequence: str


class DoubtfulCut(HostError):
    """The power was gone, and nothing unsynced was lost, for a known reason; the message is the evidence.

    Attributes:
        doubts: the reasons.
    """

    def __init__(self, evidence: str, doubts: Sequence[Doubt]) -> None:
        super().__init__(evidence)
        self.doubts = doubts


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command: exit status and decoded output."""

    status: int
    out: str
    err: str


class ServiceState(Enum):
    """The state of a named service."""

    RUNNING = "running"
    PAUSED = "paused"
    GONE = "gone"


class Host(Powered, Protocol):
    """A machine that runs commands and stores data.

    Attributes:
        name: short name, resolvable on every host of the same lab.
        address: IP address for clients.
        address6: its IPv6 address; empty if it has none.
        data_dir: mount point of its first data disk, `data`.
        disks: all its data disks, by name.
    """

    @property
    def name(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def address6(self) -> str: ...
    @property
    def data_dir(self) -> str: ...

    @property
    def disks(self) -> Mapping[str, DataDisk]: ...

    def run(self, argv: Sequence[str], *, timeout_s: float = 30, check: bool = True) -> CommandResult:
        """Run a command and wait for it to exit.

        Raises:
            HostError: the host could not be reached in time, or `check` is true and the exit status is not 0.
        """
        ...

    def put(self, content: bytes, path: str) -> None:
        """Write a file on the host, creating its folder if necessary."""
        ...

    def get(self, path: str, local: Path) -> None:
        """Copy a file from the host. Also works while the host is down, if its disk can still be read."""
        ...

    def install(self, folder: Path) -> str:
        """Make a local folder, whose name identifies its content, available on the host; return its path there."""
        ...

    def reachable(self, timeout_s: float = 0.5) -> bool:
        """Return whether the host answers on its SSH port."""
        ...


class Services(Protocol):
    """Named long-running processes on a host."""

    def spawn(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Start a service in the background, as the user of services; its output is appended to its log."""
        ...

    def as_service(self, argv: Sequence[str]) -> list[str]:
        """Return the command that runs a command as the user of services, who owns the data disks and little else."""
        ...

    def signal(self, name: str, signal: str) -> None:
        """Send a signal, such as `KILL`, to a service's process group; does nothing if the group no longer exists."""
        ...

    def state(self, name: str) -> ServiceState:
        """Return the current state of a service."""
        ...

    def pid_path(self, name: str) -> str:
        """Return the path on the host of the file with the id of a service's process group."""
        ...

    def log_path(self, name: str) -> str:
        """Return the path on the host of a service's log."""
        ...


@runtime_checkable
class PowerSwitch(Protocol):
    """Optional power: cut the power of a host together with its disk, and restore it.

    Attributes:
        boots: how often the host has booted; what was only in its memory is gone when this changes.
    """

    @property
    def boots(self) -> int: ...

    def power_cut(self) -> None:
        """Cut network, disk and processes; everything that was not fsynced is lost."""
        ...

    def power_on(self) -> None:
        """Boot the host and wait until it answers."""
        ...

    def prove_cut(self) -> str:
        """Return evidence, after `power_on`, that unsynced data was lost and synced data was kept.

        Raises:
            DoubtfulCut: the disk kept unsynced data because something else saved it right before.
            NothingToLose: nothing unsynced was on the disk.
            HostError: the disk kept unsynced data or lost synced data.
        """
        ...


@runtime_checkable
class SyncWatch(Protocol):
    """Optional power: see that somebody else syncs, which saves what a power cut is to lose."""

    def await_unsynced(self) -> None:
        """Return once nobody has synced the host's disks for a moment; after a few seconds in any case."""
        ...


@runtime_checkable
class ResourceLimits(Protocol):
    """Optional power: limit the CPU and memory of a whole host."""

    def limit_cpu(self, cores: float | None) -> None:
        """Limit CPU time to this many cores; None removes the limit."""
        ...

    def limit_memory(self, size: int | None) -> None:
        """Limit memory to this many bytes, including the page cache; None removes the limit."""
        ...

    def throttled(self) -> int:
        """Return how often the host was throttled because its CPU quota was used up."""
        ...

    def memory_used(self) -> int:
        """Return the bytes of memory that its processes hold, without what can be read from disk again."""
        ...

    def memory_refused(self) -> int:
        """Return how often memory was reclaimed because the limit was reached."""
        ...


class ServiceHost(Host, Services, Protocol):
    """A host that runs services: the minimum that every provider supplies. Everything else is a power."""


@dataclass(frozen=True, slots=True)
class Root:
    """What the root file system of a host must hold.

    Attributes:
        release: a release of Debian, such as `trixie`.
        packages: packages of that release, each with the upstream version that it must have, or empty for any.
    """

    release: str
    packages: Mapping[str, str]


@runtime_checkable
class Rooting(Protocol):
    """Optional power of a provider: hosts with another root file system than that of this machine."""

    def make_root(self, root: Root) -> None:
        """Make the root file system, unless it is in the cache.

        Raises:
            BadInput: it cannot be made, or a package has another version; names the remedy.
        """
        ...

    def provision(
        self,
        journal: Journal,
        count: int,
        options: Any,
        needed: Collection[type] = (),
        *,
        roots: Sequence[Root | None] = (),
    ) -> Lab:
        """Create the hosts; see `HostProvider.provision`. `roots`: the root of each host; None: this machine's."""
        ...


@runtime_checkable
class Equipped(Protocol):
    """Optional power of a provider: its hosts are those of others, and may lack a tool that faults use."""

    def check_tools(self, options: Any, tools: Mapping[str, Collection[str]]) -> None:
        """Reject what a host cannot do.

        Args:
            options: the provider's options.
            tools: the programs that each kind of fault of a run needs on its hosts.

        Raises:
            BadInput: names each host and what it lacks.
        """
        ...

    def survey(self, options: Any, tools: Mapping[str, Collection[str]]) -> list[Capability]:
        """Return what each host can do; arguments as of `check_tools`."""
        ...


class Lab(Protocol):
    """The hosts of one run."""

    @property
    def hosts(self) -> Sequence[ServiceHost]: ...

    def access(self) -> list[str]:
        """Return the command that opens a shell, for each host."""
        ...

    def keep(self, folder: Path) -> Sequence[Path]:
        """Copy the recordings of the hosts' disks to a folder, one subfolder per host; return the subfolders."""
        ...

    def close(self) -> None:
        """Remove the hosts and everything created for them."""
        ...


class HostProvider(Protocol):
    """Creates hosts (entry point group `chaoskit.hosts`)."""

    @property
    def options(self) -> type[BaseModel]: ...

    def host_powers(self, options: Any) -> tuple[type, ...]:
        """Return the powers that hosts have with these options."""
        ...

    def disk_powers(self, options: Any) -> Mapping[str, tuple[type, ...]]:
        """Return the powers of each data disk of a host with these options, by the disk's name; `data` is the first."""
        ...

    def seeded(self, options: Any, seed: int) -> Any:
        """Return the options with the run's seed for the hosts' random decisions, unless they set their own seed."""
        ...

    def check(self, count: int, options: Any, needed: Collection[type]) -> None:
        """Reject, before anything is created, what this machine cannot provide.

        Raises:
            BadInput: names the remedy.
        """
        ...

    def provision(self, journal: Journal, count: int, options: Any, needed: Collection[type] = ()) -> Lab:
        """Create the hosts and wait until all answer. Each step is journalled before it is done; if a step fails,
        everything created is removed. `needed`: optional powers that the faults of the run use."""
        ...

    def undo(self, entry: Mapping[str, Any]) -> list[str]:
        """Undo one journal entry, whether or not its step was done; return what was removed."""
        ...

    def diagnose(self) -> list[Capability]:
        """Return the capabilities that this provider needs, and whether this machine has them."""
        ...
