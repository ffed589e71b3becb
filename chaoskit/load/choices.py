"""Which deliveries a consumer refuses, and which it leaves unsettled."""

from __future__ import annotations

from chaoskit.model.message import PRODUCER_SHIFT


class Choices:
    """Every Nth message of each producer.

    Args:
        nack_every: which messages are refused, each once; 0: none.
        return_every: which messages are refused, always; 0: none.
        reject_every: which messages are rejected; 0: none.
        leave_every: which messages are left unsettled; 0: none.

    Attributes:
        settles_all: whether everything is acknowledged, from now on.
    """

    def __init__(self, nack_every: int, leave_every: int, return_every: int = 0, reject_every: int = 0) -> None:
        self.settles_all = False
        self._nack_every = nack_every
        self._leave_every = leave_every
        self._return_every = return_every
        self._reject_every = reject_every
        self._refused: set[int] = set()

    def refuses(self, value: int) -> bool:
        """Return whether to refuse a message, which then comes again."""
        if self.settles_all:
            return False
        if _chosen(value, self._return_every):
            return True
        if value in self._refused or not _chosen(value, self._nack_every):
            return False
        self._refused.add(value)
        return True

    def rejects(self, value: int) -> bool:
        """Return whether to reject a message, which then does not come again."""
        return not self.settles_all and _chosen(value, self._reject_every)

    def leaves(self, value: int) -> bool:
        """Return whether to leave a message unsettled."""
        return not self.settles_all and _chosen(value, self._leave_every)


def _chosen(value: int, every: int) -> bool:
    sequence = value & ((1 << PRODUCER_SHIFT) - 1)
    return every > 0 and sequence % every == every - 1
