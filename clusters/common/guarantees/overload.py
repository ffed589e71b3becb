"""Subscribers that are slower than their publishers, where nothing makes these wait."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.guarantees.mechanism import Choice, Limit, Measure, Mechanism
from chaoskit.contract.workloads.traits import Paced

_WAITING = 100
"""No buffer on the way is smaller than so many messages; a subscriber for which more wait is slower."""


def outruns(declared: Declared) -> bool:
    """Return whether publishers send as fast as they can, so that a subscriber may be slower."""
    paced = declared.get(Paced)
    return paced is not None and paced.per_second is None


def overload(declared: Declared, why: str) -> Sequence[Mechanism]:
    """Return how a subscriber misses messages because it is slower: always at the highest rate, otherwise where the
    record shows that messages waited for it."""
    if outruns(declared):
        return (Choice(why=why),)
    return (Limit(why=why, measure=Measure.WAITING, most=_WAITING),)
