"""Traits: what guarantees must know of a workload besides the settings of its clients.

`workload.traits(options)` returns some; guarantees ask `declared.get(Subscription)`. A third party's workload may
have traits of its own, which a system that does not know them ignores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Resend = Literal["never", "asked", "unconfirmed", "at-once"]
"""What producers send again by themselves, where the system's clients have sequence ids: what the system, asked for its
last sequence id, lacks; all that was not confirmed; each send at once, behind what was sent meanwhile."""


@dataclass(frozen=True, slots=True)
class Group:
    """Consumers share a group: each partition is given to one of them."""


@dataclass(frozen=True, slots=True)
class Transactions:
    """Producers write in transactions."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Consumers share a subscription, and acknowledge message by message.

    Attributes:
        kind: its type, of `chaoskit.history.schema.SUBSCRIPTION_TYPES`.
    """

    kind: str


@dataclass(frozen=True, slots=True)
class Resends:
    """Producers send again what was not confirmed, with new clients.

    Attributes:
        what: they send again.
        restarts: whether they give up clients with sends under way, and go on with new ones.
    """

    what: Resend
    restarts: bool
