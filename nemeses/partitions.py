"""Partitions that an operator adds to topics under load, so that more consumers can share them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.waiting import wait_while
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.systems.operating import PartitionAdding
from chaoskit.contract.systems.service import ServiceError
from nemeses.services import answers_again

_KNOWN_WITHIN_S = 15


class Addition(BaseModel):
    """Parameters. `count`: how many partitions each topic of the workload has afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    count: int = Field(ge=2, le=10_000)


class AddPartitions(Nemesis):
    """Adds partitions to all topics of the workload; keys move to other ones as soon as producers notice."""

    summary = "add partitions to the topics, so that keys move to other ones"
    family = "membership"
    does = Act.NONE
    delays = False
    parameters = Addition
    moves_keys = True
    renews = False
    lasts = False
    service_powers = (PartitionAdding,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return ()

    def inject(self, strike: Strike) -> None:
        count = strike.parameters.count
        for topic, before in _known(strike).items():
            if before >= count:
                raise NemesisError(f"{topic} has {before:,} partitions already; set count to more")
        strike.service.power(PartitionAdding).add_partitions(count)

    def verify(self, strike: Strike) -> Evidence:
        count, known = strike.parameters.count, dict[str, int]()

        def lacking() -> str:
            try:
                known.update(_known(strike))
            except NemesisError as error:
                return str(error)
            return ", ".join(f"{topic} has {now:,} with a leader" for topic, now in known.items() if now < count)

        if why := wait_while(lacking, _KNOWN_WITHIN_S):
            raise NemesisError(f"there should be {count:,} partitions, but {why}")
        return Evidence(f"{', '.join(known)}: {count:,} partitions, each with a leader")

    def heal(self, strike: Strike) -> None:
        """Do nothing: partitions cannot be taken away."""

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(answers_again(strike))


def _known(strike: Strike) -> dict[str, int]:
    """Return how many partitions each topic has, as the target says that knows the fewest, of those that answer.

    Raises:
        NemesisError: none does.
    """
    answers, silent = list[dict[str, int]](), list[str]()
    for host in strike.hosts:
        try:
            answers.append(strike.service.power(PartitionAdding).partitions_known_to(host))
        except ServiceError as error:
            silent.append(str(error))
    if not answers:
        raise NemesisError("; ".join(silent))
    return {topic: min(known[topic] for known in answers) for topic in answers[0]}
