"""The checker of a topic that keeps nothing.

It has no positions, and nobody can read it later: messages are told apart by their values, and what must have arrived
follows from when subscriptions were surely in place. What cannot be concluded: what became of messages around the
beginning and the end of a subscription.
"""

from __future__ import annotations

import pyarrow as pa

from chaoskit.contract.checkers.checker import Part
from checkers.arrays.findings import merged, no_findings
from checkers.arrays.models import FEEDS
from checkers.delivery.copies import DUPLICATE, REDELIVERED
from checkers.delivery.loss import FAILED_VISIBLE, LOST, UNSEEN, failed_visible_cases
from checkers.delivery.origin import CORRUPT, MISROUTED, PHANTOM, SettlesPhantoms, corrupt_cases, phantom_cases
from checkers.delivery.stuck import STUCK
from checkers.pubsub.alarms import FALSE_ALARM, UNNOTICED, alarm_cases
from checkers.pubsub.deliveries import order_cases, repeated_cases
from checkers.pubsub.late import LATE_JOINER_LOST, STALE, late_cases
from checkers.pubsub.loss import MISSED, loss_cases
from checkers.pubsub.ownership import NOT_OWNER, ownership_cases
from checkers.pubsub.stuck import over_cases, stuck_cases
from checkers.pubsub.view import FeedView
from checkers.subscription.subscriptions import FIFO_VIOLATION


class PubSubChecker(SettlesPhantoms):
    """Detects the anomalies of one topic that keeps nothing; a `Checker` with the power `Settling`."""

    anomalies = (
        LOST, UNSEEN, MISSED, LATE_JOINER_LOST, STALE, DUPLICATE, REDELIVERED, FIFO_VIOLATION, FAILED_VISIBLE, PHANTOM,
        CORRUPT, MISROUTED, UNNOTICED, FALSE_ALARM, NOT_OWNER, STUCK,
    )  # fmt: skip
    models = FEEDS

    def check(self, part: Part) -> pa.Table:
        """Return the findings in the order of `anomalies`."""
        if not part.messages.num_rows:
            return no_findings()
        view = part.view(FeedView)
        return merged(
            [
                loss_cases(view),
                late_cases(view),
                repeated_cases(view),
                order_cases(view),
                failed_visible_cases(view.log),
                phantom_cases(view.log),
                corrupt_cases(view.log),
                alarm_cases(view),
                ownership_cases(view),
                over_cases(view),
                stuck_cases(part),
            ]
        )
