"""What is judged: the declared side of a run folder, from its scenario.yaml.

A run of chaoskit's own declares a cluster, whose guarantees decide what is allowed. An imported
history (`imported:` in its scenario.yaml) declares nothing: no anomaly is allowed but what its
`expect:` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.base import store
from chaoskit.base.quantities import SECOND
from chaoskit.contract import installed
from chaoskit.contract.guarantee import Allowance
from chaoskit.judge.effects import effects
from chaoskit.judge.guarantees import allowances
from chaoskit.scenario.model import Expected, parse_scenario, validated
from chaoskit.scenario.plan import Plan, make_plan

_BOUND_NS = 60 * SECOND


@dataclass(frozen=True, slots=True)
class Subject:
    """What `judge` must know of a run besides its history.

    Attributes:
        name: of the scenario.
        seed: that it ran with.
        expect: explicit expectations, by anomaly.
        plan: the run's plan; None for an imported history.
        liveness: as in recovery.json.
    """

    name: str
    seed: int
    expect: Mapping[str, Expected]
    plan: Plan | None = None
    liveness: Mapping[str, Any] = field(default_factory=lambda: {"recovered": None})

    @property
    def imported(self) -> bool:
        """Whether the history came from elsewhere."""
        return self.plan is None

    @property
    def bound_ns(self) -> int:
        """Within what time of a healing the system must serve again."""
        return self.plan.scenario.recovery if self.plan else _BOUND_NS

    @property
    def load_start_ns(self) -> int:
        """When all clients started together, ns since the start of the run."""
        return int(self.liveness.get("load_start_ns", 0))

    @property
    def partitions(self) -> list[tuple[str, int]]:
        """The partitions that the final read had to reach; none if the history alone knows them."""
        if self.plan is None:
            return []
        return [place for topic in self.plan.declared.topics for place in topic.places]

    def guarantees(self, faults: Sequence[Mapping[str, Any]]) -> dict[str, Allowance]:
        """Return what the declared configuration allows under these faults (rows of faults.parquet)."""
        if self.plan is None:
            return {}
        guarantees = self.plan.system.guarantees
        return allowances(guarantees, installed.anomalies(), self.plan.declared, effects(faults))


class ImportedScenario(BaseModel):
    """The scenario.yaml of a history that chaoskit did not record.

    Attributes:
        name: names the folder in the store.
        seed: that it was generated with, if it was.
        imported: where it came from, in free form.
        cluster, workload: what is known of the configuration, in the shape of a scenario.
        expect: as in a scenario.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    seed: int = 0
    imported: dict[str, Any]
    cluster: dict[str, Any] = {}
    workload: dict[str, Any] = {}
    expect: dict[str, Expected] = {}


def read_subject(folder: Path) -> Subject:
    """Read the scenario.yaml, and the recovery.json if there is one, of a run folder.

    Raises:
        BadInput: it is missing, damaged, or names what is not installed.
    """
    path = folder / store.SCENARIO
    content, source = store.read_yaml(path), str(path)
    if isinstance(content, dict) and "imported" in content:
        scenario = validated(ImportedScenario, content, source, "")
        return Subject(scenario.name, scenario.seed, scenario.expect)
    plan = make_plan(parse_scenario(content, source), source)
    recovery = folder / store.RECOVERY
    liveness = store.read_json(recovery) if recovery.exists() else {"recovered": None}
    return Subject(plan.scenario.name, plan.seed, plan.scenario.expect, plan, liveness)
