"""Each fault is made, proved, healed, proved and written down; one without effect is told as such."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from paper import PaperCluster
from samples import plan
from stage import MS, Stage

from chaoskit.contract.event import FaultHealed, FaultProved
from chaoskit.contract.hosts.host import ServiceState
from chaoskit.contract.systems.node import Node
from chaoskit.history.format.fault import Fault
from chaoskit.judge.explaining.effects import effects
from chaoskit.model.place import Place
from chaoskit.scenario.timeline import PlannedFault
from nemeses.process import Kill


def _kill(at: str = "1ms", **more: Any) -> dict[str, Any]:
    return {"at": at, "inject": "kill", "on": "n2", "for": "20ms", **more}


def test_a_fault_takes_effect_and_is_healed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PaperCluster(), [_kill()])

    (fault,) = stage.perform()

    assert (fault["fault"], fault["kind"], fault["targets"]) == (0, "kill", ["n2"])
    assert 1000 * MS < fault["start_ns"] < fault["effective_ns"] < fault["heal_ns"] < fault["healed_ns"]
    assert fault["heal_ns"] - fault["start_ns"] >= 20 * MS
    assert fault["evidence"] == "no process of the system is running on n2, and it does not answer; answering again: n2"
    assert json.loads(fault["parameters"]) == {"on": ["n2"], "for_ns": 20 * MS}
    assert [host.signals for host in stage.cluster.hosts] == [[], ["KILL"], []]
    assert stage.conductor.course.problems == []
    assert stage.conductor.course.active == {}
    assert [type(event) for event in stage.events] == [FaultProved, FaultHealed]
    assert stage.conductor.course.all_healed


def test_the_targets_are_the_hosts_that_were_hit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kill, "struck", lambda _, strike: strike.service.hosts[1:])
    stage = Stage(tmp_path, PaperCluster(), [_kill()])

    (fault,) = stage.perform()

    assert fault["targets"] == ["n2", "n3"]
    events = [event for event in stage.events if isinstance(event, FaultProved | FaultHealed)]
    assert events == stage.events
    assert [event.targets for event in events] == [("n2", "n3")] * 2


def test_a_fault_without_effect_is_recorded_as_such_and_healed_all_the_same(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PaperCluster(immortal=["n2"]), [_kill()])

    (fault,) = stage.perform()

    assert fault["effective_ns"] is None
    assert fault["healed_ns"] is not None
    assert fault["evidence"] == "no effect: n2 still answers; answering again: n2"
    assert stage.conductor.course.problems == ["kill: no effect: n2 still answers"]
    assert stage.cluster.hosts[1].seen == ServiceState.RUNNING
    assert [effect.targets for effect in effects([Fault.read(fault)])] == [("n2",)], (
        "what was not proved may have been done"
    )


def test_a_nemesis_that_breaks_is_recorded_and_its_host_is_free_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PaperCluster(), [_kill(), {**_kill(), "inject": "pause", "at_most": 1}])
    stage.cluster.hosts[1].broken = {"KILL"}

    broken, after = stage.perform()

    assert broken["effective_ns"] is None
    assert "no effect: " in broken["evidence"]
    assert "the cable is out" in stage.conductor.course.problems[0]
    assert after["effective_ns"] is not None


def test_a_fault_that_cannot_be_healed_is_recorded_as_such(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PaperCluster(), [{"at": "1ms", "inject": "pause", "on": "n2", "for": "20ms"}])
    stage.cluster.hosts[1].broken = {"CONT"}

    (fault,) = stage.perform()

    assert fault["effective_ns"] is not None
    assert fault["healed_ns"] is None
    assert "the cable is out" in stage.conductor.course.problems[0]
    assert stage.conductor.course.active == {}
    assert not stage.conductor.course.all_healed


def test_a_fault_holds_no_longer_once_all_must_be_healed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PaperCluster(), [_kill(**{"for": "10s"}), _kill(at="19s", on="n3")])
    stage.begin()
    assert list(stage.conductor.course.active.values()) == ["kill on n2"]

    stage.conductor.heal_now()
    (fault,) = stage.end()

    assert fault["healed_ns"] - fault["start_ns"] < 5_000 * MS
    assert stage.cluster.hosts[2].signals == []


def test_a_host_under_a_fault_is_not_hit_by_a_second_one(tmp_path: Path) -> None:
    faults = [_kill(**{"for": "1s"}), _kill(inject="pause", on=["n2", "n3"])]
    stage = Stage(tmp_path, PaperCluster(), faults)

    first, second = stage.perform()

    assert (first["targets"], second["targets"]) == (["n2"], ["n3"])
    assert [host.signals for host in stage.cluster.hosts] == [[], ["KILL"], ["STOP", "CONT"]]


def test_a_fault_that_has_no_free_host_has_no_effect(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PaperCluster(), [_kill(**{"for": "1s"}), _kill()])

    first, second = stage.perform()

    assert first["healed_ns"] is not None
    assert (second["targets"], second["effective_ns"]) == ([], None)
    assert second["evidence"] == "no effect: already under a fault: n2 (by kill (fault 0), sharing processes)"
    assert stage.conductor.course.problems == [f"kill: {second['evidence']}"]


def test_a_host_that_was_healed_may_be_hit_again(tmp_path: Path) -> None:
    faults = Stage(tmp_path, PaperCluster(), [_kill(), _kill(at_most=1)]).perform()

    assert [fault["targets"] for fault in faults if fault["effective_ns"]] == [["n2"], ["n2"]]


@pytest.mark.parametrize(
    ("target", "asked", "hit"),
    [
        ("leader", ("leader", ("log-0", 0)), 1),
        ("leader:log-0/2", ("leader", ("log-0", 2)), 1),
        ("follower", ("follower", ("log-0", 0)), 1),
        ("followers", ("followers", ("log-0", 0)), 2),
    ],
)
def test_roles_are_looked_up_when_the_fault_begins(
    tmp_path: Path, target: str, asked: tuple[str, Place], hit: int
) -> None:
    stage = Stage(tmp_path, PaperCluster(), [_kill(on=target)])
    stage.cluster.vacant = 2

    (fault,) = stage.perform()

    assert stage.cluster.asked == [asked] * 3
    assert len(fault["targets"]) == hit
    assert ("n1" in fault["targets"]) == target.startswith("leader")


def test_the_only_partition_of_a_topic_needs_no_number(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PaperCluster(), [_kill(on="leader:log-0")], partitions=1)
    stage.perform()

    assert stage.cluster.asked == [("leader", ("log-0", 0))]


def test_the_timeline_is_written_as_it_happened_and_gives_the_same_faults(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PaperCluster(), [_kill(on="leader"), _kill(at="30ms", on="follower", inject="pause")])

    second = next(fault for fault in stage.perform() if fault["kind"] == "pause")
    timeline = stage.timeline()
    again = plan(timeline["faults"]).faults

    def essence(faults: list[PlannedFault]) -> list[tuple[Any, ...]]:
        return [(fault.at_ns, fault.kind, fault.on, fault.for_ns) for fault in faults]

    assert timeline["seed"] == 7
    assert [entry["hit"] for entry in timeline["faults"]] == [["n1"], second["targets"]]
    assert all(entry["began"].endswith("s") for entry in timeline["faults"])
    assert essence(again) == essence(stage.plan.faults)


def test_effects_are_the_faults_that_were_begun(tmp_path: Path) -> None:
    faults = [_kill(**{"for": "1s"}), _kill(on="n3"), _kill()]
    rows = Stage(tmp_path, PaperCluster(immortal=["n3"]), faults).perform()

    assert [row["effective_ns"] is None for row in rows] == [False, True, True]
    assert {(effect.kind, effect.targets) for effect in effects(list(map(Fault.read, rows)))} == {
        ("kill", ("n2",)),
        ("kill", ("n3",)),
    }


def test_a_command_hits_a_node_that_runs_already(tmp_path: Any) -> None:
    cluster, mark = PaperCluster(), str(tmp_path / "mark")
    cluster.hosts = []
    cluster.nodes = [Node(name, "192.0.2.1:9092", "1") for name in ("n1", "n2", "n3")]
    undo = {"undo": ["rm", "-f", mark], "verify_undone": ["test", "!", "-e", mark]}
    command = {"do": ["touch", mark], "verify": ["test", "-e", mark], **undo}

    (fault,) = Stage(
        tmp_path, cluster, [{"at": "1ms", "inject": "command", "on": "n1", "for": "50ms", **command}]
    ).perform()

    assert fault["effective_ns"] is not None, fault["evidence"]
    assert fault["healed_ns"] is not None, fault["evidence"]
