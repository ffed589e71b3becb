"""Compacted logs in slow, plain Python, from their definitions: which messages may be gone, and what may be back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from notation import Row
from reference_evidence import other, this

from chaoskit.model.compaction import Compaction
from chaoskit.model.operation import AUDITOR

if TYPE_CHECKING:
    from reference import Reference


class Kept:
    """What the compaction of a log may have removed."""

    def __init__(self, run: Reference, compaction: Compaction) -> None:
        self.run = run
        self.compaction = compaction
        self.complete = run.audit is not None and run.audit.complete

    @cached_property
    def read_ns(self) -> int:
        """When the final read was over; if there was none, the run."""
        rows = [row for row in self.run.operations if row["client"] == AUDITOR] or self.run.operations
        return max((max(row["start_ns"], row["end_ns"] or 0) for row in rows), default=0)

    @cached_property
    def messages(self) -> dict[int, Row]:
        """Return by value: key, start and first acknowledgement, position, whether it deletes."""
        messages: dict[int, Row] = {}
        for send in self.run.sends:
            value = send["value"]
            sends = [row for row in self.run.sends if row["value"] == value]
            acks = [row for row in sends if row["outcome"] == "ok"]
            received = [row for row in self.run.intact if row["value"] == value]
            places = [row["position"] for row in received] + [self.run.acked_position(send) for send in sends]
            stored_ns = [row["received_ns"] for row in received if row["received_ns"] is not None]
            messages.setdefault(
                value,
                {
                    "value": value,
                    "key": send["key"],
                    "start_ns": send["start_ns"],
                    "done_ns": min([*stored_ns, *(row["end_ns"] for row in acks[:1])], default=math.inf),
                    "position": max((place for place in places if place is not None), default=None),
                    "deletes": send["f"] == "delete",
                    "acked": bool(acks),
                    "outcomes": {row["outcome"] for row in sends},
                },
            )
        return messages

    def of_key(self, message: Row) -> list[Row]:
        """Return the other messages of a key."""
        if message["key"] is None:
            return []
        return [
            other
            for other in self.messages.values()
            if other["key"] == message["key"] and other["value"] != message["value"]
        ]

    def place(self, message: Row) -> int | None:
        """Return the position of a message, unless the log was cut off below it later."""
        position = message["position"]
        below = [
            other
            for other in self.of_key(message)
            if other["position"] is not None and position is not None and other["position"] < position
        ]
        return None if any(other["start_ns"] > message["done_ns"] for other in below) else position

    def is_later(self, one: Row, other: Row) -> bool:
        """Say whether a message stands for another one of its key."""
        if one["start_ns"] > other["done_ns"]:
            return True
        above, below = self.place(one), self.place(other)
        return above is not None and below is not None and above > below

    def is_over(self, message: Row, at_ns: float) -> bool:
        """Say whether a message is a deletion that was kept for long enough."""
        return bool(message["deletes"]) and message["start_ns"] + self.compaction.retention_ns <= at_ns

    def may_be_gone(self, value: int, at_ns: float, standing: Iterable[int]) -> bool:
        """Say whether a message may be gone at a time, given those that stand for earlier ones."""
        message = self.messages.get(value)
        if message is None or message["key"] is None or at_ns < message["start_ns"] + self.compaction.lag_ns:
            return False
        return self.is_over(message, at_ns) or self.is_replaced(message, at_ns, standing)

    def is_replaced(self, message: Row, at_ns: float, standing: Iterable[int]) -> bool:
        """Say whether a later message that stands had been sent by a time."""
        standing = set(standing)
        return any(
            other["value"] in standing and other["start_ns"] <= at_ns and self.is_later(other, message)
            for other in self.of_key(message)
        )

    @cached_property
    def there(self) -> set[int]:
        """Return what the final read shows, or, if it is not complete, what anybody received."""
        if not self.complete:
            return set(self.run.visible)
        return {row["value"] for row in self.run.intact if row["client"] == AUDITOR}

    @cached_property
    def standing(self) -> set[int]:
        """Return what stands for earlier messages at the final read."""
        return {
            message["value"]
            for message in self.messages.values()
            if message["acked"]
            or message["value"] in self.there
            or (message["value"] in self.run.visible and self.is_over(message, self.read_ns))
        }

    @cached_property
    def open(self) -> set[int]:
        """Return the messages of which nobody knows whether they were stored."""
        return {
            value
            for value, message in self.messages.items()
            if not message["acked"] and "info" in message["outcomes"] and value not in self.run.visible
        }

    @cached_property
    def seen(self) -> set[int]:
        """Return what may stand for earlier messages while consumers read."""
        acked = {message["value"] for message in self.messages.values() if message["acked"]}
        return acked | self.run.visible | self.open

    def removable(self, value: int) -> bool:
        """Say whether a message may be gone at the final read."""
        return self.may_be_gone(value, self.read_ns, self.standing)

    def skippable(self, row: Row, at_ns: int) -> bool:
        """Say whether a consumer may not find a message any more, where it was read, at a time."""
        return self.is_copied(row) or self.may_be_gone(row["value"], at_ns, self.seen)

    def is_copied(self, row: Row) -> bool:
        """Say whether a message that was read is stored again at a higher position."""
        message = self.messages.get(row["value"])
        place = None if message is None else self.place(message)
        return place is not None and place > row["position"]

    def may_lack(self, row: Row) -> bool:
        """Say whether the log may lack a message at the final read, where it was read."""
        message = self.messages.get(row["value"])
        if message is None or self.place(message) is None:
            return False
        doubtful = self.may_be_gone(row["value"], self.read_ns, self.open)
        return self.is_copied(row) or self.removable(row["value"]) or doubtful

    def removed_at(self, position: int) -> bool:
        """Say whether a message that may be gone has this as its highest position."""
        return any(
            self.place(message) == position
            and (self.removable(value) or self.may_be_gone(value, self.read_ns, self.open))
            for value, message in self.messages.items()
        )

    def is_early(self, value: int) -> bool:
        """Say whether a later message stands for one that was removed too early."""
        message = self.messages[value]
        return self.is_replaced(message, self.read_ns, self.standing)

    def is_doubtful(self, value: int) -> bool:
        """Say whether a message whose outcome nobody knows may stand for this one."""
        message = self.messages[value]
        return message["start_ns"] + self.compaction.lag_ns <= self.read_ns and any(
            other["value"] in self.open and (not self.complete or self.is_over(other, self.read_ns))
            for other in self.of_key(message)
        )

    def went_meanwhile(self, message: Row, back: Row) -> bool:
        """Say whether a deletion may have gone while the final read was on its way from what is back to its place."""
        place = self.place(message)
        reads = [row for row in self.run.receives if row["client"] == AUDITOR and row["position"] is not None]
        behind = sorted((row for row in reads if place is not None and row["position"] > place), key=position_of)
        passed_ns = behind[0]["received_ns"] if behind else self.read_ns
        return bool(message["deletes"]) and passed_ns - back["received_ns"] >= self.compaction.retention_ns


def position_of(row: Row) -> int:
    return int(row["position"])


def resurrected(run: Reference) -> Iterator[Row]:
    kept = run.kept
    if kept is None or not kept.complete:
        return
    for key in {message["key"] for message in kept.messages.values()} - {None}:
        own = [message for message in kept.messages.values() if message["key"] == key]
        values = {message["value"] for message in own}
        shown = [
            row
            for row in run.intact
            if row["client"] == AUDITOR and row["position"] is not None and row["value"] in values
        ]
        if not shown:
            continue
        highest = max(row["position"] for row in shown)
        back = [row for row in shown if row["position"] == highest][-1]
        gone = [
            message
            for message in own
            if message["value"] not in kept.there
            and (message["value"] in run.visible or (message["deletes"] and message["acked"]))
            and message["value"] != back["value"]
            and kept.is_later(message, kept.messages[back["value"]])
            and not kept.went_meanwhile(message, back)
        ]
        if gone:
            latest = max(
                gone, key=lambda one: (kept.place(one) if kept.place(one) is not None else -1, one["start_ns"])
            )
            send = next(row for row in run.sends if row["value"] == latest["value"])
            words = "its key was deleted, and is there again"
            detail = words if latest["deletes"] else "it was read, and an older message of its key is back"
            place = {"position": kept.place(latest), "detail": detail}
            yield {**this(send, send["end_ns"]), **other(back), **place}


def compacted(run: Reference) -> Iterator[Row]:
    kept = run.kept
    if kept is None or not kept.complete:
        return
    for value, message in kept.messages.items():
        if message["acked"] and value not in kept.there and run.removable(value):
            send = next(row for row in run.sends if row["value"] == value)
            if send["position"] is None or run.audit is None or send["position"] >= run.audit.low:
                yield this(send, send["end_ns"])
