"""Faults that occupy different parts of a host hold there at once; each is proved and healed on its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from paper import PaperCluster, PaperHost
from samples import plan
from stage import Stage

from chaoskit.contract.event import Event, FaultFailed, FaultHealed
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, Strike
from chaoskit.contract.faults.part import EVERYTHING
from chaoskit.contract.hosts.host import ServiceState
from chaoskit.contract.installed import nemesis
from chaoskit.run.faults.occupancy import Claim

KILL = {"inject": "kill", "on": "n2"}
CUT = {"inject": "power-cut", "on": "n2"}


def _command(folder: Path, **more: Any) -> dict[str, Any]:
    """Return a fault that is a file."""
    mark = str(folder / "mark")
    steps = {"do": ["touch", mark], "verify": ["test", "-e", mark]}
    undo = {"undo": ["rm", "-f", mark], "verify_undone": ["test", "!", "-e", mark]}
    return {"inject": "command", "on": "n2", "timeout": "20s", **steps, **undo, **more}


def _told(stage: Stage, kind: type[Event], fault: str) -> bool:
    return any(isinstance(event, kind) and getattr(event, "kind", "") == fault for event in stage.events)


def _run(stage: Stage, until: Callable[[], bool]) -> list[dict[str, Any]]:
    """Run until something has happened, then heal; return the recorded faults by number."""
    stage.start()
    stage.wait(until)
    stage.conductor.heal_now()
    return sorted(stage.end(), key=lambda fault: fault["fault"])


@pytest.mark.parametrize("order", [("kill", "command"), ("command", "kill")])
def test_both_are_proved_and_healed_on_their_own(tmp_path: Path, order: tuple[str, str]) -> None:
    kinds = {"kill": KILL, "command": _command(tmp_path)}
    outer, inner = order
    faults = [{"at": "1ms", "for": "60s", **kinds[outer]}, {"at": "1ms", "for": "50ms", **kinds[inner]}]
    stage = Stage(tmp_path, PaperCluster(), faults)

    around, inside = _run(stage, lambda: _told(stage, FaultHealed, inner))

    assert around["effective_ns"] < inside["effective_ns"] < inside["healed_ns"] < around["heal_ns"]
    assert around["healed_ns"] is not None
    assert stage.conductor.course.problems == []
    assert stage.conductor.course.all_healed


def test_a_fault_that_declares_a_part_keeps_others_off_it(tmp_path: Path) -> None:
    faults = [{"at": "1ms", "for": "60s", **_command(tmp_path, occupies=["processes"])}, {"at": "1ms", **KILL}]
    stage = Stage(tmp_path, PaperCluster(), faults)

    _, kill = _run(stage, lambda: _told(stage, FaultFailed, "kill"))

    assert kill["effective_ns"] is None
    assert kill["evidence"] == "no effect: already under a fault: n2 (by command (fault 0), sharing processes)"


def test_a_reboot_does_not_start_what_another_fault_keeps_down(tmp_path: Path) -> None:
    faults = [{"at": "1ms", "for": "60s", **KILL}, {"at": "1ms", "for": "50ms", **CUT}]
    stage = Stage(tmp_path, PaperCluster(), faults)
    n2 = stage.cluster.hosts[1]
    seen: list[int | ServiceState] = []

    def booted() -> bool:
        seen[:] = [n2.boots, n2.seen]
        return _told(stage, FaultHealed, "power-cut")

    kill, cut = _run(stage, booted)

    assert seen == [2, ServiceState.GONE]
    assert kill["healed_ns"] is not None
    assert "does not run while kill (fault 0) holds" in cut["evidence"]
    assert cut["evidence"].endswith("after the other faults: answering again: n2")
    assert n2.seen is ServiceState.RUNNING
    assert stage.conductor.course.all_healed


def test_a_healing_waits_until_its_host_has_power(tmp_path: Path) -> None:
    faults = [{"at": "1ms", "for": "1500ms", **KILL}, {"at": "1ms", "for": "3s", **CUT}]
    stage = Stage(tmp_path, PaperCluster(), faults)

    kill, cut = _run(stage, lambda: _told(stage, FaultHealed, "kill"))

    assert kill["healed_ns"] > cut["heal_ns"]
    assert "n2 had no power; continued after the boot" in kill["evidence"]
    assert stage.conductor.course.problems == []
    assert stage.conductor.course.all_healed


def test_two_faults_that_cannot_be_healed_do_not_wait_for_each_other(tmp_path: Path) -> None:
    stuck = _command(tmp_path, verify_undone=["false"], timeout="2s")
    stage = Stage(tmp_path, PaperCluster(), [{"at": "1ms", "for": "60s", **stuck}] * 2)

    faults = _run(stage, lambda: stage.has_begun(1))

    assert [fault["healed_ns"] for fault in faults] == [None, None]
    assert not stage.conductor.course.all_healed


class _Forgetful(PaperHost):
    """A host whose boot removes a file."""

    def __init__(self, name: str, mark: Path) -> None:
        super().__init__(name)
        self.mark = mark

    def power_on(self) -> None:
        self.mark.unlink()
        super().power_on()


def test_what_a_boot_removes_is_told_and_made_again(tmp_path: Path) -> None:
    faults = [{"at": "1ms", "for": "60s", **_command(tmp_path)}, {"at": "1ms", "for": "50ms", **CUT}]
    cluster, mark = PaperCluster(), tmp_path / "mark"
    cluster.hosts[1] = _Forgetful("n2", mark)
    stage = Stage(tmp_path, cluster, faults)

    command, _ = _run(stage, lambda: _told(stage, FaultHealed, "power-cut") and mark.exists())

    assert "lost when n2 booted" in command["evidence"]
    assert "restored" in command["evidence"]
    assert command["healed_ns"] is not None
    assert stage.conductor.course.problems == []


def test_a_host_without_power_takes_no_other_fault(tmp_path: Path) -> None:
    faults = [{"at": "1ms", "for": "60s", **CUT}, {"at": "1ms", **KILL}]
    stage = Stage(tmp_path, PaperCluster(), faults)

    _, kill = _run(stage, lambda: _told(stage, FaultFailed, "kill"))

    assert kill["evidence"] == "no effect: already under a fault: n2 has no power"


def test_a_series_that_asks_for_it_overlaps(tmp_path: Path) -> None:
    series = {"from": "1ms", "to": "2ms", "every": "1s", "for": "50ms", "overlap": True, **KILL}
    stage = Stage(tmp_path, PaperCluster(), [{"at": "1ms", "for": "60s", **_command(tmp_path)}, series])

    command, kill = _run(stage, lambda: _told(stage, FaultHealed, "kill"))

    assert command["effective_ns"] < kill["effective_ns"] < kill["healed_ns"] < command["heal_ns"]


def test_another_series_does_not(tmp_path: Path) -> None:
    series = {"from": "1ms", "to": "2ms", "every": "1s", "for": "50ms", **KILL}
    stage = Stage(tmp_path, PaperCluster(), [{"at": "1ms", "for": "60s", **_command(tmp_path)}, series])

    def wanted_its_turn() -> bool:
        begun = stage.has_begun(0)
        time.sleep(0.1)
        return begun

    faults = _run(stage, wanted_its_turn)

    assert [fault["kind"] for fault in faults] == ["command"]
    assert stage.conductor.dropped == 1


def test_a_recorded_timeline_overlaps_as_it_did() -> None:
    series = {"from": "1s", "to": "3s", "every": "1s", "inject": "kill"}
    drawn = plan([{"at": "1s", "inject": "kill"}, series, {**series, "overlap": True}]).faults

    again = plan([fault.as_spec(["n1"]) for fault in drawn]).faults

    assert [fault.overlap for fault in again] == [fault.overlap for fault in drawn]
    assert sorted(fault.overlap for fault in drawn) == [False, False, True, True, True]


class _Silent(Nemesis):
    """A kind of a third party that declares nothing."""

    summary = "does something"
    family = "process"

    def inject(self, strike: Strike) -> None: ...

    def verify(self, strike: Strike) -> Evidence:
        return Evidence("done")

    def heal(self, strike: Strike) -> None: ...

    def verify_healed(self, strike: Strike) -> Evidence:
        return Evidence("undone")


def _claim(kind: str, index: int = 0, **parameters: Any) -> Claim:
    plugin = nemesis(kind)
    return Claim.of(index, kind, plugin, plugin.parameters.model_validate(parameters))


def test_a_kind_that_declares_nothing_occupies_everything() -> None:
    silent = Claim.of(0, "silent", _Silent(), _Silent.parameters())

    assert silent.parts == EVERYTHING
    assert all(silent.shared(_claim(kind)) for kind in ("kill", "partition", "disk-full", "power-cut"))


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (("kill", {}), ("partition", {}), []),
        (("kill", {}), ("pause", {}), ["processes"]),
        (("partition", {"direction": "in"}), ("packet-loss", {"direction": "out"}), []),
        (("partition", {}), ("packet-delay", {}), ["incoming"]),
        (("disk-full", {"disk": "one"}), ("disk-full", {"disk": "two"}), []),
        (("disk-full", {}), ("disk-dead", {}), ["disk"]),
        (("power-cut", {}), ("disk-full", {}), []),
        (("power-cut", {}), ("kill", {}), []),
        (("power-cut", {}), ("pause", {}), ["power"]),
        (("clock-jump", {"by": "1s"}), ("disk-dead", {}), ["power"]),
        (("clock-jump", {"by": "1s"}), ("pause", {}), []),
    ],
)
def test_what_two_faults_share(one: tuple[str, Any], other: tuple[str, Any], shared: list[str]) -> None:
    claims = _claim(one[0], **one[1]), _claim(other[0], **other[1])

    assert claims[0].shared(claims[1]) == claims[1].shared(claims[0]) == shared
