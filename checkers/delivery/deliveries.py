"""The deliveries to consumers of a subscription, and the time during which each consumer held a message.

A consumer is a part of one process from a `subscribe` to the next one, or to its `crash` or `close`; if it was killed,
it ends with its last operation. It holds a message from receipt until it acknowledges or negatively acknowledges it, or
ends. The broker may consider it held for longer, at both ends, but never for a shorter time: two intervals that overlap
here also overlapped at the broker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints, group_numbers, integers, is_one_of
from chaoskit.contract.checkers.checker import Part
from chaoskit.model.observations.subscription import KINDS, SubscriptionActs
from checkers.arrays.rows import Operations, Rows
from checkers.arrays.view import LogView

ENDING = ("subscribe", "crash", "close")
"""Operations that end a consumer."""


@dataclass(frozen=True, slots=True)
class ConsumerSettlements(Rows):
    """Acknowledgements, or negative ones; `from_ns`, `until_ns`: times of the operation."""

    position: Ints
    process: Ints
    operation: Ints
    from_ns: Ints
    until_ns: Ints

    @classmethod
    def of(cls, acts: SubscriptionActs, chosen: Flags, rows: Operations) -> Self:
        """Return some of the acts of consumers."""
        operation = rows.rows_of(acts.op[chosen])
        start_ns = rows.start_ns[operation]
        until_ns = np.maximum(rows.end_ns[operation], start_ns)
        return cls(acts.position[chosen], rows.process[operation], operation, start_ns, until_ns)


@dataclass(frozen=True, slots=True)
class Deliveries(Rows):
    """Messages delivered to consumers, in the order in which they were received.

    Attributes:
        row: row of the receive.
        key: number of the message's key, from 1; 0 if it has none.
        consumer: number of the consumer.
        from_ns, until_ns: when the consumer held the message.
        gone_ns: when the consumer ended.
        count: redelivery count.
    """

    row: Ints
    position: Ints
    key: Ints
    process: Ints
    consumer: Ints
    from_ns: Ints
    until_ns: Ints
    gone_ns: Ints
    count: Ints


@dataclass(frozen=True, slots=True)
class SubscriptionActivity:
    """The activity of one subscription's consumers in one partition.

    Attributes:
        kind: index of its type.
        processes: those of its consumers, ascending.
        deliveries: deliveries to its consumers.
        acks, nacks: acknowledgements by its consumers.
        changed_ns: when consumers joined or left, ascending.
        drained_ns: when the first consumer began to drain the subscription; None if not all of them drained it.
        undrained: the drains that did not end because nothing more arrived.
    """

    kind: int
    processes: Ints
    deliveries: Deliveries
    acks: ConsumerSettlements
    nacks: ConsumerSettlements
    changed_ns: Ints
    drained_ns: int | None
    undrained: Ints


def subscriptions_of(part: Part) -> list[SubscriptionActivity]:
    """Return the subscriptions of a partition."""
    acts, operations, view = SubscriptionActs.read(part.observations), part.operations, part.view(LogView)
    if not acts.op.size:
        return []
    taken = _taken(view, part.messages, operations)
    subscriptions = []
    for number in range(len(acts.names)):
        own = acts.subscription == number
        subscribed, acked, nacked = (own & (acts.kind == kind) for kind in range(len(KINDS)))
        acks = ConsumerSettlements.of(acts, acked, view.operations)
        nacks = ConsumerSettlements.of(acts, nacked, view.operations)
        members = np.unique(view.operations.process[view.operations.rows_of(acts.op[subscribed])])
        deliveries = taken.take(np.flatnonzero(np.isin(taken.process, members)))
        drains = _of_members(operations, ("drain",), view.operations, members)
        undrained = drains[view.operations.outcome[drains] != 0]
        subscriptions.append(
            SubscriptionActivity(
                kind=int(acts.type[subscribed].max(initial=0)),
                processes=members,
                deliveries=_until_settled(_until_settled(deliveries, acks), nacks),
                acks=acks,
                nacks=nacks,
                changed_ns=np.sort(view.operations.start_ns[_of_members(operations, ENDING, view.operations, members)]),
                drained_ns=_drained_ns(drains, undrained, view.operations),
                undrained=undrained,
            )
        )
    return subscriptions


def following(group: Ints, at_ns: Ints, other_group: Ints, other_ns: Ints) -> Ints:
    """Return for each time the row of the first other time of its group at or after it, or `NONE`."""
    if not other_ns.size:
        return np.full(at_ns.size, NONE)
    times, rank = np.unique(np.concatenate([at_ns, other_ns]), return_inverse=True)
    wanted = group * times.size + rank[: at_ns.size]
    given = other_group * times.size + rank[at_ns.size :]
    order = np.argsort(given, kind="stable")
    row = order[np.minimum(np.searchsorted(given[order], wanted), order.size - 1)]
    return np.where((given[row] >= wanted) & (other_group[row] == group), row, NONE)


def last_ns(rows: Operations) -> Ints:
    """Return when each process did something for the last time, by its number."""
    latest_ns = np.zeros(int(rows.process.max(initial=0)) + 1, np.int64)
    np.maximum.at(latest_ns, rows.process, np.maximum(rows.start_ns, rows.end_ns))
    return latest_ns


def by_process(process: Ints, position: Ints, other_process: Ints, other_position: Ints) -> tuple[Ints, Ints]:
    """Number pairs of process and position consistently in two tables."""
    positions, rank = np.unique(np.concatenate([position, other_position]), return_inverse=True)
    return process * positions.size + rank[: position.size], other_process * positions.size + rank[position.size :]


def _taken(view: LogView, messages: pa.Table, operations: pa.Table) -> Deliveries:
    """Return all deliveries from subscriptions, without considering settlements."""
    received = np.flatnonzero(is_one_of(messages["direction"], ["received"]))
    rows, receives = view.operations, view.receives
    row = np.flatnonzero(rows.takes[receives.operation] & (receives.position != NONE))
    row = row[np.lexsort((row, receives.received_ns[row]))]
    process, from_ns = rows.process[receives.operation[row]], receives.received_ns[row]
    ending = np.flatnonzero(is_one_of(operations["f"], ENDING))
    end = following(process, from_ns, rows.process[ending], rows.start_ns[ending])
    gone_ns = last_ns(rows)[process]
    gone_ns[end != NONE] = rows.start_ns[ending[end[end != NONE]]]
    return Deliveries(
        row=row,
        position=receives.position[row],
        key=group_numbers(messages["key"])[received[row]],
        process=process,
        consumer=np.where(end == NONE, -2 - process, end),
        from_ns=from_ns,
        until_ns=gone_ns,
        gone_ns=gone_ns,
        count=integers(messages["delivery"])[received[row]],
    )


def _until_settled(deliveries: Deliveries, settlements: ConsumerSettlements) -> Deliveries:
    """End the intervals at the first (negative) acknowledgement of the same process and position."""
    mine, theirs = by_process(deliveries.process, deliveries.position, settlements.process, settlements.position)
    settled = following(mine, deliveries.from_ns, theirs, settlements.from_ns)
    until_ns = deliveries.until_ns.copy()
    known = settled != NONE
    until_ns[known] = np.minimum(until_ns[known], settlements.from_ns[settled[known]])
    return replace(deliveries, until_ns=until_ns)


def _of_members(operations: pa.Table, names: Sequence[str], rows: Operations, members: Ints) -> Ints:
    return np.flatnonzero(is_one_of(operations["f"], names) & np.isin(rows.process, members))


def _drained_ns(drains: Ints, undrained: Ints, rows: Operations) -> int | None:
    return None if undrained.size or not drains.size else int(rows.start_ns[drains].min())
