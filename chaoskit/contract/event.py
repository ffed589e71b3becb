"""Events of a run, reported to a watcher and appended to the run's `events.jsonl`.

Frozen records without prose; text is produced where they are displayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from chaoskit.model.progress import Progress


@dataclass(frozen=True, slots=True)
class Event:
    """Base class of all events."""


class Watcher(Protocol):
    """Receives the events of a run: a terminal, a page, a search."""

    def on(self, event: Event) -> None:
        """Handle an event, on the thread where it occurs; ignore events of no interest."""
        ...


@dataclass(frozen=True, slots=True)
class PhaseBegun(Event):
    """A phase of the run begins: hosts, deploy, ready, topics, clients, load, heal, recover, final read, check."""

    name: str


@dataclass(frozen=True, slots=True)
class LoadTick(Event):
    """Periodic progress of the load.

    Attributes:
        elapsed_s: seconds since the start of the load.
        progress: sums over all clients.
        faults: the active faults, such as `kill on n1`.
        latency: latency of the sends acknowledged since the previous tick, from when they were due: an encoded
            histogram of microseconds (`chaoskit.base.latency`); empty if there are none.
    """

    elapsed_s: float
    progress: Progress
    faults: tuple[str, ...]
    latency: str = ""


@dataclass(frozen=True, slots=True)
class ApplicationAwaited(Event):
    """The owner of the application under test is to start it now.

    Attributes:
        names: what it needs to know: where clients connect, what it reads and where it writes.
        file: a file that has them as well.
        within_s: how long the load waits for it.
    """

    names: Mapping[str, str]
    file: str
    within_s: float


@dataclass(frozen=True, slots=True)
class FaultProved(Event):
    """A fault took effect; `evidence` and `figures` are those of `chaoskit.contract.faults.evidence.Evidence`."""

    fault: int
    kind: str
    targets: tuple[str, ...]
    evidence: str
    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FaultHealed(Event):
    """A fault was undone, and this was proved; see `FaultProved`."""

    fault: int
    kind: str
    targets: tuple[str, ...]
    evidence: str
    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FaultFailed(Event):
    """A fault had no effect, or was not undone."""

    fault: int
    kind: str
    problem: str


@dataclass(frozen=True, slots=True)
class LoadHeld(Event):
    """The load goes on beyond its end, for a while, until faults of these kinds, which are due, have taken effect."""

    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FaultDropped(Event):
    """A fault was still waiting for its turn when the load ended."""

    fault: int
    kind: str


@dataclass(frozen=True, slots=True)
class ServiceRevived(Event):
    """A service exited or hung by itself, and was started again."""

    host: str
    service: str
    why: str


@dataclass(frozen=True, slots=True)
class Interrupted(Event):
    """The user interrupted the run."""


@dataclass(frozen=True, slots=True)
class HostsKept(Event):
    """The hosts were left running; `access` has the commands that open a shell on each."""

    access: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem(Event):
    """A problem that the verdict will mention, such as a client that exited unexpectedly."""

    text: str
