"""Delivery that never comes: messages wait for a connected client that has room and asks for them, and nothing is
delivered for longer than the bound, while no fault holds that can have caused that, and none was healed within the
bound before (`hindrances`).

Judged from the start of the load to its end, if both are known. A client counts from when its subscription was
confirmed to what ended it; of one that was killed, to the last thing that is known of it. Groups of consumers are
judged as `stuck-partition`. What cannot be concluded: whether a client that never received anything from a partition
reads it, unless that was recorded.

Cost: O(n) for n receives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints, is_one_of
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.checkers.checker import FaultWindow, Part, PartitionSetting
from chaoskit.model.observations.group import ReadingBegan
from checkers.arrays.findings import coded, findings_of, merged
from checkers.arrays.models import DELIVERED, FEEDS
from checkers.arrays.rows import Operations
from checkers.arrays.view import LogView
from checkers.delivery.deliveries import ENDING, SubscriptionActivity, last_ns
from checkers.delivery.hindrances import Span, calm, concerned, hindering
from checkers.delivery.membership import delivered, pauses_ns
from checkers.delivery.open_transactions import OpenStay, holding, stays

_PAUSE_NS = 30_000_000_000
"""A client that does not ask for longer than this does not want anything; of what it asks, one in 10 s is known."""

STUCK = Anomaly(
    "stuck",
    "nothing was delivered to a connected client for longer than the bound, although messages were waiting for it",
    (*DELIVERED, *FEEDS),
    about=About.READING,
    shared=True,
)


def silences(
    setting: PartitionSetting, faults: Sequence[FaultWindow], received_ns: Ints, from_ns: int, until_ns: int
) -> Iterator[Span]:
    """Yield the times, longer than the bound, without a receive and without a fault that may have caused that.

    Args:
        setting: of the partition.
        faults: those that may, in order of time; see `checkers.delivery.hindrances`.
        received_ns: times of the receives, in any order.
        from_ns, until_ns: when a client was connected.
    """
    if setting.load_end_ns is None:
        return
    begin_ns, end_ns = max(from_ns, setting.load_start_ns), min(until_ns, setting.load_end_ns)
    if end_ns - begin_ns <= setting.bound_ns:
        return
    inside = np.sort(received_ns[(received_ns > begin_ns) & (received_ns < end_ns)])
    course = np.concatenate([[begin_ns], inside, [end_ns]])
    for at in np.flatnonzero(np.diff(course) > setting.bound_ns).tolist():
        left = calm(faults, int(course[at]), int(course[at + 1]), setting.bound_ns)
        yield from (span for span in left if span[1] - span[0] > setting.bound_ns)


def asked(rows: Operations, process: int, from_ns: int, until_ns: int) -> Span:
    """Return from when to when a process asked for messages at the end of an interval, without a pause."""
    asks = np.sort(rows.start_ns[rows.wants & (rows.process == process)])
    asks = asks[(asks >= from_ns) & (asks < until_ns)]
    if not asks.size:
        return from_ns, from_ns
    began = np.flatnonzero(np.diff(asks, prepend=asks[0] - _PAUSE_NS - 1) > _PAUSE_NS)[-1]
    return int(asks[began]), int(asks[-1])


def reader_cases(part: Part) -> pa.Table:
    """Find readers of a partition that received nothing for longer than the bound, although later messages were there.

    Evidence: `op` began to read; `other_op` had sent `value`, which was waiting when the bound ended, at `at_ns`.
    """
    view, rows = part.view(LogView), part.view(LogView).operations
    begins = np.flatnonzero(is_one_of(part.operations["f"], ["assign"]) & ~rows.audits)
    grouped = rows.process[is_one_of(part.operations["f"], ["subscribe"])]
    begins = begins[~np.isin(rows.process[begins], grouped)]
    began = rows.rows_of(ReadingBegan.ops(part.observations))
    here = np.unique(rows.process[np.concatenate([view.receives.operation, began])]) if begins.size else begins
    cases = []
    for begin in begins[np.isin(rows.process[begins], here)].tolist():
        process = rows.process[begin]
        own = rows.process[view.receives.operation] == process
        spans = _unpaused(part, view, begin)
        faults = hindering(part.setting, concerned(part.operations, view, [int(process)]), direct=True)
        received_ns = view.receives.received_ns[own]
        quiet = [silence for span in spans for silence in silences(part.setting, faults, received_ns, *span)]
        if quiet:
            cases.append(_unread(view, begin, own, quiet, open_=stays(part)))
    return merged(cases)


def subscription_cases(part: Part, subscription: SubscriptionActivity) -> pa.Table:
    """Find a subscription that delivered nothing to any of its connected consumers for longer than the bound, although
    messages that it had never delivered were there. Evidence: as of readers; `op` is the consumer's `subscribe`."""
    view, rows = part.view(LogView), part.view(LogView).operations
    joins = np.flatnonzero(
        is_one_of(part.operations["f"], ["subscribe"]) & np.isin(rows.process, subscription.processes)
    )
    own = np.isin(rows.process[view.receives.operation], subscription.processes)
    faults = hindering(part.setting, concerned(part.operations, view, subscription.processes.tolist()))
    cases = []
    for join in joins.tolist():
        span = int(rows.end_ns[join]), _ended_ns(part, view, join)
        if quiet := list(silences(part.setting, faults, view.receives.received_ns[own], *span)):
            cases.append(_unread(view, join, own, quiet, anywhere=True))
    return merged(cases)


def _unread(
    view: LogView, begin: int, own: Flags, quiet: list[Span], *, open_: Sequence[OpenStay] = (), anywhere: bool = False
) -> pa.Table:
    """Return a finding for each of these silences in which a message waited all the time, and with it the transactions
    that were still open before that message when the bound ended, and which the reader had not passed."""
    rows, reads = view.operations, view.receives
    known = delivered(view, np.unique(np.append(rows.process[reads.operation[own]], rows.process[begin])))
    acked = np.flatnonzero(known.send != NONE)
    acked = acked[view.acked[known.send[acked]]]
    acked_ns = rows.end_ns[view.sends.operation[known.send[acked]]]
    sends, positions, ends, words = [], [], [], []
    for silent_ns, over_ns in quiet:
        from_ns, until_ns = asked(rows, int(rows.process[begin]), silent_ns, over_ns)
        before = reads.position[own & (reads.received_ns <= silent_ns)].max(initial=NONE)
        ahead = anywhere | (known.position[acked] > before)
        early = acked_ns + view.setting.bound_ns < until_ns
        waiting = np.flatnonzero(ahead & early & (known.first_ns[acked] >= over_ns))[:1]
        if waiting.size and until_ns - from_ns > view.setting.bound_ns:
            sends.append(known.send[acked[waiting[0]]])
            positions.append(known.position[acked[waiting[0]]])
            ends.append(max(from_ns, int(acked_ns[waiting[0]])) + view.setting.bound_ns)
            words.append(_behind(holding(open_, int(before), positions[-1], ends[-1])))
    send, (details, detail) = np.array(sends, np.int64), coded(words)
    return findings_of(
        view.setting,
        STUCK,
        details=details,
        detail=detail,
        value=view.sends.value[send],
        position=np.array(positions, np.int64),
        op=np.full(send.size, rows.op[begin]),
        other_op=rows.op[view.sends.operation[send]],
        at_ns=np.array(ends, np.int64),
    )


def _behind(open_: Iterable[OpenStay]) -> str:
    names = [f"{stay.name} (from {stay.since_ns / 1e9:.1f} s on, from position {stay.position:,} on)" for stay in open_]
    return f"behind the open transaction of {' and '.join(names)}" if names else ""


def _unpaused(part: Part, view: LogView, begin: int) -> list[Span]:
    """Return when a reader read, without the time in which it was told to pause."""
    rows = view.operations
    from_ns, until_ns = int(rows.end_ns[begin]), _ended_ns(part, view, begin)
    pauses = pauses_ns(part.operations, rows, rows.process[begin : begin + 1])[:, 1:]
    edges = [from_ns, *pauses[(pauses[:, 1] > from_ns) & (pauses[:, 0] < until_ns)].ravel().tolist(), until_ns]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _ended_ns(part: Part, view: LogView, begin: int) -> int:
    """Return when a client that began to receive with this operation ended, or began anew."""
    rows, process = view.operations, view.operations.process[begin]
    following = np.flatnonzero(is_one_of(part.operations["f"], (*ENDING, "assign")) & (rows.process == process))
    following = following[following > begin]
    return int(rows.start_ns[following[0]]) if following.size else int(last_ns(rows)[process])
