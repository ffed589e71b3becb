"""What a subscriber received twice, or out of order.

A subscriber is the same after a crash, but what it received before is in order with nothing that comes then.

Cost: sorts of n deliveries.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.anomaly import Anomaly
from checkers.arrays.columns import marked
from checkers.arrays.findings import findings_of, merged
from checkers.delivery.copies import DUPLICATE, REDELIVERED
from checkers.delivery.loss import receive_evidence
from checkers.delivery.overtaken import overtaken
from checkers.pubsub.view import AT_LEAST_ONCE, FeedView
from checkers.subscription.subscriptions import FIFO_VIOLATION

TWICE = ("promised at most once", "", "promised exactly once")
"""By promise: why a message must not come twice."""


def repeated_cases(view: FeedView) -> pa.Table:
    """Find deliveries of what the same subscriber had received before: `redelivered` if it was promised at least once,
    otherwise `duplicate`.

    Evidence: `op` received it at `at_ns`; `other_op` had received it first, at `since_ns`.
    """
    again, first = view.again
    promise = view.promise_of[view.receiver[again]]
    allowed, wrong = promise == AT_LEAST_ONCE, (promise != AT_LEAST_ONCE) & (promise != NONE)
    return merged(
        [
            _repeated(view, DUPLICATE, again[wrong], first[wrong], promise[wrong]),
            _repeated(view, REDELIVERED, again[allowed], first[allowed], None),
        ]
    )


def _repeated(view: FeedView, anomaly: Anomaly, again: Ints, first: Ints, promise: Ints | None) -> pa.Table:
    log = view.log
    return findings_of(
        log.setting,
        anomaly,
        details=() if promise is None else TWICE,
        detail=0 if promise is None else promise,
        **receive_evidence(log, again),
        other_op=log.operations.op[log.intact.operation[first]],
        since_ns=log.intact.received_ns[first],
    )


def order_cases(view: FeedView) -> pa.Table:
    """Find first deliveries to a client after a later message of the same publisher. What comes again may come at any
    time.

    Evidence: `op` received it at `at_ns`; `other_value` is the latest message of its publisher received before.
    """
    log = view.log
    late, later = overtaken(log, np.flatnonzero(~marked(log.intact.value.size, view.again[0])))
    return findings_of(
        log.setting,
        FIFO_VIOLATION,
        details=(),
        **receive_evidence(log, late),
        other_value=log.intact.value[later],
    )
