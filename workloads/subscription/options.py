"""The options of the subscription workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from chaoskit.base.quantities import MILLISECOND, SECOND, Duration
from chaoskit.load.partitioned import PartitionedOptions


class SubscriptionOptions(PartitionedOptions):
    """The options of this workload, in addition to those of `log`.

    Attributes:
        subscription: type of the subscription.
        acks: `individual`, or `cumulative` up to the last received message.
        nack_every: each consumer negatively acknowledges every Nth message of each producer, once; 0: none.
        leave_every: each consumer leaves every Nth message of each producer unacknowledged until it exits; 0: none.
        crash_every: how long a consumer runs before it exits abruptly and another one replaces it; default: forever.
        drain: how long no message must arrive before a consumer stops after the load; longer than any redelivery
            delay.
    """

    retired: ClassVar[Mapping[str, Any]] = {"backlog": None, "consumption": "assigned", "groups": 1}

    rate: int = Field(default=1000, ge=1)
    consumers: int = Field(default=3, ge=1, lt=2**20)
    subscription: Literal["exclusive", "failover", "shared", "key-shared"] = "shared"
    acks: Literal["individual", "cumulative"] = "individual"
    nack_every: int = Field(default=0, ge=0)
    leave_every: int = Field(default=0, ge=0)
    crash_every: Duration | None = Field(default=None, ge=100 * MILLISECOND)
    drain: Duration = Field(default=4 * SECOND, le=20 * SECOND)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        alone = self.subscription in ("exclusive", "failover")
        if self.acks == "cumulative" and not alone:
            raise ValueError("cumulative acks require an exclusive or failover subscription; set acks: individual")
        if self.acks == "cumulative" and (self.nack_every or self.leave_every):
            raise ValueError("nack_every and leave_every require acks: individual")
        if self.subscription == "key-shared" and not self.keys:
            raise ValueError("a key-shared subscription requires keys")
        return self
