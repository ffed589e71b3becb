"""Near misses in which the leader stayed, or the setting was the strong one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chaoskit.contract.guarantees.guarantee import Effect
from chaoskit.contract.guarantees.mechanism import Copies
from chaoskit.judge.explaining.attribution import Cause
from chaoskit.scenario.files import find
from chaoskit.scenario.plan import Plan
from chaoskit.testing.nearmiss.change import RunChange
from chaoskit.testing.nearmiss.stored import StoredRun


def leader_unchanged(run: StoredRun) -> Iterator[RunChange]:
    """Yield a run as if the first leader of each partition had led all the time, in sync with all that store it: then
    a copy is gone only if something was done to that of the leader."""
    changed = [place for place in run.placements.places if run.placements.new_leaders(place)]
    causes = [cause for cause in run.causes if isinstance(cause.mechanism, Copies) and _of_leader(cause.mechanism)]
    rows = run.rows_of(causes)
    if not changed or not rows.size:
        return
    stayed = run.placements.unchanged()
    leaders = {standing.leader for place in stayed.places for standing in stayed.standings(place)}
    yield RunChange(
        kind="leader-unchanged",
        words="the first leaders led all the time",
        rows=rows,
        faults=run.faults,
        placements=stayed,
        excluded=lambda cause: isinstance(cause.mechanism, Copies) and not _took(cause, cause.mechanism, leaders),
    )


def _of_leader(mechanism: Copies) -> bool:
    return mechanism.enough is None and not mechanism.hosts and not mechanism.anywhere and mechanism.leader_counts


def _took(cause: Cause, mechanism: Copies, leaders: set[str]) -> bool:
    """Return whether one of the faults of a cause took the copies of a leader."""
    if not _of_leader(mechanism):
        return True
    return any(_takes(effect, mechanism) and leaders & set(effect.targets) for effect in cause.story.faults)


def _takes(effect: Effect, mechanism: Copies) -> bool:
    ended = effect.acts & mechanism.in_process
    return bool(effect.damage & mechanism.takes) or bool(ended)


def strong(run: StoredRun) -> Iterator[RunChange]:
    """Yield a run as if it had been declared like the control of each rule that explains something, if that is a
    variant of the same scenario with other settings: then the rule must explain nothing."""
    plan = run.subject.plan
    rules = {cause.rule.id: cause.rule for cause in run.causes}
    for name, rule in sorted(rules.items()):
        control = _control(run, plan, rule.control, rule.shown) if plan else None
        if control is not None:
            causes = [cause for cause in run.causes if cause.rule.id == name]
            yield RunChange(
                kind="strong",
                words=f"declared like {rule.control}, the control of {name}",
                rows=np.sort(run.rows_of(causes)),
                faults=run.faults,
                plan=control,
                excluded=lambda cause, name=name: cause.rule.id == name,  # type: ignore[misc]
            )


def _control(run: StoredRun, plan: Plan, control: str, shown: str) -> Plan | None:
    """Return the plan of a control; None if it is no variant of the scenario that shows a rule, has no other settings,
    other faults, or none where the run has some; or if it cannot have the run's record: it has other hosts, clients or
    topics, or more copies."""
    if not control or control.partition(":")[0] != shown.partition(":")[0]:
        return None
    strong_plan, weak_plan = (find(spec)[0].planned() for spec in (control, shown))
    if _settings(strong_plan) in (_settings(weak_plan), _settings(plan)):
        return None
    faults = strong_plan.scenario.faults
    if faults != weak_plan.scenario.faults or (run.faults and not faults):
        return None
    return strong_plan if _parties(strong_plan) == _parties(plan) else None


def _settings(plan: Plan) -> tuple[object, ...]:
    return plan.system_options, plan.workload_options, plan.declared.topics


def _parties(plan: Plan) -> tuple[object, ...]:
    """Return who and what there is in a run of a plan, and how many copies are made."""
    clients = [task.client for task in plan.workload.tasks(plan.workload_options)]
    copies = [(topic.places, topic.replication) for topic in plan.declared.topics]
    quorums = getattr(plan.system_options, "persistence", None)
    return plan.scenario.cluster.system, plan.host_names, clients, copies, quorums
