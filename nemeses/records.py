"""Deletion of the oldest messages of logs, as operators do to free space."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.systems.operating import RecordDeletion
from nemeses.services import answers_again


class Deletion(BaseModel):
    """Parameters of a deletion. `share`: of what each log holds, its oldest part, from 0 to 1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    share: float = Field(default=0.5, gt=0, le=1)


class DeleteRecords(Nemesis):
    """Deletes the oldest messages of all logs that the targets lead. What is before that position is gone for good."""

    summary = "delete the oldest messages of all logs that the hosts lead"
    family = "membership"
    does = Act.NONE
    delays = False
    parameters = Deletion
    renews = False
    lasts = False
    service_powers = (RecordDeletion,)

    def occupies(self, parameters: Any) -> Collection[HostPart]:
        return ()

    def inject(self, strike: Strike) -> None:
        power, share = strike.service.power(RecordDeletion), strike.parameters.share
        places = [place for host in strike.hosts for place in power.logs_led_by(host)]
        for place, (first, end) in power.bounds(places).items():
            if (before := first + math.floor(share * (end - first))) > first:
                strike.deleted[place] = before
        if not strike.deleted:
            raise NemesisError(f"{strike.names} led no log of the workload of which something could be deleted")
        power.delete_before(strike.deleted)

    def verify(self, strike: Strike) -> Evidence:
        bounds = strike.service.power(RecordDeletion).bounds(list(strike.deleted))
        for (topic, number), before in strike.deleted.items():
            if (first := bounds[topic, number][0]) < before:
                raise NemesisError(f"{topic}/{number} should begin at {before:,}, but begins at {first:,}")
        places = [f"{topic}/{number} begins at {before:,}" for (topic, number), before in strike.deleted.items()]
        return Evidence("; ".join(places))

    def heal(self, strike: Strike) -> None:
        """Do nothing: what was deleted does not come back."""

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence(answers_again(strike))
