"""The sets of messages that the digests of all clients have together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chaoskit.history.digesting.digest import Digest
from chaoskit.history.format.intervals import Intervals
from chaoskit.model.operation import AUDITOR


@dataclass(frozen=True, slots=True)
class DigestSets:
    """Places of messages.

    Attributes:
        sent, acked, failed: messages that were sent, and how that ended.
        kept: what the final read received.
        read: what anybody else received.
    """

    sent: Intervals
    acked: Intervals
    failed: Intervals
    kept: Intervals
    read: Intervals

    @classmethod
    def of(cls, digests: Sequence[Digest]) -> DigestSets:
        """Return those of all clients."""
        auditors = [digest for digest in digests if digest.client.startswith(AUDITOR)]
        readers = [digest for digest in digests if not digest.client.startswith(AUDITOR)]
        return cls(
            *(_union([getattr(digest, name) for digest in digests]) for name in ("sent", "acked", "failed")),
            *(_union([digest.received for digest in clients]) for clients in (auditors, readers)),
        )


def _union(sets: Sequence[Intervals]) -> Intervals:
    whole = Intervals()
    for other in sets:
        whole.update(other)
    return whole
