"""The tables of a run's report: its latencies and its anomalies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.judge.verdict.headline import StoredAnomaly
from chaoskit.report.following import in_order
from chaoskit.report.printed import printed_around
from chaoskit.report.summary import describe_example
from chaoskit.report.words import PAID_WORDS, PHASE_WORDS

_LINES = 20
"""So many lines of a log are shown around a finding."""


def latency_rows(latency: Mapping[str, Any], *, with_faults: bool) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the latencies of a run with their names, as rows of a table."""
    send = latency.get("send", {})
    counted = send.get("without") and send.get("all_due")
    rows = [("send, from when it was due", send)]
    if counted:
        rows.append(("the same, including sends never acknowledged, until given up", counted))
    if with_faults:
        rows += [(f"send, {words}", latency.get(name, {}).get("send", {})) for name, words in PHASE_WORDS.items()]
        rows += [(f"send, {words}", latency.get(name, {})) for name, words in PAID_WORDS.items()]
    rows.append(("send, from the call", latency.get("send_from_actual", {})))
    end_to_end = latency.get("end_to_end", {})
    unsure = f" (± {end_to_end['uncertainty_ms']:.1f} ms: two clocks)" if "uncertainty_ms" in end_to_end else ""
    rows.append((f"end to end, due to first received{unsure}", end_to_end))
    rows.append(("late: from the end of its delay to first received", latency.get("late", {})))
    return [(text, point) for text, point in rows if point]


def anomaly_rows(verdict: Mapping[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Return the anomalies, disallowed first and what follows from a loss after it, with examples in words and what
    the application printed around the first one."""
    anomalies = sorted(verdict["anomalies"].items(), key=lambda named: (named[1]["allowed"], -named[1]["count"]))
    ordered = in_order({name: StoredAnomaly.of(anomaly) for name, anomaly in anomalies})
    return [
        {
            "name": name,
            "loss": name in installed.gone(Gone.LOST),
            "follows": follows,
            **anomaly,
            "examples": [describe_example(example) for example in anomaly["examples"]],
            "printed": next((printed_around(folder, name, example, _LINES) for example in anomaly["examples"]), None),
        }
        for name, follows in ordered
        if (anomaly := verdict["anomalies"][name])
    ]
