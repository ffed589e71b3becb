"""Reads partitions of logs, and records what it reads."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.clients.client import Consumer, GroupConsumer, Pausing, PositionLost
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.power import held
from chaoskit.load.receiver import NOBODY, Poller
from chaoskit.model.observations.group import Assigned, Committed, ReadingBegan
from chaoskit.model.outcome import OK
from chaoskit.model.place import Place


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

    @property
    def _member(self) -> GroupConsumer:
        return held(GroupConsumer, [self.source], "its consumer")

    def assign(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Read these partitions, by the workload's names, from the beginning."""
        places = [(self.recorder.in_system(topic), partition) for topic, partition in partitions]
        with self.recorder.operation("assign") as op:
            for topic, partition in places:
                self.recorder.observe(op, topic, partition, ReadingBegan())
            self.source.assign(places)

    def subscribe(self, topics: Sequence[str]) -> None:
        """Join the group that reads these topics, by the workload's names; every new assignment is recorded."""
        with self.recorder.operation("subscribe"):
            self._member.subscribe([self.recorder.in_system(topic) for topic in topics], self)

    def assigned(self, group: str, generation: int | None, partitions: Sequence[tuple[str, int]]) -> None:
        """Record a new assignment; see `chaoskit.contract.clients.client.Membership`."""
        self._group, self._generation = group, generation
        with self.recorder.operation("assign") as op:
            for topic, partition in partitions:
                self.recorder.observe(op, topic, partition, Assigned(self._group, self._generation))

    def revoked(self) -> None:
        """Commit a last time, and record that all partitions are revoked."""
        self.commit()
        self.recorder.complete(self.recorder.invoke("revoke"))

    def commit(self) -> None:
        """Commit the group's positions after the received messages."""
        reached = self._member.reached()
        if not reached:
            return
        op = self.recorder.invoke("commit")
        for topic, partition, position in reached:
            self.recorder.observe(op, topic, partition, Committed(self._group, self._generation, position))
        self.recorder.complete(op, *self._member.commit(reached))

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
            held(Pausing, [self.source], "its consumer").hold(paused=paused)
