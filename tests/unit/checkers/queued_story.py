"""Histories of an application that reads a queue, and writes one or two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipeline_story import observed
from story import Story, received, sent

from chaoskit.contract.checkers.checker import PartitionSetting
from chaoskit.contract.workloads.datamodel import OUTPUT, QUEUE
from chaoskit.model.audit import Drained

MS = 1_000_000
IN, OUT, OUT_2, DEAD = "in/0", "out/0", "out2/0", "in.dead/0"


@dataclass
class Queued(Story):
    """A history of an application, in ms; queues whose name begins with `out` are what it writes."""

    unit_ns: int = MS
    bound_ns: int = 100 * MS
    limit: int | None = None

    def _setting(self, topic: str, partition: int) -> PartitionSetting:
        setting = super()._setting(topic, partition)
        if topic.startswith("out"):
            return replace(setting, model=OUTPUT)
        limits = () if self.limit is None else (("delivery-limit", self.limit),)
        return replace(setting, model=QUEUE, imposed=limits)

    def feed(self, values: Iterable[int]) -> None:
        """Inputs were sent and confirmed."""
        for value in values:
            self.op("producer-0", "send", sent(IN, value))

    def given(self, value: int, start: int | None = None, *, instance: int = 1, before: int = 0) -> None:
        """An instance was given an input, which had been delivered so often before."""
        message = received(IN, value, None, delivery=before)
        self.op("observer-0", "receive", message, observed("acted", IN, value, instance, "given"), start=start)

    def settled(self, how: str, value: int, start: int | None = None, instance: int = 1) -> None:
        """An instance settled an input: `auto-ack`, `ack`, `nack` or `reject`."""
        f = "ack" if how == "auto-ack" else how
        rows = observed(f"{f}ed", IN, value), observed("acted", IN, value, instance, how)
        self.op("observer-0", f, *rows, start=start, lasts=1)

    def published(self, value: int, start: int | None = None, *, confirmed: bool = False, place: str = OUT) -> None:
        """An instance published an output, or that was confirmed."""
        act, f = ("confirmed", "confirm-seen") if confirmed else ("published", "publish-seen")
        self.op("observer-0", f, observed("acted", place, value, 1, act), start=start, lasts=1)

    def write(self, value: int, place: str = OUT, start: int | None = None, before: int = 0) -> None:
        """An output was received, which had been delivered so often before."""
        self.op("consumer-0", "receive", received(place, value, None, delivery=before), start=start)

    def dead(self, *values: int, reason: str = "rejected") -> None:
        """The final read found these inputs among the dead letters."""
        for value in values:
            death = observed("dead-lettered", IN, value, 1, reason)
            self.op("auditor", "receive", received(DEAD, value, None, delivery=0), death, start=90_000)
            self.op("auditor", "ack", observed("acked", DEAD, value), start=90_010)

    def left(self, *values: int) -> None:
        """The final read found these inputs."""
        for value in values:
            self.op("auditor", "receive", received(IN, value, None, delivery=1), start=90_000)
            self.op("auditor", "ack", observed("acked", IN, value), start=90_010)

    def ends(self, instance: int, at: int, how: str = "signal SIGKILL") -> None:
        """An instance ended."""
        self.op(f"application-{instance}", "exit", outcome="info", start=at, lasts=1, error=how)


def queued(outputs: tuple[int, int] = (1, 1), sinks: tuple[str, ...] = (OUT,)) -> Queued:
    """A pipeline of queues that nobody has fed yet."""
    story = Queued()
    story.op("producer-0", "feed", observed("fed", IN, value=0))
    story.op("consumer-0", "collect", *(observed("outputs", sink, *outputs) for sink in sinks))
    story.op("observer-0", "declare", observed("declared", IN, position=1, name="application"))
    story.audits = {place: Drained(complete=True) for place in (IN, *sinks)}
    return story
