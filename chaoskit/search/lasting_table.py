"""How long the findings of a sweep lasted that last, by their detail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.report.markdown import table
from chaoskit.search.sweep import Sweep


def header(sweep: Sweep) -> list[str]:
    """Return the column titles."""
    return [*sweep.axes, "anomaly", "how", "times", "median", "longest"]


def rows(content: Mapping[str, Any]) -> list[list[str]]:
    """Return one row for each cell, anomaly that lasts and detail, from `chaoskit.search.table.document`."""
    return [
        [*cell["variants"], name, detail, f"{took['count']:,}", f"{took['p50']:,.0f} ms", f"{took['max']:,.0f} ms"]
        for cell in content["cells"]
        for name, anomaly in cell["anomalies"].items()
        for detail, took in anomaly.get("lasted_ms", {}).get("by_detail", {}).items()
    ]


def markdown(sweep: Sweep, content: Mapping[str, Any]) -> str:
    """Return the table in Markdown, with a legend; empty if nothing lasted."""
    lasting = rows(content)
    return "\n".join(["", f"## {TITLE}", "", *table(header(sweep), lasting), "", *LEGEND, ""]) if lasting else ""


TITLE = "How long findings lasted"
LEGEND = ("How often in all runs of a cell; the median over the runs of their medians, and the longest of all.",)
