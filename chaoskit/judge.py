"""From a run folder to its verdict: runs every checker on every partition, then asks the guarantees.

Used at the end of a run and by `chaoskit check`, also on what a killed run has left.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from chaoskit import plugins, store
from chaoskit.checker import FINDINGS, Checker, Context, Settling
from chaoskit.conductor import effects
from chaoskit.history.compact import compact
from chaoskit.history.faults import compact_faults
from chaoskit.history.reader import History
from chaoskit.metrics import measure
from chaoskit.plan import Plan, make_plan
from chaoskit.scenario import parse_scenario
from chaoskit.verdict import Anomaly, Verdict, allow, decide
from chaoskit.workload import AUDITOR

EXAMPLES_MAX = 5


def check_run(folder: Path) -> Verdict:
    """Judge a run folder and write its findings and verdict.json.

    A run that was killed has only its write-ahead log: it is compacted first.

    Raises:
        BadInput: the folder does not hold a run, or is damaged.
    """
    source = str(folder / store.SCENARIO)
    plan = make_plan(parse_scenario(store.read_yaml(folder / store.SCENARIO), source), source)
    if not (folder / "operations.parquet").exists():
        compact_faults(folder)
        compact(folder)
    history = History.open(folder)
    findings = find(history)
    pq.write_table(findings, folder / "findings.parquet", compression="zstd")
    recovery = folder / store.RECOVERY
    liveness = store.read_json(recovery) if recovery.exists() else {"recovered": None}
    verdict = _verdict(plan, folder, history, findings, liveness)
    store.write_json(folder / store.VERDICT, verdict.as_json())
    return verdict


def find(history: History) -> pa.Table:
    """Return the findings of all installed checkers over all partitions (schema `FINDINGS`)."""
    tables = [FINDINGS.empty_table()]
    for name in plugins.names("checker"):
        checker: Checker = plugins.load("checker", name, "checker")
        tables.append(_run_checker(checker, history))
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _run_checker(checker: Checker, history: History) -> pa.Table:
    parts = []
    for partition in history.partitions:
        topic, number = partition.topic, partition.partition
        context = Context(topic, number, history.audit(topic, number), AUDITOR)
        parts.append(checker.check(history.messages(topic, number), history.operations, context))
    findings = pa.concat_tables([FINDINGS.empty_table(), *parts])
    if not isinstance(checker, Settling) or len(values := checker.open_values(findings)) == 0:
        return findings
    found = [checker.sent_here(history.messages(each.topic, each.partition), values) for each in history.partitions]
    return checker.settle(findings, pa.concat_tables(found))


def _verdict(plan: Plan, folder: Path, history: History, findings: pa.Table, liveness: dict[str, Any]) -> Verdict:
    fault_rows = history.faults.to_pylist()
    guarantees = plan.system.guarantees(plan.declared, effects(fault_rows))
    expect = plan.scenario.expect
    numbers = {
        row["values"]: row["counts"] for row in pc.value_counts(findings["anomaly"].cast(pa.string())).to_pylist()
    }
    anomalies = {}
    for name in (name for name in plugins.anomalies() if name in numbers or name in expect):
        rows = findings.filter(pc.equal(findings["anomaly"].cast(pa.string()), name))
        allowance = allow(name, rows.num_rows, guarantees, expect)
        anomalies[name] = Anomaly(
            rows.num_rows,
            allowance.allowed,
            allowance.why,
            allowance.remedy,
            _between_s(rows),
            tuple(_examples(rows, history.operations)),
        )
    faults = tuple(
        {
            "kind": row["kind"],
            "targets": row["targets"],
            "effective": row["effective_ns"] is not None,
            "healed": row["healed_ns"] is not None,
            "at_ms": round(row["start_ns"] / 1e6, 1),
            "healed_at_ms": None if row["healed_ns"] is None else round(row["healed_ns"] / 1e6, 1),
            "evidence": row["evidence"],
        }
        for row in fault_rows
    )
    healed = [row["healed_ns"] for row in fault_rows if row["healed_ns"] is not None]
    load_start_ns = liveness.get("load_start_ns", 0)
    load = measure(history, folder / "latency", healed, load_start_ns)
    audit, complete = _audit(plan, history)
    problems = tuple(liveness.get("problems", ()))
    outcome, reasons = decide(
        anomalies,
        recovered=liveness["recovered"],
        audit_complete=complete,
        acked=load["counts"]["acked"],
        faults=faults,
        problems=problems,
    )
    return Verdict(
        run=store.run_name(folder),
        scenario=plan.scenario.name,
        seed=plan.seed,
        verdict=outcome,
        reasons=reasons,
        load_start_s=round(load_start_ns / 1e9, 3),
        anomalies=anomalies,
        faults=faults,
        audit=audit,
        liveness={key: value for key, value in liveness.items() if key not in ("problems", "load_start_ns")},
        **load,
    )


def _between_s(rows: pa.Table) -> tuple[float, float] | None:
    extent = pc.min_max(rows["at_ns"]).as_py()
    return None if extent["min"] is None else (extent["min"] / 1e9, extent["max"] / 1e9)


def _examples(rows: pa.Table, operations: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the first findings, the operations that they name put into words."""
    for row in rows.slice(0, EXAMPLES_MAX).to_pylist():
        example = {key: value for key, value in row.items() if value is not None and key != "anomaly"}
        for key in ("op", "other_op"):
            if key in example:
                example[key.replace("op", "operation")] = _describe(operations, example[key])
        yield example


def _describe(operations: pa.Table, op: int) -> str:
    row = operations.slice(op, 1).to_pylist()[0]
    ended = "never completed" if row["end_ns"] is None else f"{row['outcome']} at {row['end_ns'] / 1e9:.3f} s"
    error = f" ({row['error']})" if row["error"] else ""
    return f"{row['f']} by {row['client']} at {row['start_ns'] / 1e9:.3f} s, {ended}{error}"


def _audit(plan: Plan, history: History) -> tuple[dict[str, Any], bool]:
    topics = plan.workload.topics(plan.workload_options, plan.declared.brokers)
    wanted = [(topic.name, partition) for topic in topics for partition in range(topic.partitions)]
    audits = {where: history.audit(*where) for where in wanted}
    complete = all(audit is not None and audit.complete for audit in audits.values())
    ends = {f"{topic}/{partition}": audit.end for (topic, partition), audit in audits.items() if audit is not None}
    return {"complete": complete, "end_positions": ends}, complete
