"""What a subscription that began late was given of the time before.

That is the last messages of each publisher (transient-local, caches), or the last message of the topic (retained).

Only messages that were surely over before the subscription was asked for are judged, and only a subscriber's first
subscription: later it has what it was given before. It must have been there for long enough.

Cost: O(n log n) for each subscription that is given something.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import Flags, Ints
from chaoskit.contract.checkers.anomaly import Anomaly, Gone
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.observations.feed import REPLAYED, RETAINED
from checkers.arrays.findings import findings_of, merged, no_findings
from checkers.arrays.models import FEEDS
from checkers.delivery.loss import receive_evidence, send_evidence
from checkers.pubsub.view import ARRIVES_NS, FeedView, Stay

LATE_JOINER_LOST = Anomaly(
    "late-joiner-lost",
    "a subscriber that came later was not given an acknowledged message that was kept for it",
    FEEDS,
    gone=Gone.LOST,
    needs=(RETAINED, REPLAYED),
)

STALE = Anomaly(
    "stale",
    "a subscriber that came later was given a message that a newer one had replaced before",
    FEEDS,
    needs=(RETAINED, REPLAYED),
)


def late_cases(view: FeedView) -> pa.Table:
    """Find messages that are `late-joiner-lost`, and deliveries that are `stale`.

    Evidence: of the first, as of `lost`. Of the second, `op` received it at `at_ns`; `other_value` had replaced it.
    """
    tables = [
        table
        for stay in view.single
        if stay.replays or stay.retained
        for table in (_lost(view, stay), _stale(view, stay))
    ]
    return merged(tables) if tables else no_findings()


def _lost(view: FeedView, stay: Stay) -> pa.Table:
    log = view.log
    if stay.until_ns < stay.from_ns + ARRIVES_NS:
        return no_findings()
    rows = np.flatnonzero(log.acked & _over(view, stay))
    newer = _newer_of_topic(view, stay, rows) if stay.retained else _newer_of_publisher(view, stay, rows)
    lost = rows[(newer < max(stay.replays, 1)) & ~view.got(stay.subscriber)[log.sent_values[rows]]]
    began: Ints = np.full(lost.size, log.operations.op[stay.row])
    return findings_of(log.setting, LATE_JOINER_LOST, details=(), **send_evidence(log, lost), other_op=began)


def _over(view: FeedView, stay: Stay) -> Flags:
    """Return for each send whether it was surely over before a subscription was asked for."""
    log = view.log
    end_ns = log.operations.end_ns[log.sends.operation]
    over: Flags = (end_ns >= 0) & (end_ns <= log.operations.start_ns[stay.row] - log.setting.apart_ns)
    return over


def _newer_of_publisher(view: FeedView, stay: Stay, rows: Ints) -> Ints:
    """Return for each send how many of its publisher came after it, and may have begun before the subscription."""
    log = view.log
    begun = log.operations.start_ns[log.sends.operation] <= stay.from_ns + log.setting.apart_ns
    sent = np.unique(log.sends.value[begun])
    value = log.sends.value[rows]
    end = ((value >> PRODUCER_SHIFT) + 1) << PRODUCER_SHIFT
    newer: Ints = np.searchsorted(sent, end) - np.searchsorted(sent, value, side="right")
    return newer


def _newer_of_topic(view: FeedView, stay: Stay, rows: Ints) -> Ints:
    """Return for each send how many others may have come after it, and have begun before the subscription."""
    log = view.log
    operation = log.sends.operation
    start_ns, end_ns = log.operations.start_ns[operation], log.operations.end_ns[operation]
    begun = start_ns <= stay.from_ns + log.setting.apart_ns
    ends = np.sort(np.where(end_ns < 0, np.iinfo(np.int64).max, end_ns)[begun])
    surely_before = np.searchsorted(ends, start_ns[rows] - log.setting.apart_ns)
    newer: Ints = ends.size - surely_before - 1
    return newer


def _stale(view: FeedView, stay: Stay) -> pa.Table:
    """Find what was given as the last message of the topic although a newer one was acknowledged by then."""
    log = view.log
    if not stay.retained:
        return no_findings()
    here = view.received_in(stay, log.operations.start_ns[stay.row])
    sends = log.first_sends[log.intact_values[here]]
    here, sends = here[sends >= 0], sends[sends >= 0]
    before = _over(view, stay)
    here, sends = here[before[sends]], sends[before[sends]]
    acked = np.flatnonzero(log.acked & before)
    if not acked.size:
        return no_findings()
    last = acked[np.argmax(log.operations.start_ns[log.sends.operation[acked]])]
    begun_ns = log.operations.start_ns[log.sends.operation[last]]
    stale = here[log.operations.end_ns[log.sends.operation[sends]] < begun_ns - log.setting.apart_ns]
    newer: Ints = np.full(stale.size, log.sends.value[last])
    return findings_of(log.setting, STALE, details=(), **receive_evidence(log, stale), other_value=newer)
