"""Topics: the names under which a workload's messages are stored."""

from __future__ import annotations

from dataclasses import dataclass

from chaoskit.contract.workloads.datamodel import LOG, DataModel

DEAD = ".dead"
"""Added to the name of a queue: the name of the queue of its dead letters."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a workload.

    Attributes:
        name: its name in the system or in the workload, depending on the context.
        model: its data model.
        partitions: number of partitions; None if they are created during the run, as with ledgers.
        replication: number of copies of each message.
        kind: the system's own type of it, such as `quorum`, if it has several.
        settings: what a queue is to do, with names of `chaoskit.model.observations.queue.QUEUE_SETTINGS`.
        exchange: the system's own way of routing messages to a queue; empty: directly.
        stored: whether the system stores it; otherwise it only has a name in the history.
    """

    name: str
    model: DataModel = LOG
    partitions: int | None = 1
    replication: int = 1
    kind: str = ""
    settings: tuple[tuple[str, int], ...] = ()
    exchange: str = ""
    stored: bool = True

    @property
    def places(self) -> list[tuple[str, int]]:
        """Its known partitions."""
        return [(self.name, number) for number in range(self.partitions or 0)]
