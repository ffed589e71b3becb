"""Exposure of a run: copies when acknowledged, lag, loss windows, and what is told where something cannot be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from recorded import MS, recorded

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.contract.hosts.recorded_disk import NEVER, Stored
from chaoskit.contract.workloads.datamodel import LOG, PUBSUB, QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Paced
from chaoskit.history.format.origin import read_origin, read_run_id
from chaoskit.judge.exposure.measuring import measure_exposure, recorded_exposure
from chaoskit.model.outcome import FAIL, OK

Disk = Mapping[int, tuple[int, int | None]]
"""By value: when it was written and when it was flushed, ms since the start of the run."""


class Disks:
    """Recordings of disks; `disks` says what is on each."""

    def operations(self) -> None: ...
    def crash_state(self) -> None: ...
    def crash_image(self) -> None: ...
    def disk_with(self) -> None: ...

    def __init__(self, folder: Path, disks: Mapping[str, Disk], **evidence: Any) -> None:
        self._folder, self._disks, self._told = folder, disks, evidence

    def stored(self, recording: Path, run_id: int, size: int) -> Stored:
        assert (run_id, size) == (read_run_id(self._folder / "wal"), 100)
        disk, origin_ns = self._disks[recording.name], read_origin(self._folder / "wal")
        values = np.array(sorted(disk), np.int64)
        written = np.array([origin_ns + disk[value][0] * MS for value in values.tolist()], np.int64)
        flushed = [disk[value][1] for value in values.tolist()]
        stable = np.array([NEVER if at is None else origin_ns + at * MS for at in flushed], np.int64)
        evidence = {"ended_ns": origin_ns + 1000 * MS, "synced": True, "torn": False, **self._told}
        return Stored(values, written, stable, **evidence)


def subject_of(folder: Path, sends: Sequence[Any], disks: Mapping[str, Disk], **given: Any) -> Any:
    model = given.pop("model", LOG)
    recorded(folder, sends, given.pop("received", ()), model=model)
    for host in disks:
        (folder / store.RECORDINGS / host).mkdir(parents=True)
    declared = SimpleNamespace(
        topics=(Topic("t", model, 1, 1),), get=lambda trait: Paced(None, 1, 100) if trait is Paced else None
    )
    cluster = SimpleNamespace(zones={})
    plan = SimpleNamespace(
        provider=Disks(folder, disks, **given),
        declared=declared,
        host_names=["n1", "n2"],
        scenario=SimpleNamespace(cluster=cluster),
    )
    return SimpleNamespace(plan=plan)


SENDS = [(0, 0, 10, OK), (0, 10, 20, OK), (0, 20, 30, OK), (0, 30, 40, FAIL)]


def test_copies_lag_and_loss_windows(tmp_path: Path) -> None:
    """The first message is on both disks in time, the second on one later, the third never."""
    disks: dict[str, Disk] = {"n1": {0: (5, 8), 1: (21, 25)}, "n2": {0: (6, 9), 1: (22, 29), 2: (25, None)}}
    exposure = measure_exposure(tmp_path, subject_of(tmp_path, SENDS, disks)).as_json()

    assert exposure["acked"] == 3
    assert exposure["copies_at_ack"] == {"0": 2, "1": 0, "2": 1}
    assert exposure["lag_ms"] == {
        "1": {"p50": 5.0, "p99": None, "max": 5.0, "never": 1},
        "2": {"p50": 9.0, "p99": None, "max": 9.0, "never": 1},
    }
    assert exposure["loss_window"]["all"] == {"median": 0, "max": 1, "at_s": 0.02, "in_doubt": 0}
    assert exposure["loss_window"]["n2"]["max"] == 1, "nobody else ever wrote the third"
    assert exposure["loss_window"]["n1"] == {"median": 0, "max": 0, "at_s": 0.0, "in_doubt": 1}
    assert len(exposure["doubts"]) == 1
    assert exposure["doubts"][0].startswith("1 acknowledged messages are on fewer disks")


def test_a_send_that_was_never_answered_is_not_acknowledged(tmp_path: Path) -> None:
    disks: dict[str, Disk] = {"n1": {0: (5, 8), 4: (45, 48)}, "n2": {0: (6, 9), 4: (45, 48)}}
    exposure = measure_exposure(tmp_path, subject_of(tmp_path, [*SENDS, (0, 40, None, OK)], disks)).as_json()

    assert exposure["acked"] == 3


def test_what_is_flushed_by_the_sync_after_the_run_was_not_stable_in_it(tmp_path: Path) -> None:
    disks: dict[str, Disk] = {"n1": {0: (5, 1001)}, "n2": {0: (5, None)}}

    exposure = measure_exposure(tmp_path, subject_of(tmp_path, SENDS[:1], disks)).as_json()

    assert exposure["copies_at_ack"]["0"] == exposure["lag_ms"]["1"]["never"] == 1


def test_what_a_consumer_took_from_a_queue_is_no_longer_exposed(tmp_path: Path) -> None:
    disks: dict[str, Disk] = {"n1": {0: (900, None), 1: (900, None)}, "n2": {}}
    given: dict[str, Any] = {"model": QUEUE, "received": [("consumer-0", 0, 15)]}

    exposure = measure_exposure(tmp_path, subject_of(tmp_path, SENDS[:2], disks, **given)).as_json()

    assert exposure["loss_window"]["all"]["max"] == 1


@pytest.mark.parametrize(
    ("evidence", "doubt"),
    [
        ({"torn": True}, "the recording of n1 is torn or too short"),
        ({"synced": False}, "n1 was not synced"),
        ({}, "3 acknowledged messages are nowhere on any disk: compressed"),
    ],
)
def test_what_cannot_be_seen_is_told_and_not_counted_as_safe(tmp_path: Path, evidence: Any, doubt: str) -> None:
    exposure = measure_exposure(tmp_path, subject_of(tmp_path, SENDS, {"n1": {}, "n2": {}}, **evidence))

    assert any(doubt in line for line in exposure.doubts)
    assert exposure.as_json()["loss_window"]["all"]["max"] == 3


@pytest.mark.parametrize(
    ("evidence", "doubt"),
    [
        ({"overwritten": 7}, "7 payloads on n1 were overwritten later"),
        ({"syncs_ns": (5, 6)}, "another process synced all file systems of this machine, 2 times"),
    ],
)
def test_what_may_have_looked_safer_than_it_was_is_told(tmp_path: Path, evidence: Any, doubt: str) -> None:
    disks = {"n1": {0: (5, 8)}, "n2": {0: (5, 8)}}

    exposure = measure_exposure(tmp_path, subject_of(tmp_path, SENDS[:1], disks, **evidence))

    assert [sentence for sentence in exposure.doubts if "n2" not in sentence] == [
        sentence for sentence in exposure.doubts if sentence.startswith(doubt)
    ]
    assert exposure.doubts


def test_a_message_that_lacks_on_one_disk_is_told(tmp_path: Path) -> None:
    disks: dict[str, Disk] = {"n1": {0: (5, 8), 1: (15, 18)}, "n2": {0: (5, 8)}}

    exposure = measure_exposure(tmp_path, subject_of(tmp_path, SENDS[:2], disks))

    assert exposure.doubts == (
        "1 acknowledged messages are on fewer disks than others: never written there, or in pieces",
    )


def test_a_host_that_stores_no_messages_is_left_out(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, SENDS[:1], {"n1": {0: (5, 8)}, "n2": {}})

    exposure = measure_exposure(tmp_path, subject).as_json()

    assert exposure["copies_at_ack"] == {"0": 0, "1": 1}
    assert set(exposure["loss_window"]) == {"all", "n1"}


def test_a_topic_that_keeps_nothing_is_left_out(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, SENDS, {"n1": {}, "n2": {}}, model=PUBSUB)

    exposure = measure_exposure(tmp_path, subject).as_json()

    assert exposure["acked"] == exposure["loss_window"]["all"]["max"] == 0
    assert exposure["doubts"] == ["topics that keep nothing are left out: they have nothing to lose from a disk"]


def test_each_second_has_its_lag_and_its_largest_loss(tmp_path: Path) -> None:
    disks: dict[str, Disk] = {"n1": {0: (5, 8), 1: (21, 25)}, "n2": {}}

    (second,) = measure_exposure(tmp_path, subject_of(tmp_path, SENDS, disks)).by_second()

    assert second["loss_window"]["all"] == 1
    assert second["lag_ms"]["1"]["never"] == 1


def test_a_host_without_a_recording_is_refused_and_costs_no_verdict(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, SENDS, {"n1": {}})

    with pytest.raises(BadInput, match=r"the disk of n2 was not recorded; .*record: true"):
        measure_exposure(tmp_path, subject)
    assert list(recorded_exposure(tmp_path, subject)) == ["doubts"]


def test_a_run_without_recordings_has_no_exposure(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, SENDS, {})

    assert recorded_exposure(tmp_path, subject) == {}
    with pytest.raises(BadInput, match="its disks were not recorded"):
        measure_exposure(tmp_path, subject)
