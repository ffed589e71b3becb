"""The runs of crash points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from recorded import MS, recorded

from chaoskit.base import store
from chaoskit.base.errors import ChaoskitError, RunFailed
from chaoskit.contract.hosts.recorded_disk import NEVER
from chaoskit.contract.systems.service import ServiceError
from chaoskit.contract.workloads.datamodel import LOG, PUBSUB, QUEUE, DataModel
from chaoskit.contract.workloads.topic import Topic
from chaoskit.judge.exposure.loss_window import StableCopies
from chaoskit.model.outcome import OK
from chaoskit.scenario.plan import Plan, read_plan
from chaoskit.search.explore import CrashPoint, CrashWishes, HostCut, _try, points, restart
from chaoskit.search.instants import DICE, EARLY, EXPOSED, FOLDERS, Instant, instants
from chaoskit.search.recorded import Recorded, RecordedHost

ONE_BROKER: dict[str, Any] = {
    "name": "recorded",
    "cluster": {"system": "kafka", "hosts": 1, "disk": {"kind": "programmable", "size": "512MiB", "record": True}},
    "workload": {"kind": "log", "replication": 1, "duration": "1m"},
}


def test_the_run_of_a_point_is_one_that_can_be_run() -> None:
    cluster = {"system": "kafka", "hosts": 1, "disk": {"kind": "programmable", "size": "512MiB", "record": True}}
    faults = [{"at": "3s", "inject": "pause", "on": "one", "for": "1s"}]
    load = {"kind": "log", "producers": 4, "consumers": 2, "rate": 500, "replication": 1, "duration": "1m"}
    content = {"name": "recorded", "cluster": cluster, "workload": load, "faults": faults}
    recorded = read_plan(content, "recorded.yaml").resolved()

    plan = read_plan(restart(recorded, {"kind": "programmable"}), "point.yaml")

    assert plan.scenario.name == "recorded-crash"
    assert not plan.scenario.faults
    assert (plan.workload_options.producers, plan.workload_options.consumers) == (1, 0)
    assert not plan.provider_options.record


def _copies(acked_ms: Sequence[int], stable_ms: Sequence[Sequence[int]], written_ms: Any = None) -> StableCopies:
    acked, stable = np.array(acked_ms) * MS, np.array(stable_ms).reshape(len(stable_ms), -1) * MS
    written = stable if written_ms is None else np.array(written_ms) * MS
    never = np.full(acked.size, NEVER)
    return StableCopies(
        [f"n{number}" for number in range(1, len(stable) + 1)], acked, never, stable, written, never * 0
    )


def _with_four_acked(folder: Path, model: DataModel) -> Recorded:
    sends = [(0, at, at + 1, OK) for at in (0, 10, 20, 30)]
    history = recorded(folder, sends, [("consumer-0", 0, 5), ("consumer-0", 1, 25)], model=model)
    plan: Any = SimpleNamespace(declared=SimpleNamespace(topics=(Topic("t", model, 1, 1),)))
    return Recorded(folder, plan, history, {}, plan, _copies([], [[]]))


@pytest.mark.parametrize(("model", "due"), [(LOG, [0, 1, 2]), (QUEUE, [1, 2])])
def test_what_a_consumer_had_taken_from_a_queue_need_not_be_there(tmp_path: Path, model: DataModel, due: Any) -> None:
    run = _with_four_acked(tmp_path, model)

    assert run.keeps
    assert run.acked_before(24 * MS)["t", 0].to_pylist() == due


@pytest.mark.parametrize(
    ("flushed", "predicted", "verdict"),
    [(0, 0, "valid"), (2, 3, "invalid"), (None, 0, "invalid"), (None, 3, "valid"), (None, None, "valid")],
)
def test_what_all_replicas_had_flushed_must_not_be_lost(
    flushed: int | None, predicted: int | None, verdict: str
) -> None:
    assert CrashPoint(0.5, EARLY, {}, True, "", 10, 3, predicted, True, "", flushed).verdict == verdict


def test_on_how_many_disks_lost_messages_were(tmp_path: Path) -> None:
    stable = [[12, 40, NEVER // MS], [15, 25, 45]]
    copies = replace(_copies([10, 20, 30], stable), values=np.array([7, 5, 6]))
    plan: Any = SimpleNamespace(declared=SimpleNamespace(topics=(Topic("t", LOG, 1, 2),)))
    run = replace(_two_hosts(tmp_path, copies), plan=plan)
    lost = {("t", 0): pa.array([5, 6, 7, 8], pa.int64())}

    assert run.whole_of(lost, [50 * MS, 50 * MS], [False, False]) == 2
    assert run.whole_of(lost, [13 * MS, 15 * MS], [False, False]) == 1
    assert run.whole_of(lost, [13 * MS, 14 * MS], [False, False]) == 0
    assert replace(run, copies=None).whole_of(lost, [13 * MS, 14 * MS], [False, False]) is None


def test_a_feed_keeps_nothing_that_could_be_read_after_a_cut(tmp_path: Path) -> None:
    assert not _with_four_acked(tmp_path, PUBSUB).keeps


@pytest.mark.parametrize(
    ("cause", "started", "verdict"),
    [
        (ServiceError("Kafka on n1 exited unexpectedly"), False, "invalid"),
        (RunFailed("client producer-0 did not start"), None, "unknown"),
    ],
)
def test_what_failed_beside_the_system_says_nothing_of_it(
    tmp_path: Path, cause: ChaoskitError, started: bool | None, verdict: str
) -> None:
    def fail(plan: Plan) -> Any:
        raise RunFailed(f"{plan.scenario.name}: {cause}") from cause

    disks: Any = SimpleNamespace(disk_with=lambda *_: {"kind": "programmable"})
    history = recorded(tmp_path, [(0, 0, 1, OK)])
    run = Recorded(tmp_path, read_plan(ONE_BROKER, "recorded.yaml"), history, {}, disks, _copies([1], [[5]]))

    point = _try(run, Instant(2 * MS, EARLY), {"n1": HostCut(2 * MS, 1, "drop")}, {}, {}, fail)

    assert (point.started, point.verdict, point.acked, point.lost) == (started, verdict, 1, 0)
    assert str(cause) in point.why_not


@pytest.mark.parametrize(
    ("lost", "allowed", "verdict"),
    [(0, False, "valid"), (None, False, "valid"), (3, True, "valid"), (3, False, "invalid")],
)
def test_a_loss_must_be_allowed(lost: int | None, allowed: bool, verdict: str) -> None:
    assert CrashPoint(0.5, EARLY, {}, True, "", 10, lost, 3, allowed, "").verdict == verdict


class _Disks:
    """Recordings in which a disk changes with every tenth operation."""

    def crash_state(self, recording: Path, after: int, on_cut: str, seed: int) -> str:
        return f"{after // 10}{'w' * (on_cut == 'whole')}"


def _two_hosts(folder: Path, copies: StableCopies, folders: Sequence[int] = ()) -> Recorded:
    times_ns = np.arange(100) * MS
    host = RecordedHost(folder, times_ns, np.array(folders, np.int64))
    store.write_json(folder / store.RECOVERY, {"recovered": None, "load_start_ns": 40 * MS})
    nothing: Any = None
    disks: Any = _Disks()
    return Recorded(folder, nothing, nothing, {"n1": host, "n2": host}, disks, copies)


def test_instants_are_where_a_cut_shows_most(tmp_path: Path) -> None:
    exposed = _copies([50, 51, 52], [[53, 53, 53], [60, 60, 60]])
    run = _two_hosts(tmp_path, exposed, folders=[20, 71])

    chosen: dict[str, set[int]] = {}
    for instant in islice(instants(run, seed=1), 400):
        chosen.setdefault(instant.why, set()).add(instant.at_ns // MS)

    assert max(chosen[EARLY]) < 40
    assert chosen[EXPOSED] == {52}
    assert chosen[FOLDERS] == {69, 70}


def test_where_nothing_is_exposed_it_is_by_dice(tmp_path: Path) -> None:
    run = _two_hosts(tmp_path, _copies([50], [[49], [49]]))

    assert {instant.why for instant in islice(instants(run, seed=1), 40)} == {EARLY, DICE}


def test_states_that_are_equal_are_tried_once_and_the_search_ends(tmp_path: Path) -> None:
    run = _two_hosts(tmp_path, _copies([50], [[49], [49]]))

    choices = [cuts for _, cuts in points(run, CrashWishes(count=1000))]

    assert len({cuts["n1"].operation // 10 for cuts in choices}) == len(choices)
    assert 5 <= len(choices) <= 11


def test_cuts_may_be_apart_and_may_spare_a_disk(tmp_path: Path) -> None:
    run = _two_hosts(tmp_path, _copies([50], [[49], [49]]))

    choices = [list(cuts.values()) for _, cuts in points(run, CrashWishes(count=10, apart_ns=30 * MS, whole=True))]

    assert all(sorted(cut.on_cut for cut in choice) == ["reorder", "whole"] for choice in choices)
    assert any(abs(first.at_ns - second.at_ns) > 5 * MS for first, second in choices)
    assert all(abs(first.at_ns - second.at_ns) <= 30 * MS for first, second in choices)


def test_what_is_missing_after_a_cut_is_predicted(tmp_path: Path) -> None:
    copies = _copies([10, 20, 30], [[12, 40, NEVER // MS], [15, 25, 45]], [[11, 19, 29], [15, 25, 44]])
    run = _two_hosts(tmp_path, copies)

    assert run.missing_at([11 * MS, 11 * MS], [False, False]) == 1
    assert run.missing_at([31 * MS, 31 * MS], [False, False]) == 1
    assert run.missing_at([31 * MS, 31 * MS], [True, False]) == 0
    assert run.missing_at([11 * MS, 15 * MS], [False, False]) == 0
    assert run.missing_at([50 * MS, 50 * MS], [False, False]) == 0
