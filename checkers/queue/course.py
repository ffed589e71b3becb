"""The course of a queue: when the turn of a message came, and how long the queue was.

Messages leave a queue in the order in which they were stored. So the turn of a message had come when one that is surely
behind it was received: one whose send began after its own was acknowledged, or a later one of its producer. A number of
messages is known from two sides: at most as many as sends had begun, at least as many as were acknowledged, without
those that had surely, or may have, left.

Cost: O(n log n) for n messages.
"""

from __future__ import annotations

import numpy as np

from chaoskit.base.columns import NONE, Ints
from chaoskit.model.message import PRODUCER_SHIFT
from checkers.queue.times import pushed_after_ns
from checkers.queue.view import QueueView

_NEVER = np.iinfo(np.int64).max
_BLOCKS_MAX = 2**16
"""The longest time of a queue is told to this part of its course."""


def turns_ns(view: QueueView, values: Ints) -> Ints:
    """Return when at the latest the turn of each value (id) had come; `NONE` if that is not known, as in queues that
    deliver in another order."""
    if view.unordered or not values.size:
        return np.full(values.size, NONE)
    behind = np.flatnonzero((view.received_ns != NONE) & (view.sent_ns != NONE))
    stored_ns = view.stored_ns[values]
    turn_ns = np.where(
        stored_ns == NONE, _NEVER, _first_after(view.sent_ns[behind], view.received_ns[behind], stored_ns)
    )
    producer, wanted = view.log.values.numbers(behind) >> PRODUCER_SHIFT, view.log.values.numbers(values)
    for one in np.unique(wanted >> PRODUCER_SHIFT):
        own, mine = behind[producer == one], wanted >> PRODUCER_SHIFT == one
        of_producer = _first_after(view.log.values.numbers(own), view.received_ns[own], wanted[mine])
        turn_ns[mine] = np.minimum(turn_ns[mine], of_producer)
    return np.where(turn_ns == _NEVER, NONE, turn_ns)


def longest(view: QueueView, values: Ints, turn_ns: Ints) -> Ints:
    """Return how many messages the queue had at most between the send of each value (id) and its turn."""
    starts_ns, _ = view.send_times_ns
    depth = np.arange(1, starts_ns.size + 1) - np.searchsorted(np.sort(_gone_ns(view)), starts_ns, side="right")
    if not depth.size:
        return np.zeros(values.size, np.int64)
    size = -(-depth.size // _BLOCKS_MAX)
    blocks = np.maximum.reduceat(depth, np.arange(0, depth.size, size))
    first = np.searchsorted(starts_ns, view.sent_ns[values]) // size
    until = np.searchsorted(starts_ns, np.where(turn_ns == NONE, _NEVER, turn_ns), side="right")
    last = np.maximum(-(-until // size), first + 1) - 1
    return _highest(blocks, np.minimum(first, blocks.size - 1), np.minimum(last, blocks.size - 1))


def dropped_at_least(view: QueueView, length: int) -> int:
    """Return how many messages a queue of that length had to drop before the final read; 0 where they may have left it
    for another reason."""
    stored_ns = np.sort(view.stored_ns[view.stored_ns != NONE])
    stored_ns = stored_ns[stored_ns <= view.audit_ns[0]]
    if "message-ttl" in view.declared or "delay" in view.declared or not stored_ns.size:
        return 0
    log = view.log
    pushed_ns = np.where(log.operations.audits[log.intact.operation], view.audit_ns[0], pushed_after_ns(view))
    pushed_ns = np.sort(pushed_ns[view.first])
    depth = np.arange(1, stored_ns.size + 1) - np.searchsorted(pushed_ns, stored_ns, side="right")
    return max(int(depth.max()) - length, 0)


def _first_after(numbers: Ints, received_ns: Ints, wanted: Ints) -> Ints:
    """Return the earliest time among those whose number is higher than each wanted one."""
    order = np.argsort(numbers, kind="stable")
    earliest = np.append(np.minimum.accumulate(received_ns[order][::-1])[::-1], _NEVER)
    first: Ints = earliest[np.searchsorted(numbers[order], wanted, side="right")]
    return first


def _gone_ns(view: QueueView) -> Ints:
    """Return when values that were received once, and so surely for good, had left the queue."""
    once = np.bincount(view.log.intact_values, minlength=view.log.values.size) == 1
    once[view.returned] = False
    once &= view.sent_ns != NONE
    gone_ns: Ints = view.received_ns[once]
    return gone_ns


def _highest(numbers: Ints, first: Ints, last: Ints) -> Ints:
    """Return the highest number of each range, both ends included."""
    levels = [numbers]
    while (1 << len(levels)) <= numbers.size:
        half = 1 << (len(levels) - 1)
        levels.append(np.maximum(levels[-1][:-half], levels[-1][half:]))
    level = np.frexp(last - first + 1)[1] - 1
    highest = np.zeros(first.size, np.int64)
    for one in np.unique(level):
        own = level == one
        highest[own] = np.maximum(levels[one][first[own]], levels[one][last[own] - (1 << one) + 1])
    return highest
