"""A synthesizer writes histories of a simulated system, correct or with anomalies of known cause."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

Progress = Callable[[int, int], None]
"""Is told how many messages were written, and of about how many."""


class Synthesizer(Protocol):
    """Makes histories; found through the entry points `chaoskit.synthesizers`."""

    causes: Mapping[str, str]
    """What it can inject: every cause, and in words what it does and which anomalies it makes."""

    def parameters(self, given: dict[str, Any]) -> Any:
        """Validate parameters.

        Raises:
            BadInput: one is unknown or out of range.
        """
        ...

    def write(self, parameters: Any, name: str, folder: Path, progress: Progress) -> None:
        """Write a history, its scenario.yaml and its truth.parquet into a new run folder."""
        ...
