"""How instances of an application ended during the load: by a fault of their host, or by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import TypedDict

from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import Effect
from chaoskit.contract.workloads.instances import instance_number, of_instances
from chaoskit.history.reading.reader import History
from chaoskit.judge.explaining.effects import effects
from chaoskit.judge.subject.subject import Subject
from chaoskit.model.observations.pipeline import EXIT


class InstanceEnd(NamedTuple):
    """One end of an instance.

    Attributes:
        op: the operation.
        instance: its name, such as `application-0`.
        at_ns: when it ended.
        how: such as `signal SIGKILL`, `status 1`.
        fault: number of the fault that ended it; None: it ended by itself.
    """

    op: int
    instance: str
    at_ns: int
    how: str
    fault: int | None


class EndedTold(TypedDict):
    """How often an instance ended by itself in one way, as in verdict.json; `first_ms` since the start of the run."""

    instance: str
    how: str
    count: int
    first_ms: float


def instance_ends(history: History, subject: Subject) -> list[InstanceEnd]:
    """Return the ends of instances in order of time, also those after the load."""
    hosts = subject.plan.scenario.cluster.application_hosts if subject.plan else []
    if not hosts:
        return []
    ending = [effect for effect in effects(history.recorded_faults) if effect.acts & Act.ENDS and effect.proved]
    operations = history.operations.select(["op", "client", "f", "start_ns", "error"])
    return [
        InstanceEnd(
            row["op"],
            row["client"],
            row["start_ns"],
            row["error"] or "",
            _fault_on(hosts, row["client"], row["start_ns"], ending),
        )
        for row in of_instances(operations, EXIT).to_pylist()
    ]


def found_by_ends(ends: Sequence[InstanceEnd], findings: pa.Table) -> dict[int, dict[str, int]]:
    """Return how many findings of each anomaly follow from the end of an instance by a fault, and are explained by no
    fault yet, by the fault's number.

    Args:
        ends: the ends of instances.
        findings: schema `JUDGED`; the first of `other_ops` of a finding of the application is the end that is to blame.
    """
    fault_of = {end.op: end.fault for end in ends if end.fault is not None}
    if not fault_of:
        return {}
    blames = pc.greater(pc.list_value_length(findings["other_ops"]), 0)
    known = findings.filter(pc.and_(blames, pc.is_null(findings["fault"])))
    blamed = pc.list_element(known["other_ops"], 0).to_pylist()
    counts: dict[int, dict[str, int]] = {}
    for name, op in zip(known["anomaly"].to_pylist(), blamed, strict=True):
        if (fault := fault_of.get(op)) is not None:
            counts.setdefault(fault, Counter())[name] += 1
    return counts


def ended_by_themselves(ends: Sequence[InstanceEnd], load_end_ns: int) -> list[EndedTold]:
    """Return how often each instance ended by itself before the end of the load."""
    own = [end for end in ends if end.fault is None and end.at_ns < load_end_ns]
    counts = Counter((end.instance, end.how) for end in own)
    first_ns = {(end.instance, end.how): end.at_ns for end in reversed(own)}
    return [
        EndedTold(instance=instance, how=how, count=count, first_ms=round(first_ns[instance, how] / 1e6, 1))
        for (instance, how), count in sorted(counts.items())
    ]


def _fault_on(hosts: Sequence[str], instance: str, at_ns: int, ending: Sequence[Effect]) -> int | None:
    """Return the number of the fault that ended an instance: of those that end processes of its host, and held then,
    the one that began last."""
    number = instance_number(instance)
    host = hosts[number] if number < len(hosts) else ""
    held = [effect for effect in ending if host in effect.targets and effect.start_ns <= at_ns <= effect.over_ns]
    return max(held, key=lambda effect: effect.start_ns).number if held else None
