"""The checker of subscriptions: messages are delivered until acknowledged, to one consumer at a time, in order.

Deliveries and acknowledgements are identified by position. What cannot be concluded: acknowledgements have no receipt,
so one counts only if its consumer lived on for a while; and if consumers overlap on one subject, at least one delivery
is reported, not every one.

Cost: O(n log n) for n deliveries, only if there are subscriptions.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints, is_one_of
from chaoskit.contract.checkers.anomaly import About, Anomaly, Gone
from chaoskit.contract.checkers.checker import Part
from chaoskit.model.observations.subscription import SUBSCRIPTION_TYPES
from checkers.arrays.columns import first_rows, running_maximum
from checkers.arrays.ends import FAIL
from checkers.arrays.findings import findings_of, merged, no_findings
from checkers.arrays.models import DELIVERED, FEEDS, IN_LOGS
from checkers.arrays.view import LogView
from checkers.delivery.deliveries import SubscriptionActivity, following, subscriptions_of
from checkers.delivery.stuck import STUCK, subscription_cases

EXCLUSIVE, FAILOVER, SHARED, KEY_SHARED = range(len(SUBSCRIPTION_TYPES))

ACK_NS = 1_000_000_000
"""How long a consumer must have lived on for its acknowledgement to be at the broker: clients send them ten times per
second."""

DOUBLE_DELIVERY_DETAILS = ("after its acknowledgement", "while another consumer had it")
UNACKED_VANISHED_DETAILS = ("never delivered", "delivered, not acknowledged, and not delivered again")


UNACKED_VANISHED = Anomaly(
    "unacked-vanished",
    "an unacknowledged message was not redelivered",
    DELIVERED,
    shared=True,
    gone=Gone.VANISHED,
    became="vanished before a consumer had settled them",
)


def vanished_cases(view: LogView, subscription: SubscriptionActivity) -> pa.Table:
    """Find messages in the log, acknowledged to their producers, that no consumer had acknowledged when the
    subscription was drained.

    Evidence: `op` sent it; `other_op` is its last delivery, if any, at `at_ns`.
    """
    drained_ns = subscription.drained_ns
    audited = np.flatnonzero(view.operations.audits[view.intact.operation] & (view.intact.position != NONE))
    send = view.first_acks[view.intact_values[audited]]
    audited, send = audited[send != NONE], send[send != NONE]
    if drained_ns is None or not audited.size:
        return no_findings()
    acks, deliveries = subscription.acks, subscription.deliveries
    accepted = view.operations.outcome[acks.operation] != FAIL
    position, first = np.unique(view.intact.position[audited], return_index=True)
    send = send[first]
    open_ = (view.operations.end_ns[view.sends.operation[send]] < drained_ns) & ~np.isin(
        position, acks.position[accepted]
    )
    position, send = position[open_], send[open_]
    last = _last_delivery(subscription, position)
    refused = np.isin(position, acks.position[~accepted])
    gone_ns = deliveries.gone_ns[last] if deliveries.row.size else last
    held = refused & (last != NONE) & (gone_ns > drained_ns)  # its consumer has it still, so it is not delivered again
    position, send, last = position[~held], send[~held], last[~held]
    delivered = last != NONE
    return findings_of(
        view.setting,
        UNACKED_VANISHED,
        details=UNACKED_VANISHED_DETAILS,
        detail=delivered.astype(np.int64),
        value=view.sends.value[send],
        position=position,
        op=view.operations.op[view.sends.operation[send]],
        other_op=np.where(delivered, _op(view, subscription, last), NONE),
        at_ns=np.where(delivered, deliveries.from_ns[last] if deliveries.row.size else NONE, NONE),
    )


UNDRAINED = Anomaly(
    "undrained",
    "messages were still arriving when a consumer had to stop, or none drained: unacked-vanished was not checked",
    IN_LOGS,
    doubt="the subscription was not drained: whether unacknowledged messages vanished was not checked",
    about=About.READING,
)


UNDRAINED_DETAILS = ("messages were still arriving", "no consumer drained it")


def undrained_cases(part: Part, subscription: SubscriptionActivity) -> pa.Table:
    """Find the first drain that did not end because nothing more arrived; or a subscription with a final read of its
    log that no consumer drained at all. Evidence: `op`, which began at `at_ns`: the drain, or the last `subscribe`."""
    view, rows = part.view(LogView), subscription.undrained[:1]
    never = not rows.size and subscription.drained_ns is None and view.setting.audit is not None
    if never:
        joins = is_one_of(part.operations["f"], ["subscribe"])
        rows = np.flatnonzero(joins & np.isin(view.operations.process, subscription.processes))[-1:]
    return findings_of(
        view.setting,
        UNDRAINED,
        details=UNDRAINED_DETAILS,
        detail=int(never),
        value=np.full(rows.size, NONE),
        position=np.full(rows.size, NONE),
        op=view.operations.op[rows],
        at_ns=view.operations.start_ns[rows],
    )


DOUBLE_DELIVERY = Anomaly(
    "double-delivery",
    "a message was delivered after its acknowledgement, or to two consumers at the same time",
    IN_LOGS,
    about=About.READING,
    shared=True,
)


def redelivered_cases(view: LogView, subscription: SubscriptionActivity) -> pa.Table:
    """Find deliveries of messages whose acknowledgement had reached the broker.

    Evidence: `op` received it at `at_ns`; `other_op` had acknowledged it.
    """
    deliveries, acks = subscription.deliveries, subscription.acks
    if not (deliveries.row.size and acks.position.size):
        return no_findings()
    lived_ns = np.zeros(acks.position.size, np.int64)
    own = following(acks.process, acks.until_ns, deliveries.process, deliveries.gone_ns)
    lived_ns[own != NONE] = deliveries.gone_ns[own[own != NONE]]
    handed_over = view.operations.outcome[acks.operation] != FAIL
    sure = np.flatnonzero(handed_over & (lived_ns >= acks.until_ns + ACK_NS))
    sure = sure[np.lexsort((acks.until_ns[sure], acks.position[sure]))]
    sure = sure[np.flatnonzero(np.diff(acks.position[sure], prepend=NONE))]
    index = np.minimum(np.searchsorted(acks.position[sure], deliveries.position), max(sure.size - 1, 0))
    ack = sure[index] if sure.size else np.zeros(0, np.int64)
    if not ack.size:
        return no_findings()
    again = np.flatnonzero(
        (acks.position[ack] == deliveries.position) & (deliveries.from_ns >= acks.until_ns[ack] + ACK_NS)
    )
    return _received(view, DOUBLE_DELIVERY, subscription, again, 0, view.operations.op[acks.operation[ack[again]]])


def double_cases(view: LogView, subscription: SubscriptionActivity) -> pa.Table:
    """Find deliveries of a message while another consumer held it. Evidence: `other_op` had received it."""
    if subscription.kind != SHARED:
        return no_findings()
    later, earlier = _overlapping(subscription, subscription.deliveries.position + 1)
    return _received(view, DOUBLE_DELIVERY, subscription, later, 1, _op(view, subscription, earlier))


TWO_ACTIVE = Anomaly(
    "two-active",
    "two consumers were active at the same time where only one may be",
    DELIVERED,
    about=About.READING,
    shared=True,
)


def active_cases(view: LogView, subscription: SubscriptionActivity) -> pa.Table:
    """Find deliveries to a consumer while another held messages of the same key (`key-shared`), or any (`exclusive`).

    Evidence: `op` received the message at `at_ns`; `other_op` had received one before.
    """
    deliveries = subscription.deliveries
    subject = {EXCLUSIVE: np.ones_like(deliveries.key), KEY_SHARED: deliveries.key}.get(subscription.kind)
    if subject is None:
        return no_findings()
    later, earlier = _overlapping(subscription, subject)
    return _received(view, TWO_ACTIVE, subscription, later, None, _op(view, subscription, earlier), earlier)


FIFO_VIOLATION = Anomaly(
    "fifo-violation",
    "a message was delivered after a later one",
    (*DELIVERED, *FEEDS),
    about=About.READING,
    shared=True,
)


def order_cases(view: LogView, subscription: SubscriptionActivity) -> pa.Table:
    """Find messages that were first delivered after a later one of the same key (`key-shared`), or of the partition
    (`exclusive`, `failover`).

    Evidence: `op` received the message at `at_ns`; `other_` is the highest one received before.
    """
    deliveries = subscription.deliveries
    if subscription.kind == SHARED or not deliveries.row.size:
        return no_findings()
    positions, rank = np.unique(deliveries.position, return_inverse=True)
    first = np.sort(first_rows(positions.size, rank))
    subject = deliveries.key[first] if subscription.kind == KEY_SHARED else np.ones(first.size, np.int64)
    order = np.lexsort((first, subject))
    first, subject = first[order], subject[order]
    place, highest = running_maximum(subject, rank[first], positions.size)
    below = np.flatnonzero((place < highest) & (subject > 0))
    above = first[np.searchsorted(highest, highest[below])]
    return _received(view, FIFO_VIOLATION, subscription, first[below], None, _op(view, subscription, above), above)


REDELIVERY_FLAG_MISSING = Anomaly(
    "redelivery-flag-missing",
    "a redelivered message was not marked as redelivered",
    DELIVERED,
    about=About.READING,
    shared=True,
)


def unflagged_cases(view: LogView, subscription: SubscriptionActivity) -> pa.Table:
    """Find deliveries of a negatively acknowledged message that are marked as the first delivery.

    Only for `shared` and `key-shared` subscriptions, because the others have no counts; and only while no consumer
    joined or left, because counts are lost with the last one. Evidence: `op` received it at `at_ns`; `other_op` had
    negatively acknowledged it.
    """
    deliveries, nacks = subscription.deliveries, subscription.nacks
    if subscription.kind not in (SHARED, KEY_SHARED) or not nacks.position.size:
        return no_findings()
    order = np.lexsort((nacks.until_ns, nacks.position))
    order = order[np.flatnonzero(np.diff(nacks.position[order], prepend=NONE))]
    nack = order[np.minimum(np.searchsorted(nacks.position[order], deliveries.position), order.size - 1)]
    changes = [np.searchsorted(subscription.changed_ns, at) for at in (nacks.from_ns[nack], deliveries.from_ns)]
    unflagged = np.flatnonzero(
        (nacks.position[nack] == deliveries.position)
        & (deliveries.from_ns > nacks.until_ns[nack])
        & (deliveries.count == 0)
        & (changes[0] == changes[1])
    )
    other = view.operations.op[nacks.operation[nack[unflagged]]]
    return _received(view, REDELIVERY_FLAG_MISSING, subscription, unflagged, None, other)


def _overlapping(subscription: SubscriptionActivity, subject: Ints) -> tuple[Ints, Ints]:
    """Return deliveries that began while another consumer held a message of the same subject, and that message's
    delivery; subject 0 means none."""
    deliveries = subscription.deliveries
    chosen = np.flatnonzero(subject > 0)
    order = chosen[np.lexsort((chosen, deliveries.from_ns[chosen], subject[chosen]))]
    if order.size < 2:
        return order[:0], order[:0]
    times, rank = np.unique(deliveries.until_ns[order], return_inverse=True)
    _, highest = running_maximum(subject[order], rank, times.size)
    before = order[np.searchsorted(highest, highest[:-1])]
    later = order[1:]
    clash = np.flatnonzero(
        (subject[before] == subject[later])
        & (deliveries.consumer[before] != deliveries.consumer[later])
        & (deliveries.until_ns[before] > deliveries.from_ns[later])
    )
    return later[clash], before[clash]


def _last_delivery(subscription: SubscriptionActivity, position: Ints) -> Ints:
    deliveries = subscription.deliveries
    order = np.lexsort((deliveries.from_ns, deliveries.position))
    if not order.size:
        return np.full(position.size, NONE)
    index = np.searchsorted(deliveries.position[order], position, side="right") - 1
    row = order[np.maximum(index, 0)]
    return np.where(deliveries.position[row] == position, row, NONE)


def _op(view: LogView, subscription: SubscriptionActivity, delivery: Ints) -> Ints:
    if not subscription.deliveries.row.size:
        return np.full(delivery.size, NONE)
    return view.operations.op[view.receives.operation[subscription.deliveries.row[delivery]]]


def _received(  # noqa: PLR0917 - the first five are the same in every call
    view: LogView,
    anomaly: Anomaly,
    subscription: SubscriptionActivity,
    chosen: Ints,
    detail: int | None,
    other_op: Ints,
    other: Ints | None = None,
) -> pa.Table:
    """Report deliveries, and for each another one, if its value and position are meaningful."""
    deliveries, receives = subscription.deliveries, view.receives
    more = (
        {}
        if other is None
        else {
            "other_value": receives.value[deliveries.row[other]],
            "other_position": deliveries.position[other],
        }
    )
    return findings_of(
        view.setting,
        anomaly,
        details=() if detail is None else DOUBLE_DELIVERY_DETAILS,
        detail=detail or 0,
        value=receives.value[deliveries.row[chosen]],
        position=deliveries.position[chosen],
        op=_op(view, subscription, chosen),
        other_op=other_op,
        at_ns=deliveries.from_ns[chosen],
        **more,
    )


class SubscriptionChecker:
    """Detects the anomalies of subscriptions in one partition; a `Checker`."""

    anomalies = (
        UNACKED_VANISHED, UNDRAINED, DOUBLE_DELIVERY, TWO_ACTIVE, FIFO_VIOLATION, REDELIVERY_FLAG_MISSING, STUCK,
    )  # fmt: skip
    models = IN_LOGS

    def check(self, part: Part) -> pa.Table:
        """Return the findings of all subscriptions."""
        tables = [no_findings()]
        for subscription in subscriptions_of(part):
            view = part.view(LogView)
            tables += [
                vanished_cases(view, subscription),
                undrained_cases(part, subscription),
                redelivered_cases(view, subscription),
                double_cases(view, subscription),
                active_cases(view, subscription),
                order_cases(view, subscription),
                unflagged_cases(view, subscription),
                subscription_cases(part, subscription),
            ]
        return merged(tables)
