"""A synthesizer generates histories of a simulated system, correct or with anomalies of known causes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

Progress = Callable[[int, int], None]
"""Called with the number of messages written so far and the approximate total."""


class Synthesizer(Protocol):
    """Generates histories (entry point group `chaoskit.synthesizers`)."""

    @property
    def causes(self) -> Mapping[str, str]:
        """The causes that it can inject, each with a description and the resulting anomalies."""

    def parameters(self, given: dict[str, Any]) -> Any:
        """Validate parameters.

        Raises:
            BadInput: one is unknown or out of range.
        """
        ...

    def write(self, parameters: Any, name: str, folder: Path, progress: Progress) -> None:
        """Write a history, its scenario.yaml and its truth.parquet into a new run folder."""
        ...
