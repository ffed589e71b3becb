"""Records what readers receive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from chaoskit.contract.client import Consumer, PositionLost
from chaoskit.history.audits import Place
from chaoskit.history.recorder import Delivery, Recorder
from chaoskit.history.schema import FAIL, OK, PRODUCER_SHIFT

_POLL_TIMEOUT_S = 0.1
_MESSAGES_MAX = 1000
NOBODY = -1
"""The number of no producer."""


class Source(Protocol):
    """A pollable source: a consumer of partitions, or of a subscription."""

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        """See `chaoskit.contract.client.Consumer`."""
        ...

    def close(self) -> None:
        """Disconnect."""
        ...


S = TypeVar("S", bound=Source)


class Poller(Generic[S]):
    """Polls a source and records every operation and every message.

    Args:
        recorder: the client's recorder.
        source: the source.
        f: name of the operation.
        prober: number of the producer of the probes; `NOBODY` if nothing needs to be counted.

    Attributes:
        error: the last error of the source; empty if there was none.
        probed: the partitions, by their names in the system, of which a probe of the final read was received.
        received: how many messages were received, by partition.
    """

    def __init__(self, recorder: Recorder, source: S, f: str, prober: int = NOBODY) -> None:
        self.source = source
        self.recorder = recorder
        self.error = ""
        self.probed: set[Place] = set()
        self.received: Counter[Place] = Counter()
        self._f = f
        self._prober = prober

    def poll(self) -> list[tuple[int, Delivery]]:
        """Receive what is available; return deliveries with their values."""
        op = self.recorder.invoke(self._f)
        deliveries, lost, error = self.source.poll(_POLL_TIMEOUT_S, _MESSAGES_MAX)
        received_ns, values = self.recorder.received(op, deliveries)
        self.recorder.complete(op, OK if error is None else FAIL, error, received_ns)
        self.error = error or self.error
        for each in lost:
            self.go_on(each)
        received = list(zip(values, deliveries, strict=True))
        if self._prober != NOBODY:
            self._count(received)
        return received

    def _count(self, received: Sequence[tuple[int, Delivery]]) -> None:
        for value, (topic, partition, *_) in received:
            self.received[topic, partition] += 1
            if value >> PRODUCER_SHIFT == self._prober:
                self.probed.add((topic, partition))

    def told(self) -> dict[str, Any]:
        """Return what a member of a group tells the harness; see `chaoskit.contract.workload.Control.result`."""
        return {
            "probed": sorted(map(self._named, self.probed)),
            "received": {self._named(place): count for place, count in self.received.items()},
        }

    def _named(self, place: Place) -> str:
        return f"{self.recorder.in_history(place[0])}/{place[1]}"

    def go_on(self, lost: PositionLost) -> None:
        """Do nothing: a source without positions cannot lose one."""

    def close(self) -> None:
        """Disconnect."""
        op = self.recorder.invoke("close")
        self.source.close()
        self.recorder.complete(op)


class Reader(Poller[Consumer]):
    """Reads partitions in order, either fixed ones or those assigned by a group.

    Args:
        recorder: the client's recorder.
        consumer: the consumer to poll.
        prober: see `Poller`.

    Attributes:
        thrown_off: partitions whose position the system had deleted, by their names in the system.
    """

    def __init__(self, recorder: Recorder, consumer: Consumer, prober: int = NOBODY) -> None:
        super().__init__(recorder, consumer, "poll", prober)
        self.thrown_off: list[Place] = []
        self._group = ""
        self._generation: int | None = None
        self._paused = False

    def assign(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Read these partitions, by the workload's names, from the beginning."""
        places = [(self.recorder.in_system(topic), partition) for topic, partition in partitions]
        with self.recorder.operation("assign") as op:
            for topic, partition in places:
                self.recorder.observed(op, "reading", topic, partition)
            self.source.assign(places)

    def subscribe(self, topics: Sequence[str]) -> None:
        """Join the group that reads these topics, by the workload's names; every new assignment is recorded."""
        with self.recorder.operation("subscribe"):
            self.source.subscribe([self.recorder.in_system(topic) for topic in topics], self)

    def assigned(self, group: str, generation: int | None, partitions: Sequence[tuple[str, int]]) -> None:
        """Record a new assignment; see `chaoskit.contract.client.Membership`."""
        self._group, self._generation = group, generation
        with self.recorder.operation("assign") as op:
            for topic, partition in partitions:
                self._observe(op, "assigned", topic, partition, None)

    def revoked(self) -> None:
        """Commit a last time, and record that all partitions are revoked."""
        self.commit()
        self.recorder.complete(self.recorder.invoke("revoke"))

    def commit(self) -> None:
        """Commit the group's positions after the received messages."""
        reached = self.source.reached()
        if not reached:
            return
        op = self.recorder.invoke("commit")
        for topic, partition, position in reached:
            self._observe(op, "committed", topic, partition, position)
        self.recorder.complete(op, *self.source.commit(reached))

    def go_on(self, lost: PositionLost) -> None:
        """Seek to the beginning of a partition whose position was lost."""
        topic, partition, cause = lost
        seek = self.recorder.invoke("seek")
        self.source.seek_to_beginning(topic, partition)
        self.recorder.complete(seek, OK, f"{cause} {self.recorder.in_history(topic)}/{partition}")
        self.thrown_off.append((topic, partition))

    def hold(self, *, paused: bool) -> None:
        """Pause, or go on; every change is recorded."""
        if paused == self._paused:
            return
        self._paused = paused
        with self.recorder.operation("pause" if paused else "unpause"):
            self.source.hold(paused=paused)

    def _observe(self, op: int, kind: str, topic: str, partition: int, position: int | None) -> None:
        self.recorder.observed(op, kind, topic, partition, name=self._group, value=self._generation, position=position)
