"""The options of the queue workload."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from chaoskit.base.quantities import MILLISECOND, SECOND, Duration
from chaoskit.history.audits import Place
from workloads.common.options import LoadOptions, Rate


class QueueOptions(LoadOptions):
    """The options of this workload, in addition to those of every load; each consumer consumes all queues.

    Attributes:
        type: type of the queues.
        queues: number of queues, named `queue-0`, `queue-1`, ...; producers send to them in turn.
        replication: members of each replicated queue; default: 3, limited by the number of nodes.
        confirms: whether producers wait for confirms; otherwise a send counts as acknowledged once it was written.
        persistent: whether messages are persistent.
        prefetch: number of unsettled deliveries at which a consumer gets no more; 0: no limit.
        nack_every: each consumer refuses every Nth message of each producer, once, so that it is requeued; 0: none.
        leave_every: each consumer leaves every Nth message of each producer unsettled until it exits; 0: none.
        crash_every: how long a consumer runs before it exits abruptly and another one replaces it; default: forever.
        drain: how long nothing must arrive before the final read believes that a queue is empty; longer than the
            system keeps connections of clients that are gone.
    """

    rate: Rate = 1000
    in_flight: int = Field(default=1000, ge=1)
    type: Literal["quorum", "classic", "mirrored"] = "quorum"
    queues: int = Field(default=1, ge=1, le=1000)
    replication: int | None = Field(default=None, ge=1)
    confirms: bool = True
    persistent: bool = True
    prefetch: int = Field(default=100, ge=0, le=65_535)
    nack_every: int = Field(default=0, ge=0)
    leave_every: int = Field(default=0, ge=0)
    crash_every: Duration | None = Field(default=None, ge=100 * MILLISECOND)
    drain: Duration = Field(default=3 * SECOND, le=60 * SECOND)

    def queue_names(self) -> list[str]:
        """Return the names of all queues."""
        return [f"queue-{number}" for number in range(self.queues)]

    def all_partitions(self) -> list[Place]:
        return [(name, 0) for name in self.queue_names()]

    def routes(self) -> list[tuple[str, int, bytes | None]]:
        return [(name, 0, None) for name in self.queue_names()]
