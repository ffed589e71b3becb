"""Topics: the names under which a workload's messages are kept."""

from __future__ import annotations

from dataclasses import dataclass

from chaoskit.history.models import DataModel


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a workload.

    Attributes:
        name: in the system, or in the workload, as is said where it is used.
        model: what it keeps.
        partitions: how many it has; None: they come into being during the run, such as ledgers.
        replication: copies of each message.
    """

    name: str
    model: DataModel = DataModel.LOG
    partitions: int | None = 1
    replication: int = 1

    @property
    def places(self) -> list[tuple[str, int]]:
        """Its partitions, as far as they are known."""
        return [(self.name, number) for number in range(self.partitions or 0)]
