"""What a checker finds where a run records latencies only (`record: latency`): of messages that stand for many."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import pyarrow as pa

from chaoskit.contract.checkers.checker import Part


@runtime_checkable
class Sampling(Protocol):
    """Optional power of a checker: it judges a message by what was done to it, whatever else is in its partition."""

    def check_samples(self, part: Part) -> pa.Table:
        """Return the findings that need nothing else.

        Args:
            part: messages, each with others of its producer only if these are what it is to be compared with. When
                anything happened is not known.
        """
        ...
