"""A scenario, or that of a recorded run, is run again with other settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from samples import content

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.scenario.files import find
from chaoskit.scenario.overrides import overridden

WRITTEN: dict[str, dict[str, Any]] = {
    "cluster": {"system": "kafka", "hosts": 3, "topic": {"min.insync.replicas": 1}},
    "workload": {"kind": "log", "rate": 10},
    "expect": {"lost": "some"},
}


@pytest.mark.parametrize(
    ("change", "section", "then"),
    [
        ("cluster.topic.min.insync.replicas=2", "cluster", {"topic": {"min.insync.replicas": 2}}),
        ("cluster.config.log.flush.interval.messages=1", "cluster", {"config": {"log.flush.interval.messages": 1}}),
        ("workload.rate=max", "workload", {"rate": "max"}),
        ("workload.producer.acks=all", "workload", {"producer": {"acks": "all"}}),
        ("cluster={config: {bookie: {a: true}}}", "cluster", {"config": {"bookie": {"a": True}}}),
        ("cluster.hosts=5", "cluster", {"hosts": 5}),
    ],
)  # fmt: skip
def test_a_key_is_changed_and_the_rest_stays(change: str, section: str, then: dict[str, Any]) -> None:
    changed = overridden(WRITTEN, [change])

    assert changed[section] == {**WRITTEN[section], **then}
    assert {key: changed[key] for key in WRITTEN if key != section} == {
        key: value for key, value in WRITTEN.items() if key != section
    }


def test_null_removes_and_several_changes_add_up() -> None:
    changed = overridden(WRITTEN, ["expect=null", "workload.rate=20", "workload.rate=30"])

    assert "expect" not in changed
    assert changed["workload"]["rate"] == 30
    assert WRITTEN["workload"]["rate"] == 10


FAULTS = [{"inject": "kill", "on": "n1", "at": "2s"}, {"id": "slow", "inject": "disk-slow", "at": "1s", "for": "5s"}]


@pytest.mark.parametrize("name", ["1", "slow"])
def test_a_fault_is_changed_by_its_number_or_id(name: str) -> None:
    written = {**WRITTEN, "faults": FAULTS}
    changed = overridden(written, [f"faults.{name}.for=20s", f"faults.{name}.at=null", "faults.0.on=n2"])

    assert changed["faults"] == [
        {"inject": "kill", "on": "n2", "at": "2s"},
        {"id": "slow", "inject": "disk-slow", "for": "20s"},
    ]
    assert written["faults"] == FAULTS
    assert FAULTS[1]["for"] == "5s"


@pytest.mark.parametrize("change", ["faults.2.for=1s", "faults.fast.for=1s", "faults.0=1"])
def test_a_fault_that_is_not_there_is_told_with_those_that_are(change: str) -> None:
    with pytest.raises(BadInput, match=r"^--with faults.*; the faults are 0, 1, slow$"):
        overridden({"faults": FAULTS}, [change])


@pytest.mark.parametrize(("faults", "words"), [([], "the scenario has no faults"), (["kill"], "the faults are 0")])
def test_what_is_no_fault_cannot_be_changed(faults: list[Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        overridden({"faults": faults}, ["faults.0.for=1s"])


@pytest.mark.parametrize("change", ["cluster.hosts", "=3", "workload.rate={"])
def test_what_is_no_change_is_refused(change: str) -> None:
    with pytest.raises(BadInput, match=r"^--with "):
        overridden(WRITTEN, [change])


def test_a_wrong_key_is_told_like_any_other(tmp_path: Path) -> None:
    store.write_yaml(tmp_path / "mine.yaml", content())
    (written,) = find("mine.yaml", tmp_path)

    with pytest.raises(BadInput, match=r'workload\.rte: unknown key; did you mean "rate"'):
        written.changed(["workload.rte=3"]).planned()


def test_a_run_folder_is_its_scenario(tmp_path: Path) -> None:
    run = tmp_path / "small" / "20260101T000000-abc"
    run.mkdir(parents=True)
    store.write_yaml(run / store.SCENARIO, {**content(), "name": "small", "seed": 7})

    (written,) = find(str(run))

    assert written.planned().seed == 7
