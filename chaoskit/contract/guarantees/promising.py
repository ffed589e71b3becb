"""What the owner of an application under test promises of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from chaoskit.contract.guarantees.guarantee import Declared, Rule


@runtime_checkable
class Promising(Protocol):
    """Optional power of a workload: its application keeps a promise, which is judged beside the system's guarantees.

    Attributes:
        rules: what the promise allows.
    """

    @property
    def rules(self) -> Sequence[Rule]: ...

    def promises(self, declared: Declared) -> Mapping[str, str]:
        """Return why anomalies must not occur that no rule allows, by anomaly."""
        ...
