"""A relay of a system's own (Java) client that is not there, for the checks of its settings."""

from __future__ import annotations

from typing import Any

from chaoskit.base.errors import BadInput


class AskedClient:
    """A client that knows every setting; it remembers those that it was asked about, by role."""

    def __init__(self) -> None:
        self.asked: dict[str, dict[str, Any]] = {}

    def classpath(self, _: str) -> str:
        return ""

    def refusals(self, _: str, chosen: Any, similar: Any) -> list[BadInput]:
        self.asked[chosen.role] = dict(chosen.settings)
        return [BadInput(f"{chosen.key}.{name}: ours") for name in chosen.ours if name in chosen.given]
