"""The anomalies of applications that read queues in slow, plain Python, written from their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from queued_story import Queued

Row = dict[str, Any]
Found = tuple[Any, ...]
_HANDLES = ("given", "auto-ack", "ack", "nack", "reject")
_SETTLES = ("auto-ack", "ack", "reject")


class QueuedApplication:
    """What an application was given by a queue, and what it wrote."""

    def __init__(self, story: Queued) -> None:
        rows = [{**story.operations[row["op"]], **row} for row in story.messages]
        self.inputs = {row["value"] for row in rows if row["direction"] == "sent"}
        self.arrived = {row["value"] for row in rows if row["topic"] == "in" and row["direction"] == "received"}
        self.left = {row["value"] for row in rows if row["topic"] == "in" and row["client"] == "auditor"}
        self.outputs = [row for row in rows if row["topic"] != "in"]
        observations = [{**story.operations[row["op"]], **row} for row in story.observations]
        self.bounds = {
            row["topic"]: (row["value"], row["position"]) for row in observations if row["kind"] == "outputs"
        }
        self.worn = {
            row["value"]
            for row in rows
            if row["topic"] == "in"
            and row["direction"] == "received"
            and story.limit is not None
            and row["delivery"] >= story.limit
        }
        self.dead = {row["value"] for row in observations if row["kind"] == "dead-lettered"}
        self.acts = [row for row in observations if row["kind"] == "acted"]

    def settled(self, value: int) -> bool:
        """Return whether the last that is known of an input is that it was settled for good, or that it was given to
        an instance for the last time that its queue allows."""
        mine = [row for row in self.acts if row["value"] == value and row["name"] in _HANDLES]
        last = max(mine, key=lambda row: (row["start_ns"], row["op"]), default=None)
        return last is not None and (last["name"] in _SETTLES or value in self.worn)

    def deliveries(self, value: int, topic: str) -> list[bool]:
        """Return of each delivery of an output whether it is marked as redelivered."""
        return [row["delivery"] > 0 for row in self.outputs if row["value"] == value and row["topic"] == topic]

    def received(self, value: int, topic: str) -> int:
        """Return how many messages of an input the deliveries show: each that is not marked is another one."""
        marked = self.deliveries(value, topic)
        return max(marked.count(False), min(len(marked), 1))

    def sure(self, value: int, topic: str) -> int:
        """Return how many messages of an input there are at least, of those that came."""
        return max(self.received(value, topic), min(len(self.deliveries(value, topic)), self.confirmed(value, topic)))

    def possible(self, value: int, topic: str) -> int:
        """Return how many messages of an input may have come: each delivery is one, unless fewer were published."""
        published = sum(
            row["value"] == value and row["topic"] in (topic, "in") and row["name"] == "published" for row in self.acts
        )
        came = len(self.deliveries(value, topic))
        return came if published < self.sure(value, topic) else min(came, published)

    def confirmed(self, value: int, topic: str) -> int:
        """Return how many outputs were confirmed to the application."""
        return sum(row["value"] == value and row["topic"] == topic and row["name"] == "confirmed" for row in self.acts)

    def ambiguous(self, value: int, topic: str) -> bool:
        """Return whether an input has too many outputs, or too few, only if some deliveries are of other messages."""
        sure, possible = self.sure(value, topic), self.possible(value, topic)
        least, most = self.bounds[topic]
        return sure <= most < possible or (value in self.arrived and sure < least <= possible)

    def findings(self) -> Counter[Found]:
        """Return everything that the definitions find, and how often."""
        return Counter(self._findings())

    def _findings(self) -> Iterator[Found]:
        for value in self.inputs:
            yield from self._lacking(value)
            acts = {row["name"] for row in self.acts if row["value"] == value}
            if "published" in acts and "confirmed" not in acts:
                yield "unconfirmed-output", value
            for topic, (_, most) in self.bounds.items():
                for _ in range(self.sure(value, topic) - most):
                    yield "processed-twice", topic, value
                if self.confirmed(value, topic) > self.received(value, topic):
                    yield "unseen", topic, value
                if self.ambiguous(value, topic):
                    yield "ambiguous-output", topic, value
        for value in {row["value"] for row in self.outputs} - self.inputs:
            for topic in self.bounds:
                for _ in range(self.received(value, topic)):
                    yield "made-up", topic, value

    def _lacking(self, value: int) -> Iterator[Found]:
        done, left = self.settled(value), value in self.left
        stored = {topic: max(self.possible(value, topic), self.confirmed(value, topic)) for topic in self.bounds}
        lacking = any(stored[topic] < least for topic, (least, _) in self.bounds.items())
        if value not in self.arrived:
            return
        if any(least for least, _ in self.bounds.values()) and not any(stored.values()):
            if value in self.dead:
                yield "input-dead-lettered", value
            if left or (done and value not in self.dead):
                yield "not-drained" if left else "unprocessed", value
        elif lacking and (done or left):
            yield "half-processed", value
