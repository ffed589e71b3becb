"""Messages of others than the owner, where a subscriber takes those of one publisher at a time.

The owner is the first of the publishers that are alive. The first of all counts as alive for a promised time after
each message. So one of another publisher must not be taken if it was recorded within that time of the sending of
something of the first one that had been recorded before the other was sent; provided that the first one went on
publishing. The final read's messages come before all others, and are not judged.

Cost: a sort of the deliveries of each such subscriber.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly
from checkers.arrays.findings import findings_of, merged, no_findings
from checkers.arrays.models import FEEDS
from checkers.delivery.loss import receive_evidence
from checkers.pubsub.view import FeedView, Stay

NOT_OWNER = Anomaly(
    "not-owner",
    "a subscriber took a message of a publisher although another one, which comes first, was alive",
    FEEDS,
    about=About.READING,
)


def ownership_cases(view: FeedView) -> pa.Table:
    """Find deliveries that were `not-owner`.

    Evidence: `op` received it at `at_ns`; `other_value` is the last message of the owner that was recorded before it
    was sent.
    """
    exclusive = [stay for stay in view.single if stay.exclusive]
    if not exclusive:
        return no_findings()
    last_ns = _last_ns(view)
    return merged([_taken(view, stay, last_ns) for stay in exclusive])


def _taken(view: FeedView, stay: Stay, last_ns: Ints) -> pa.Table:
    log, apart_ns = view.log, view.log.setting.apart_ns
    here = view.received_in(stay, stay.from_ns)
    sends = log.first_sends[log.intact_values[here]]
    here, sends = here[sends != NONE], sends[sends != NONE]
    sent_ns, received_ns = log.operations.start_ns[log.sends.operation[sends]], log.intact.received_ns[here]
    first = view.member_of[log.sends.operation[sends]] == view.owner
    load = ~log.operations.audits[log.sends.operation[sends]]
    owners, others = np.flatnonzero(first & load), np.flatnonzero(~first & load)
    if not owners.size or not others.size:
        return no_findings()
    owners = owners[np.argsort(received_ns[owners], kind="stable")]
    before = np.searchsorted(received_ns[owners], sent_ns[others] - apart_ns) - 1
    alive_ns = sent_ns[owners][before] + min(stay.liveliness_ns, stay.deadline_ns or stay.liveliness_ns)
    until_ns = np.minimum(alive_ns, last_ns[sends[owners]][before]) - apart_ns
    wrong = (before >= 0) & (received_ns[others] <= until_ns)
    owner_value = log.intact.value[here[owners[before[wrong]]]]
    return findings_of(
        log.setting,
        NOT_OWNER,
        details=(),
        **receive_evidence(log, here[others[wrong]]),
        other_value=owner_value,
    )


def _last_ns(view: FeedView) -> Ints:
    """Return for each send when its process sent something for the last time."""
    log = view.log
    process, start_ns = log.operations.process[log.sends.operation], log.operations.start_ns[log.sends.operation]
    last = np.full(int(process.max(initial=0)) + 1, NONE)
    np.maximum.at(last, process, start_ns)
    return np.take(last, process)
