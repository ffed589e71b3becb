"""Bounds of measured times: how they are written, what they are compared with, and what a run that misses one is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from generated import generated
from samples import SLOW, content, plan, verdict

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import MILLISECOND
from chaoskit.judge.verdict.bounds import compare
from chaoskit.judge.verdict.check import check_run
from chaoskit.judge.verdict.verdict import INVALID, UNKNOWN, VALID, decide
from chaoskit.judge.verdict.verdict_file import BoundTold, read_verdict
from chaoskit.report.comparison_table import comparison_rows
from chaoskit.report.junit import properties
from chaoskit.report.summary import summary
from chaoskit.scenario.expected import MEASURES, Bound, bounds, numbers, parse_bound
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import make_plan

SAMPLE = verdict()
GAPS = {
    "longest_unavailable_ms": 4_000.0,
    "recovered_after_heal_ms": 120.0,
    "not_recovered": 0,
    "unheard_ms": 9_000.0,
    "heard_after_heal_ms": 80.0,
    "not_heard": 0,
}


def _compared(name: str, bound: str, **gaps: Any) -> tuple[float | None, bool]:
    bounded = compare({name: parse_bound(bound)}, {**GAPS, **gaps}, SAMPLE.latency, {})[name]
    return bounded.measured_ms, bounded.met


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("< 5s", Bound(True, 5_000 * MILLISECOND)),
        ("<200ms(quiet)", Bound(True, 200 * MILLISECOND, "quiet")),
        (" > 1.5s (under faults) ", Bound(False, 1_500 * MILLISECOND, "under_faults")),
    ],
)
def test_a_bound_is_written_as_it_is_read(text: str, bound: Bound) -> None:
    assert parse_bound(text) == bound
    assert parse_bound(str(bound)) == bound


@pytest.mark.parametrize(
    ("expect", "refusal"),
    [
        ({"unavailable": "< 5"}, "expect.unavailable: '< 5': only times have bounds"),
        ({"unavailable": "<"}, "expect.unavailable: '' is not a duration"),
        (
            {"unavailable": "5s"},
            'expect.unavailable: write none, some, any or a number of findings, or a bound, such as "<',
        ),
        ({"send.p99": "< 5s (quite)"}, "expect.send.p99: unknown part of the load 'quite'; did you mean \"quiet\"?"),
        ({"recovered": "none"}, 'expect.recovered: is a time; write a bound, such as "< 5s"'),
        (
            {"lost": "< 5s"},
            "expect.lost: does not last, and has no bound; write none, some, any or a number",
        ),
        ({"unavailible": "< 5s"}, 'expect.unavailible: unknown measure; did you mean "unavailable"?'),
        ({"unavailable": "< 5s (quiet)"}, "expect.unavailable: only latencies are measured by part of the load; wr"),
    ],
)
def test_what_is_no_bound_is_refused(expect: dict[str, Any], refusal: str) -> None:
    with pytest.raises(BadInput) as refused:
        make_plan(parse_scenario(content(expect=expect), "bad.yaml"), "bad.yaml")

    assert str(refused.value).startswith(f"bad.yaml: {refusal}")


def test_a_resolved_scenario_has_its_bounds() -> None:
    given = {"lost": "none", "unavailable": "< 5s", "end_to_end.max": "> 2s (after faults)"}
    planned = plan(expect=given)

    assert planned.resolved()["expect"] == given
    assert (set(numbers(planned.scenario.expect)), len(bounds(planned.scenario.expect))) == ({"lost"}, 2)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_found(name: str) -> None:
    latency = {**SAMPLE.latency, "end_to_end": SLOW}
    bounded = compare({name: parse_bound("< 1h")}, GAPS, latency, {})[name]

    assert (bounded.met, bounded.note) == (True, "")


@pytest.mark.parametrize(
    ("name", "bound", "measured_ms", "met"),
    [
        ("unavailable", "< 5s", 4_000, True),
        ("unavailable", "< 4s", 4_000, False),
        ("unavailable", "> 3s", 4_000, True),
        ("unavailable", "> 4s", 4_000, False),
        ("recovered", "< 1s", 120, True),
        ("send.p50", "< 5ms (quiet)", 1, True),
        ("send.p50", "< 5ms (under faults)", 10, False),
    ],
)
def test_a_time_is_compared_with_its_bound(name: str, bound: str, measured_ms: float, met: bool) -> None:
    assert _compared(name, bound) == (measured_ms, met)


def test_sends_that_were_not_acknowledged_count_until_they_were_given_up() -> None:
    assert _compared("send.p99", "< 1s") == (20_000, False)


def test_a_time_that_there_is_none_of_keeps_no_bound() -> None:
    assert _compared("end_to_end.p99", "< 1h") == (None, False)
    assert _compared("end_to_end.p99", "> 1ms") == (None, False)
    assert _compared("send.p99", "< 1h (after faults)") == (None, False)
    assert _compared("recovered", "< 1h", recovered_after_heal_ms=None, heard_after_heal_ms=None) == (None, False)


def test_a_recovery_that_nothing_was_due_to_show_is_a_doubt() -> None:
    nothing = {"recovered_after_heal_ms": None, "heard_after_heal_ms": None}
    bounded = compare({"recovered": parse_bound("< 10s")}, {**GAPS, **nothing}, SAMPLE.latency, {})
    decided, reasons = decide({}, recovered=True, audit_complete=True, acked=5, faults=(), bounds=bounded)
    words = "recovered is none (no fault was healed while sends were due), unknown, expected: < 10s"

    assert (decided, reasons) == (UNKNOWN, (words,))
    assert verdict(bounds=bounded, verdict=decided, reasons=reasons).headline == (
        f"UNKNOWN: {words}; none of 1,100 acknowledged messages was found lost"
    )


def test_what_never_recovered_did_not_recover_within_a_bound() -> None:
    assert _compared("recovered", "< 1h", not_recovered=1) == (120, False)
    assert _compared("recovered", "> 100ms", not_recovered=1) == (120, True)
    assert _compared("recovered", "< 1h", not_heard=1) == (120, False)


def test_what_readers_do_not_receive_again_has_not_recovered() -> None:
    assert _compared("recovered", "< 1s", heard_after_heal_ms=21_000.0) == (21_000, False)


def test_a_silence_that_nobody_recorded_is_a_doubt() -> None:
    without = {name: time_ms for name, time_ms in GAPS.items() if name != "unheard_ms"}
    (bounded,) = compare({"unheard": parse_bound("< 10s")}, without, SAMPLE.latency, {}).values()

    assert (bounded.met, bounded.unknown) == (False, True)


@pytest.mark.parametrize(("bound", "outcome"), [("< 5s", VALID), ("< 3s", INVALID)])
def test_a_run_that_misses_a_bound_is_invalid(bound: str, outcome: str) -> None:
    bounded = compare({"unavailable": parse_bound(bound)}, GAPS, SAMPLE.latency, {})
    decided, reasons = decide({}, recovered=True, audit_complete=True, acked=5, faults=(), bounds=bounded)

    assert decided == outcome
    assert reasons == (() if outcome == VALID else ("unavailable is 4,000.0 ms, NOT as expected: < 3s",))


def test_bounds_are_told() -> None:
    bounded = compare({"unavailable": parse_bound("< 3s"), "recovered": parse_bound("< 1s")}, GAPS, SAMPLE.latency, {})
    judged = verdict(bounds=bounded)
    (row,) = comparison_rows([{"name": "a", "cluster": {}, "workload": {}, "expect": {"recovered": "< 1s"}}], [judged])

    assert judged.headline == "KEPT all 1,100 acknowledged messages; not as expected: unavailable"
    assert "  unavailable: 4,000.0 ms, NOT as expected: < 3s\n" in summary(judged, Path("/store"))
    assert "  recovered: 120.0 ms, as expected: < 1s\n" in summary(judged, Path("/store"))
    assert row[-1] == "valid: NOT as expected"
    assert properties(judged, Path("/store"))["chaoskit_bound_unavailable"] == "4,000.0 ms, NOT as expected: < 3s"


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    folder = tmp_path / "calm" / "20260101T000000-aaaaaa"
    return generated(folder, seed=1, messages=2_000, faults=0, errors=0.0)


@pytest.mark.parametrize(("bound", "outcome"), [("< 1h", "valid"), ("< 1us", "invalid")])
def test_an_imported_history_is_held_to_its_bounds(imported: Path, bound: str, outcome: str) -> None:
    declared = imported / "scenario.yaml"
    declared.write_text(declared.read_text() + f'expect: {{unavailable: "{bound}"}}\n')
    (imported / "manifest.json").unlink(missing_ok=True)  # the file was changed on purpose

    judged = check_run(imported)

    assert (judged.verdict, judged.bounds["unavailable"].met) == (outcome, outcome == "valid")
    bounded: BoundTold = read_verdict(imported)["bounds"]["unavailable"]
    assert bounded["expected"] == str(parse_bound(bound))


@pytest.mark.parametrize(
    ("longest_ms", "bound", "met", "unknown"),
    [
        (1_999.0, "< 2s", True, False),
        (2_001.0, "< 2s", False, False),
        (0.0, "> 2s", False, False),
        (None, "< 2s", False, True),
    ],
)
def test_the_longest_finding_has_a_bound(longest_ms: float | None, bound: str, met: bool, unknown: bool) -> None:
    bounded = compare({"unowned": parse_bound(bound)}, GAPS, SAMPLE.latency, {"unowned": longest_ms})["unowned"]

    assert (bounded.measured_ms, bounded.met, bounded.unknown) == (longest_ms, met, unknown)


def test_what_lasts_has_a_bound_of_its_own_and_a_number() -> None:
    group = {"kind": "log", "duration": "20s", "consumption": "group", "consumers": 2}
    parsed = parse_scenario({**content(workload=group), "expect": {"unowned": "< 2s"}}, "s.yaml")
    assert make_plan(parsed, "s.yaml").scenario.expect == {"unowned": parse_bound("< 2s")}
    with pytest.raises(BadInput, match="unowned: cannot be measured without the history; write record: history"):
        make_plan(
            parse_scenario({**content(workload=group), "record": "latency", "expect": {"unowned": "< 2s"}}, "s"), "s"
        )
    with pytest.raises(BadInput, match="unowned: cannot be found in this run, only where"):
        make_plan(parse_scenario({**content(), "expect": {"unowned": "< 2s"}}, "s.yaml"), "s.yaml")
