"""What consumers of a subscription with single acknowledgements do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import pyarrow as pa

from chaoskit.base.columns import Ints, codes, integers, words_of
from chaoskit.model.observations.row import Row, of_kinds

SUBSCRIPTION_TYPES = ("exclusive", "failover", "shared", "key-shared")
SUBSCRIBED, ACKED, NACKED = KINDS = ("subscribed", "acked", "nacked")


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A consumer subscribes (`subscribe`).

    Attributes:
        subscription: its name.
        type: its type, one of `SUBSCRIPTION_TYPES`.
    """

    subscription: str
    type: str

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(SUBSCRIBED, name=self.subscription, value=SUBSCRIPTION_TYPES.index(self.type))


@dataclass(frozen=True, slots=True)
class SubscriptionSettled:
    """A consumer acknowledges a message, or asks for it once more (`ack`, `nack`).

    Attributes:
        subscription: name of the subscription.
        position: the position of the message.
        how: `ack` or `nack`.
    """

    subscription: str
    position: int
    how: str

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(f"{self.how}ed", name=self.subscription, position=self.position)


class SubscriptionActs(NamedTuple):
    """All of these of a partition, in order of `op`.

    Attributes:
        names: the names of the subscriptions.
        op: the operation.
        subscription: number of the subscription.
        kind: index into `KINDS`.
        type: of `SUBSCRIBED`, index into `SUBSCRIPTION_TYPES`.
        position: of the others, the position of the message.
    """

    names: list[str]
    op: Ints
    subscription: Ints
    kind: Ints
    type: Ints
    position: Ints

    @classmethod
    def read(cls, observations: pa.Table) -> Self:
        """Read them from the observations of a partition."""
        rows = of_kinds(observations, *KINDS)
        subscription, names = words_of(rows["name"])
        return cls(
            names,
            integers(rows["op"]),
            subscription,
            codes(rows["kind"], KINDS),
            integers(rows["value"]),
            integers(rows["position"]),
        )
