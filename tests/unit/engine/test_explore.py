"""The runs of crash points."""

from __future__ import annotations

from chaoskit.scenario.plan import read_plan
from chaoskit.search.explore import restart


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
