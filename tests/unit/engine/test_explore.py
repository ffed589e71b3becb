"""The runs of crash points."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from recorded import MS, recorded

from chaoskit.base.errors import ChaoskitError, RunFailed
from chaoskit.contract.datamodel import LOG, PUBSUB, QUEUE, DataModel
from chaoskit.contract.service import ServiceError
from chaoskit.contract.topic import Topic
from chaoskit.history.format.schema import OK
from chaoskit.scenario.plan import Plan, read_plan
from chaoskit.search.explore import CrashPoint, Recorded, _try, restart

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


def _with_four_acked(folder: Path, model: DataModel) -> Recorded:
    sends = [(0, at, at + 1, OK) for at in (0, 10, 20, 30)]
    history = recorded(folder, sends, [("consumer-0", 0, 5), ("consumer-0", 1, 25)], model=model)
    plan: Any = SimpleNamespace(declared=SimpleNamespace(topics=(Topic("t", model, 1, 1),)))
    return Recorded(folder, plan, history, folder, [], plan)


@pytest.mark.parametrize(("model", "due"), [(LOG, [0, 1, 2]), (QUEUE, [1, 2])])
def test_what_a_consumer_had_taken_from_a_queue_need_not_be_there(tmp_path: Path, model: DataModel, due: Any) -> None:
    run = _with_four_acked(tmp_path, model)

    assert run.keeps
    assert run.acked_before(24 * MS)["t", 0].to_pylist() == due


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
    run = Recorded(tmp_path, read_plan(ONE_BROKER, "recorded.yaml"), history, tmp_path, [2 * MS], disks)

    point = _try(run, 1, {}, tmp_path / "image", fail)

    assert (point.started, point.verdict, point.acked, point.lost) == (started, verdict, 1, 0)
    assert str(cause) in point.why_not


@pytest.mark.parametrize(
    ("lost", "allowed", "verdict"),
    [(0, False, "valid"), (None, False, "valid"), (3, True, "valid"), (3, False, "invalid")],
)
def test_a_loss_must_be_allowed(lost: int | None, allowed: bool, verdict: str) -> None:
    assert CrashPoint(1, 0.5, {}, True, "", 10, lost, allowed, "").verdict == verdict
