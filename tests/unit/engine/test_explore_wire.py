"""One fault on the wire at a time: which are tried, and what is told of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.base.errors import BadInput, RunFailed
from chaoskit.cli.wire import _verdict as told_of
from chaoskit.contract.event import Event, FaultHealed
from chaoskit.contract.faults.exploring import Aim, Wishes
from chaoskit.run.deployment import Requirements
from chaoskit.run.eventlog import EventLog
from chaoskit.scenario.plan import Plan, read_plan
from chaoskit.search import messages
from chaoskit.search.messages import RESULT, WireCounted, WirePoint, WireTried, explore

PASSED: Mapping[str, Mapping[str, Any]] = {
    "n1": {"request": {"Produce": 30}, "response": {"Produce": 30}},
    "n2": {"request": {"Produce": 400, "Vote": 2}},
}


def planned(**keys: Any) -> Plan:
    content = {
        "name": "quiet",
        "cluster": {"system": "kafka", "hosts": 3},
        "workload": {"kind": "log", "duration": "30s"},
        "faults": [{"at": "1s", "inject": "kill", "on": "leader"}],
        "expect": {"lost": "some"},
        **keys,
    }
    return read_plan(content, "s.yaml", 7)


def verdict(kind: str = "valid", *, done: bool = True, **anomalies: int) -> Mapping[str, Any]:
    return {
        "verdict": kind,
        "reasons": [] if kind == "valid" else ["it is not allowed"],
        "anomalies": {name: {"count": count, "why": "of the fault"} for name, count in anomalies.items()},
        "faults": [{"effective": done}],
        "counts": {"indeterminate": 4},
        "availability": {"longest_unavailable_ms": 12.0},
        "run": "quiet-wire/1",
    }


class Runs:
    """A site whose first run counts messages; the others have the given verdicts, or fail."""

    def __init__(self, folder: Path, verdicts: list[Mapping[str, Any] | None]) -> None:
        self.folder = folder
        self.verdicts = iter(verdicts)
        self.quiet = "valid"
        self.plans: list[Plan] = []
        self.events: list[Event] = []

    def __call__(self, store: Path) -> Runs:
        return self

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def run(self, plan: Plan, watcher: Any) -> tuple[Path, Any]:
        self.plans.append(plan)
        if len(self.plans) == 1:
            events = EventLog(self.folder, 0, self)
            events.on(FaultHealed(0, "wire", ("n1", "n2"), "n1 passed request Produce 30", PASSED))
            self.events.clear()
            counted = verdict(self.quiet, G0=3)
            return self.folder, SimpleNamespace(verdict=self.quiet, reasons=["it lost some"], as_json=lambda: counted)
        fate = next(self.verdicts)
        if fate is None:
            raise RunFailed("the disk\nis full")
        return self.folder, SimpleNamespace(as_json=lambda: fate)

    def on(self, event: Event) -> None:
        self.events.append(event)


def explored(folder: Path, patch: pytest.MonkeyPatch, wishes: Wishes, *verdicts: Any) -> tuple[Runs, list[WirePoint]]:
    runs = Runs(folder, list(verdicts))
    patch.setattr(messages, "Site", runs)
    return runs, explore(planned(), folder, runs, wishes)


def test_each_run_has_one_fault_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, points = explored(tmp_path, monkeypatch, Wishes(["Vo*"], ["drop"]), verdict(), verdict(duplicate=1))

    quiet, *tries = (plan.resolved() for plan in runs.plans)
    assert (quiet["faults"][0]["message"], quiet["faults"][0]["on"]) == ("*", ["n1", "n2", "n3"])
    assert [(run["faults"][0]["on"], run["faults"][0]["which"]) for run in tries] == [
        (["n1", "n2", "n3"], [1]),
        (["n1", "n2", "n3"], [2]),
    ]
    for run in (quiet, *tries):
        assert len(run["faults"]) == 1
        assert run["workload"]["duration"] == "8s"
        assert not run["expect"]
        assert run["name"] == "quiet-wire"
    assert [point.counts for point in points] == [{}, {"duplicate": 1}]
    assert json.loads((tmp_path / RESULT).read_text())[1]["counts"] == {"duplicate": 1}
    assert [type(event) for event in runs.events] == [WireCounted, WireTried, WireTried]


def test_what_a_fault_did_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = [verdict("invalid", lost=2, G0=4, torn=1), verdict("unknown", done=False), None]
    _, points = explored(tmp_path, monkeypatch, Wishes(["Produce"], ["drop"]), *verdicts, *[verdict()] * 3)

    harmful, missed, failed = points[:3]
    assert (harmful.verdict, harmful.done, harmful.why) == ("invalid", True, "it is not allowed")
    assert harmful.counts == {"lost": 2, "torn": 1}, "the quiet run had G0 too"
    assert (harmful.open, harmful.unavailable_ms) == (4, 12.0)
    assert (missed.verdict, missed.done) == ("unknown", False)
    assert (failed.verdict, failed.done, failed.why) == ("unknown", False, "the disk is full")


def test_what_cannot_be_done_with_a_message_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    then = ["error NOT_LEADER_OR_FOLLOWER"]
    runs, points = explored(tmp_path, monkeypatch, Wishes(["Produce", "Vote"], then), *[verdict()] * 3)

    assert {(point.aim.message, point.aim.of) for point in points} == {("Produce", "response")}
    assert len(runs.plans) == 1 + len(points)


def test_a_message_that_did_not_pass_is_told_with_those_that_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RunFailed, match=r"no EndTxn passed the taps: n1 passed request Produce 30"):
        explored(tmp_path, monkeypatch, Wishes(["EndTxn"]))


def test_a_quiet_run_that_is_invalid_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(tmp_path, [])
    runs.quiet = "invalid"
    monkeypatch.setattr(messages, "Site", runs)
    with pytest.raises(RunFailed, match="the quiet run is invalid already: it lost some"):
        explore(planned(), tmp_path, runs, Wishes())


@pytest.mark.parametrize(
    ("wishes", "why"),
    [
        (Wishes(then=["dropp"]), "--then: then: there is no 'dropp'"),
        (Wishes(then=["error FOO"]), "--then: then: error: there is no 'FOO'"),
        (Wishes(then=["hold-until Fech"]), "--then: then: hold-until: there is no 'Fech'"),
        (Wishes(then=["count"]), "--then: count does nothing; remove it"),
        (Wishes(["Prodce"]), "--message: there is no 'Prodce'"),
    ],
)
def test_what_there_is_not_is_refused_before_anything_is_run(
    wishes: Wishes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match=why):
        explored(tmp_path, monkeypatch, wishes)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("verdict", "done", "run", "counts_as"),
    [
        ("valid", True, "r", "valid"),
        ("invalid", True, "r", "invalid"),
        ("invalid", False, "r", "invalid"),
        ("unknown", True, "r", "unknown"),
        ("unknown", False, "r", "valid"),
        ("unknown", False, "", "unknown"),
    ],
    ids=["harmless", "harmful", "harmful without it", "not judged", "did not come", "failed"],
)
def test_what_a_point_says_of_the_system(verdict: str, done: bool, run: str, counts_as: str) -> None:
    aim = Aim(("n1",), "request", "Vote", 1, 1, "drop")
    assert told_of(WirePoint(aim, verdict, done, {}, 0, None, "", run)) == counts_as


@pytest.mark.parametrize(
    ("on", "served"), [(["n1", "n2", "n3"], True), (["n2"], True), (None, False)], ids=["all", "one", "no tap"]
)
def test_a_deployment_with_taps_serves_runs_with_fewer_of_them(on: list[str] | None, served: bool) -> None:
    fault = {"at": "1s", "for": "2s", "inject": "wire", "message": "Produce", "then": "drop"}
    here = Requirements.of(planned(faults=[{**fault, "on": "all"}]))
    needed = Requirements.of(planned(faults=[{**fault, "on": on}] if on else []))

    assert here.covers(needed) == served
    assert needed.covers(here) == (on == ["n1", "n2", "n3"])
