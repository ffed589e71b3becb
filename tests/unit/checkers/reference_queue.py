"""What the definitions of anomalies of queues speak of (docs/anomalies.md), in slow, plain Python.

Only for small histories (`story.Story`). The anomalies are in `reference_queues.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from story import Story

from chaoskit.history.schema import AUDITOR

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
        self.settles = [row for row in self.told if row["kind"] in ("acked", "nacked", "rejected")]
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
        return max(row["done_ns"] for row in self.operations if row["process"] == session[0])

    def sessions(self, *, closed: bool = False) -> list[tuple[int, int]]:
        """Return the sessions of consumers, without those after a `crash` or `close` unless they are asked for."""
        return [
            (process, number)
            for process in sorted(self.members)
            for number in range(len(self.enders(process)) + 1)
            if closed or number == 0 or self.enders(process)[number - 1]["f"] not in ("crash", "close")
        ]

    def sure(self, settle: Row) -> bool:
        end_ns = self.session_end(self.session(settle["op"]), "start_ns")
        return settle["outcome"] != "fail" and end_ns - settle["done_ns"] >= SECOND

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
        nacks = sum(row["kind"] == "nacked" for row in self.of(value, self.settles))
        since_ns = self.sent_ns(value) or 0
        ends = [self.session_end(session, "done_ns") for session in self.sessions()]
        return nacks + sum(since_ns <= end_ns <= until_ns for end_ns in ends)

    def reasons(self, value: int) -> Iterator[str]:
        """Yield why the queue may have dropped a message."""
        sent_ns = self.sent_ns(value)
        if self.acked_by_consumer(value, "rejected"):
            yield "a consumer rejected it"
        limit, length, ttl_ns = (self.settings.get("delivery-limit"), self.settings.get("max-length"), self.ttl_ns())
        if limit is not None and self.returns(value, math.inf) >= max(limit, 1):
            yield "it may have been returned too often"
        kept = [row for row in self.sends if row["outcome"] != "fail"]
        behind = [row for row in kept if row["outcome"] != "ok" or sent_ns is None or row["end_ns"] > sent_ns]
        again = {row["value"] for row in self.settles_known if row["kind"] == "nacked"}
        again |= {each for each in self.values if len(self.of(each, self.receives)) > 1}
        if length is not None and len(behind) - 1 + len(again) >= length:
            yield "the queue may have been too long"
        end_ns = max((-1 if row["end_ns"] is None else row["end_ns"] for row in self.audits), default=-1)
        if ttl_ns is not None and (sent_ns is None or end_ns == -1 or sent_ns + ttl_ns <= end_ns):
            yield "it may have expired"

    def waits(self, value: int) -> bool:
        delay_ns, stored_ns = self.ttl_ns("delay"), self.stored_ns(value)
        begins_ns = min((row["start_ns"] for row in self.audits), default=-1)
        return delay_ns is not None and (stored_ns is None or stored_ns + delay_ns >= begins_ns)

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
                return max(joined_ns, settle["start_ns"])
        return joined_ns


def done_ns(row: Row) -> int:
    return max(row["start_ns"], -1 if row["end_ns"] is None else row["end_ns"])


def is_ender(row: Row) -> bool:
    return row["f"] in ENDERS or (row["f"] in CONSUMING and row["outcome"] == "fail")
