"""The anomalies of applications in slow, plain Python, written from their definitions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pipeline_story import Pipeline

Row = dict[str, Any]
Found = tuple[Any, ...]


class Application:
    """What an application was given, and what it wrote."""

    def __init__(self, story: Pipeline) -> None:
        self.operations = story.operations
        rows = [{**self.operations[row["op"]], "key": None, **row} for row in story.messages]
        self.inputs: dict[int, Row] = {}
        for row in rows:
            if row["direction"] == "sent":
                self.inputs.setdefault(row["value"], row)
        self.kept: dict[int, set[int]] = {}
        self.outputs: dict[tuple[str, int, int], Row] = {}
        for row in rows:
            if row["direction"] != "received":
                continue
            if row["topic"] == "in":
                self.kept.setdefault(row["value"], set()).add(row["position"])
                continue
            place = row["topic"], row["partition"], row["position"]
            if place not in self.outputs or row["received_ns"] < self.outputs[place]["received_ns"]:
                self.outputs[place] = row
        observations = [{**self.operations[row["op"]], **row} for row in story.observations]
        self.bounds = {
            row["topic"]: (row["value"], row["position"]) for row in observations if row["kind"] == "outputs"
        }
        self.unordered = {row["topic"] for row in observations if row["kind"] == "unordered"}
        for row in observations:
            if row["kind"] == "gone":
                self.outputs.pop((row["topic"], row["partition"], row["position"]), None)
        self.own = {
            kind: {row["value"]: row["position"] for row in observations if row["kind"] == kind}
            for kind in ("least-outputs", "most-outputs")
        }
        self.fed = next(row for row in observations if row["kind"] == "fed")
        self.commits = [row for row in observations if row["kind"] == "progressed"]

    def of(self, value: int, topic: str) -> list[Row]:
        """Return the outputs of an input in a topic, in order of time."""
        mine = [row for row in self.outputs.values() if row["value"] == value and row["topic"] == topic]
        return sorted(mine, key=lambda row: (row["received_ns"], row["position"]))

    def least(self, value: int, topic: str) -> int:
        """Return how many outputs an input must have in a topic."""
        return int(self.own["least-outputs"].get(value, self.bounds[topic][0]))

    def most(self, value: int, topic: str) -> int:
        """Return how many outputs an input may have in a topic."""
        return int(self.own["most-outputs"].get(value, self.bounds[topic][1]))

    def done(self, value: int) -> bool:
        partition, position = self.inputs[value]["partition"], min(self.kept[value])
        if self.commits:
            return any(
                (row["value"] or 0) <= position < row["position"]
                for row in self.commits
                if row["partition"] == partition
            )
        return any(
            min(self.kept[other]) > position
            for other, row in self.inputs.items()
            if other in self.kept
            and row["partition"] == partition
            and any(self.of(other, topic) for topic in self.bounds)
        )

    def findings(self) -> set[Found]:
        """Return everything that the definitions find."""
        return {finding for case in (missing, repeated, disordered, invented, late) for finding in case(self)}


def missing(run: Application) -> Iterator[Found]:
    for value in run.inputs:
        needed = any(run.least(value, topic) for topic in run.bounds)
        if value not in run.kept:
            continue
        counts = {topic: len(run.of(value, topic)) for topic in run.bounds}
        if needed and not any(counts.values()):
            yield "unprocessed" if run.done(value) else "not-drained", value
        elif any(counts[topic] < run.least(value, topic) * len(run.kept[value]) for topic in run.bounds):
            yield "half-processed", value


def repeated(run: Application) -> Iterator[Found]:
    for value in run.inputs:
        copies = max(1, len(run.kept.get(value, ())))
        for topic in run.bounds:
            for row in run.of(value, topic)[run.most(value, topic) * copies :]:
                yield "processed-twice", topic, row["partition"], row["position"]


def disordered(run: Application) -> Iterator[Found]:
    if not run.fed["value"]:
        return
    for topic in run.bounds.keys() - run.unordered:
        written = [row for row in run.outputs.values() if row["topic"] == topic and row["value"] in run.kept]
        first: dict[int, Row] = {}
        for row in sorted(written, key=lambda row: (row["partition"], row["position"])):
            if row["value"] in run.inputs:
                first.setdefault(row["value"], row)
        groups: dict[Found, list[Row]] = {}
        for value, row in first.items():
            given = run.inputs[value]
            groups.setdefault((given["partition"], given["key"], row["partition"]), []).append(row)
        for rows in groups.values():
            ordered = sorted(rows, key=lambda row: row["position"])
            for before, row in pairwise(ordered):
                if min(run.kept[row["value"]]) < min(run.kept[before["value"]]):
                    yield "out-of-order", topic, row["partition"], row["position"]


def invented(run: Application) -> Iterator[Found]:
    for (topic, partition, position), row in run.outputs.items():
        if row["value"] not in run.inputs:
            yield "made-up", topic, partition, position


def late(run: Application) -> Iterator[Found]:
    within = run.fed["position"]
    for value, given in run.inputs.items():
        for topic in run.bounds if within is not None else ():
            outputs = run.of(value, topic)
            if given["outcome"] == "ok" and outputs and outputs[0]["received_ns"] - given["end_ns"] > within:
                yield "too-late", topic, outputs[0]["partition"], outputs[0]["position"]
