"""Which consumers a queue delivers to, in slow, plain Python, written from docs/anomalies.md."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from reference_queue import SECOND, Queues, Row, this


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
    for number, following in enumerate([*held[1:], (end_ns, end_ns)] if held else []):
        gap_ns = max(until_ns for _, until_ns in held[: number + 1]), following[0]
        quiet = []
        for session in members(q):
            begin, from_ns = began(q, session)
            span = max(from_ns, gap_ns[0]), min(q.session_end(session, "start_ns"), gap_ns[1])
            quiet.append((span[1] - span[0], span, begin))
        length_ns, span, begin = max(quiet, key=lambda stretch: stretch[0], default=(0, (0, 0), {}))
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


def members(q: Queues) -> list[tuple[int, int]]:
    """Return the sessions of consumers of this queue."""
    subscribed = {row["process"] for row in q.told if row["kind"] == "subscribed"}
    here = {row["process"] for row in q.all} | subscribed
    anybody = not subscribed and not any(q.settings.get(name) for name in ("dead-letters", "dead-letters-of"))
    return [session for session in q.sessions() if anybody or session[0] in here]


def began(q: Queues, session: tuple[int, int]) -> tuple[Row, int]:
    """Return the operation with which a session began, and from when on it was one."""
    process, number = session
    if number:
        begin = q.enders(process)[number - 1]
        return begin, begin["done_ns"]
    first = next(row for row in q.operations if row["process"] == process)
    return first, first["start_ns"]


def quiet_spans(q: Queues) -> list[tuple[int, int]]:
    """Return the times, longer than the bound, without a receive and without a fault."""
    end_ns, bound_ns = q.story.load_end_ns or 0, q.story.bound_ns
    times = sorted(row["received_ns"] for row in q.all if 0 < row["received_ns"] < end_ns)
    spans = []
    for from_ns, until_ns in pairwise([0, *times, end_ns]):
        begin_ns = from_ns
        for fault in sorted(q.story.faults, key=lambda other: other.start_ns) if until_ns - from_ns > bound_ns else ():
            spans.append((begin_ns, min(fault.start_ns, until_ns)))
            begin_ns = max(begin_ns, until_ns if fault.healed_ns is None else fault.healed_ns + bound_ns)
        spans.append((begin_ns, until_ns))
    return [span for span in spans if span[1] - span[0] > bound_ns]


def has_room(q: Queues, session: tuple[int, int], at_ns: int) -> bool:
    prefetch = q.settings.get("prefetch", 0)
    took = [row for row in q.all if q.session(row["op"]) == session and row["received_ns"] <= at_ns]
    settled = [row for row in q.settles if q.session(row["op"]) == session and row["start_ns"] <= at_ns]
    return prefetch < 1 or q.settled_by_receipt or len(took) - len(settled) < prefetch


def asked(q: Queues, process: int, from_ns: int, until_ns: int) -> tuple[int, int]:
    """Return from when to when a process asked for messages at the end of an interval, without a pause of 30 s."""
    asks = [row["start_ns"] for row in q.operations if row["process"] == process and row["f"] in ("receive", "poll")]
    asks = sorted(at for at in asks if from_ns <= at < until_ns)
    run = asks[-1:]
    for at in reversed(asks[:-1]):
        if run[0] - at > 30 * SECOND:
            break
        run.insert(0, at)
    return (run[0], run[-1]) if run else (from_ns, from_ns)


def stuck(q: Queues) -> Iterator[Row]:
    delay_ns, bound_ns = q.ttl_ns("delay") or 0, q.story.bound_ns
    for gap in quiet_spans(q):
        spans = {
            session: (max(began(q, session)[1], gap[0]), min(q.session_end(session, "start_ns"), gap[1]))
            for session in members(q)
        }
        silent = spans
        spans = {session: asked(q, session[0], *span) for session, span in silent.items()}
        attentive = {session: span for session, span in spans.items() if span[1] > span[0]}
        room = {session: has_room(q, session, silent[session][0]) for session in attentive}
        if q.settings.get("single-active", 0) > 0 and not all(room.values()):
            continue
        able = [session for session, span in attentive.items() if room[session] and span[1] - span[0] > bound_ns]
        for session in sorted(able, key=lambda session: attentive[session][0] - attentive[session][1])[:1]:
            from_ns, until_ns = attentive[session]
            waits = [
                (stored_ns + delay_ns, value)
                for value in q.values
                if (stored_ns := q.stored_ns(value)) is not None
                and stored_ns + delay_ns + bound_ns < until_ns
                and q.of(value, q.receives)
                and q.first(value)["received_ns"] >= silent[session][1]
            ]
            if waits:
                ready_ns, value = min(waits)
                yield {"value": value, "op": began(q, session)[0]["op"], "at_ns": max(from_ns, ready_ns) + bound_ns}
