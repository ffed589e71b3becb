"""A nemesis makes one kind of fault, proves that it took effect, undoes it, and proves that too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from chaoskit.cluster import Cluster
from chaoskit.errors import ChaoskitError
from chaoskit.host import ServiceHost


class NemesisError(ChaoskitError):
    """A fault had no effect, or was not undone; the message is the evidence."""


class NoParameters(BaseModel):
    """The parameters of a nemesis that has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Nemesis(Protocol):
    """One kind of fault (entry point group `chaoskit.nemeses`). Stateless: one instance serves all faults.

    Attributes:
        summary: what it does, in one line.
        parameters: model of its further keys.
        lasts: whether it holds until it is healed; else it is over once it is injected.
        needs: optional powers (protocols) that its targets must have.
    """

    summary: str
    parameters: type[BaseModel]
    lasts: bool
    needs: tuple[type, ...]

    def inject(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> None:
        """Make the fault on all targets at once."""
        ...

    def verify(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> str:
        """Return evidence that it took effect.

        Raises:
            NemesisError: it did not.
        """
        ...

    def heal(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> None:
        """Undo it; idempotent."""
        ...

    def verify_healed(self, targets: Sequence[ServiceHost], cluster: Cluster, parameters: Any) -> str:
        """Return evidence that it is undone.

        Raises:
            NemesisError: it is not.
        """
        ...
