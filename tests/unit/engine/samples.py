"""Scenarios and verdicts that tests vary."""

from __future__ import annotations

from typing import Any

from chaoskit.judge.verdict.verdict import Verdict
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import Plan, make_plan

QUICK = {"p50_ms": 1.0, "p99_ms": 2.0, "p999_ms": 3.0, "max_ms": 4.0}
SLOW = {"p50_ms": 10.0, "p99_ms": 20_000.0, "p999_ms": 20_100.0, "max_ms": 20_200.0}


def content(**changes: Any) -> dict[str, Any]:
    """Return a valid scenario as YAML would give it; `changes` replace or add keys."""
    small = {
        "name": "small",
        "seed": 7,
        "cluster": {"system": "kafka", "hosts": 3},
        "workload": {"kind": "log", "duration": "20s"},
    }
    return {**small, **changes}


def plan(faults: list[dict[str, Any]] | None = None, **changes: Any) -> Plan:
    """Return a plan of real plug-ins; nothing is started."""
    return make_plan(parse_scenario(content(faults=faults or [], **changes), "test.yaml"), "test.yaml")


def verdict(**changes: Any) -> Verdict:
    """Return the verdict of an uneventful run; `changes` replace its fields."""
    calm: dict[str, Any] = {
        "run": "small/20260101T000000-abc",
        "scenario": "small",
        "seed": 7,
        "verdict": "valid",
        "reasons": (),
        "counts": {"sent": 1200, "acked": 1100, "failed": 40, "indeterminate": 60, "received": 1150},
        "audit": {"complete": True, "end_positions": {"log-0/0": 1150}},
        "anomalies": {},
        "faults": (),
        "liveness": {"recovered": True, "bound_s": 60.0, "took_s": 3.1},
        "availability": {"longest_unavailable_ms": 250.0, "recovered_after_heal_ms": 12.0},
        "latency": {
            "send": {**QUICK, "without": 100, "all_due": SLOW},
            "end_to_end": {},
            "quiet": {"send": {**QUICK, "without": 0, "all_due": QUICK}},
            "under_faults": {"send": {**SLOW, "without": 100, "all_due": SLOW}},
            "after_faults": {"send": {}},
        },
        "rates": {"sends_per_s": 5000.0, "acks_per_s": 4900.0},
    }
    return Verdict(**{**calm, **changes})
