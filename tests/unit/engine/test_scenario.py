"""A scenario is read as people write it; what is wrong is named with its file, its key and its remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from samples import content

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import SECOND
from chaoskit.scenario.files import find
from chaoskit.scenario.model import Scenario, parse_scenario

CLUSTER_AND_LOAD = "cluster: {system: kafka}\nworkload: {kind: log}\n"


def _loaded(path: Path) -> Scenario:
    (written,) = find(str(path))
    return written.parsed()


def _refusal(**changes: Any) -> str:
    with pytest.raises(BadInput) as refused:
        parse_scenario(content(**changes), "bad.yaml")
    return str(refused.value)


def _fault_refusal(**fault: Any) -> str:
    return _refusal(faults=[{"inject": "kill", **fault}])


def test_on_is_a_word_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "leader.yaml"
    path.write_text(CLUSTER_AND_LOAD + "faults: [{at: 1s, inject: kill, on: leader}]\n")

    fault = _loaded(path).faults[0]

    assert (fault.on, fault.at, fault.inject) == ("leader", (SECOND, SECOND), "kill")


def test_a_file_gives_its_name_to_a_scenario_without_one(tmp_path: Path) -> None:
    path = tmp_path / "nightly.chaos.yaml"
    path.write_text(CLUSTER_AND_LOAD)

    assert _loaded(path).name == "nightly"


def test_defaults_are_filled_in() -> None:
    scenario = parse_scenario({"name": "x", "cluster": {"system": "kafka"}, "workload": {"kind": "log"}}, "x")

    assert (scenario.cluster.hosts, scenario.cluster.provider, scenario.seed) == (3, "local", None)
    assert (scenario.workload.duration, scenario.recovery) == (20 * SECOND, 60 * SECOND)


def test_keys_of_plug_ins_are_kept_for_them() -> None:
    scenario = parse_scenario(content(cluster={"system": "kafka", "version": "4.1.1"}), "x")

    assert scenario.cluster.model_extra == {"version": "4.1.1"}


def test_an_unknown_key_is_named_with_the_nearest_known_one() -> None:
    refusal = _refusal(fautls=[])

    assert refusal.startswith('bad.yaml: fautls: unknown key; did you mean "faults"? Known: ')


@pytest.mark.parametrize("key", ["cluster", "workload"])
def test_a_missing_key_is_named(key: str) -> None:
    given = content()
    del given[key]

    with pytest.raises(BadInput) as refused:
        parse_scenario(given, "bad.yaml")

    assert str(refused.value) == f"bad.yaml: {key}: is missing"


def test_a_missing_key_of_a_part_is_named_in_full() -> None:
    assert _refusal(cluster={}) == "bad.yaml: cluster.system: is missing"
    assert _refusal(faults=[{"at": "1s"}]) == "bad.yaml: faults.0.inject: is missing"


@pytest.mark.parametrize("duration", [8, 8.5, "8", "8 seconds", "8MB", "-8s"])
def test_a_duration_without_a_known_unit_is_refused(duration: object) -> None:
    refusal = _refusal(workload={"kind": "log", "duration": duration})

    assert refusal.startswith(f"bad.yaml: workload.duration: {duration!r} is not a duration; write a number and a unit")
    assert refusal.endswith("such as 8s")


@pytest.mark.parametrize("key", ["at", "for", "from", "to", "every"])
def test_every_time_of_a_fault_needs_a_unit(key: str) -> None:
    times = {"from": "1s", "to": "2s", "every": "1s"} if key in ("from", "to", "every") else {"at": "1s"}

    assert _fault_refusal(**{**times, key: 8}).startswith(f"bad.yaml: faults.0.{key}: 8 is not a duration")


@pytest.mark.parametrize(
    "times",
    [
        {"at": "1s", "from": "1s", "to": "3s", "every": "1s"},
        {"from": "1s", "every": "1s"},
        {"from": "1s", "to": "3s"},
        {"every": "1s"},
        {},
    ],
)
def test_a_fault_has_one_kind_of_time(times: dict[str, str]) -> None:
    assert _fault_refusal(**times) == "bad.yaml: faults.0: specify either at, after or when, or from, to and every"


def test_faults_without_an_interval_are_refused() -> None:
    refusal = _fault_refusal(**{"from": "1s", "to": "3s", "every": "0s"})

    assert refusal == "bad.yaml: faults.0: every must be at least 1ms"


def test_a_span_that_holds_no_instant_is_refused() -> None:
    refusal = _fault_refusal(**{"from": "3s", "to": "3s", "every": "1s"})

    assert refusal == "bad.yaml: faults.0: to must be later than from"


def test_all_that_is_wrong_is_told_at_once() -> None:
    refusal = _refusal(cluster={"system": "kafka", "hosts": -1}, expext={}, recovery="1")

    assert [line.split(": ")[1] for line in refusal.splitlines()] == ["cluster.hosts", "recovery", "expext"]


@pytest.mark.parametrize("name", ["", "../up", "a b", "-x", "a/b", ".hidden"])
def test_a_name_that_is_no_folder_is_refused(name: str) -> None:
    assert "bad.yaml: name: " in _refusal(name=name)


@pytest.mark.parametrize("expected", ["maybe", [], 1.5, True, -1])
def test_an_expectation_is_none_some_or_a_number(expected: object) -> None:
    lines = _refusal(expect={"lost": expected}).splitlines()

    assert {line.split(": ")[1] for line in lines} == {"expect.lost"}
    assert "write none, some, any or a number of findings" in lines[0]


def test_a_wrong_type_is_told_without_the_names_of_types() -> None:
    keys = {line.split(": ")[1] for line in _fault_refusal(at="1s", on=5).splitlines()}

    assert keys == {"faults.0.on"}


@pytest.mark.parametrize("key", ["inject", "on"])
def test_an_empty_list_names_nothing_and_is_refused(key: str) -> None:
    assert "bad.yaml: faults.0." + key + ": is empty; write at least one" in _fault_refusal(at="1s", **{key: []})


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"gone\.yaml: no such file"):
        _loaded(tmp_path / "gone.yaml")


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        (b"a: [1", "is not valid YAML"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"- kill\n", "a scenario is a mapping with the keys cluster and workload"),
        (b"", "a scenario is a mapping with the keys cluster and workload"),
        (b"1: 2\n", "Keys should be strings"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(tmp_path: Path, written: bytes, complaint: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_bytes(written)

    with pytest.raises(BadInput, match=r"odd\.yaml: ") as refused:
        _loaded(path)

    assert complaint in str(refused.value)
