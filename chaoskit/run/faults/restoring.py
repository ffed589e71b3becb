"""Whether a fault leaves a deployment as it was."""

from __future__ import annotations

from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.installed import nemesis
from chaoskit.scenario.timeline import PlannedFault


def restores(fault: PlannedFault) -> bool:
    """Return whether healing a fault restores the deployment fully, so that another trial may use it."""
    kind = nemesis(fault.kind)
    damage = kind.damage(kind.parameters.model_validate(fault.parameters))
    return kind.restores and damage in (Damage.NONE, Damage.FORGETS)
