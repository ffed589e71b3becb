"""The options of the transactions workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from chaoskit.load.options import Rate
from chaoskit.load.partitioned import GroupedOptions


class TransactionsOptions(GroupedOptions):
    """The options of this workload, in addition to those of `log`.

    Attributes:
        messages: number of messages per transaction.
        abort_every: each producer deliberately aborts every Nth transaction; 0: none.
    """

    retired: ClassVar[Mapping[str, Any]] = {"backlog": None}

    rate: Rate = 200
    messages: int = Field(default=50, ge=1)
    abort_every: int = Field(default=10, ge=0)
