"""The log anomalies in slow, plain Python, written from their definitions and not from the checker.

Quadratic and worse; only for small histories. Each function yields the evidence of its findings in
any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

from notation import History, Row
from reference_compacted import Kept, compacted, resurrected
from reference_evidence import first_of_each, other, producer, sort_key, this, within
from reference_tiered import tiered

from chaoskit.model.compaction import Compaction
from chaoskit.model.operation import AUDITOR


class Reference:
    """One history with every message joined to its operation."""

    def __init__(self, history: History) -> None:
        operations = {row["op"]: row for row in history.operations}
        rows = [{**operations[row["op"]], "key": None, **row} for row in history.messages]
        self.operations = history.operations
        self.audit = history.setting.bounds
        self.sends = [row for row in rows if row["direction"] == "sent"]
        self.receives = [row for row in rows if row["direction"] == "received"]
        self.intact = [row for row in self.receives if row["payload"] == "ok"]
        self.visible = {row["value"] for row in self.intact}
        compaction = Compaction.of(history.setting.imposed)
        self.kept = None if compaction is None else Kept(self, compaction)

    def findings(self) -> dict[str, list[Row]]:
        """Return the evidence by anomaly, sorted, null columns left out."""
        findings: dict[str, list[Row]] = {}
        for name, cases in CASES.items():
            rows = [{key: value for key, value in row.items() if value is not None} for row in cases(self)]
            if rows:
                findings[name] = sorted(rows, key=sort_key)
        return findings

    def acked_position(self, send: Row) -> int | None:
        return send["position"] if send["outcome"] == "ok" else None

    def missing(self) -> list[Row]:
        """Return the sends that were acknowledged, are not there (any more), and did not expire."""
        return [send for send in self.gone() if not self.expiry(send)]

    def expiry(self, send: Row) -> str:
        """Return why a message that is gone may have been deleted from the beginning of the log; empty if not."""
        low = self.audit.low if self.audit else 0
        if send["position"] is None:
            why = "its position is unknown, it was read, and earlier positions expired"
            return why if low > 0 and send["value"] in self.visible else ""
        return "below the first position" if send["position"] < low else ""

    def gone(self) -> list[Row]:
        """Return the sends that were acknowledged and are not there (any more); of several sends of one message the
        first whose acknowledgement names a position, or else the first."""
        kept = self.visible
        if self.audit and self.audit.complete:
            kept = {row["value"] for row in self.intact if row["client"] == AUDITOR}
        acked = [send for send in self.sends if send["outcome"] == "ok"]
        sends = sorted(acked, key=lambda send: send["position"] is None)
        chosen = {send["value"]: send for send in reversed(sends)}
        return [
            send
            for send in acked
            if send is chosen[send["value"]] and send["value"] not in kept and not self.removable(send["value"])
        ]

    def removable(self, value: int) -> bool:
        """Say whether compaction may have removed a message by the end of the run."""
        return self.kept is not None and self.kept.removable(value)

    def needed(self, row: Row, at_ns: int | None) -> bool:
        """Say whether the message that was first read at a position must be found there at a time."""
        first = next(other for other in self.intact if other["position"] == row["position"])
        return self.kept is None or not self.kept.skippable(first, -1 if at_ns is None else at_ns)

    def proof_of_loss(self, send: Row) -> Row | None:
        """Return detail and other evidence, or None if nothing proves the send lost."""
        early = self.kept is not None and self.kept.is_early(send["value"])
        if self.kept and self.kept.is_doubtful(send["value"]) and not early:
            return None
        proof = self.proof_in_a_log(send)
        if proof and early and self.audit and self.audit.complete:
            return {**proof, "detail": "removed before its compaction lag was over"}
        return proof

    def proof_in_a_log(self, send: Row) -> Row | None:
        """Return detail and other evidence, or None if nothing proves the send lost, without regard to its key."""
        if send["position"] is None and self.audit and self.audit.low > 0:
            return None
        if self.audit and self.audit.complete:
            seen = send["value"] in self.visible
            detail = "read before, and gone at the final read" if seen else "audited"
            return {"detail": detail, "other_position": self.audit.end}
        read = [row for row in self.receives if row["position"] is not None]
        if send["position"] is not None:
            highest = max(read, key=lambda row: row["position"], default=None)
            if highest is None or highest["position"] < send["position"]:
                return None
            return {"detail": "below a position that was read", **other(highest)}
        followers = [
            row
            for row in self.sends
            if row["outcome"] == "ok"
            and row["value"] in self.visible
            and producer(row) == producer(send)
            and row["value"] > send["value"]
        ]
        if not followers:
            return None
        nearest = min(followers, key=lambda row: row["value"])
        return {"detail": "a later acknowledged message of its producer is visible", **other(nearest)}

    def same_session(self, before: Row, after: Row) -> bool:
        """Say whether one process received both and was not repositioned in between."""

        def repositionings(row: Row) -> int:
            end_ns = row["end_ns"] if row["end_ns"] is not None else row["start_ns"]
            return sum(
                operation["process"] == row["process"]
                and operation["f"] in ("assign", "subscribe", "seek")
                and operation["start_ns"] <= end_ns
                for operation in self.operations
            )

        return before["process"] == after["process"] and repositionings(before) == repositionings(after)

    def moves(self) -> Iterator[tuple[Row, Row]]:
        """Yield every two consecutive receives of one process in one session."""
        for process in {row["process"] for row in self.receives}:
            own = [row for row in self.receives if row["process"] == process and row["position"] is not None]
            yield from ((a, b) for a, b in pairwise(own) if self.same_session(a, b))


def lost(run: Reference) -> Iterator[Row]:
    for send in run.missing():
        proof = run.proof_of_loss(send)
        if proof:
            yield {**this(send, send["end_ns"]), **proof}


def unseen(run: Reference) -> Iterator[Row]:
    for send in run.missing():
        if not run.proof_of_loss(send):
            expired = send["position"] is None and run.audit is not None and run.audit.low > 0
            unknown = "its position is unknown and earlier positions expired"
            detail = unknown if expired else "the audit is incomplete"
            if run.kept and run.kept.is_doubtful(send["value"]) and not run.kept.is_early(send["value"]):
                detail = "a message of its key, of which nobody knows whether it was stored, may stand for it"
            yield {**this(send, send["end_ns"]), "detail": detail}


def expired(run: Reference) -> Iterator[Row]:
    for send in run.gone():
        if why := run.expiry(send):
            yield {**this(send, send["end_ns"]), "detail": why}


def failed_visible(run: Reference) -> Iterator[Row]:
    for send in run.sends:
        outcomes = {row["outcome"] for row in run.sends if row["value"] == send["value"]}
        if outcomes == {"fail"} and send["value"] in run.visible:
            first = next(row for row in run.intact if row["value"] == send["value"])
            evidence = this(send, first["received_ns"])
            yield {**evidence, "position": first["position"], "other_op": first["op"]}


def is_truncated(run: Reference, row: Row) -> bool:
    """Whether the log does not have a position any more that was read."""
    position = row["position"]
    if run.audit is None or position is None or position < run.audit.low:
        return False
    if position >= run.audit.end:
        asked_ns = min((row["start_ns"] for row in run.operations if row["f"] == "audit"), default=math.inf)
        return (row["received_ns"] or 0) < asked_ns
    here = [read for read in run.intact if read["position"] == position]
    if run.kept and (run.kept.removed_at(position) or any(run.kept.may_lack(read) for read in here)):
        return False
    return run.audit.complete and all(
        read["position"] != position for read in run.receives if read["client"] == AUDITOR
    )


def truncated(run: Reference) -> Iterator[Row]:
    reported = set()
    if run.audit is None:
        return
    for row in run.receives:
        if row["client"] == AUDITOR or not is_truncated(run, row) or (row["position"], row["value"]) in reported:
            continue
        reported.add((row["position"], row["value"]))
        detail = "high watermark went back below it" if row["position"] >= run.audit.end else "position is gone"
        yield {**this(row, row["received_ns"]), "other_position": run.audit.end, "detail": detail}


def duplicate(run: Reference) -> Iterator[Row]:
    for value in run.visible:
        copies: dict[int, Row] = {}
        for row in run.intact:
            if row["value"] == value and row["position"] is not None and not is_truncated(run, row):
                copies.setdefault(row["position"], row)
        in_order = [copies[position] for position in sorted(copies)]
        for copy in in_order[1:]:
            yield {**this(copy, copy["received_ns"]), **other(in_order[0])}
        positions = {row["position"] for row in run.intact if row["value"] == value} - {None}
        sends = [row for row in run.sends if row["value"] == value]
        if len(positions) == 1 and len(sends) == 1 and sends[0]["outcome"] == "ok":
            read = next(row for row in run.intact if row["value"] == value and row["position"] is not None)
            if sends[0]["position"] not in {None, read["position"]}:
                detail = {"detail": "acknowledged at one position, and read at another"}
                first = next(row for row in run.intact if row["position"] == read["position"])
                yield {**this(read, first["received_ns"]), **other(sends[0]), **detail, "op": first["op"]}


def redelivered(run: Reference) -> Iterator[Row]:
    for number, row in enumerate(run.receives):
        earlier = [
            before
            for before in run.receives[:number]
            if before["position"] == row["position"] is not None and run.same_session(before, row)
        ]
        if earlier:
            evidence = {**this(row, row["received_ns"]), **other(earlier[-1]), "other_position": None}
            yield {**evidence, "detail": within(earlier[-1], row)}


def offset_conflict(run: Reference) -> Iterator[Row]:
    received = [{**row, "kind": "received", "at": row["received_ns"]} for row in run.intact]
    acked = [{**row, "kind": "acknowledged", "at": row["end_ns"]} for row in run.sends if row["outcome"] == "ok"]
    observations = [row for row in received + acked if row["position"] is not None]
    for position in {row["position"] for row in observations}:
        first: dict[int, Row] = {}
        for row in observations:
            if row["position"] == position:
                first.setdefault(row["value"], row)
        by_evidence = sorted(first.values(), key=lambda row: (row["kind"] == "acknowledged", row["op"]))
        for row in by_evidence[1:]:
            yield {**this(row, row["at"]), **other(by_evidence[0]), "detail": row["kind"]}


def dropped(run: Reference) -> Iterator[Row]:
    for send in run.missing():
        if send["error"] == "duplicate" and run.proof_of_loss(send):
            yield this(send, send["end_ns"])


def placed_sends(run: Reference) -> list[Row]:
    """Return the first send of each value whose place in the log is known, with that place."""
    placed = []
    for number, send in enumerate(run.sends):
        if any(before["value"] == send["value"] for before in run.sends[:number]):
            continue
        read = [row["position"] for row in run.intact if row["value"] == send["value"]]
        known = [position for position in read if position is not None]
        position = min(known) if known else run.acked_position(send)
        if position is not None:
            placed.append({**send, "position": position})
    return placed


def order_violation(run: Reference) -> Iterator[Row]:
    placed = placed_sends(run)
    for later in placed:
        above = [
            row
            for row in placed
            if row["outcome"] == "ok" and row["end_ns"] < later["start_ns"] and row["position"] > later["position"]
        ]
        if above:
            highest = max(above, key=lambda row: (row["position"], -row["end_ns"], -row["op"]))
            detail = "acknowledged before the other was invoked"
            yield {**this(later, later["start_ns"]), **other(highest), "detail": detail}


def late(run: Reference) -> Iterator[Row]:
    moves = sorted(run.moves(), key=lambda move: move[1]["process"])
    for position in {row["position"] for row in run.intact if row["position"] is not None}:
        passes = [
            after
            for before, after in moves
            if before["position"] < position < after["position"]
            and after["received_ns"] is not None
            and run.needed({"position": position}, after["received_ns"])
        ]
        value = next(row["value"] for row in run.intact if row["position"] == position)
        send = next((row for row in run.sends if row["value"] == value and row["outcome"] == "ok"), None)
        if not passes or send is None:
            continue
        passer = min(passes, key=lambda row: (row["received_ns"], row["op"]))
        seen_ns = min(
            -1 if row["received_ns"] is None else row["received_ns"] for row in run.intact if row["value"] == value
        )
        if seen_ns > passer["received_ns"]:
            before = send["end_ns"] <= passer["received_ns"]
            detail = "acknowledged before it was passed" if before else "acknowledged after it was passed"
            evidence = {**this({**send, "position": position}, seen_ns), **other(passer), "other_value": None}
            yield {**evidence, "detail": detail}


def sequence_jump(run: Reference) -> Iterator[Row]:
    groups: dict[int, tuple[int, str | None]] = {}
    for send in run.sends:
        groups.setdefault(send["value"], (producer(send), send["key"]))
    acked = {send["value"] for send in run.sends if send["outcome"] == "ok" and not run.removable(send["value"])}
    reads = [row for row in run.intact if row["position"] is not None and row["value"] in groups]
    for number, row in enumerate(reads):
        session = [before for before in reads[:number] if run.same_session(before, row)]
        own = [before for before in session if groups[before["value"]] == groups[row["value"]]]
        if not own:
            continue
        last = own[-1]["value"]
        over = [value for value in acked if last < value < row["value"] and groups[value] == groups[row["value"]]]
        if over or row["value"] <= last:
            seen = "seen" if any(before["value"] == row["value"] for before in session) else "new"
            detail = f"{seen}, {'forward' if over else 'back'}"
            yield {**this(row, row["received_ns"]), **other(own[-1]), "detail": detail}


def reordered(run: Reference) -> Iterator[Row]:
    placed = placed_sends(run)
    for later in placed:
        above = [
            row
            for row in placed
            if (producer(row), row["key"]) == (producer(later), later["key"])
            and row["value"] < later["value"]
            and row["position"] > later["position"]
        ]
        if above:
            highest = max(above, key=lambda row: (row["position"], -row["value"]))
            completed = highest["outcome"] == "ok" and highest["end_ns"] < later["start_ns"]
            detail = "completed before the next was invoked" if completed else "one ordered pipeline"
            yield {**this(later, later["end_ns"]), **other(highest), "detail": detail}


def skipped(run: Reference) -> Iterator[Row]:
    for before, after in run.moves():
        passed = [
            row
            for row in run.intact
            if row["position"] is not None
            and before["position"] < row["position"] < after["position"]
            and run.needed(row, after["received_ns"])
        ]
        if passed:
            first = min(passed, key=lambda row: row["position"])
            evidence = {**this(after, after["received_ns"]), **other(first), "other_op": before["op"]}
            yield {**evidence, "detail": within(before, after)}


def rewound(run: Reference) -> Iterator[Row]:
    for before, after in run.moves():
        if after["position"] < before["position"]:
            yield {**this(after, after["received_ns"]), **other(before), "detail": within(before, after)}


def phantom(run: Reference) -> Iterator[Row]:
    sent = {row["value"] for row in run.sends}
    unsent = [row for row in run.intact if row["value"] not in sent]
    for row in first_of_each(unsent):
        yield {**this(row, row["received_ns"]), "detail": "not sent to this partition"}
    for row in first_of_each([row for row in run.receives if row["payload"] == "foreign"]):
        yield {**this(row, row["received_ns"]), "detail": "from another run"}


def corrupt(run: Reference) -> Iterator[Row]:
    for row in first_of_each([row for row in run.receives if row["payload"] == "corrupt"]):
        yield this(row, row["received_ns"])


CASES: dict[str, Callable[[Reference], Iterator[Row]]] = {
    "lost": lost,
    "unseen": unseen,
    "expired": expired,
    "resurrected": resurrected,
    "compacted": compacted,
    "tiered": tiered,
    "late": late,
    "dropped-as-duplicate": dropped,
    "failed-visible": failed_visible,
    "truncated": truncated,
    "duplicate": duplicate,
    "redelivered": redelivered,
    "offset-conflict": offset_conflict,
    "reordered": reordered,
    "order-violation": order_violation,
    "sequence-jump": sequence_jump,
    "skipped": skipped,
    "rewound": rewound,
    "phantom": phantom,
    "corrupt": corrupt,
}
