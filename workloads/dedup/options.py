"""The options of the dedup workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from chaoskit.base.quantities import MILLISECOND, Duration
from chaoskit.load.partitioned import GroupedOptions


class DedupOptions(GroupedOptions):
    """The options of this workload, in addition to those of `log`.

    Attributes:
        restart_every: how long a producer uses a client before it abandons it and creates a new one; default: forever.
        resend: what a producer with sequence ids resends after a send with unknown outcome and after a restart.
            `asked`: the messages that the system lacks, according to its last sequence id. `unconfirmed`: all
            unconfirmed messages. `at-once`: each such message immediately, with the same client, after the messages
            that were sent in the meantime.
    """

    retired: ClassVar[Mapping[str, Any]] = {"backlog": None}

    producers: int = Field(default=2, ge=1, lt=2**20)
    restart_every: Duration | None = Field(default=None, ge=100 * MILLISECOND)
    resend: Literal["asked", "unconfirmed", "at-once"] = "asked"
