"""The anomalies of queues in slow, plain Python, written from docs/anomalies.md and not from the checker.

Each function yields the evidence of its findings in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reference_queue import MS, SECOND, Queues, Row, this
from reference_queue_activity import no_failover, stuck, two_active
from story import Story

from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.operation import AUDITOR


def unreceived(q: Queues) -> list[int]:
    return [
        value
        for value in (q.values if not q.settings.get("unrouted") else ())
        if any(row["outcome"] == "ok" for row in q.of(value, q.sends))
        and not (q.of(value, q.receives) or q.of(value, q.dead))
    ]


def unsettled(q: Queues) -> list[int]:
    return [
        value
        for value in (q.values if q.drained and not q.settled_by_receipt else ())
        if q.of(value, q.receives)
        and (q.settings.get("dead-letters-of") or q.of(value, q.sends))
        and not (q.acked_by_consumer(value) or q.of(value, q.dead))
    ]


def missing(q: Queues) -> list[int]:
    """What is gone, in the order in which a queue drops it if it was sent at one time."""
    return [*unreceived(q), *unsettled(q)]


def sent(q: Queues, value: int, **more: Any) -> Row:
    """Evidence: the first send that was acknowledged."""
    ack = next(row for row in q.of(value, q.sends) if row["outcome"] == "ok")
    return {"value": value, "op": ack["op"], "at_ns": ack["end_ns"], **more}


def lost(q: Queues) -> Iterator[Row]:
    for value in unreceived(q) if q.drained else ():
        if q.fate(value, missing(q)) == ("", ""):
            yield sent(q, value)


def unseen(q: Queues) -> Iterator[Row]:
    for value in unreceived(q):
        reason, doubt = q.fate(value, missing(q))
        if not reason and not q.drained:
            yield sent(q, value, detail="the queue was not drained")
        elif doubt:
            yield sent(q, value, detail=doubt)
    for value in unsettled(q):
        if doubt := q.fate(value, missing(q))[1]:
            yield this(q.of(value, q.receives)[-1], detail=doubt)


def unacked_vanished(q: Queues) -> Iterator[Row]:
    yield from (this(q.of(value, q.receives)[-1]) for value in unsettled(q) if q.fate(value, missing(q)) == ("", ""))


def dropped(q: Queues) -> Iterator[Row]:
    for value in missing(q) if q.drained and not q.settings.get("dead-letters") else ():
        reason, _ = q.fate(value, missing(q))
        if reason and reason != "a consumer rejected it" and q.of(value, q.sends):
            yield {"value": value, "op": q.of(value, q.sends)[0]["op"], "detail": reason}


def duplicate(q: Queues) -> Iterator[Row]:
    for row in q.receives:
        settled = [
            settlement["done_ns"]
            for settlement in q.of(row["value"], q.settles)
            if settlement["kind"] in ("acked", "rejected") and q.sure(settlement)
        ]
        dead = [death["done_ns"] for death in q.of(row["value"], q.dead)]
        copy = q.settings.get("dead-letters-of") and row["delivery"] == 0
        if dead and row["received_ns"] >= min(dead) + SECOND:
            yield this(row, detail="delivered after it was dead-lettered", since_ns=min(dead))
        elif settled and row["received_ns"] >= min(settled) + SECOND and not q.is_first(row) and not copy:
            yield this(row, detail="delivered after it was settled", since_ns=min(settled))
    for value in q.values:
        came = sorted((row["op"], row["done_ns"]) for row in q.of(value, q.dead))
        acked = [row["done_ns"] for row in q.of(value, q.settles) if row["kind"] == "acked" and q.sure(row)]
        if came and acked and came[0][1] >= min(acked) + SECOND:
            yield {"value": value, "op": came[0][0], "at_ns": came[0][1], "since_ns": min(acked)}


def again_unmarked(q: Queues, of_dead_letters: bool) -> Iterator[Row]:
    if bool(q.settings.get("dead-letters-of")) == of_dead_letters:
        yield from (this(row) for row in q.receives if not q.is_first(row) and row["delivery"] == 0)


def fifo_violation(q: Queues) -> Iterator[Row]:
    if any(q.settings.get(name) for name in ("priorities", "delay", "dead-letters-of")):
        return
    firsts = q.unmarked_firsts()
    for number, row in enumerate(firsts):
        before = [
            first["value"]
            for first in firsts[:number]
            if first["process"] == row["process"] and first["value"] >> PRODUCER_SHIFT == row["value"] >> PRODUCER_SHIFT
        ]
        if before and max(before) > row["value"]:
            yield this(row, other_value=max(before))


def known(q: Queues, value: int) -> bool:
    return bool(q.of(value, q.sends) and q.of(value, q.receives))


def dead_letter_missing(q: Queues) -> Iterator[Row]:
    whole = q.audits and all(row["outcome"] == "ok" for row in q.audits)
    missing = [
        value
        for value in (q.values if q.drained and whole and q.settings.get("dead-letters") else ())
        if (any(row["outcome"] == "ok" for row in q.of(value, q.sends)) or known(q, value))
        and not (q.of(value, q.receives) if q.settled_by_receipt else q.acked_by_consumer(value))
        and not q.of(value, q.dead)
    ]  # fmt: skip
    for value in missing:
        if reason := q.fate(value, missing)[0]:
            at_ns = dropped_ns(q, value, reason)
            op = q.of(value, q.sends)[0]["op"]
            yield {"value": value, "op": op, "since_ns": at_ns, "at_ns": at_ns + SECOND, "detail": reason}


def dropped_ns(q: Queues, value: int, reason: str) -> int:
    starts = sorted(row["start_ns"] for row in q.sends if row["outcome"] != "fail")
    settled = max([-1, *(int(row["done_ns"]) for row in q.of(value, q.settles))])
    ends = [q.session_end(q.session(row["op"]), "done_ns") for row in q.of(value, q.receives)]
    last = max([settled, *ends])
    sent_ns = q.sent_ns(value)
    stored_at_ns = max(-1 if sent_ns is None else sent_ns, -1 if (stored := q.stored_ns(value)) is None else stored)
    if reason == "a consumer rejected it":
        return max(settled, 0)
    if reason == "it was returned too often":
        return max(last, 0)
    if reason == "it expired":
        return max(stored_at_ns + (q.ttl_ns() or 0), last, 0)
    pusher = sum(start < (-1 if sent_ns is None else sent_ns) for start in starts) + q.settings.get("max-length", 0)
    return int(max(starts[pusher] if pusher < len(starts) else 0, stored_at_ns, last, 0))


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
        before = [send for send in q.sends if send["outcome"] != "fail" and send["start_ns"] < at_ns]
        refused = {settlement["value"] for settlement in q.settles_known if settlement["kind"] == "rejected"}
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
    if ttl_ns is None:
        return
    for row in first_dead(q):
        sent_ns = q.sent_ns(row["value"])
        if row["name"] == "expired" and sent_ns is not None and row["done_ns"] < sent_ns + ttl_ns - MS:
            yield this(row)


def expired_late(q: Queues) -> Iterator[Row]:
    ttl_ns = q.ttl_ns()
    if ttl_ns is None:
        return
    for row in q.unmarked_firsts():
        stored_ns, lives_ns = q.stored_ns(row["value"]), ttl_ns + (q.ttl_ns("delay") or 0)
        probe = any(send["client"] == AUDITOR for send in q.of(row["value"], q.sends))
        if stored_ns is not None and not probe and q.pushed_after_ns(row) >= stored_ns + lives_ns + SECOND:
            yield this(row)


def delivered_early(q: Queues) -> Iterator[Row]:
    delay_ns = q.ttl_ns("delay")
    if delay_ns is None:
        return
    for row in q.receives:
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
    depths = [row for row in q.told if row["kind"] == "depth"]
    if not depths or not q.drained or "delay" in q.settings:
        return
    least = waiting(q, depths[0]["start_ns"])
    most = sum(row["client"] == AUDITOR for row in q.all)
    may_drop = q.dead or {"message-ttl", "max-length"} & q.settings.keys()
    depth = depths[0]["position"]
    if depth < least or (depth > most and not may_drop):
        received = least if depth < least else most
        yield {"op": depths[0]["op"], "at_ns": depths[0]["start_ns"], "detail": f"told {depth}, received {received}"}


def delivery_limit_exceeded(q: Queues) -> Iterator[Row]:
    limit = q.settings.get("delivery-limit")
    if limit is None:
        return
    for row in q.receives:
        nacks = [
            settlement
            for settlement in q.of(row["value"], q.settles)
            if settlement["kind"] == "nacked" and q.sure(settlement)
        ]
        nacks.sort(key=lambda nack: nack["done_ns"])
        if len(nacks) > limit and row["received_ns"] >= nacks[limit]["done_ns"] + SECOND:
            yield this(row, other_op=nacks[limit]["op"])


CASES = {
    "unacked-vanished": unacked_vanished,
    "dropped": dropped,
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
    "stuck": stuck,
    "lost": lost,
    "unseen": unseen,
}


def findings(story: Story, place: str) -> dict[str, list[Row]]:
    """Return the evidence by anomaly, of one queue."""
    q = Queues(story, place)
    cases_of = {name: [*cases(q)] for name, cases in CASES.items()}
    return {name: rows for name, rows in cases_of.items() if rows}
