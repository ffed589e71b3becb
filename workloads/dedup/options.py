"""What a scenario may say of the dedup workload."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from chaoskit.base.quantities import MILLISECOND, Duration
from workloads.log.options import LogOptions


class DedupOptions(LogOptions):
    """What a scenario may say of this workload, besides what it may say of `log`.

    Attributes:
        restart_every: how long a producer keeps a client before it gives it up and takes a new one; absent: for ever.
        resend: what a producer with sequence ids sends again, after a send whose outcome nobody knows and after a
            restart: what the system, `asked` for its last sequence id, does not have; all that was `unconfirmed`; or,
            without a new client, each such send `at-once`, behind what was sent meanwhile.
    """

    producers: int = Field(default=2, ge=1, lt=2**20)
    restart_every: Duration | None = Field(default=None, ge=100 * MILLISECOND)
    resend: Literal["asked", "unconfirmed", "at-once"] = "asked"
