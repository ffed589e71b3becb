"""What a scenario may say of the transactions workload."""

from __future__ import annotations

from pydantic import Field

from workloads.common.options import Rate
from workloads.log.options import LogOptions


class TransactionsOptions(LogOptions):
    """What a scenario may say of this workload, besides what it may say of `log`.

    Attributes:
        messages: sends of one transaction.
        abort_every: each producer aborts every Nth of its transactions on purpose; 0: none.
    """

    rate: Rate = 200
    messages: int = Field(default=50, ge=1)
    abort_every: int = Field(default=10, ge=0)
