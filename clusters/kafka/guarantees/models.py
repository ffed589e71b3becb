"""Rules that are of one kind of load only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.guarantees.mechanism import Mechanism
from chaoskit.contract.workloads.datamodel import DataModel

Reason = Callable[[Declared], Sequence[Mechanism]]
"""Returns how something may come about with a declared load; nothing, if it may not."""


def of_model(model: DataModel, *reasons: Reason) -> Reason:
    """Return a reason that joins others, for loads with topics of one model."""

    def mechanisms(declared: Declared) -> Sequence[Mechanism]:
        if not any(topic.model is model for topic in declared.topics):
            return ()
        return tuple(mechanism for reason in reasons for mechanism in reason(declared))

    return mechanisms
