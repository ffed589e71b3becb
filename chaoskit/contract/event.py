"""Events: what happens during a run, told to whoever watches and appended to the run's `events.jsonl`.

Frozen records without prose; words are made where they are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from chaoskit.history.recorder import Progress


@dataclass(frozen=True, slots=True)
class Event:
    """What all events are."""


class Watcher(Protocol):
    """Whoever watches a run: a terminal, a page, a search."""

    def on(self, event: Event) -> None:
        """Take in an event, in whichever thread it happens; one that is of no interest is ignored."""
        ...


@dataclass(frozen=True, slots=True)
class PhaseBegun(Event):
    """A phase of the run begins: hosts, deploy, ready, topics, clients, load, heal, recover, final read, check."""

    name: str


@dataclass(frozen=True, slots=True)
class LoadTick(Event):
    """The load goes on.

    Attributes:
        elapsed_s: seconds since its start.
        progress: sums over all clients; `latency` is that since the tick before.
        faults: the faults that hold, such as `kill on n1`.
    """

    elapsed_s: float
    progress: Progress
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FaultProved(Event):
    """A fault took effect."""

    fault: int
    kind: str
    targets: tuple[str, ...]
    evidence: str


@dataclass(frozen=True, slots=True)
class FaultHealed(Event):
    """It was undone, and that was proved."""

    fault: int
    kind: str
    targets: tuple[str, ...]
    evidence: str


@dataclass(frozen=True, slots=True)
class FaultFailed(Event):
    """It had no effect, or was not undone."""

    fault: int
    kind: str
    problem: str


@dataclass(frozen=True, slots=True)
class FaultDropped(Event):
    """It was still waiting for its turn when the load ended."""

    fault: int
    kind: str


@dataclass(frozen=True, slots=True)
class Interrupted(Event):
    """The user asked for the end."""


@dataclass(frozen=True, slots=True)
class HostsKept(Event):
    """The hosts are left running; `access` opens a shell on each."""

    access: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem(Event):
    """Something went wrong that the verdict will tell of, such as a client that ended by itself."""

    text: str
