"""Runs beside each other: every figure of verdict.json, what differs, and a page with their courses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_report_page import specs

from chaoskit.base.errors import BadInput
from chaoskit.base.store import read_json
from chaoskit.history.reading.reader import History
from chaoskit.judge.timing.timing import load_of
from chaoskit.report.compared import differences, document, figures, labels, letter, read_compared
from chaoskit.report.compared_page import write_compared


def test_figures_are_those_of_the_verdicts(judged: Path, calm: Path) -> None:
    runs = read_compared([judged, calm])
    comparison = figures(runs)
    verdicts = [read_json(folder / "verdict.json") for folder in (judged, calm)]

    happened = {row.name: row for row in comparison["what happened"]}
    assert happened["acknowledged"].values == tuple(f"{verdict['counts']['acked']:,}" for verdict in verdicts)
    assert happened["acknowledged"].differs
    anomalies = {row.name: row.values for row in comparison["anomalies"]}
    for name, anomaly in verdicts[0]["anomalies"].items():
        if anomaly["count"]:
            assert anomalies[name][0] == f"{anomaly['count']:,}" + ("" if anomaly["allowed"] else ", NOT allowed")
            assert anomalies[name][1].startswith(f"{verdicts[1]['anomalies'].get(name, {}).get('count', 0):,}")
    under = {row.name: row.values for row in comparison["latency of acknowledged sends, under faults"]}
    assert under["p99"][0]
    assert under["p99"][1] == "", "the calm run has no faults"


def test_a_fault_that_changed_nothing_is_told(judged: Path, calm: Path) -> None:
    runs = read_compared([judged, calm])
    idle = {"kind": "disk-slow", "targets": ["n2"], "consequence": {}}
    happened = figures([replace(runs[0], verdict={**runs[0].verdict, "faults": [idle]}), runs[1]])["what happened"]

    assert {row.name: row.values for row in happened}["less than intended"] == (
        "disk-slow of n2 had no consequence",
        "",
    )
    assert "less than intended" not in {row.name for row in figures(runs)["what happened"]}


def test_what_differs_between_scenarios(judged: Path, calm: Path) -> None:
    rows = {row.name: row.values for row in differences(read_compared([judged, calm]))}

    assert rows
    assert not {"seed", "name"} & rows.keys()
    assert all(len(set(values)) > 1 for values in rows.values())


def test_a_folder_of_a_scenario_stands_for_its_runs(judged: Path, calm: Path) -> None:
    assert [run.folder for run in read_compared([judged.parent, calm])] == [judged, calm]


def test_a_store_stands_for_its_judged_runs(judged: Path, calm: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for number, folder in enumerate((judged, calm)):
        shutil.copytree(folder, store / f"scenario-{number}" / f"2026-{number}")
    (store / "latest").symlink_to(store / "scenario-1/2026-1")
    unjudged = shutil.copytree(calm, store / "scenario-1" / "2026-3")
    (unjudged / "verdict.json").unlink()

    folders = [run.folder for run in read_compared([store])]

    assert folders == [store / "scenario-0/2026-0", store / "scenario-1/2026-1"], "the oldest first"


def test_too_few_and_equal_runs_are_refused(judged: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="needs at least two judged runs"):
        read_compared([judged])
    with pytest.raises(BadInput, match="is given twice"):
        read_compared([judged, judged.parent])
    with pytest.raises(BadInput, match="nothing"):
        read_compared([judged, tmp_path / "nothing"])


def test_the_page_shows_each_run_over_time(judged: Path, calm: Path, tmp_path: Path) -> None:
    runs = read_compared([judged, calm])
    page = write_compared(runs, tmp_path / "page.html").read_text(encoding="utf-8")

    assert set(specs(page)) == {"send", "throughput", "faults"}
    values = specs(page)["send"]["layer"][0]["data"]["values"]
    assert {key for row in values for key in row if key.startswith("r")} == {"r0", "r1"}
    assert min(row["t"] for row in values) <= 1, "times are since the start of each load"
    assert "&lt;b&gt;" in page, "names are escaped"
    faults = History.open(judged).recorded_faults
    spans = specs(page)["faults"]["layer"][0]["data"]["values"]
    assert len(spans) == len(faults), "the calm run has none"
    begin_s = load_of(judged).begin_ns / 1e9
    assert spans[0]["name"] == f"A: {faults[0].kind} on {', '.join(faults[0].targets)}"
    assert spans[0]["from"] == pytest.approx(faults[0].start_ns / 1e9 - begin_s, abs=1e-3)


def test_runs_are_called_by_their_scenario_or_by_what_differs(judged: Path, calm: Path) -> None:
    judged_run, calm_run = read_compared([judged, calm])
    weak, strong = (
        replace(
            calm_run, scenario={"name": "same", "cluster": {"system": "kafka", "topic": {"min.insync.replicas": n}}}
        )
        for n in (1, 2)
    )

    assert labels([judged_run, calm_run]) == [
        f"{letter} {run.scenario['name']}" for letter, run in (("A", judged_run), ("B", calm_run))
    ]
    assert labels([weak, strong]) == ["A topic.min.insync.replicas=1", "B topic.min.insync.replicas=2"]


def test_the_verb(judged: Path, calm: Path, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("chaoskit")), "compare", str(judged), str(calm)]
    shown = subprocess.run(
        [*command, "--html", str(tmp_path / "page.html")], text=True, capture_output=True, check=True
    )
    done = subprocess.run([*command, "--json"], text=True, capture_output=True, check=True)

    assert shown.stdout.startswith("A  ")
    assert "what differs in their scenarios" in shown.stdout
    assert (tmp_path / "page.html").exists()
    assert json.loads(done.stdout) == document(read_compared([judged, calm]))


def test_letters() -> None:
    assert [letter(index) for index in (0, 1, 25, 26)] == ["A", "B", "Z", "27"]
