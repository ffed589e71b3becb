"""Histories of an application: one topic with two partitions that it reads, and topics that it writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from story import Row, Story, received, sent

from chaoskit.contract.checkers.checker import PartitionSetting
from chaoskit.contract.workloads.datamodel import LOG, OUTPUT
from chaoskit.model.audit import Bounds

MS, SECOND = 1_000_000, 1_000_000_000
IN, IN_1, OUT, OUT_2 = "in/0", "in/1", "out/0", "out2/0"


@dataclass
class Pipeline(Story):
    """A history of an application, in ms; topics whose name begins with `out` are what it writes."""

    unit_ns: int = MS
    bound_ns: int = 100 * MS

    def _setting(self, topic: str, partition: int) -> PartitionSetting:
        return replace(super()._setting(topic, partition), model=OUTPUT if topic.startswith("out") else LOG)

    def feed(self, values: Iterable[int], place: str = IN, *, key: str | None = None, kept: bool = True) -> None:
        """Inputs were sent and acknowledged, each at the position of its number."""
        values = list(values)
        for value in values:
            self.op("producer-0", "send", sent(place, value, value, key=key))
        if kept:
            self.op("auditor", "poll", *(received(place, value, value) for value in values), start=90_000)
        self.audits[place] = Bounds(0, 1000, complete=True)

    def write(self, *outputs: tuple[int, int], place: str = OUT, start: int | None = None) -> None:
        """Outputs of inputs were read, each at its position."""
        self.op("consumer-0", "poll", *(received(place, value, at) for value, at in outputs), start=start)

    def loses(self, *positions: int, place: str = OUT, start: int | None = None) -> None:
        """Outputs that were read before are gone."""
        rows = [observed("gone", place, position=position) for position in positions]
        self.op("rows-0", "look", *rows, start=start)

    def needs(self, value: int, least: int, most: int, place: str = IN) -> None:
        """An input has bounds of its own."""
        bounds = observed("least-outputs", place, value, least), observed("most-outputs", place, value, most)
        self.op("producer-0", "feed", *bounds)

    def in_database(self, host: str, forgets: str, place: str = OUT) -> None:
        """The outputs are rows of a database."""
        rows = observed("database-host", place, name=host), observed("database-setting", place, name=forgets)
        self.op("rows-0", "collect", *rows)

    def commit(
        self, next_position: int, start: int | None = None, place: str = IN, *, first: int | None = None
    ) -> None:
        """A group of the application's committed a position, or what is from another one on (`first`)."""
        row = observed("progressed", place, first, next_position, name="g")
        self.op("observer-0", "commit-seen", row, start=start, lasts=1)

    def owned(self, instance: int | None, start: int, place: str = IN) -> None:
        """An instance owns a partition from then on."""
        self.shared({instance: None}, start, place)

    def shared(self, held: Mapping[int | None, int | None], start: int, place: str = IN) -> None:
        """Some instances share a partition from then on; each holds so many inputs."""
        rows = [observed("owned", place, instance, count) for instance, count in held.items()]
        self.op("observer-0", "owner-seen", *rows, start=start, lasts=1)

    def ends(self, instance: int, at: int) -> None:
        """An instance was killed."""
        self.op(f"application-{instance}", "exit", outcome="info", start=at, lasts=1, error="signal SIGKILL")


def observed(kind: str, place: str, value: int | None = None, position: int | None = None, name: str = "") -> Row:
    """An observation of a pipeline."""
    topic, _, partition = place.partition("/")
    at = {"topic": topic, "partition": int(partition)}
    return {"kind": kind, **at, "name": name or None, "value": value, "position": position}


def pipeline(
    outputs: tuple[int, int] = (1, 1),
    sinks: tuple[str, ...] = (OUT,),
    *,
    ordered: bool = False,
    within: int | None = None,
    arranged: bool = True,
) -> Pipeline:
    """A pipeline that nobody has fed yet; `within` in ns; `arranged`: positions tell which output came first."""
    story = Pipeline()
    places = [observed("fed", place, value=int(ordered), position=within) for place in (IN, IN_1)]
    story.op("producer-0", "feed", *places)
    story.op("consumer-0", "collect", *(observed("outputs", sink, outputs[0], outputs[1]) for sink in sinks))
    if not arranged:
        story.op("consumer-0", "collect", *(observed("unordered", sink) for sink in sinks))
    return story
