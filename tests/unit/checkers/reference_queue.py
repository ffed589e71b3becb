"""What the definitions of anomalies of queues speak of (docs/anomalies.md), in slow, plain Python.

Only for small histories (`story.Story`). The anomalies are in `reference_queues.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from story import Story

from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.operation import AUDITOR

Row = dict[str, Any]
MS, SECOND = 10**6, 10**9
ENDERS = ("subscribe", "crash", "close")
CONSUMING = ("receive", "ack", "nack", "reject")


class Queues:
    """One queue of a story, with every message and observation joined to its operation."""

    def __init__(self, story: Story, place: str) -> None:
        topic = place.partition("/")[0]
        self.story, self.operations = story, [{**row, "done_ns": done_ns(row)} for row in story.operations]
        messages = [{**self.operations[row["op"]], **row} for row in story.messages if row["topic"] == topic]
        self.told = [{**self.operations[row["op"]], **row} for row in story.observations if row["topic"] == topic]
        self.sends = [row for row in messages if row["direction"] == "sent"]
        self.all = [row for row in messages if row["direction"] == "received"]
        self.receives = [row for row in self.all if row["payload"] == "ok"]
        self.settings = {row["name"]: row["position"] for row in self.told if row["kind"] == "declared"}
        audit = story.audits.get(place)
        self.drained = audit is not None and audit.complete
        self.audits = [row for row in self.operations if row["f"] == "audit"]
        settling = [row for row in self.told if row["kind"] in ("acked", "nacked", "rejected")]
        self.settled_by_receipt = not settling and not any(row["f"] == "receive" for row in self.all)
        self.settles = [row for row in settling if row["outcome"] != "fail"]
        known = {row["value"] for row in (*self.sends, *self.receives)}
        self.settles_known = [row for row in self.settles if row["value"] in known]
        self.dead = [row for row in self.told if row["kind"] == "dead-lettered"]
        self.values = sorted(known)
        self.members = {
            row["process"]
            for row in self.operations
            if row["f"] in (*CONSUMING, "subscribe") and row["client"] != AUDITOR
        }

    def ttl_ns(self, name: str = "message-ttl") -> int | None:
        return self.settings[name] * MS if name in self.settings else None

    def enders(self, process: int) -> list[Row]:
        return [row for row in self.operations if row["process"] == process and is_ender(row)]

    def session(self, op: int) -> tuple[int, int]:
        """Return process and number of the session of an operation."""
        process = self.operations[op]["process"]
        return process, sum(row["op"] < op for row in self.enders(process))

    def session_end(self, session: tuple[int, int], when: str) -> int:
        """Return when the operation that ended a session began (`start_ns`), or had ended (`done_ns`)."""
        enders = self.enders(session[0])
        if session[1] < len(enders):
            return int(enders[session[1]][when])
        return max(int(row["done_ns"]) for row in self.operations if row["process"] == session[0])

    def sessions(self, *, closed: bool = False) -> list[tuple[int, int]]:
        """Return the sessions of consumers, without those after a `crash` or `close`, and those that had no connection,
        unless they are asked for."""
        sessions = [
            (process, number) for process in sorted(self.members) for number in range(len(self.enders(process)) + 1)
        ]
        return [session for session in sessions if closed or self.may_receive(*session)]

    def may_receive(self, process: int, number: int) -> bool:
        """Return whether a session may receive."""
        enders = self.enders(process)
        if number and enders[number - 1]["f"] in ("crash", "close"):
            return False
        return number == len(enders) or enders[number]["error"] != "not connected"

    def sure(self, settle: Row) -> bool:
        end_ns = self.session_end(self.session(settle["op"]), "start_ns")
        return bool(settle["outcome"] == "ok" and end_ns - settle["done_ns"] >= SECOND)

    def of(self, value: int, rows: list[Row]) -> list[Row]:
        return [row for row in rows if row["value"] == value]

    def kept(self, value: int) -> list[Row]:
        return [row for row in self.of(value, self.sends) if row["outcome"] != "fail"]

    def sent_ns(self, value: int) -> int | None:
        return min((row["start_ns"] for row in self.kept(value)), default=None)

    def stored_ns(self, value: int) -> int | None:
        kept = self.kept(value)
        return max(row["end_ns"] for row in kept) if kept and all(row["outcome"] == "ok" for row in kept) else None

    def acked_by_consumer(self, value: int, kind: str = "acked") -> bool:
        return any(row["kind"] == kind for row in self.of(value, self.settles))

    def first(self, value: int) -> Row:
        return min(self.of(value, self.receives), key=lambda row: row["received_ns"])

    def is_first(self, row: Row) -> bool:
        return row is self.first(row["value"])

    def unmarked_firsts(self) -> list[Row]:
        return [row for row in self.receives if self.is_first(row) and row["delivery"] == 0]

    def returns(self, value: int, until_ns: float) -> int:
        nacks = sum(bool(row["kind"] == "nacked") for row in self.of(value, self.settles))
        if self.settings.get("ends-free"):
            return nacks
        since_ns = self.sent_ns(value) or 0
        ends = [self.session_end(session, "done_ns") for session in self.sessions()]
        return nacks + sum(since_ns <= end_ns <= until_ns for end_ns in ends)

    @property
    def unordered(self) -> bool:
        return any(self.settings.get(name, 0) > 0 for name in ("priorities", "delay", "dead-letters-of"))

    def turn_ns(self, value: int) -> float:
        """Return when at the latest the turn of a message had come; infinite if that is not known."""
        stored_ns = self.stored_ns(value)
        behind = [
            self.first(other)["received_ns"]
            for other in self.values
            if self.of(other, self.receives)
            and (sent_ns := self.sent_ns(other)) is not None
            and (
                (stored_ns is not None and sent_ns > stored_ns)
                or (other > value and other >> PRODUCER_SHIFT == value >> PRODUCER_SHIFT)
            )
        ]
        return math.inf if self.unordered else min(behind, default=math.inf)

    def longest(self, value: int) -> int:
        """Return how many messages were there at most between the send of a message and its turn."""
        starts = sorted(row["start_ns"] for row in self.sends if row["outcome"] != "fail")
        nacked = {row["value"] for row in self.settles if row["kind"] == "nacked"}
        gone = [
            self.first(value)["received_ns"]
            for value in self.values
            if len(self.of(value, self.receives)) == 1 and value not in nacked and self.sent_ns(value) is not None
        ]
        lengths = [number + 1 - sum(at <= start for at in gone) for number, start in enumerate(starts)]
        first = sum(start < (self.sent_ns(value) or -1) for start in starts)
        last = max(sum(start <= self.turn_ns(value) for start in starts), first + 1)
        return max(lengths[min(first, len(lengths) - 1) : last], default=0) if lengths else 0

    def dropped_at_least(self, length: int) -> int:
        begin_ns = min((row["start_ns"] for row in self.audits), default=-1)
        stored = sorted(ns for value in self.values if (ns := self.stored_ns(value)) is not None and ns <= begin_ns)
        if self.settings.keys() & {"message-ttl", "delay"}:
            return 0
        pushed = [
            begin_ns if row["client"] == AUDITOR else self.pushed_after_ns(row)
            for row in self.receives
            if self.is_first(row)
        ]
        excess = [number + 1 - sum(at <= ns for at in pushed) - length for number, ns in enumerate(stored)]
        return int(max([0, *excess]))

    def known_returns(self, value: int) -> int:
        own = self.of(value, self.receives)
        nacks = sum(bool(row["kind"] == "nacked") for row in self.of(value, self.settles))
        settled = {self.session(row["op"]) for row in self.of(value, self.settles)}
        left = set() if self.settings.get("ends-free") else {self.session(row["op"]) for row in own} - settled
        deliveries = max([0, *(int(row["delivery"] or 0) for row in own)])
        if self.settings.get("nacks-free"):
            return max(len(left), deliveries)
        return max(nacks + len(left), deliveries + bool(own))

    def unseen_returns(self, value: int) -> int:
        """Return how many sessions ended that can have had a message without having looked at it."""
        if self.settings.get("ends-free"):
            return 0
        own, turn_ns = self.of(value, self.receives), self.turn_ns(value)
        sent_ns = self.sent_ns(value)
        since_ns = max(row["received_ns"] for row in own) if own else -1 if sent_ns is None else sent_ns
        ends = {session: self.session_end(session, "done_ns") for session in self.sessions()}
        ended = [session for session, end_ns in ends.items() if end_ns >= since_ns]
        if own:
            return max(len(ended) - 1, 0)
        taken = {
            session: max([-1, *(row["received_ns"] for row in self.all if self.session(row["op"]) == session)])
            for session in ended
        }
        begun = turn_ns == math.inf or any(at < turn_ns for at in taken.values())
        return len(ended) if begun else 0

    def expired(self, value: int) -> tuple[bool, bool]:
        """Return whether a message surely expired, and whether it may have."""
        lives_ns, sent_ns, stored_ns = self.ttl_ns(), self.sent_ns(value), self.stored_ns(value)
        if lives_ns is None:
            return False, False
        begin_ns = min((row["start_ns"] for row in self.audits), default=-1)
        end_ns = max((-1 if row["end_ns"] is None else row["end_ns"] for row in self.audits), default=-1)
        own, turn_ns = self.of(value, self.receives), self.turn_ns(value)
        in_time = sent_ns is None or end_ns == -1 or sent_ns + lives_ns <= end_ns
        if own:
            released_ns = max(self.session_end(self.session(row["op"]), "done_ns") for row in own)
            sure = stored_ns is not None and stored_ns + lives_ns <= released_ns
            return sure, in_time and not sure
        if sent_ns is not None and turn_ns != math.inf:
            over = sent_ns + lives_ns <= turn_ns
            return over and not self.unordered, in_time and over and self.unordered
        sure = stored_ns is not None and stored_ns + lives_ns <= begin_ns and not self.unordered
        return sure, in_time and not sure

    def fate(self, value: int, among: Sequence[int]) -> tuple[str, str]:
        """Return why the queue surely dropped one of some missing messages, and why it may have; or empty words."""
        limit, length = self.settings.get("delivery-limit"), self.settings.get("max-length")
        known = self.known_returns(value)
        returned = limit is not None and known > limit
        may_return = limit is not None and known + self.unseen_returns(value) >= max(limit, 1)
        too_long = [value for value in among if length is not None and self.longest(value) > length]
        too_long.sort(key=lambda value: -1 if (sent_ns := self.sent_ns(value)) is None else sent_ns)
        overflowed = value in too_long[: self.dropped_at_least(length or 0)]
        expired, may_expire = self.expired(value)
        may = [
            (may_return, "it may have been returned too often"),
            (value in too_long, "the queue may have been too long"),
            (may_expire, "it may have expired"),
        ]
        surely = [
            (self.acked_by_consumer(value, "rejected"), "a consumer rejected it"),
            (returned, "it was returned too often"),
            (overflowed, "the queue was too long"),
            (expired, "it expired"),
        ]
        if self.settings.get("dead-letters"):
            surely[1:] = [(so or maybe, word) for (so, word), (maybe, _) in zip(surely[1:], may, strict=True)]
            may = []
        reason = next((word for so, word in surely if so), "")
        doubts = [*may, (self.waits(value), "its delay may not have passed")]
        return reason, "" if reason else next((word for so, word in doubts if so), "")

    def waits(self, value: int) -> bool:
        delay_ns, stored_ns = self.ttl_ns("delay"), self.stored_ns(value)
        end_ns = max((-1 if row["end_ns"] is None else row["end_ns"] for row in self.audits), default=-1)
        return delay_ns is not None and (end_ns == -1 or (-1 if stored_ns is None else stored_ns) + delay_ns >= end_ns)

    def pushed_after_ns(self, receive: Row) -> int:
        """Return a time before which a message was not pushed; -1 if none is known."""
        process, number = session = self.session(receive["op"])
        joined = [row["start_ns"] for row in self.enders(process)[:number] if row["f"] == "subscribe"]
        joined_ns = joined[-1] if joined else -1
        place = [row for row in self.all if self.session(row["op"]) == session].index(receive)
        settles = [row for row in self.settles if self.session(row["op"]) == session]
        prefetch = self.settings.get("prefetch", 0)
        nth = place - prefetch
        if receive["client"] != AUDITOR and prefetch > 0 and 0 <= nth < len(settles):
            settle = settles[nth]
            if settle["op"] < receive["op"]:
                return int(max(joined_ns, settle["start_ns"]))
        return int(joined_ns)


def done_ns(row: Row) -> int:
    return int(max(row["start_ns"], -1 if row["end_ns"] is None else row["end_ns"]))


def is_ender(row: Row) -> bool:
    late = row["f"] in ("ack", "nack", "reject") and row["outcome"] == "fail"
    return row["f"] in ENDERS or (row["f"] in CONSUMING and row["outcome"] != "ok" and not late)


def this(row: Row, **more: Any) -> Row:
    return {"value": row["value"], "op": row["op"], "at_ns": row.get("received_ns"), **more}
