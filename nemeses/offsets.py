"""Resets of the offsets of a group of consumers, as operators do to have it read again, or leave out a backlog."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import NemesisError, Strike
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.systems.operating import GroupOffsets, Tooled
from chaoskit.contract.systems.system import System
from nemeses.clients import ClientLeave


class Reset(BaseModel):
    """Parameters of a reset. `position`: `earliest`, `latest`, or by how many messages; a negative number goes back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    position: Literal["earliest", "latest"] | int


class ResetOffsets(ClientLeave):
    """Has all members of the workload's group leave, and sets where it goes on; healing starts them again."""

    summary = "have all consumers leave their group, and reset its offsets; start them again"
    family = "membership"
    does = Act.STOPS
    parameters = Reset
    service_powers = (GroupOffsets,)

    def prepare(self, system: System, options: Any, parameters: Reset) -> None:
        """See `chaoskit.contract.faults.nemesis.Preparing`."""
        if isinstance(system, Tooled):
            system.prepare_tools(options)

    def verify(self, strike: Strike) -> Evidence:
        ended = super().verify(strike)
        power = strike.service.power(GroupOffsets)
        before = power.committed()
        strike.reset |= power.reset(strike.parameters.position)
        after = power.committed()
        if after != strike.reset:
            raise NemesisError(f"the group should go on at {_told(strike.reset)}, but would at {_told(after)}")
        if after == before:
            raise NemesisError(f"the group goes on where it would have anyway, at {_told(after)}")
        return Evidence.of_all([f"the group goes on at {_told(after)} instead of {_told(before)}", ended])


def _told(positions: dict[Any, int]) -> str:
    return ", ".join(f"{position:,} of {topic}/{number}" for (topic, number), position in sorted(positions.items()))
