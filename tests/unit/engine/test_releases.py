"""`cluster.version: latest` is the newest release that can be had; what was tested are releases that scenarios run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from planned import SYSTEMS
from samples import content

from chaoskit.base.errors import BadInput
from chaoskit.contract import installed
from chaoskit.contract.systems.releasing import Releasing
from chaoskit.scenario import releases
from chaoskit.scenario.files import find_sweep, ready_made, ready_made_sweeps, variants_of
from chaoskit.scenario.plan import Plan, read_plan
from chaoskit.scenario.reading import load_mapping
from clusters.kafka import KafkaSystem


@pytest.fixture(autouse=True)
def _asks_anew() -> Iterator[None]:
    releases._newest.cache_clear()
    yield
    releases._newest.cache_clear()


def _plan(**more: Any) -> Plan:
    return read_plan(content(cluster={"system": "kafka", "version": "latest"}, **more), "mine.yaml")


def test_the_newest_release_is_what_the_run_has_in_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def newest(_: KafkaSystem) -> str:
        asked.append("kafka")
        return "4.3.1"

    monkeypatch.setattr(KafkaSystem, "newest", newest)

    plans = [_plan(), _plan()]

    assert [plan.resolved()["cluster"]["version"] for plan in plans] == ["4.3.1", "4.3.1"]
    assert plans[0].release == "kafka 4.3.1"
    assert asked == ["kafka"]


def test_without_the_newest_release_everything_else_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def newest(_: KafkaSystem) -> str:
        raise BadInput("cluster.version: latest: the repository does not answer")

    monkeypatch.setattr(KafkaSystem, "newest", newest)

    with pytest.raises(BadInput) as refused:
        _plan(expect={"losst": "none"})

    assert str(refused.value).splitlines() == [
        "mine.yaml: cluster.version: latest: the repository does not answer",
        'mine.yaml: expect.losst: unknown anomaly; did you mean "lost"?',
    ]


def test_a_cluster_that_runs_already_has_its_release() -> None:
    attached = {"system": "kafka", "version": "latest", "attach": {"bootstrap.servers": "127.0.0.1:9"}}

    with pytest.raises(BadInput, match=r"version: latest: a cluster that runs already has .*; remove the key"):
        read_plan(content(cluster=attached), "mine.yaml")


@cache
def _written() -> frozenset[tuple[str, str]]:
    """Return the systems and releases that ready-made scenarios and sweeps write."""
    clusters = [
        {**written.content["cluster"], **other}
        for path in ready_made().values()
        for _, written in variants_of(path)
        for other in ({}, *({"version": fault.get("to")} for fault in written.content.get("faults", ())))
    ]
    for name in ready_made_sweeps():
        sweep = load_mapping(find_sweep(name), "")
        scenario = next(iter(sweep.get("scenarios", ())), "")
        base = sweep.get("base", {}).get("cluster", {"system": scenario.partition("/")[0]})
        variants = [variant for axis in sweep.get("axes", {}).values() for variant in axis.values()]
        clusters += [{**base, **variant.get("cluster", {})} for variant in variants]
    return frozenset((cluster["system"], str(cluster.get("version"))) for cluster in clusters if "system" in cluster)


@pytest.mark.parametrize("name", SYSTEMS)
def test_tested_are_releases_that_ready_made_scenarios_run(name: str) -> None:
    system = installed.system(name, "system")
    assert isinstance(system, Releasing)
    run = {release for system_of, release in _written() if system_of == name} | {system.options().version}  # type: ignore[attr-defined]

    assert {system.tested.oldest, system.tested.newest} <= run
