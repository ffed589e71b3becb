"""Why a queue dropped a message by itself: what its declared settings allow, bounded by what was recorded.

Three answers: the queue had to drop it, it may have, or it cannot have. A message may have
expired only before its turn came; a queue was too long only while more sends had begun than messages had surely left;
a message was returned at most as often as sessions ended that can have had it.

Cost: O(n log n) for n messages, only where such a setting is declared and messages are missing.
"""

from __future__ import annotations

import numpy as np

from chaoskit.base.columns import NONE, Flags, Ints
from checkers.queue.course import dropped_at_least, longest, turns_ns
from checkers.queue.view import MS, QueueView

DROPPED_DETAILS = (
    "a consumer rejected it",
    "it was returned too often",
    "the queue was too long",
    "it expired",
)
DOUBT_DETAILS = (
    "it may have been returned too often",
    "the queue may have been too long",
    "it may have expired",
    "its delay may not have passed",
)


def fates(view: QueueView, values: Ints) -> tuple[Ints, Ints]:
    """Return for each value an index into `DROPPED_DETAILS`, if the queue had to drop it, and one into `DOUBT_DETAILS`,
    if it may have dropped it, or may still keep it; else `NONE`.

    Where what is dropped goes to dead letters, all that it may have dropped counts as dropped: it should be there.
    """
    turn_ns = turns_ns(view, values)
    limits = [_returned(view, values, turn_ns), _overflowed(view, values, turn_ns), _expired(view, values, turn_ns)]
    sure, possible = zip(*limits, strict=True)
    if view.has("dead-letters"):
        sure, possible = tuple(map(np.logical_or, sure, possible)), tuple(map(np.zeros_like, possible))
    known = [view.refused[values], *sure]
    reason = np.select(known, range(len(known)), NONE)
    open_ = [*possible, _waits(view, values)]
    return reason, np.where(reason == NONE, np.select(open_, range(len(open_)), NONE), NONE)


def _waits(view: QueueView, values: Ints) -> Flags:
    """Its delay may not have passed when the final read had ended."""
    delay = view.declared.get("delay")
    if delay is None:
        return _no(values)
    waiting: Flags = (view.audit_ns[1] == NONE) | (view.stored_ns[values] + delay * MS >= view.audit_ns[1])
    return waiting


def _expired(view: QueueView, values: Ints, turn_ns: Ints) -> tuple[Flags, Flags]:
    """Its time to live had passed when its turn came, or when the last consumer that had it ended.

    If no turn is known, nobody received anything behind it: it had to expire if its time had passed before the final
    read, and may have until that ended.
    """
    lives = view.declared.get("message-ttl")
    if lives is None:
        return _no(values), _no(values)
    begin_ns, end_ns = view.audit_ns
    sent_ns, stored_ns, fresh = view.sent_ns[values], view.stored_ns[values], ~view.log.visible[values]
    turned = (turn_ns != NONE) & (sent_ns != NONE) & fresh
    over = np.where(turned, sent_ns + lives * MS <= turn_ns, _passed(stored_ns, lives, begin_ns))
    sure: Flags = np.where(fresh, over & (not view.unordered), _passed(stored_ns, lives, view.released_ns[values]))
    in_time = (sent_ns == NONE) | (end_ns == NONE) | (sent_ns + lives * MS <= end_ns)
    return sure, in_time & ~sure & ~(turned & ~over)


def _passed(stored_ns: Ints, lives: int, at_ns: Ints | int) -> Flags:
    passed: Flags = (stored_ns != NONE) & (stored_ns + lives * MS <= at_ns)
    return passed


def _overflowed(view: QueueView, values: Ints, turn_ns: Ints) -> tuple[Flags, Flags]:
    """More messages were there at some time before its turn than the queue keeps.

    As many as surely did not fit had to go, the oldest first; of further ones nothing is known.
    """
    length = view.declared.get("max-length")
    if length is None:
        return _no(values), _no(values)
    may: Flags = longest(view, values, turn_ns) > length
    oldest = np.flatnonzero(may)[np.argsort(view.sent_ns[values[may]], kind="stable")]
    sure = _no(values)
    sure[oldest[: dropped_at_least(view, length)]] = True
    return sure, may & ~sure


def _returned(view: QueueView, values: Ints, turn_ns: Ints) -> tuple[Flags, Flags]:
    """It was returned more often than the delivery limit; or may have been returned as often as that, if consumers that
    ended had it unseen.

    A queue drops a message on its return number limit + 1.
    """
    limit = view.declared.get("delivery-limit")
    if limit is None:
        return _no(values), _no(values)
    known = view.known_returns[values]
    sure: Flags = known > limit
    return sure, (known + _unseen_returns(view, values, turn_ns) >= max(limit, 1)) & ~sure


def _unseen_returns(view: QueueView, values: Ints, turn_ns: Ints) -> Ints:
    """Return how many sessions ended that can have had each value without having looked at it.

    A session looks at its deliveries in order, so it has nothing unseen from before the last one that it received; and
    the first one to have a message got it before its turn had passed.
    """
    sessions, visible = view.sessions, view.log.visible[values]
    chosen = np.flatnonzero(sessions.consuming & sessions.open & view.returning)
    if not chosen.size:
        return np.zeros(values.size, np.int64)
    gone_ns, taken_ns = sessions.gone_ns[chosen], view.taken_ns[chosen]
    since_ns = np.where(visible, view.last_received_ns[values], view.sent_ns[values])
    ended = chosen.size - np.searchsorted(np.sort(gone_ns), since_ns)
    order = np.argsort(taken_ns, kind="stable")
    latest_ns = np.maximum.accumulate(gone_ns[order])
    early = np.searchsorted(taken_ns[order], turn_ns)
    begun = (early > 0) & (latest_ns[np.maximum(early, 1) - 1] >= since_ns)
    unseen: Ints = np.where(visible, np.maximum(ended - 1, 0), np.where((turn_ns == NONE) | begun, ended, 0))
    return unseen


def _no(values: Ints) -> Flags:
    return np.zeros(values.size, np.bool_)
