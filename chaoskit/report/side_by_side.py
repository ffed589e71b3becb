"""What is told of systems beside each other: round trips, throughput, and what became of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Half the round trip of a system, or of the hosts without one.

    Attributes:
        name: the system: a variant of the first axis; `TCP` and the like without one.
        payload: bytes.
        p50_us, p99_us: half the round trip, us, the median over the runs; None if it is not told.
        published_us: what others published, us; None if nobody did.
        unanswered: how many had no answer, of all runs.
        verdict: verdicts of the runs; empty without a system.
    """

    name: str
    payload: int
    p50_us: float
    p99_us: float | None
    published_us: float | None = None
    unanswered: int = 0
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Throughput:
    """What the subscribers of a system received.

    Attributes:
        name, payload, verdict: see `RoundTrip`.
        messages_per_s, bytes_per_s: during the load, the median over the runs.
        sent: number of messages, of all runs.
        found: of each counted anomaly, how many messages show it, of all runs.
    """

    name: str
    payload: int
    messages_per_s: float
    bytes_per_s: float
    sent: int
    found: Mapping[str, int]
    verdict: str


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of the messages of a load.

    Attributes:
        name, verdict: see `RoundTrip`.
        load: the variants of the other axes.
        acked, received: number of messages, and of deliveries, of all runs.
        subscribers: number of subscribers, each of which is to receive each message.
        found: of each counted anomaly, how many messages show it, of all runs.
        why: why that is allowed, and what makes the verdict unknown.
    """

    name: str
    load: str
    acked: int
    received: int
    subscribers: int
    found: Mapping[str, int]
    verdict: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """All that is told, in the order of the sweep; the floor first."""

    round_trips: Sequence[RoundTrip]
    throughputs: Sequence[Throughput]
    fates: Sequence[Fate]

    def as_json(self) -> dict[str, Any]:
        """Return it as the content of a JSON file."""
        return asdict(self)
