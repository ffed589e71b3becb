"""How scenarios stand over several runs: what is red, since when, what differs from the last valid run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from synthetic_runs import LONG, make_run

from chaoskit.judge.verdict.check import check_run
from chaoskit.report.brief import brief
from chaoskit.report.last_valid import since_last_valid
from chaoskit.report.summary import summary
from spark_analysis.markdown import markdown
from spark_analysis.standing import ScenarioStanding, standings

BEGIN = datetime(2026, 11, 1, 2, tzinfo=UTC)


def _night(day: int, verdict: str, scenario: str = "payments") -> dict[str, Any]:
    return {
        "scenario": scenario, "run": f"{scenario}/{day}", "time": BEGIN + timedelta(days=day), "verdict": verdict,
        "headline": f"night {day}; and more", "lost": 5 * (verdict == "invalid"), "due_p99_ms": 4.0,
        "recovered_after_heal_ms": None,
    }  # fmt: skip


def _standing(*verdicts: str) -> ScenarioStanding:
    rows = [_night(day, verdict) for day, verdict in enumerate(verdicts)]
    scenarios = {
        f"payments/{day}": {"seed": day, "cluster": {"version": "4.1" if day < 2 else "4.2"}} for day in range(9)
    }
    (standing,) = standings(rows, scenarios)
    return standing


@pytest.mark.parametrize(
    ("verdicts", "first_bad", "last_good", "bad_runs"),
    [
        (("valid", "valid", "invalid", "invalid"), "payments/2", "payments/1", 2),
        (("valid", "invalid", "valid"), None, "payments/2", 0),
        (("valid", "unknown", "invalid"), "payments/1", "payments/0", 2),
        (("invalid", "invalid"), "payments/0", None, 2),
    ],
)
def test_a_scenario_is_bad_since_its_last_valid_run(
    verdicts: tuple[str, ...], first_bad: str | None, last_good: str | None, bad_runs: int
) -> None:
    standing = _standing(*verdicts)

    assert (standing.first_bad or {}).get("run") == first_bad
    assert (standing.last_good or {}).get("run") == last_good
    assert standing.bad_runs == bad_runs


def test_what_differs_from_the_last_valid_run_is_told_without_the_seed() -> None:
    assert _standing("valid", "valid", "invalid").differs == ["cluster.version: 4.1 → 4.2"]
    assert _standing("valid", "invalid").differs == []


def test_what_made_a_scenario_valid_again_is_told() -> None:
    standing = _standing("valid", "invalid", "valid")

    assert (standing.last_bad or {}).get("run") == "payments/1"
    assert standing.differs == ["cluster.version: 4.1 → 4.2"]
    assert "is valid again; payments/1 was invalid: night 1" in markdown([standing], standing.runs)
    assert _standing("valid", "valid").last_bad is None


def test_one_run_has_no_standing_and_bad_ones_come_first() -> None:
    rows = [
        _night(0, "valid", "a"),
        _night(1, "valid", "a"),
        _night(0, "invalid", "b"),
        _night(1, "invalid", "b"),
        _night(0, "invalid", "c"),
    ]

    assert [standing.scenario for standing in standings(rows, {})] == ["b", "a"]


def test_the_summary_in_markdown_names_what_is_red_and_marks_up_nothing() -> None:
    rows = [_night(0, "valid", "a|b"), _night(1, "invalid", "a|b"), _night(0, "unknown", "once")]
    text = markdown(standings(rows, {row["run"]: {"seed": 1} for row in rows}), rows)

    assert text.startswith("## chaoskit: 3 runs, 1 valid, 1 invalid, 1 unknown\n")
    assert "| a\\|b | ❌ invalid | 2026-11-02 02:00, 1 run | night 1; and more | 5 | 4.00 ms | - |" in text
    assert "- **a\\|b**: a\\|b/1 differs from a\\|b/0, the last valid run, by: nothing in the scenario" in text
    assert "| once | ❔ unknown |  | night 0; and more | 0 | 4.00 ms | - |" in text
    assert text.endswith("scenario\n")


def test_a_scenario_whose_newest_run_cannot_be_read_is_not_green() -> None:
    rows = [_night(0, "valid"), _night(1, "valid"), _night(0, "valid", "other")]
    text = markdown(standings(rows, {}), rows, {"payments/2": "operations.parquet is missing"})

    assert text.startswith("## chaoskit: 4 runs, 3 valid, 1 not readable\n")
    assert "| payments | ❔ not readable; before: ✅ valid |" in text
    assert "| other | ✅ valid |" in text
    assert "- ❔ not readable payments/2: operations.parquet is missing\n" in text


def test_an_analysis_without_spark_tells_the_red_run_and_links_its_report(analysed: Any) -> None:
    red, other = analysed.standings

    assert (red.scenario, red.bad_runs, other.scenario) == (LONG, 1, "other")
    assert red.latest["regressions"][0] == "verdict"
    assert list(analysed.skipped) == ["broken/20260101T000009-aaaaaa"]
    page = analysed.report.read_text()
    assert "Not valid now" in page
    assert f'href="../{LONG.replace("<", "%3C").replace(">", "%3E")}/20260101T000006-aaaaaa/report.html"' in page
    assert "❌ invalid" in analysed.summary.read_text()


def test_a_run_that_is_not_valid_says_what_differs_from_when_it_was(tmp_path: Path) -> None:
    make_run(tmp_path, "nightly", 0, messages=5_000)
    lost = make_run(tmp_path, "nightly", 1, messages=5_000, inject={"lost-message": 2})
    again = make_run(tmp_path, "nightly", 2, messages=5_000)
    alone = make_run(tmp_path, "other", 1, messages=5_000, inject={"lost-message": 2})

    since = since_last_valid(lost, "chaoskit")
    assert since is not None
    assert "imported.inject.lost-message: unset → 2" in since.differs
    assert "20260101T000000-aaaaaa" in since.command
    assert since_last_valid(alone, "chaoskit") is None
    for verdict, folder, differs in ((check_run(lost), lost, True), (check_run(again), again, False)):
        for text in (brief(verdict, folder), summary(verdict, folder)):
            assert ("the last valid run, by" in " ".join(text.split())) is differs
