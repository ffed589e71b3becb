"""The anomalies of queues in slow, plain Python, written from docs/anomalies.md and not from the checker.

Each function yields the evidence of its findings in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reference_queue import MS, SECOND, Queues, Row
from story import Story

from chaoskit.history.schema import AUDITOR, PRODUCER_SHIFT


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
        stored_ns, lives_ns = q.stored_ns(row["value"]), ttl_ns + (q.ttl_ns("delay") or 0)
        probe = any(send["client"] == AUDITOR for send in q.of(row["value"], q.sends))
        if stored_ns is not None and not probe and q.pushed_after_ns(row) >= stored_ns + lives_ns + SECOND:
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
