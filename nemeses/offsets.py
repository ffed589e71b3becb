"""Resets of the offsets of a group of consumers, as operators do to have it read again, or leave out a backlog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from chaoskit.base.waiting import wait_while
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import NemesisError, Strike
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.systems.operating import GroupOffsets
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.systems.system import System
from chaoskit.model.place import Place
from nemeses.clients import ClientLeave
from nemeses.operated import fetch_tools

_EMPTY_S = 60
_NOWHERE = -1
"""Of a partition in which the group has not committed."""


@dataclass(slots=True)
class _Left:
    """The proof that all members have ended."""

    evidence: str = ""


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
        fetch_tools(system, options)

    def inject(self, strike: Strike) -> None:
        super().inject(strike)
        strike.kept(_Left).evidence = super().verify(strike).sentence
        power = strike.service.power(GroupOffsets)
        before, to = power.committed(), dict[Place, int]()

        def refused() -> str:
            """Try once: a member that does not say that it leaves is one until its session has ended."""
            try:
                to.update(power.aim(strike.parameters.position))
            except ServiceError as error:
                return str(error)
            return ""

        if why := wait_while(refused, _EMPTY_S, every_s=1):
            raise NemesisError(f"the group can still not be reset after {_EMPTY_S} s: {why}")
        if to == before:
            raise NemesisError(f"the group goes on where it would have anyway, at {_in_words(to)}")
        strike.reset |= {place: (before.get(place, _NOWHERE), position) for place, position in to.items()}
        power.commit(to)

    def verify(self, strike: Strike) -> Evidence:
        wanted = {place: to for place, (_, to) in strike.reset.items()}
        if (after := strike.service.power(GroupOffsets).committed()) != wanted:
            raise NemesisError(f"the group should go on at {_in_words(wanted)}, but would at {_in_words(after)}")
        before = {place: position for place, (position, _) in strike.reset.items() if position != _NOWHERE}
        moved = f"the group goes on at {_in_words(after)} instead of {_in_words(before) or 'nowhere'}"
        return Evidence.of_all([moved, strike.kept(_Left).evidence])


def _in_words(positions: dict[Any, int]) -> str:
    return ", ".join(f"{position:,} of {topic}/{number}" for (topic, number), position in sorted(positions.items()))
