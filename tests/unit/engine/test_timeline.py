"""Faults are drawn by the seed alone, in order of time, and a recorded one is a fault again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import SECOND
from chaoskit.scenario.model import FaultSpec
from chaoskit.scenario.timeline import DEFAULT_DURATION, PlannedFault, Targets, check_targets, draw

HOSTS = ["n1", "n2", "n3", "n4", "n5"]
CLIENTS = ["producer-0", "producer-1", "consumer-0"]


def _draw(*specs: dict[str, Any], seed: int = 7, hosts: list[str] = HOSTS, lasts: bool = True) -> list[PlannedFault]:
    targets = Targets(hosts, CLIENTS, lambda kind: kind.startswith("client"), lambda _: lasts)
    return draw([FaultSpec.model_validate(spec) for spec in specs], seed, targets)


OFTEN = {"from": "1s", "to": "60s", "every": "1s", "inject": ["kill", "pause"], "on": "one"}


@given(st.integers(0, 2**31))
def test_the_same_seed_draws_the_same_faults(seed: int) -> None:
    assert _draw(OFTEN, seed=seed) == _draw(OFTEN, seed=seed)


def test_another_seed_draws_other_faults() -> None:
    assert _draw(OFTEN, seed=7) != _draw(OFTEN, seed=8)


def test_every_kind_and_every_host_is_drawn_at_some_time() -> None:
    faults = _draw(OFTEN)

    assert {fault.kind for fault in faults} == {"kill", "pause"}
    assert {host for fault in faults for host in fault.on} == set(HOSTS)


def test_a_later_entry_does_not_change_what_an_earlier_one_draws() -> None:
    alone = _draw(OFTEN)

    assert [fault for fault in _draw(OFTEN, {"at": "99s", "inject": "kill"}) if fault.at_ns < 90 * SECOND] == alone


def test_a_range_of_times_is_drawn_from() -> None:
    begins = {_draw({"at": ["2s", "4s"], "inject": "kill"}, seed=seed)[0].at_ns for seed in range(50)}

    assert len(begins) > 10
    assert min(begins) >= 2 * SECOND
    assert max(begins) <= 4 * SECOND
    assert len({_draw({"at": ["2s", "4s"], "inject": "kill"})[0].at_ns for _ in range(3)}) == 1


@pytest.mark.parametrize(
    ("target", "size", "count"),
    [
        ("one", 5, 1), ("minority", 5, 2), ("majority", 5, 3), ("all", 5, 5),
        ("minority", 4, 1), ("majority", 4, 3), ("minority", 3, 1), ("majority", 3, 2),
        ("minority", 1, 1), ("majority", 1, 1), ("all", 1, 1),
    ],
)  # fmt: skip
def test_counted_targets_are_so_many_different_hosts(target: str, size: int, count: int) -> None:
    hosts = HOSTS[:size]

    on = _draw({"at": "1s", "inject": "kill", "on": target}, hosts=hosts)[0].on

    assert len(on) == count
    assert list(on) == sorted(set(on) & set(hosts))


def test_roles_and_names_stay_as_they_are_written() -> None:
    fault = _draw({"at": "1s", "inject": "kill", "on": ["leader", "n2", "leader:log-0/1"]})[0]

    assert fault.on == ("leader", "n2", "leader:log-0/1")


def test_one_host_is_hit_where_a_scenario_does_not_say() -> None:
    assert len(_draw({"at": "1s", "inject": "kill"})[0].on) == 1


def test_a_fault_that_lasts_has_a_default_duration() -> None:
    assert _draw({"at": "1s", "inject": "kill"})[0].for_ns == DEFAULT_DURATION
    assert _draw({"at": "1s", "inject": "kill", "for": "2s"})[0].for_ns == 2 * SECOND
    assert _draw({"at": "1s", "inject": "kill", "for": "0s"})[0].for_ns == 0


def test_a_fault_that_is_over_at_once_has_no_duration() -> None:
    assert _draw({"at": "1s", "inject": "restart", "for": "2s"}, lasts=False)[0].for_ns is None


def test_a_repeated_fault_begins_from_the_first_instant_and_before_the_last() -> None:
    faults = _draw({"from": "2s", "to": "8s", "every": "3s", "inject": "kill"})

    assert [fault.at_ns for fault in faults] == [2 * SECOND, 5 * SECOND]


def test_faults_are_in_order_of_time() -> None:
    specs = [{"at": f"{at}s", "inject": "kill"} for at in (9, 2, 5)]

    assert [fault.at_ns for fault in _draw(*specs, {**OFTEN, "from": "1s", "to": "4s"})] == [
        at * SECOND for at in (1, 2, 2, 3, 5, 9)
    ]


def test_further_keys_are_parameters() -> None:
    assert _draw({"at": "1s", "inject": "slow", "delay": "20ms"})[0].parameters == {"delay": "20ms"}


@given(st.integers(0, 2**31))
def test_a_recorded_fault_is_the_same_fault_again(seed: int) -> None:
    for fault in _draw({**OFTEN, "delay": "20ms", "on": ["minority", "leader"]}, seed=seed):
        recorded = {**fault.as_spec(["n2"]), "began": "1.002s"}

        again = _draw(recorded)[0]

        assert (again.at_ns, again.kind, again.on, again.for_ns) == (fault.at_ns, fault.kind, fault.on, fault.for_ns)
        assert again.parameters == fault.parameters


def test_a_recorded_draw_names_the_hosts_that_were_hit() -> None:
    fault = _draw({"at": "1s", "inject": "kill", "on": "one"})[0]

    assert sorted((*fault.on, *fault.spare)) == sorted(HOSTS)
    assert fault.as_spec([fault.spare[0]])["on"] == [fault.spare[0]]


def test_a_role_may_be_of_a_partition_but_must_exist() -> None:
    spec = FaultSpec.model_validate({"at": "1s", "inject": "kill", "on": "leader:log-0/2"})
    check_targets(spec.on, "faults.0.on", HOSTS, ["leader"], ["log-0/2"])

    with pytest.raises(BadInput, match=r"faults\.3\.on: there is no host or role 'leader:log-0/2'; .*Known: all"):
        check_targets(spec.on, "faults.3.on", HOSTS, ["follower"], ["log-0/2"])


@pytest.mark.parametrize("target", ["leader:log-0/3", "leader:", "leader:log-0", "n1:log-0/2", "all:log-0/2"])
def test_only_a_role_may_be_of_a_partition_and_only_of_one_there_is(target: str) -> None:
    spec = FaultSpec.model_validate({"at": "1s", "inject": "kill", "on": target})

    with pytest.raises(BadInput, match=r"faults\.0\.on: there is no (host or role|partition)"):
        check_targets(spec.on, "faults.0.on", HOSTS, ["leader"], ["log-0/2"])
