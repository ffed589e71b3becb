"""Faults that occupy different parts of a host hold there at once; each is proved and healed on its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from paper import PaperCluster, PaperHost
from samples import plan
from stage import Stage

from chaoskit.contract.host import ServiceState

KILL = {"inject": "kill", "on": "n2"}
CUT = {"inject": "power-cut", "on": "n2"}


def _command(folder: Path, **more: Any) -> dict[str, Any]:
    """Return a fault that is a file."""
    mark = str(folder / "mark")
    steps = {"do": ["touch", mark], "verify": ["test", "-e", mark]}
    undo = {"undo": ["rm", "-f", mark], "verify_undone": ["test", "!", "-e", mark]}
    return {"inject": "command", "on": "n2", "timeout": "100ms", **steps, **undo, **more}


def _held(fault: dict[str, Any]) -> tuple[int, int]:
    assert fault["effective_ns"] is not None, fault["evidence"]
    assert fault["healed_ns"] is not None, fault["evidence"]
    return fault["effective_ns"], fault["heal_ns"]


@pytest.mark.parametrize(
    ("kill", "command"),
    [
        (("1ms", "600ms"), ("200ms", "100ms")),
        (("200ms", "100ms"), ("1ms", "600ms")),
        (("1ms", "300ms"), ("150ms", "400ms")),
    ],
    ids=["inside", "around", "crossed"],
)
def test_both_are_proved_and_healed_in_any_order(
    tmp_path: Path, kill: tuple[str, str], command: tuple[str, str]
) -> None:
    faults = [
        {"at": kill[0], "for": kill[1], **KILL},
        {"at": command[0], "for": command[1], **_command(tmp_path)},
    ]
    stage = Stage(tmp_path, PaperCluster(), faults)

    (one_began, one_ended), (other_began, other_ended) = map(_held, stage.perform())

    assert max(one_began, other_began) < min(one_ended, other_ended), "they held at once"
    assert stage.conductor.problems == []
    assert stage.conductor.all_healed


def test_a_fault_that_declares_a_part_keeps_others_off_it(tmp_path: Path) -> None:
    faults = [{"at": "1ms", "for": "400ms", **_command(tmp_path, occupies=["processes"])}, {"at": "200ms", **KILL}]

    _, kill = Stage(tmp_path, PaperCluster(), faults).perform()

    assert kill["effective_ns"] is None
    assert kill["evidence"] == ("no effect: already under a fault: n2 (by command (fault 0), sharing processes)")


def test_a_reboot_does_not_start_what_another_fault_keeps_down(tmp_path: Path) -> None:
    faults = [{"at": "1ms", "for": "800ms", **KILL}, {"at": "200ms", "for": "100ms", **CUT}]
    stage = Stage(tmp_path, PaperCluster(), faults)
    stage.conductor.start(time.monotonic_ns())
    time.sleep(0.6)
    n2 = stage.cluster.hosts[1]
    assert (n2.boots, n2.seen) == (2, ServiceState.GONE)

    kill, cut = stage.end()

    _held(kill)
    _held(cut)
    assert "does not run while kill (fault 0) holds" in cut["evidence"]
    assert cut["evidence"].endswith("once no fault held: answering again: n2")
    assert n2.seen is ServiceState.RUNNING
    assert stage.conductor.all_healed


def test_a_healing_waits_until_its_host_has_power(tmp_path: Path) -> None:
    faults = [{"at": "1ms", "for": "300ms", **KILL}, {"at": "150ms", "for": "600ms", **CUT}]
    stage = Stage(tmp_path, PaperCluster(), faults)

    kill, cut = stage.perform()

    assert kill["healed_ns"] > cut["heal_ns"]
    assert "n2 had no power; went on after the boot" in kill["evidence"]
    assert stage.conductor.problems == []
    assert stage.conductor.all_healed


class _Forgetful(PaperHost):
    """A host whose boot removes a file."""

    def __init__(self, name: str, mark: Path) -> None:
        super().__init__(name)
        self.mark = mark

    def power_on(self) -> None:
        self.mark.unlink()
        super().power_on()


def test_what_a_boot_removes_is_told_and_made_again(tmp_path: Path) -> None:
    faults = [{"at": "1ms", "for": "900ms", **_command(tmp_path)}, {"at": "200ms", "for": "100ms", **CUT}]
    cluster = PaperCluster()
    cluster.hosts[1] = _Forgetful("n2", tmp_path / "mark")
    stage = Stage(tmp_path, cluster, faults)

    command, _ = stage.perform()

    _held(command)
    assert "lost when n2 booted" in command["evidence"]
    assert "made again" in command["evidence"]
    assert stage.conductor.problems == []


def test_a_host_without_power_takes_no_other_fault(tmp_path: Path) -> None:
    faults = [{"at": "1ms", "for": "500ms", **CUT}, {"at": "200ms", **KILL}]

    _, kill = Stage(tmp_path, PaperCluster(), faults).perform()

    assert kill["evidence"] == "no effect: already under a fault: n2 has no power"


@pytest.mark.parametrize(("asked", "overlaps"), [({}, False), ({"overlap": True}, True)])
def test_a_series_overlaps_only_if_it_asks_for_it(tmp_path: Path, asked: dict[str, Any], overlaps: bool) -> None:
    series = {"from": "200ms", "to": "250ms", "every": "1s", "for": "50ms", **KILL, **asked}
    faults = [{"at": "1ms", "for": "500ms", **_command(tmp_path)}, series]

    command, kill = sorted(Stage(tmp_path, PaperCluster(), faults).perform(), key=lambda fault: fault["fault"])

    assert (kill["effective_ns"] < command["heal_ns"]) is overlaps


def test_a_recorded_timeline_overlaps_as_it_did() -> None:
    series = {"from": "1s", "to": "3s", "every": "1s", "inject": "kill"}
    drawn = plan([{"at": "1s", "inject": "kill"}, series, {**series, "overlap": True}]).faults

    again = plan([fault.as_spec(["n1"]) for fault in drawn]).faults

    assert [fault.overlap for fault in again] == [fault.overlap for fault in drawn]
    assert sorted(fault.overlap for fault in drawn) == [False, False, True, True, True]
