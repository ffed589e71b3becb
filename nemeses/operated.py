"""What operators do with the system's own tools: the base of such faults."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from chaoskit.contract.faults.nemesis import Nemesis
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.systems.operating import Tooled
from chaoskit.contract.systems.system import System


def fetch_tools(system: System, options: Any) -> None:
    """Download what operators of a system use, if that is apart from it, before a run starts.

    Raises:
        BadInput: it cannot be obtained.
    """
    if isinstance(system, Tooled):
        system.prepare_tools(options)


class Operated(Nemesis):
    """Base of what operators do to hosts, on which meanwhile nobody else touches the processes."""

    family = "membership"
    renews = False

    def prepare(self, system: System, options: Any, parameters: Any) -> None:
        """See `chaoskit.contract.faults.nemesis.Preparing`."""
        fetch_tools(system, options)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return {HostPart.PROCESSES}
