"""The definition of what only the object store had, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from notation import Row
from reference_evidence import this


def tiered(run: Any) -> Iterator[Row]:
    """The first acknowledged send of each message, if its position is one that brokers had deleted themselves."""
    if run.audit is None or run.audit.local is None:
        return
    first = {send["value"]: send for send in reversed(run.sends) if send["outcome"] == "ok"}
    for send in first.values():
        if send["position"] is not None and run.audit.low <= send["position"] < run.audit.local:
            yield this(send, send["end_ns"])
