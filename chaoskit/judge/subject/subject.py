"""What a run folder declares in its scenario.yaml, as input for judging.

A chaoskit run declares a cluster, whose guarantees determine what is allowed. An imported history
(`imported:` in its scenario.yaml) declares nothing: only anomalies in its `expect:` are allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, with_config
from typing_extensions import TypedDict

from chaoskit.base import store
from chaoskit.base.errors import Problems
from chaoskit.base.quantities import SECOND
from chaoskit.contract import installed
from chaoskit.contract.guarantees.guarantee import Allowance
from chaoskit.contract.mistakes import validated
from chaoskit.contract.systems.system import Imposing, Positions
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.format.fault import Fault
from chaoskit.history.reading.reader import History
from chaoskit.judge.explaining.attribution import Attribution, Explained, unexplained
from chaoskit.judge.explaining.effects import effects, exits
from chaoskit.judge.explaining.record import DigestRecord, Record
from chaoskit.judge.subject.in_effect import in_effect, read_reported
from chaoskit.judge.subject.lateness import late_starts
from chaoskit.judge.timing.recovery import read_recovery
from chaoskit.scenario.expected import Bound, Expected, Number, bounds, check_expected, numbers
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import Plan, make_plan

_BOUND_NS = 60 * SECOND


@dataclass(frozen=True, slots=True)
class Subject:
    """What `judge` needs to know about a run in addition to its history.

    Attributes:
        name: name of the scenario.
        seed: seed of the run.
        expect: how many findings are expected, by anomaly.
        accept: ids of the rules for known issues that do not make it invalid.
        plan: the run's plan; None for an imported history.
        liveness: content of recovery.json.
        bounds: bounds of times, by measure.
        origin: what an imported history came from, such as `jepsen`; empty if that is not known.
        settings_in_doubt: what is in doubt of the settings in effect, as sentences.
    """

    name: str
    seed: int
    expect: Mapping[str, Number]
    accept: Sequence[str] = ()
    plan: Plan | None = None
    liveness: Mapping[str, Any] = field(default_factory=lambda: {"recovered": None})
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    origin: str = ""
    settings_in_doubt: Sequence[str] = ()

    @property
    def imported(self) -> bool:
        """Whether the history was imported."""
        return self.plan is None

    @property
    def replayable(self) -> bool:
        """Whether chaoskit ran the clients, and can do it again."""
        return self.plan is not None and bool(self.plan.workload.tasks(self.plan.workload_options))

    def describe(self, position: int) -> str:
        """Return a position in the system's own notation; empty if it is a plain number."""
        system = self.plan.system if self.plan else None
        return system.describe_position(position) if isinstance(system, Positions) else ""

    def expected_of(self, fault: Fault) -> str:
        """Return the consequence that a fault must have; empty: any, or none."""
        return self.plan.faults[fault.number].expect if self.plan and fault.number < len(self.plan.faults) else ""

    def late_starts(self, faults: Sequence[Fault]) -> dict[int, int]:
        """Return by how much faults began too late, ns, by number."""
        return late_starts(faults, self.plan.faults, self.load_start_ns) if self.plan else {}

    @property
    def bound_ns(self) -> int:
        """Time after a healing within which the system must serve again."""
        return self.plan.scenario.recovery if self.plan else _BOUND_NS

    @property
    def load_start_ns(self) -> int:
        """When all clients started together, ns since the start of the run."""
        return int(self.liveness.get("load_start_ns", 0))

    @property
    def partitions(self) -> list[tuple[str, int]]:
        """The partitions that the final read had to reach; empty if only the history knows them."""
        if self.plan is None:
            return []
        return [place for topic in self.plan.declared.topics for place in topic.places]

    @property
    def imposed(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """By topic, the settings of queues and compacted logs that the workload did not declare."""
        system = self.plan.system if self.plan else None
        if self.plan is None or not isinstance(system, Imposing):
            return {}
        options, topics = self.plan.system_options, self.plan.declared.topics
        return {topic.name: tuple(system.imposed(options, topic).items()) for topic in topics}

    def explain(
        self,
        findings: pa.Table,
        history: History,
        placements: Placements,
        messages: npt.NDArray[np.int64] | None = None,
        digest: DigestRecord | None = None,
        *,
        faults: Sequence[Fault] | None = None,
    ) -> Explained:
        """Return findings with the rules and the faults that explain them.

        Args:
            findings: schema `FINDINGS`.
            history: the history of the run.
            placements: where partitions, and services, were.
            messages: for how many messages each row stands; None: one.
            digest: what is known of the messages if the history does not have them one by one.
            faults: the faults; None: as they were recorded.
        """
        if self.plan is None:
            return unexplained(findings)
        plan = self.plan
        names, hosts = plan.host_names, plan.scenario.cluster.system_hosts
        record = Record(
            plan.declared,
            [
                *effects(history.recorded_faults if faults is None else faults),
                *exits(self.liveness.get("crashed", ())),
            ],
            placements,
            history if digest is None else None,
            hosts,
            names[len(hosts) :],
            digest=digest,
        )
        return Attribution(plan.guarantees, installed.anomalies(), record).explain(findings, messages)

    def promises(self) -> dict[str, Allowance]:
        """Return, by anomaly, why it must not occur under the declared configuration."""
        if self.plan is None:
            return {}
        promised = self.plan.guarantees.promises(self.plan.declared)
        return {name: Allowance(False, why) for name, why in promised.items()}


@with_config(ConfigDict(extra="allow"))
class DeclaredSettings(TypedDict, total=False):
    """What every scenario.yaml holds, of whatever version."""

    name: str
    cluster: dict[str, Any]
    workload: dict[str, Any]


class ImportedScenario(BaseModel):
    """The scenario.yaml of a history that chaoskit did not record.

    Attributes:
        name: name of the folder in the store.
        seed: seed it was generated with, if any.
        imported: its origin, as free text.
        cluster, workload: the known configuration, as in a scenario.
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
    """Read the scenario.yaml of a run folder, and its recovery.json, if any.

    Raises:
        BadInput: scenario.yaml is missing or damaged, or names a plug-in that is not installed.
    """
    path = folder / store.SCENARIO
    content, source = store.read_yaml(path), str(path)
    if "imported" in content:
        scenario = validated(ImportedScenario, content, source, "")
        problems = Problems(source)
        problems.tried(check_expected, scenario.expect, installed.anomalies())
        problems.raise_any()
        origin = str(scenario.imported.get("from", ""))
        expect = scenario.expect
        return Subject(scenario.name, scenario.seed, numbers(expect), bounds=bounds(expect), origin=origin)
    plan = make_plan(parse_scenario(content, source), source, recorded=True)
    declared = plan.scenario
    plan, settings_in_doubt = _in_effect(plan, folder)
    return Subject(
        declared.name,
        plan.seed,
        numbers(declared.expect),
        declared.accept,
        plan,
        read_recovery(folder),
        bounds(declared.expect),
        settings_in_doubt=settings_in_doubt,
    )


def _in_effect(plan: Plan, folder: Path) -> tuple[Plan, Sequence[str]]:
    """Return a plan with the settings that were in effect, and what of them is in doubt."""
    reported = read_reported(folder)
    if reported is None:
        return plan, ()
    options, doubts = in_effect(plan.system_options, plan.system.guarantees.settings, reported)
    return replace(plan, system_options=options, declared=replace(plan.declared, options=options)), doubts
