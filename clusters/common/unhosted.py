"""The service of a system that has no processes of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.contract.power import P, held
from chaoskit.contract.workloads.topic import Topic


class Unhosted:
    """See `chaoskit.contract.systems.service.Service`: there is nobody to wait for, and nothing is left of it.

    Args:
        name: what it is, for error messages.
        settings: what clients are told.
    """

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self._name = name
        self._settings = settings

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], self._name)

    def wait_ready(self, timeout_s: float) -> None:
        """There is nobody to wait for."""

    def begin_trial(self, namespace: str, options: Any) -> None:
        """Topics have names of the trial."""

    def create_topic(self, topic: Topic) -> None:
        """A topic is there as long as a client uses it."""

    def client_settings(self) -> dict[str, Any]:
        return dict(self._settings)

    def end_trial(self) -> None:
        """Nothing is left of it."""

    def close(self) -> None:
        """There is nothing to be closed."""
