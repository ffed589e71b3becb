"""Why a queue may have dropped a message by itself: what its declared settings allow.

Each function is told values (ids) and returns whether the reason may hold for each. It is no proof that it did: when in
doubt it says yes, so that no loss is reported that a setting explains. What this misses is a loss among the messages
that may just as well have been dropped.
"""

from __future__ import annotations

import numpy as np

from checkers.columns import NONE, Flags, Ints
from checkers.queue_view import MS, NACKED, QueueView

DROPPED_DETAILS = (
    "a consumer rejected it",
    "it may have been returned too often",
    "the queue may have been too long",
    "it may have expired",
)


def reasons(view: QueueView, values: Ints) -> Ints:
    """Return an index into `DROPPED_DETAILS` for each value, `NONE` if the queue had no reason to drop it."""
    known = [view.refused[values], _exceeded(view, values), _overflowed(view, values), _expired(view, values)]
    return np.select(known, range(len(known)), NONE)


def waits(view: QueueView, values: Ints) -> Flags:
    """Return whether each message may not have been due for delivery when the final read began."""
    delay = view.declared.get("delay")
    if delay is None:
        return np.zeros(values.size, np.bool_)
    stored_ns = view.stored_ns[values]
    waiting: Flags = (stored_ns == NONE) | (stored_ns + delay * MS >= view.audit_ns[0])
    return waiting


def _expired(view: QueueView, values: Ints) -> Flags:
    """It was not there, and its time to live may have ended before the final read had ended."""
    lives = view.declared.get("message-ttl")
    if lives is None:
        return np.zeros(values.size, np.bool_)
    expired: Flags = view.sent_ns[values] + lives * MS <= view.audit_ns[1]
    expired |= (view.sent_ns[values] == NONE) | (view.audit_ns[1] == NONE)
    return expired


def _overflowed(view: QueueView, values: Ints) -> Flags:
    """So many others may have been behind it that the queue was too long: those whose send had not ended when its own
    began, and those that may have been put back to the end."""
    length = view.declared.get("max-length")
    if length is None:
        return np.zeros(values.size, np.bool_)
    _, ends_ns = view.send_times_ns
    later = ends_ns.size - np.searchsorted(ends_ns, view.sent_ns[values], side="right") - 1
    again = np.bincount(view.log.intact_values, minlength=view.log.values.size) > 1
    again[view.settles.value[(view.settles.kind == NACKED) & (view.settles.value != NONE)]] = True
    overflowed: Flags = later + np.count_nonzero(again) >= length
    return overflowed


def _exceeded(view: QueueView, values: Ints) -> Flags:
    """It may have been returned as often as the delivery limit says."""
    limit = view.declared.get("delivery-limit")
    if limit is None:
        return np.zeros(values.size, np.bool_)
    exceeded: Flags = view.returns(values, np.iinfo(np.int64).max) >= max(limit, 1)
    return exceeded
