"""Mixes of faults: kinds with keys of their own, weights, ranges, quiet times, clients, and limits."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from paper import PaperClient, PaperCluster
from samples import plan
from stage import Stage

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import SECOND
from chaoskit.contract.event import FaultDropped
from chaoskit.testing.strategies import timelines

MIX: dict[str, Any] = {
    "from": "1s",
    "to": "10m",
    "every": ["2s", "6s"],
    "for": ["1s", "3s"],
    "inject": [
        {"kill": {"weight": 3, "on": "leader"}},
        {"pause": {"for": "500ms"}},
        {"client-crash": {"on": "producer"}},
        "power-cut",
    ],
}
LONG = {"kind": "log", "duration": "10m", "producers": 2}


def test_kinds_have_weights_targets_and_durations_of_their_own() -> None:
    faults = plan([MIX], workload=LONG).faults

    by_kind = {kind: [fault for fault in faults if fault.kind == kind] for kind in ("kill", "pause", "client-crash")}
    assert {fault.on for fault in by_kind["kill"]} == {("leader",)}
    assert {fault.for_ns for fault in by_kind["pause"]} == {SECOND // 2}
    assert {fault.on for fault in by_kind["client-crash"]} == {("producer-0",), ("producer-1",)}
    assert len(by_kind["kill"]) > 1.5 * len(by_kind["pause"])
    assert {fault.on[0] for fault in faults if fault.kind == "power-cut"} == {"n1", "n2", "n3"}


def test_gaps_and_durations_are_drawn_from_their_ranges() -> None:
    faults = plan([MIX], workload=LONG).faults

    gaps = [after.at_ns - before.at_ns for before, after in pairwise(faults)]
    held = [fault.for_ns for fault in faults if fault.kind == "kill" and fault.for_ns is not None]
    assert min(gaps) >= 2 * SECOND
    assert max(gaps) <= 6 * SECOND
    assert len(set(gaps)) > 20
    assert SECOND <= min(held) < max(held) <= 3 * SECOND


def test_no_fault_of_a_series_begins_in_a_quiet_time() -> None:
    faults = plan([{**MIX, "quiet": [["1m", "3m"], ["5m", "6m"]]}], workload=LONG).faults

    minutes = {fault.at_ns // (60 * SECOND) for fault in faults}
    assert minutes == {0, 3, 4, 6, 7, 8, 9}


def test_the_same_seed_gives_the_same_mix() -> None:
    assert plan([MIX], workload=LONG, seed=3).faults == plan([MIX], workload=LONG, seed=3).faults
    assert plan([MIX], workload=LONG, seed=3).faults != plan([MIX], workload=LONG, seed=4).faults


def test_a_series_is_limited_to_a_minority_unless_asked() -> None:
    assert {fault.at_most for fault in plan([MIX], workload=LONG).faults} == {1}
    assert {fault.at_most for fault in plan([{**MIX, "at_most": 2}], workload=LONG).faults} == {2}
    assert plan([{"at": "1s", "inject": "kill"}]).faults[0].at_most is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inject": ["kill", {"pause": {"weight": 0}}]}, r"faults\.0\.inject\.1\.pause\.weight: .*must be more than 0"),
        ({"inject": [{"pause": {"delay": "1s"}}]}, r"faults\.0\.inject\.0\.pause\.delay: unknown key"),
        ({"inject": [{"pause": {"on": "n9"}}]}, r"faults\.0\.inject\.0\.pause\.on: there is no host or role 'n9'"),
        ({"inject": [{"client-crash": {"on": "n1"}}]}, r"there is no client 'n1'; .*producers"),
        ({"inject": [{"client-crash": {"on": "producer:log-0/0"}}]}, r"there is no client 'producer:log-0/0'"),
        (
            {"inject": [{"pause": {}, "kill": {}}]},
            r"faults\.0: each entry of inject must be a kind, or a mapping of one kind",
        ),
        ({"inject": []}, r"faults\.0\.inject"),
        ({"every": ["6s", "2s"]}, r"faults\.0\.every: the range .* is empty"),
        ({"every": ["10us", "1s"]}, r"every must be at least 1ms"),
        ({"every": "0s"}, r"every must be at least 1ms"),
        ({"for": ["1s"]}, r"faults\.0\.for: .* is neither a duration nor a range"),
        ({"at_most": 0}, r"faults\.0\.at_most: .*must be at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        plan([{**MIX, **changes}], workload=LONG)


def test_a_fault_with_a_limit_waits_until_the_one_before_is_healed(tmp_path: Any) -> None:
    kill = {"inject": "kill", "for": "300ms", "at_most": 1}
    stage = Stage(tmp_path, PaperCluster(), [{"at": "1ms", "on": "n1", **kill}, {"at": "1ms", "on": "n2", **kill}])

    first, second = stage.perform()

    assert second["start_ns"] >= first["healed_ns"]
    assert second["effective_ns"] is not None
    assert stage.conductor.course.problems == []


def test_a_fault_with_a_limit_waits_for_its_own_host(tmp_path: Any) -> None:
    kill = {"inject": "kill", "on": "n2", "for": "200ms", "at_most": 2}
    stage = Stage(tmp_path, PaperCluster(), [{"at": "1ms", **kill}, {"at": "1ms", **kill}])
    first, second = stage.perform()

    assert second["start_ns"] >= first["healed_ns"]


def test_a_fault_that_alone_exceeds_its_limit_waits_until_no_other_holds(tmp_path: Any) -> None:
    faults: list[dict[str, Any]] = [
        {"at": "1ms", "inject": "pause", "on": "n1", "for": "500ms"},
        {"at": "1ms", "inject": "kill", "on": ["n2", "n3"], "for": "20ms", "at_most": 1},
    ]
    first, second = Stage(tmp_path, PaperCluster(), faults).perform()

    assert second["targets"] == ["n2", "n3"]
    assert second["start_ns"] >= first["healed_ns"]


def test_a_fault_still_waiting_when_the_load_ends_is_dropped_and_told(tmp_path: Any) -> None:
    kill = {"inject": "kill", "on": "n2", "for": "1s", "at_most": 1}
    stage = Stage(tmp_path, PaperCluster(), [{"at": "1ms", **kill}, {"at": "1ms", **kill}])

    stage.begin()
    stage.conductor.load_is_over()
    faults = stage.end()

    assert len(faults) == 1
    assert FaultDropped(1, "kill") in stage.events
    assert len(stage.timeline()["faults"]) == 1
    assert stage.timeline()["faults"][0]["at_most"] == 1
    assert stage.conductor.missed == ["1 of 2 kill were dropped: the load ended before their turn"]


def test_a_fault_is_due_until_it_has_taken_effect(tmp_path: Any) -> None:
    kill = {"inject": "kill", "on": "n2", "for": "1s", "at_most": 1}
    stage = Stage(tmp_path, PaperCluster(), [{"at": "1ms", **kill}, {"at": "1ms", **kill}])

    stage.begin()
    stage.wait(lambda: stage.conductor.course.due.kinds == ("kill",))
    stage.conductor.load_is_over()
    stage.end()

    assert stage.conductor.course.due.kinds == ()


def test_a_dropped_fault_that_repeats_a_recorded_one_is_missed(tmp_path: Any) -> None:
    kill = {"inject": "kill", "on": "n2", "for": "1s", "at_most": 1, "began": "1s"}
    stage = Stage(tmp_path, PaperCluster(), [{"at": "1ms", **kill}, {"at": "1ms", **kill}])

    stage.begin()
    stage.conductor.load_is_over()
    stage.end()

    assert stage.conductor.missed == ["kill was dropped: the load ended before its turn"]


def test_a_run_whose_faults_were_all_dropped_says_so(tmp_path: Any) -> None:
    stage = Stage(tmp_path, PaperCluster(), [{"at": "10s", "inject": "kill", "on": "n2", "at_most": 1}])

    stage.conductor.load_is_over()
    faults = stage.perform()

    assert faults == []
    assert stage.conductor.missed == ["1 of 1 kill were dropped: the load ended before their turn"]


@given(timelines(["kill", {"pause": {}}, "restart"], ["n1", "leader"], "20s", faults_max=5))
def test_drawn_timelines_are_valid(faults: list[dict[str, Any]]) -> None:
    planned = plan(faults).faults

    assert len(planned) == len(faults) <= 5
    assert all(fault.at_most == 1 for fault in planned)


def test_a_timeline_without_kinds_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="at least one kind"):
        timelines([], ["n1"], "20s")
    with pytest.raises(ValueError, match="is not a duration"):
        timelines(["kill"], ["n1"], "20")


class PatientCluster(PaperCluster):
    """A cluster whose hosts start again once a client has crashed."""

    def __init__(self, client: PaperClient) -> None:
        super().__init__()
        self._client = client

    def start(self, host: Any) -> None:
        deadline = time.monotonic() + 30
        while not self._client.crashes and time.monotonic() < deadline:
            time.sleep(0.01)
        super().start(host)


def test_a_fault_of_clients_waits_for_no_host(tmp_path: Any) -> None:
    faults = [
        {"at": "1ms", "inject": "kill", "on": "n1", "for": "1ms", "at_most": 1},
        {"at": "1ms", "inject": "client-crash", "on": "producer-0", "for": "1ms", "at_most": 1},
    ]
    client = PaperClient("producer-0")
    first, second = Stage(tmp_path, PatientCluster(client), faults, [client]).perform()

    assert second["start_ns"] < first["healed_ns"]
    assert client.crashes == 1


def test_no_fault_begins_when_the_load_is_over(tmp_path: Any) -> None:
    stage = Stage(tmp_path, PaperCluster(), [{"at": "10s", "inject": "kill", "on": "n1"}])

    stage.start()
    stage.conductor.load_is_over()

    assert stage.end() == []


def test_clients_that_the_workload_does_not_have_cannot_be_hit() -> None:
    with pytest.raises(BadInput, match=r"faults\.0\.on: the workload has no consumer"):
        plan([{"at": "1s", "inject": "client-crash", "on": "consumers"}], workload={**LONG, "consumers": 0})
