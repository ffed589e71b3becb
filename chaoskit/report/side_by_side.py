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
        load: the variants of the other axes; empty without a system.
        payload: bytes.
        p50_us, p99_us: half the round trip, us, the median over the runs; None if it is not told. Of ICMP, p50 is the
            mean.
        published_us: what others published of messages of this size, us; None if nobody did.
        unanswered: how many had no answer, of all runs.
        verdict: verdicts of the runs; empty without a system.
    """

    name: str
    load: str
    payload: int
    p50_us: float | None
    p99_us: float | None
    published_us: float | None = None
    unanswered: int = 0
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Throughput:
    """What the subscribers of a system received.

    Attributes:
        name, load, payload, verdict: see `RoundTrip`.
        messages_per_s, bytes_per_s: received during the load, the median over the runs.
        sent: number of messages, of all runs.
        found: of each counted anomaly, how many messages show it, of all runs.
    """

    name: str
    load: str
    payload: int
    messages_per_s: float
    bytes_per_s: float
    sent: int
    found: Mapping[str, int]
    verdict: str


@dataclass(frozen=True, slots=True)
class SystemFate:
    """What became of the messages of a load.

    Attributes:
        name, load, verdict: see `RoundTrip`.
        acked: number of messages, of all runs.
        received: number of receives of all clients, of all runs, copies and probes of the final read included.
        found: of each counted anomaly, how many messages show it, of all runs.
        why: why that is allowed, and what makes the verdict unknown.
    """

    name: str
    load: str
    acked: int
    received: int
    found: Mapping[str, int]
    verdict: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """All that is told, in the order of the sweep; the floor first.

    Attributes:
        round_trips, throughputs, fates: of the cells that have a run.
        lacking: the other cells, in words.
    """

    round_trips: Sequence[RoundTrip]
    throughputs: Sequence[Throughput]
    fates: Sequence[SystemFate]
    lacking: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """Return it as the content of a JSON file."""
        return asdict(self)
