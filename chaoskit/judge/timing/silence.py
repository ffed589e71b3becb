"""Silences: how long a reader received nothing of a partition that had acknowledged messages for it.

A silence begins with the reader's last receive, or with the first acknowledgement of a message that was sent after it,
if that is later, and ends with the next receive. So a reader that is slow and never pauses has none, nor has one that
waits for a load that stands still. Messages that were acknowledged and rolled back count as sent.
"""

from __future__ import annotations

import numpy as np

from chaoskit.base.latency import Ints
from chaoskit.base.waits import Waits

_LEAST_NS = 10_000_000
"""Shorter pauses between two receives are not looked at, unless there is no longer one."""


def silences(received_ns: Ints, since_ns: int, start_ns: Ints, done_ns: Ints, load_end_ns: int) -> Waits:
    """Return the silences of one reader in a partition; none after the end of the load, when readers leave.

    Args:
        received_ns: when it received messages, in any order.
        since_ns: since when it reads.
        start_ns, done_ns: when the acknowledged sends began, and when they could be received, in any order.
        load_end_ns: the end of the load.
    """
    heard_ns = np.sort(received_ns[(received_ns > since_ns) & (received_ns < load_end_ns)])
    edges_ns = np.concatenate(([since_ns], heard_ns, [max(load_end_ns, since_ns)]))
    paused_ns = np.diff(edges_ns)
    long = np.flatnonzero(paused_ns >= min(_LEAST_NS, int(paused_ns.max())))
    begins_ns, ends_ns = edges_ns[long], edges_ns[long + 1]
    order = np.argsort(start_ns, kind="stable")
    # the earliest acknowledgement among the sends that began at this one or later
    first_done_ns = np.append(np.minimum.accumulate(done_ns[order][::-1])[::-1], np.iinfo(np.int64).max)
    sent_ns = first_done_ns[np.searchsorted(start_ns[order], begins_ns)]
    begins_ns = np.maximum(begins_ns, sent_ns)
    lasted = begins_ns < ends_ns
    last_is_open = bool(lasted.size and lasted[-1] and long[-1] == paused_ns.size - 1)
    return Waits(begins_ns[lasted], ends_ns[lasted], answered=not last_is_open)
