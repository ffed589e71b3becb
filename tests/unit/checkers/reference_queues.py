"""The anomalies of queues in slow, plain Python, written from docs/anomalies.md and not from the checker.

Only for small histories (`story.Story`). Each function yields the evidence of its findings in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from story import Story

from chaoskit.history.schema import AUDITOR, PRODUCER_SHIFT

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


def this(row: Row, **more: Any) -> Row:
    return {"value": row["value"], "op": row["op"], "at_ns": row.get("received_ns"), **more}


def lost(q: Queues) -> Iterator[Row]:
    for value in q.values if not q.settings.get("unrouted") else ():
        acks = [row for row in q.of(value, q.sends) if row["outcome"] == "ok"]
        found = q.of(value, q.receives) or q.of(value, q.dead)
        if acks and not found and not [*q.reasons(value)] and not q.waits(value):
            yield {"value": value, "op": acks[0]["op"], "at_ns": acks[0]["end_ns"]}


def unacked_vanished(q: Queues) -> Iterator[Row]:
    for value in q.values if q.drained and q.settles else ():
        received = q.of(value, q.receives)
        here = q.settings.get("dead-letters-of") or q.of(value, q.sends)
        settled = q.acked_by_consumer(value) or q.of(value, q.dead)
        if received and here and not settled and not [*q.reasons(value)]:
            yield this(received[-1])


def duplicate(q: Queues) -> Iterator[Row]:
    for row in q.receives:
        settled = [
            each["done_ns"]
            for each in q.of(row["value"], q.settles)
            if each["kind"] in ("acked", "rejected") and q.sure(each)
        ]
        dead = [each["done_ns"] for each in q.of(row["value"], q.dead)]
        copy = q.settings.get("dead-letters-of") and row["delivery"] == 0
        if dead and row["received_ns"] >= min(dead) + SECOND:
            yield this(row, detail="delivered after it was dead-lettered")
        elif settled and row["received_ns"] >= min(settled) + SECOND and not q.is_first(row) and not copy:
            yield this(row, detail="delivered after it was settled")


def again_unmarked(q: Queues, of_dead_letters: bool) -> Iterator[Row]:
    if bool(q.settings.get("dead-letters-of")) == of_dead_letters:
        yield from (this(row) for row in q.receives if not q.is_first(row) and row["delivery"] == 0)


def fifo_violation(q: Queues) -> Iterator[Row]:
    if any(q.settings.get(name) for name in ("priorities", "delay", "dead-letters-of")):
        return
    firsts = q.unmarked_firsts()
    for number, row in enumerate(firsts):
        before = [
            each["value"]
            for each in firsts[:number]
            if each["process"] == row["process"] and each["value"] >> PRODUCER_SHIFT == row["value"] >> PRODUCER_SHIFT
        ]
        if before and max(before) > row["value"]:
            yield this(row, other_value=max(before))


def dead_letter_missing(q: Queues) -> Iterator[Row]:
    whole = q.audits and all(row["outcome"] == "ok" for row in q.audits)
    for value in q.values if q.drained and whole and q.settings.get("dead-letters") else ():
        sends, received = q.of(value, q.sends), q.of(value, q.receives)
        there = [row for row in sends if row["outcome"] == "ok"] or (sends and received)
        settled = q.acked_by_consumer(value) if q.settles else received
        reasons = [*q.reasons(value)]
        if there and not settled and not q.of(value, q.dead) and reasons and not q.waits(value):
            at_ns = max((row["received_ns"] for row in received), default=sends[0]["end_ns"])
            yield {"value": value, "op": sends[0]["op"], "at_ns": at_ns, "detail": reasons[0]}


def first_dead(q: Queues) -> Iterator[Row]:
    for number, row in enumerate(q.dead):
        if all((row["value"], row["name"]) != (other["value"], other["name"]) for other in q.dead[:number]):
            yield {**row, "received_ns": row["done_ns"]}


def dead_letter_early(q: Queues) -> Iterator[Row]:
    killed = [q.session_end(session, "done_ns") for session in q.sessions() if session[1] == len(q.enders(session[0]))]
    for row in first_dead(q):
        value, at_ns = row["value"], row["done_ns"]
        if not q.kept(value):
            continue
        watched = all(at_ns < end_ns for end_ns in killed)
        before = [each for each in q.sends if each["outcome"] != "fail" and each["start_ns"] < at_ns]
        refused = {each["value"] for each in q.settles_known if each["kind"] == "rejected"}
        if row["name"] == "rejected" and watched and refused and value not in refused:
            yield this(row, detail="no consumer rejected it")
        limit = q.settings.get("delivery-limit", 0)
        if row["name"] == "delivery_limit" and watched and q.returns(value, at_ns) < limit:
            yield this(row, detail="it was returned less often than the delivery limit")
        if row["name"] == "maxlen" and len(before) < q.settings.get("max-length", 0):
            yield this(row, detail="the queue was never that long")


def dead_letter_mislabelled(q: Queues) -> Iterator[Row]:
    needs = {"expired": {"message-ttl", "delay"}, "maxlen": {"max-length"}, "delivery_limit": {"delivery-limit"}}
    for row in first_dead(q):
        if row["name"] == "other-queue":
            yield this(row, detail="it names another queue")
        elif row["name"] not in ("rejected", *needs):
            yield this(row, detail="its reason is unknown")
        elif row["name"] in needs and not needs[row["name"]] & q.settings.keys():
            yield this(row, detail="the queue was not declared with what this reason needs")
        elif row["position"] == 0:
            yield this(row, detail="it was dead-lettered less than once")


def expired_early(q: Queues) -> Iterator[Row]:
    ttl_ns = q.ttl_ns()
    for row in first_dead(q) if ttl_ns is not None else ():
        sent_ns = q.sent_ns(row["value"])
        if row["name"] == "expired" and sent_ns is not None and row["done_ns"] < sent_ns + ttl_ns - MS:
            yield this(row)


def expired_late(q: Queues) -> Iterator[Row]:
    ttl_ns = q.ttl_ns()
    for row in q.unmarked_firsts() if ttl_ns is not None else ():
        stored_ns = q.stored_ns(row["value"])
        if stored_ns is not None and q.pushed_after_ns(row) >= stored_ns + ttl_ns + SECOND:
            yield this(row)


def delivered_early(q: Queues) -> Iterator[Row]:
    delay_ns = q.ttl_ns("delay")
    for row in q.receives if delay_ns is not None else ():
        sent_ns = q.sent_ns(row["value"])
        if sent_ns is not None and row["received_ns"] < sent_ns + delay_ns - MS:
            yield this(row)


def priority_inversion(q: Queues) -> Iterator[Row]:
    if q.settings.get("priorities", 0) < 2 or not q.settings.get("prefetch"):
        return
    priority = {row["value"]: row["position"] for row in q.told if row["kind"] == "prioritised"}
    firsts = q.unmarked_firsts()
    for low in firsts:
        pushed_ns = q.pushed_after_ns(low)
        waited = [
            high
            for high in firsts
            if priority.get(high["value"], 0) > priority.get(low["value"], 0)
            and (stored_ns := q.stored_ns(high["value"])) is not None
            and stored_ns + SECOND <= pushed_ns
            and q.pushed_after_ns(high) > low["received_ns"]
        ]
        if low["client"] != AUDITOR and waited:
            yield this(low)


def unroutable_confirmed(q: Queues) -> Iterator[Row]:
    if q.settings.get("unrouted"):
        yield from (this(row, at_ns=row["end_ns"]) for row in q.sends if row["outcome"] == "ok")


def waiting(q: Queues, at_ns: int) -> int:
    stored = [q.stored_ns(row["value"]) for row in q.unmarked_firsts() if row["client"] == AUDITOR]
    return sum(stored_ns is not None and stored_ns < at_ns for stored_ns in stored)


def over_length(q: Queues) -> Iterator[Row]:
    length = q.settings.get("max-length")
    if length is None or not q.audits or "delay" in q.settings:
        return
    begins_ns = min(row["start_ns"] for row in q.audits)
    if (kept := waiting(q, begins_ns)) > length:
        op = q.audits[0]["op"]
        yield {"op": op, "at_ns": begins_ns, "detail": f"{kept} messages, and at most {length} are allowed"}


def depth_wrong(q: Queues) -> Iterator[Row]:
    told = [row for row in q.told if row["kind"] == "depth"]
    if not told or not q.drained or "delay" in q.settings:
        return
    least = waiting(q, told[0]["start_ns"])
    most = sum(row["client"] == AUDITOR for row in q.all)
    may_drop = q.dead or {"message-ttl", "max-length"} & q.settings.keys()
    depth = told[0]["position"]
    if depth < least or (depth > most and not may_drop):
        received = least if depth < least else most
        yield {"op": told[0]["op"], "at_ns": told[0]["start_ns"], "detail": f"told {depth}, received {received}"}


def delivery_limit_exceeded(q: Queues) -> Iterator[Row]:
    limit = q.settings.get("delivery-limit")
    for row in q.receives if limit is not None else ():
        nacks = [each for each in q.of(row["value"], q.settles) if each["kind"] == "nacked" and q.sure(each)]
        nacks.sort(key=lambda each: each["done_ns"])
        if len(nacks) > limit and row["received_ns"] >= nacks[limit]["done_ns"] + SECOND:
            yield this(row, other_op=nacks[limit]["op"])


def two_active(q: Queues) -> Iterator[Row]:
    if not q.settings.get("single-active"):
        return
    spans = []
    for process, number in q.sessions(closed=True):
        own = [row for row in q.receives if q.session(row["op"]) == (process, number)]
        if not own:
            continue
        sent = [sent_ns for row in own if (sent_ns := q.sent_ns(row["value"])) is not None]
        if sent and max(sent) > own[0]["received_ns"]:
            spans.append((own[0], own[0]["received_ns"], max(sent)))
    spans.sort(key=lambda span: span[1])
    for number, (row, from_ns, _) in enumerate(spans):
        if any(until_ns > from_ns for _, _, until_ns in spans[:number]):
            yield this(row)


def no_failover(q: Queues) -> Iterator[Row]:
    end_ns = q.story.load_end_ns
    if not q.settings.get("single-active") or "delay" in q.settings or end_ns is None:
        return
    held = []
    for session in q.sessions(closed=True):
        times = [row["received_ns"] for row in q.receives if q.session(row["op"]) == session]
        if times and min(times) < end_ns:
            held.append((min(times), q.session_end(session, "done_ns")))
    held.sort()
    here = {row["process"] for row in q.all} | {row["process"] for row in q.told if row["kind"] == "subscribed"}
    for number, following in enumerate([*held[1:], (end_ns, end_ns)] if held else []):
        gap_ns = max(until_ns for _, until_ns in held[: number + 1]), following[0]
        quiet = []
        for process, count in q.sessions():
            if process in here:
                begin = q.enders(process)[count - 1] if count else first_of(q, process)
                begin_ns = begin["done_ns"] if count else begin["start_ns"]
                span = max(begin_ns, gap_ns[0]), min(q.session_end((process, count), "start_ns"), gap_ns[1])
                quiet.append((span[1] - span[0], span, begin))
        length_ns, span, begin = max(quiet, key=lambda each: each[0], default=(0, (0, 0), {}))
        waits = [
            (stored_ns, value)
            for value in q.values
            if (stored_ns := q.stored_ns(value)) is not None and stored_ns <= span[0]
            and q.of(value, q.receives) and q.first(value)["received_ns"] >= span[1]
        ]  # fmt: skip
        calm = all(
            fault.start_ns > span[1] or (fault.healed_ns is not None and fault.healed_ns + q.story.bound_ns < span[0])
            for fault in q.story.faults
        )
        if gap_ns[1] - gap_ns[0] > 30 * SECOND and length_ns > 30 * SECOND and waits and calm:
            yield {"value": min(waits)[1], "op": begin["op"], "at_ns": span[0] + 30 * SECOND}


def first_of(q: Queues, process: int) -> Row:
    return next(row for row in q.operations if row["process"] == process)


CASES = {
    "unacked-vanished": unacked_vanished,
    "duplicate": duplicate,
    "redelivery-flag-missing": lambda q: again_unmarked(q, of_dead_letters=False),
    "fifo-violation": fifo_violation,
    "dead-letter-missing": dead_letter_missing,
    "dead-letter-early": dead_letter_early,
    "dead-letter-mislabelled": dead_letter_mislabelled,
    "dead-letter-twice": lambda q: again_unmarked(q, of_dead_letters=True),
    "expired-early": expired_early,
    "expired-late": expired_late,
    "delivered-early": delivered_early,
    "priority-inversion": priority_inversion,
    "unroutable-confirmed": unroutable_confirmed,
    "over-length": over_length,
    "depth-wrong": depth_wrong,
    "delivery-limit-exceeded": delivery_limit_exceeded,
    "two-active": two_active,
    "no-failover": no_failover,
}
"""By anomaly; `lost` is `unseen` if the queue was not drained."""


def findings(story: Story, place: str) -> dict[str, list[Row]]:
    """Return the evidence by anomaly, of one queue."""
    q = Queues(story, place)
    found = {name: [*cases(q)] for name, cases in CASES.items()}
    found["lost" if q.drained else "unseen"] = [*lost(q)]
    return {name: rows for name, rows in found.items() if rows}
