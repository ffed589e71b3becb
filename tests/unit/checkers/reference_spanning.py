"""Anomalies of transactions and consumer groups in slow, plain Python, written from their definitions.

Only for small histories (`story.Story`). Each function yields (anomaly, place, what identifies the finding).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from story import Story

from chaoskit.model.audit import Bounds

Row = dict[str, Any]
Found = tuple[Any, ...]


class Whole:
    """A story with every message joined to its operation, and every operation to its transaction's end."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.operations = story.operations
        self.rows = [{**self.operations[row["op"]], "key": None, **row} for row in story.messages]
        self.told = [{**self.operations[row["op"]], **row} for row in story.observations]
        self.places = sorted({(row["topic"], row["partition"]) for row in (*self.rows, *self.told)})

    def end(self, txn: int | None) -> Row | None:
        ends = [row for row in self.operations if row["txn"] == txn and row["f"] in ("end", "txn")]
        return ends[-1] if txn is not None and ends else None

    def fate(self, row: Row) -> str:
        """Say what became of an operation: ok, fail, info, or aborted with its transaction."""
        if row["txn"] is None:
            return str(row["outcome"])
        end = self.end(row["txn"])
        if end is None or end["outcome"] == "fail":
            return "aborted"
        return str(row["outcome"]) if end["outcome"] == "ok" else "info"

    def at(self, place: Found, direction: str) -> list[Row]:
        return [row for row in self.rows if (row["topic"], row["partition"]) == place and row["direction"] == direction]

    def told_at(self, place: Found, kind: str) -> list[Row]:
        return [row for row in self.told if (row["topic"], row["partition"]) == place and row["kind"] == kind]

    def first_send(self, place: Found, value: int) -> Row | None:
        return next((row for row in self.at(place, "sent") if row["value"] == value), None)

    def findings(self) -> set[Found]:
        """Return everything that the definitions find."""
        cases = (dirty_reads, torn, zombies, regressions, beyond, passed_over, reprocessed, doubles)
        return {finding for case in cases for finding in case(self)}


def dirty_reads(run: Whole) -> Iterator[Found]:
    for place in run.places:
        for read in run.at(place, "received"):
            send = run.first_send(place, read["value"])
            if send is None or send["txn"] is None:
                continue
            end = run.end(send["txn"])
            if run.fate(send) == "aborted":
                yield "aborted-read", place, read["value"]
            elif end is not None and (read["op"] == send["op"] or read["received_ns"] < end["start_ns"]):
                yield "precommitted-read", place, read["value"]


def torn(run: Whole) -> Iterator[Found]:
    present, absent = set(), set()
    for place in run.places:
        audit = run.story.audits.get(f"{place[0]}/{place[1]}")
        reads = run.at(place, "received")
        kept = {row["value"] for row in reads}
        if audit and audit.complete:
            kept = {row["value"] for row in reads if row["client"] == "auditor"}
        highest = max((row["position"] for row in reads), default=-1)
        for send in run.at(place, "sent"):
            if send["txn"] is None or run.fate(send) == "aborted" or send["outcome"] != "ok":
                continue
            if send["value"] in kept:
                present.add(send["txn"])
            elif (audit and audit.complete) or (send["position"] is not None and send["position"] <= highest):
                absent.add(send["txn"])
    for txn in present & absent:
        yield "torn-transaction", txn


def zombies(run: Whole) -> Iterator[Found]:
    for place in run.places:
        visible = {row["value"] for row in run.at(place, "received")}
        for send in run.at(place, "sent"):
            name, _, number = send["client"].partition("#")
            end = run.end(send["txn"])
            for fence in run.operations:
                other, _, later = fence["client"].partition("#")
                if fence["f"] == "init" and fence["outcome"] == "ok" and other == name and int(later) > int(number):
                    after = send["start_ns"] > fence["end_ns"] or (end and end["start_ns"] > fence["end_ns"])
                    if after and send["value"] in visible:
                        yield "zombie-write", place, send["value"]


def regressions(run: Whole) -> Iterator[Found]:
    for place in run.places:
        commits = [row for row in run.told_at(place, "committed") if row["outcome"] == "ok"]
        for commit in commits:
            members = {row["process"] for row in acting(run, place) if row["name"] == commit["name"]}
            for before in commits:
                sought = any(
                    row["f"] == "seek"
                    and row["process"] in members
                    and before["start_ns"] < row["start_ns"] < commit["start_ns"]
                    for row in run.operations
                )
                ordered = before["end_ns"] < commit["start_ns"] and before["name"] == commit["name"]
                if ordered and not sought and before["position"] > commit["position"]:
                    yield "commit-regression", place, commit["op"]


def acting(run: Whole, place: Found) -> list[Row]:
    commits = [row for row in run.told_at(place, "committed") if row["outcome"] == "ok"]
    return commits + run.told_at(place, "assigned")


def beyond(run: Whole) -> Iterator[Found]:
    for place in run.places:
        reads = run.at(place, "received")
        for commit in run.told_at(place, "committed"):
            members = {row["process"] for row in acting(run, place) if row["name"] == commit["name"]}
            had = {
                row["position"]
                for row in reads
                if row["process"] in members and row["received_ns"] <= commit["start_ns"]
            }
            missed = {row["position"] for row in reads if row["position"] < commit["position"]} - had
            if commit["outcome"] == "ok" and missed:
                yield "commit-beyond", place, commit["op"]


def passed_over(run: Whole) -> Iterator[Found]:
    for place in run.places:
        everybody = {row["process"] for row in acting(run, place)}
        unknown = {row["process"] for row in run.operations if row["f"] == "subscribe"} - everybody
        for group in {row["name"] for row in acting(run, place)}:
            members = {row["process"] for row in acting(run, place) if row["name"] == group}
            reads = [row for row in run.at(place, "received") if row["process"] in members]
            had = [row for row in run.at(place, "received") if row["process"] in members | unknown]
            for value, position in in_the_log(run, place):
                below = [row for row in reads if row["position"] < position]
                above = [row for row in reads if row["position"] > position]
                given = any(row["position"] == position or row["value"] == value for row in had)
                if below and above and not given and not moved(run, place, group, below, above):
                    yield "passed-over", place, position


def in_the_log(run: Whole, place: Found) -> set[tuple[int, int]]:
    """Say which acknowledged messages are where at the end."""
    acked = {row["value"] for row in run.at(place, "sent") if run.fate(row) == "ok"}
    audit = run.story.audits.get(f"{place[0]}/{place[1]}")
    whole, low = bool(audit and audit.complete), audit.low if isinstance(audit, Bounds) else 0
    reads = [row for row in run.at(place, "received") if row["client"] == "auditor" or not whole]
    return {(row["value"], row["position"]) for row in reads if row["value"] in acked and row["position"] >= low}


def moved(run: Whole, place: Found, group: str, below: list[Row], above: list[Row]) -> bool:
    """Say whether a member sought another position between these, or may have been given more before it ended."""
    before = min((-row["position"], row["received_ns"], row["process"]) for row in below)
    after = min((row["position"], row["received_ns"]) for row in above)
    members = {row["process"] for row in acting(run, place) if row["name"] == group}
    times = sorted((before[1], after[1]))
    seeks = [row for row in run.operations if row["f"] == "seek" and row["process"] in members]
    if any(times[0] <= row["start_ns"] <= times[1] for row in seeks):
        return True
    own = [row for row in run.at(place, "received") if row["process"] == before[2]]
    killed = any(row["process"] == before[2] and row["f"] == "poll" and row["end_ns"] is None for row in run.operations)
    committed = any(row["name"] == group for row in run.told_at(place, "committed"))
    return not committed and killed and max(row["position"] for row in own) == -before[0]


def reprocessed(run: Whole) -> Iterator[Found]:
    for place in run.places:
        for group in {row["name"] for row in acting(run, place)}:
            members = {row["process"] for row in acting(run, place) if row["name"] == group}
            reads = [row for row in run.at(place, "received") if row["process"] in members]
            for position in {row["position"] for row in reads} - {None}:
                receipts = sorted(
                    (row for row in reads if row["position"] == position), key=lambda row: row["received_ns"]
                )
                for before, row in pairwise(receipts):
                    if before["process"] != row["process"] and before["value"] == row["value"]:
                        yield "reprocessed", place, row["op"], position


def doubles(run: Whole) -> Iterator[Found]:
    for place in run.places:
        owned = []
        for row in run.told_at(place, "assigned"):
            moves = [
                operation["start_ns"]
                for operation in run.operations
                if operation["process"] == row["process"]
                and operation["f"] in ("assign", "revoke", "close")
                and operation["op"] > row["op"]
            ]
            if moves and row["value"] is not None and moves[0] > row["end_ns"]:
                owned.append((row, row["end_ns"], moves[0]))
        for row, from_ns, until_ns in owned:
            for other, other_from_ns, other_until_ns in owned:
                same = (row["name"], row["value"]) == (other["name"], other["value"])
                earlier = (other_from_ns, other["op"]) < (from_ns, row["op"])
                if row is not other and same and earlier and other_until_ns > from_ns and until_ns > from_ns:
                    yield "double-assignment", place, row["op"]
