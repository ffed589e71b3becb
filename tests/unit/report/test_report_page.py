"""The report says what verdict.json says, escapes what others wrote, and never fails a run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.base.installing import with_extra
from chaoskit.base.store import read_json, write_json
from chaoskit.history.compacting.manifest import JUDGED, seal
from chaoskit.report.run_page import run_page, try_report, write_report
from chaoskit.report.words import milliseconds


def specs(page: str) -> dict[str, Any]:
    """Return the charts of a page by id."""
    figures = re.findall(r'id="chart-([^"]+)".*?<script type="application/json">(.*?)</script>', page, re.DOTALL)
    return {name: json.loads(content) for name, content in figures}


def test_it_names_verdict_anomalies_faults_and_examples(judged: Path) -> None:
    page = run_page(judged)

    verdict = read_json(judged / "verdict.json")
    assert f'class="mark {verdict["verdict"]}"' in page
    for name, anomaly in verdict["anomalies"].items():
        assert f"<b>{name}</b>" in page
        assert f"{anomaly['count']:,}" in page
    assert "message" in page
    assert verdict["faults"][0]["evidence"] in page


def test_it_tells_the_worst_partition_and_the_latency_of_each_phase(judged: Path) -> None:
    page, verdict = run_page(judged), read_json(judged / "verdict.json")

    partitions = verdict["availability"]["partitions"]
    assert [f"<b>{partition['partition']}</b>" in page for partition in partitions] == [True] * len(partitions)
    assert milliseconds(verdict["availability"]["longest_unavailable_ms"]) in page
    for words in ("send, outside faults", "send, under faults", "including sends never acknowledged, until given up"):
        assert words in page
    for phase in ("quiet", "under_faults", "after_faults"):
        assert milliseconds(verdict["latency"][phase]["send"]["p99_ms"]) in page


def test_all_charts_share_the_time_axis_and_are_binned(judged: Path) -> None:
    drawn = specs(run_page(judged))

    assert set(drawn) == {"send", "throughput", "events", "end-to-end"}
    for spec in drawn.values():
        assert all(len(layer.get("data", {}).get("values", [])) <= 2_500 for layer in spec["layer"])
    axes = [layer["encoding"].get("x", {}) for spec in drawn.values() for layer in spec["layer"]]
    assert len({str(axis["scale"]["domain"]) for axis in axes if "scale" in axis}) == 1
    names = {row["name"] for layer in drawn["events"]["layer"] for row in layer["data"]["values"]}
    assert {"lost", "phantom"} <= names


def test_what_others_wrote_is_escaped(judged: Path, tmp_path: Path) -> None:
    folder = tmp_path / "x" / "20260101T000000-aaaaaa"
    shutil.copytree(judged, folder)
    verdict = read_json(folder / "verdict.json")
    verdict["reasons"] = ["<script>alert(1)</script>"]
    verdict["anomalies"]["lost"]["why"] = "a & b </td> {{ 7 * 7 }}"
    write_json(folder / "verdict.json", verdict)
    seal(folder, JUDGED)

    page = run_page(folder)

    assert "<script>alert" not in page
    assert "a &amp; b &lt;/td&gt; {{ 7 * 7 }}" in page


def test_it_asks_nothing_of_the_network(judged: Path) -> None:
    page = run_page(judged)

    assert "default-src 'none'" in page
    markup = re.sub(r"(<script[^>]*>).*?</script>", r"\1", page, flags=re.DOTALL)
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"'](?!data:)", markup)
    assert len(page) < 1_500_000


def test_it_is_written_whole_or_not_at_all(judged: Path, tmp_path: Path) -> None:
    assert write_report(judged, tmp_path / "out.html").read_text().endswith("</html>")
    assert [path.name for path in tmp_path.iterdir()] == ["out.html"]
    with pytest.raises(BadInput, match=r"--out .*cannot be written"):
        write_report(judged, tmp_path / "missing" / "out.html")


def test_a_run_without_a_verdict_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"run `chaoskit check .*` first"):
        run_page(tmp_path)

    assert "has no verdict" in str(try_report(tmp_path))


def test_a_missing_package_costs_no_run_its_verdict(judged: Path) -> None:
    code = (
        "import sys; sys.modules['vl_convert'] = None\n"
        "from pathlib import Path\n"
        "from chaoskit.report.run_page import try_report\n"
        f"print(try_report(Path({str(judged)!r})))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert f"needs the package vl_convert: {with_extra('report')}" in done.stdout


def test_a_damaged_run_costs_no_traceback(judged: Path, tmp_path: Path) -> None:
    folder = tmp_path / "x" / "20260101T000000-aaaaaa"
    shutil.copytree(judged, folder)
    (folder / "verdict.json").write_text("{}")

    assert "no report.html" in str(try_report(folder))
