"""What a scenario may say of the subscription workload."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from chaoskit.base.quantities import MILLISECOND, SECOND, Duration
from workloads.log.options import LogOptions


class SubscriptionOptions(LogOptions):
    """What a scenario may say of this workload, besides what it may say of `log`.

    Attributes:
        subscription: its type.
        acks: one by one, or all up to the last that was received.
        nack_every: each consumer refuses every Nth message of each producer, once; 0: none.
        leave_every: each consumer leaves every Nth message of each producer until it ends; 0: none.
        crash_every: how long a consumer goes on before it ends abruptly and another takes its place; absent: for ever.
        drain: when the load is over, for how long nothing more must come; longer than any delay of redelivery.
    """

    rate: int = Field(default=1000, ge=1)
    consumers: int = Field(default=3, ge=1)
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
            raise ValueError("cumulative acks are for exclusive and failover subscriptions; write acks: individual")
        if self.acks == "cumulative" and (self.nack_every or self.leave_every):
            raise ValueError("nack_every and leave_every need acks: individual")
        if self.subscription == "key-shared" and not self.keys:
            raise ValueError("a key-shared subscription needs keys")
        if self.consumption == "group":
            raise ValueError("consumption: group is of the workload log; leave it out")
        return self
