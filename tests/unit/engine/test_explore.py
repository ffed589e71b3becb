"""The runs of crash points."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from recorded import MS, recorded

from chaoskit.contract.datamodel import LOG, PUBSUB, QUEUE, DataModel
from chaoskit.contract.topic import Topic
from chaoskit.history.format.schema import OK
from chaoskit.scenario.plan import read_plan
from chaoskit.search.explore import Recorded, restart


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
