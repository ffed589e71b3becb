"""A sweep runs every cell with every seed, once, and says how sure one can be of what was not seen."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path
from typing import Any

import pytest
import samples
from click.testing import CliRunner

from chaoskit.base import store
from chaoskit.base.errors import BadInput, RunFailed
from chaoskit.cli.main import cli
from chaoskit.judge.verdict.verdict import Found, Lasted, LastedDetail, Verdict
from chaoskit.run.interruption import INTERRUPTED
from chaoskit.scenario.files import find_sweep
from chaoskit.scenario.model import merge
from chaoskit.scenario.plan import Plan
from chaoskit.search.sweep import Results, load_sweep
from chaoskit.search.table import document, rows, upper_bound

SWEEP = """
name: small
base:
  cluster: {system: kafka, hosts: 3}
  workload: {kind: log, duration: 5s, producer: {acks: all}}
axes:
  idempotence:
    off: {workload: {producer: {enable.idempotence: false}}}
    on: {}
  fault:
    none: {}
    kill: {faults: [{at: [1s, 3s], inject: kill, on: leader}]}
seeds: 2
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SWEEP)
    return path


def _refused(path: Path, old: str, new: str) -> str:
    path.write_text(SWEEP.replace(old, new))
    with pytest.raises(BadInput) as refused:
        load_sweep(path)
    return str(refused.value)


@pytest.mark.parametrize("name", ["dedup", "expectations-kafka", "expectations-pulsar", "failover", "journal-sync"])
def test_every_ready_made_sweep_is_planned(name: str) -> None:
    assert load_sweep(find_sweep(f"sweeps/{name}"), seeds=1).name == name


def test_scenarios_in_files_are_an_axis(file: Path) -> None:
    (file.parent / "one.yaml").write_text("name: first\nseed: 9\nworkload: {kind: log, duration: 7s}\n")
    (file.parent / "second.yaml").write_text("workload: {kind: log, rate: 10}\n")
    text = file.read_text().replace("axes:", "scenarios: [one.yaml, second.yaml]\naxes:")
    file.write_text(text)
    cells = load_sweep(file).cells

    assert [cell.name for cell in cells[::4]] == ["first/off/none", "second/off/none"]
    assert cells[0].plans[1].scenario.workload.duration == 7_000_000_000
    assert sorted(cells[0].plans) == [1, 2]


def test_a_sweep_of_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("base: {}\n")

    with pytest.raises(BadInput, match=r"empty\.yaml: axes: missing; specify axes or scenarios"):
        load_sweep(path)


def test_cells_are_the_product_of_the_axes(file: Path) -> None:
    sweep = load_sweep(file)

    assert [cell.name for cell in sweep.cells] == ["off/none", "off/kill", "on/none", "on/kill"]
    assert [list(cell.plans) for cell in sweep.cells] == [[1, 2]] * 4
    off = sweep.cells[0].plans[1]
    assert off.scenario.name == "small.off.none"
    assert off.declared.producer == {"acks": "all", "enable.idempotence": False}
    assert sweep.cells[2].plans[1].declared.producer == {"acks": "all"}


def test_seeds_move_faults_within_their_range(file: Path) -> None:
    kill = load_sweep(file, seeds=20).cells[1]
    begins = {plan.faults[0].at_ns for plan in kill.plans.values()}

    assert len(begins) > 10
    assert min(begins) >= 10**9
    assert max(begins) <= 3 * 10**9


def test_seeds_and_cells_can_be_chosen(file: Path) -> None:
    sweep = load_sweep(file, seeds=3, only=["off/*", "*/kill"])

    assert [cell.name for cell in sweep.cells] == ["off/none", "off/kill", "on/kill"]
    assert [list(cell.plans) for cell in sweep.cells] == [[1, 2, 3]] * 3


@pytest.mark.parametrize(
    ("old", "new", "refusal"),
    [
        ("seeds: 2", "seed: 2", 'seed: unknown key; did you mean "seeds"?'),
        ("seeds: 2", "seeds: 0", "seeds: must be at least 1"),
        ("seeds: 2", "count: [duplicates]", "count: unknown anomaly 'duplicates'; did you mean \"duplicate\"?"),
        ("axes:", "axis:", 'axis: unknown key; did you mean "axes"?'),
        ("none: {}", "none: {workload: {rat: 5}}", 'small.yaml: off/none: workload.rat: unknown key; did you mean'),
        ("none: {}", "none: {name: x}", "name: set by the sweep itself; remove it from base and axes"),
        ("none: {}", "a/b: {}", "write letters, digits and signs such as -, no spaces"),
        ("1s, 3s", "1s, 9s", "starts after the end of the load"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_before_anything_runs(file: Path, old: str, new: str, refusal: str) -> None:
    assert refusal in _refused(file, old, new)


def test_a_pattern_without_a_cell_is_refused(file: Path) -> None:
    with pytest.raises(BadInput, match=r"--only of/kill: no such cell; did you mean .off/kill"):
        load_sweep(file, only=["of/kill"])


@pytest.mark.parametrize(
    ("base", "changes", "merged"),
    [
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"b": 1}}, {"a": 5}, {"a": 5}),
        ({"a": 5}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_overrides_are_merged(base: Any, changes: Any, merged: Any) -> None:
    assert merge(base, changes) == merged


@pytest.mark.parametrize("runs", [1, 10, 59, 299])
def test_with_none_seen_the_bound_has_a_closed_form(runs: int) -> None:
    assert upper_bound(0, runs) == pytest.approx(1 - 0.05 ** (1 / runs), rel=1e-9)


@pytest.mark.parametrize(("seen", "runs", "bound"), [(1, 10, 0.394163), (5, 10, 0.777559), (2, 100, 0.061621)])
def test_the_bound_is_that_of_clopper_and_pearson(seen: int, runs: int, bound: float) -> None:
    tail = sum(_binomial(runs, k, bound) for k in range(seen + 1))

    assert upper_bound(seen, runs) == pytest.approx(bound, abs=1e-5)
    assert tail == pytest.approx(0.05, abs=1e-4)


def _binomial(n: int, k: int, p: float) -> float:
    return comb(n, k) * p**k * (1 - p) ** (n - k)


class Runs:
    """Stands for a site of real runs: what each scenario and seed comes to, and which were run."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.duplicates: dict[str, int] = {}
        self.broken: set[str] = set()
        self.changes: dict[str, Any] = {}

    def __call__(self, store_folder: Path) -> Runs:
        self.store = store_folder
        return self

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *_: object) -> None:
        """End nothing."""

    def run(self, plan: Plan, watcher: Any) -> tuple[Path, Verdict]:
        title = f"{plan.scenario.name}/{plan.seed}"
        self.ran.append(title)
        if title in self.broken:
            raise RunFailed("the broker did not start")
        folder = store.new_run_folder(self.store, plan.scenario.name)
        store.write_yaml(folder / store.SCENARIO, plan.resolved())
        count = self.duplicates.get(title, 0)
        anomalies = {"duplicate": Found(count, allowed=".off." in title, why="because")} if count else {}
        judged = "invalid" if count and ".on." in title else "valid"
        seen = {"seed": plan.seed, "verdict": judged, "anomalies": anomalies, **self.changes.get(title, {})}
        verdict = samples.verdict(**seen)
        store.write_json(folder / store.VERDICT, verdict.as_json())
        return folder, verdict


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    stand_in = Runs()
    monkeypatch.setattr("chaoskit.search.sweep.Site", stand_in)
    monkeypatch.setattr("chaoskit.search.sweep.check_machine", lambda _: None)
    return stand_in


def _sweep(file: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the cells by name."""
    given = ["sweep", str(file), "--store", str(file.parent / "store"), "--json", *options]
    result = CliRunner().invoke(cli, given, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, {cell["cell"]: cell for cell in json.loads(result.stdout)["cells"]}


def test_seeds_are_the_outer_loop(file: Path, runs: Runs) -> None:
    status, cells = _sweep(file)

    assert status == 0
    names = [f"small.{name}" for name in ("off.none", "off.kill", "on.none", "on.kill")]
    assert runs.ran == [f"{name}/{seed}" for seed in (1, 2) for name in names]
    assert {cell["runs"] for cell in cells.values()} == {2}


def test_what_was_run_is_not_run_again_unless_it_changed(file: Path, runs: Runs) -> None:
    _sweep(file)
    runs.ran.clear()
    assert _sweep(file)[1]["off/kill"]["runs"] == 2
    assert runs.ran == []

    _sweep(file, "--seeds", "3", "--only", "off/*")
    assert runs.ran == ["small.off.none/3", "small.off.kill/3"]

    runs.ran.clear()
    file.write_text(SWEEP.replace("acks: all", "acks: 1"))
    _sweep(file, "--only", "on/kill")
    assert runs.ran == ["small.on.kill/1", "small.on.kill/2"]


def test_the_worst_verdict_is_the_exit_code(file: Path, runs: Runs) -> None:
    runs.duplicates = {"small.off.kill/1": 7, "small.off.kill/2": 5}
    assert _sweep(file)[0] == 0

    runs.duplicates["small.on.kill/3"] = 1
    status, cells = _sweep(file, "--seeds", "3")
    assert status == 1
    assert cells["off/kill"]["anomalies"]["duplicate"] == {"runs": 3, "seen": 2, "total": 12, "rate_at_most": 0.983048}
    assert cells["on/kill"]["verdicts"] == {"valid": 2, "invalid": 1}


def test_a_run_that_breaks_is_tried_once_more_and_left_out(file: Path, runs: Runs) -> None:
    runs.broken = {"small.on.none/1"}
    result = CliRunner().invoke(cli, ["sweep", str(file), "--store", str(file.parent / "store")], standalone_mode=False)
    assert runs.ran.count("small.on.none/1") == 2
    assert runs.ran[-1] == "small.on.none/1"
    assert result.return_value == 2
    table, missing, name = result.stdout.splitlines()[-3:]
    assert table == f"table: {file.parent / 'store' / 'small-sweep.md'}"
    assert missing.startswith("1 of 8 runs are missing; to run them: chaoskit")
    assert name == "  on/none seed 1: the broker did not start"

    status, cells = _sweep(file)
    assert (status, cells["on/none"]["runs"], cells["on/none"]["broken"]) == (2, 1, 1)

    runs.broken.clear()
    runs.ran.clear()
    assert _sweep(file)[0] == 0
    assert runs.ran == ["small.on.none/1"]


def test_an_interrupted_run_ends_the_sweep_and_does_not_count(file: Path, runs: Runs) -> None:
    runs.changes = {"small.on.none/1": {"verdict": "unknown", "reasons": (INTERRUPTED,)}}
    status, cells = _sweep(file)

    assert status == 2
    assert len(runs.ran) == 3
    assert [cell["runs"] for cell in cells.values()] == [1, 1, 0, 0]
    runs.changes.clear()
    runs.ran.clear()
    assert _sweep(file)[0] == 0
    assert runs.ran[0] == "small.on.none/1"


def test_a_run_that_proves_nothing_counts_only_where_it_shows_something(file: Path, runs: Runs) -> None:
    blind = {"audit": {"complete": False, "end_positions": {}}, "verdict": "unknown"}
    runs.changes = {"small.off.none/1": blind, "small.off.kill/2": blind}
    runs.duplicates = {"small.off.kill/2": 4}
    runs.changes["small.on.kill/1"] = {"faults": ({"effective": False},)}
    _, cells = _sweep(file)

    counted = {name: (cell["anomalies"]["duplicate"]["runs"], cell["runs"]) for name, cell in cells.items()}
    assert counted == {"off/none": (1, 2), "off/kill": (2, 2), "on/none": (2, 2), "on/kill": (1, 2)}
    assert cells["off/kill"]["anomalies"]["lost"]["runs"] == 1


def test_what_the_machine_refuses_is_refused_before_anything_runs(
    file: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(plan: Plan) -> None:
        if ".on." in plan.scenario.name:
            raise BadInput("cluster.hosts: too many for this machine")

    monkeypatch.setattr("chaoskit.search.sweep.check_machine", refuse)
    with pytest.raises(BadInput, match=r"small\.yaml: on/none: cluster\.hosts: too many"):
        _sweep(file)
    assert runs.ran == []


def test_the_table_is_written_beside_the_runs_or_where_one_says(file: Path, runs: Runs, tmp_path: Path) -> None:
    runs.duplicates = {"small.off.kill/1": 1234}
    _sweep(file)
    _sweep(file, "--out", str(tmp_path / "elsewhere"))

    text = (tmp_path / "store" / "small-sweep.md").read_text()
    assert "| off | kill | kafka 4.4.0 | 2 of 2 | 1 of 2, 1,234 | 0 of 2 (<= 77.6%) |" in text
    assert text == (tmp_path / "elsewhere" / "small-sweep.md").read_text()
    assert json.loads((tmp_path / "store" / "small-sweep.json").read_text())["sweep"] == "small"


def test_a_cell_says_how_long_findings_lasted(file: Path, runs: Runs) -> None:
    times = {
        "small.on.none/1": Lasted(40.0, 6_000.0, {"it ended": LastedDetail(1, 6_000.0, 6_000.0)}),
        "small.on.none/2": Lasted(
            60.0, 900.0, {"it ended": LastedDetail(2, 800.0, 900.0), "it left": LastedDetail(1, 9, 9)}
        ),
    }
    runs.changes = {
        title: {"anomalies": {"duplicate": Found(3, True, "because", lasted_ms=lasted)}}
        for title, lasted in times.items()
    }
    _, cells = _sweep(file)

    assert cells["on/none"]["anomalies"]["duplicate"]["lasted_ms"] == {
        "p50": 50.0,
        "max": 6_000.0,
        "by_detail": {
            "it ended": {"count": 3, "p50": 3_400.0, "max": 6_000.0},
            "it left": {"count": 1, "p50": 9, "max": 9},
        },
    }
    assert "lasted_ms" not in cells["off/none"]["anomalies"]["duplicate"]
    assert "2 of 2, 6; 6,000 ms at most" in list(rows({"cells": list(cells.values())}))[2]
    assert (
        "| on | none | duplicate | it ended | 3 | 3,400 ms | 6,000 ms |"
        in (file.parent / "store" / "small-sweep.md").read_text()
    )


def test_a_cell_says_in_how_many_runs_the_machine_was_full(file: Path, runs: Runs) -> None:
    room = {"cores": 2, "idle": 0.5, "iowait": 0.0, "steal": 0.0, "clients": {}, "others": 1.5, "late_ms": 1.0}
    runs.changes = {"small.on.none/1": {"machine": {**room, "idle": 0.05}}, "small.on.none/2": {"machine": room}}
    _, cells = _sweep(file)

    assert {name: cell["full"] for name, cell in cells.items()} == {
        "off/none": 0,
        "off/kill": 0,
        "on/none": 1,
        "on/kill": 0,
    }
    assert [row[-2:] for row in rows({"cells": list(cells.values())})][2] == ["1 of 2", "2 valid"]


def test_cells_without_runs_have_a_row_too(file: Path) -> None:
    sweep = load_sweep(file)
    content = document(sweep, {cell.name: Results() for cell in sweep.cells})

    assert next(rows(content)) == ["off", "none", sweep.cells[0].plans[1].release, "0 of 2", *"-------", "", ""]
