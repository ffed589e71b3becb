"""Everything that cannot work is refused before anything is started; what runs can be run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from samples import content, plan

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import SECOND
from chaoskit.base.store import write_yaml
from chaoskit.contract.workloads.traits import Group, Paced, Replays, Resends, Routed, Subscription
from chaoskit.scenario.files import find, ready_made
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import make_plan


def _refusal(**changes: Any) -> str:
    with pytest.raises(BadInput) as refused:
        make_plan(parse_scenario(content(**changes), "bad.yaml"), "bad.yaml")
    return str(refused.value)


def _fault_refusal(**fault: Any) -> str:
    return _refusal(faults=[{"at": "1s", "inject": "kill", **fault}])


def test_hosts_count_from_one() -> None:
    assert plan(cluster={"system": "kafka", "hosts": 3}).host_names == ["n1", "n2", "n3"]


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"cluster": {"system": "kafak"}}, "cluster.system: there is no system 'kafak'; did you mean \"kafka\"?"),
        ({"workload": {"kind": "logs"}}, "workload.kind: there is no workload 'logs'; did you mean \"log\"?"),
        (
            {"cluster": {"system": "kafka", "provider": "locl"}},
            "cluster.provider: there is no host provider 'locl'; did you",
        ),
        ({"expect": {"losst": "none"}}, 'expect.losst: unknown anomaly; did you mean "lost"?'),
        ({"cluster": {"system": "kafka", "verzion": "4"}}, 'cluster.verzion: unknown key; did you mean "version"?'),
        ({"workload": {"kind": "log", "producrs": 2}}, 'workload.producrs: unknown key; did you mean "producers"?'),
        ({"cluster": {"system": "kafka", "disk": {"siez": "1GiB"}}}, "cluster.disk.siez: unknown key; did you mean"),
    ],
)
def test_what_is_not_there_is_named_with_the_nearest_that_is(changes: dict[str, Any], refusal: str) -> None:
    assert _refusal(**changes).startswith(f"bad.yaml: {refusal}")


def test_a_misspelled_key_of_the_engine_is_known_beside_those_of_the_plug_in() -> None:
    assert 'did you mean "hosts"?' in _refusal(cluster={"system": "kafka", "host": 3})


def test_an_unknown_fault_is_refused() -> None:
    refusal = _fault_refusal(inject="kil")

    assert refusal.startswith("bad.yaml: faults.0.inject: there is no kind of fault 'kil'; did you mean \"kill\"?")


def test_each_of_several_faults_must_exist() -> None:
    assert "no kind of fault 'burn'" in _fault_refusal(inject=["kill", "burn"])


def test_a_parameter_that_a_fault_does_not_have_is_refused() -> None:
    assert _fault_refusal(fro="5s").startswith('bad.yaml: faults.0.fro: unknown key; did you mean "fro')


@pytest.mark.parametrize("target", ["n9", "n0", "everyone", ["n1", "n4"]])
def test_an_impossible_target_is_refused_with_those_there_are(target: str | list[str]) -> None:
    refusal = _fault_refusal(on=target)

    assert refusal.startswith("bad.yaml: faults.0.on: there is no host or role ")
    assert "Known: all, controller" in refusal
    assert "n1, n2, n3, one" in refusal


def test_roles_may_name_a_partition() -> None:
    fault = plan([{"at": "1s", "inject": "kill", "on": "leader:log-0/0"}]).faults[0]

    assert fault.on == ("leader:log-0/0",)


def test_a_topic_of_one_partition_needs_no_number() -> None:
    assert plan([{"at": "1s", "inject": "kill", "on": "leader:log-0"}]).faults[0].on == ("leader:log-0",)
    with pytest.raises(BadInput, match="there is no partition 'log-0'"):
        plan(
            [{"at": "1s", "inject": "kill", "on": "leader:log-0"}],
            workload={"kind": "log", "duration": "20s", "partitions": 2},
        )


def test_a_partition_that_the_workload_does_not_have_is_refused() -> None:
    assert "there is no partition 'log-0/2'; did you mean \"log-0/0\"?" in _fault_refusal(on="leader:log-0/2")


@pytest.mark.parametrize(
    "times",
    [
        {"at": "20s"},
        {"at": "1m"},
        {"at": None, "from": "20s", "to": "30s", "every": "1s"},
        {"at": None, "from": "1s", "to": "21s", "every": "1s"},
    ],
)
def test_a_fault_that_begins_after_the_load_is_refused(times: dict[str, str]) -> None:
    refusal = _fault_refusal(**times)

    assert refusal.startswith("bad.yaml: faults.0")
    assert " after the end of the load, 20s; " in refusal


def test_the_last_of_repeated_faults_may_begin_just_before_the_end() -> None:
    assert plan([{"from": "1s", "to": "20s", "every": "1s", "inject": "kill"}]).faults[-1].at_ns == 19 * SECOND


def test_a_value_of_no_setting_is_told_by_its_key_alone() -> None:
    lines = _refusal(cluster={"system": "kafka", "config": {"num.io.threads": [4]}}).splitlines()
    lines += _refusal(workload={"kind": "log", "rate": "fast"}).splitlines()

    assert {line.split(": ")[1] for line in lines} == {"cluster.config.num.io.threads", "workload.rate"}


def test_the_seed_given_at_the_start_wins_over_the_one_of_the_scenario() -> None:
    assert make_plan(parse_scenario(content(), "x"), "x", seed=0).seed == 0
    assert make_plan(parse_scenario(content(), "x"), "x").seed == 7


def test_a_seed_is_drawn_where_none_is_given() -> None:
    seeds = {make_plan(parse_scenario(content(seed=None), "x"), "x").seed for _ in range(5)}

    assert len(seeds) > 1
    assert all(0 <= seed < 2**31 for seed in seeds)


@pytest.mark.parametrize("name", ready_made())
def test_every_ready_made_scenario_has_a_plan(name: str) -> None:
    for written in find(name):
        scenario = written.parsed()

        assert make_plan(scenario, written.source).scenario.name.split(".")[0] == name.replace("/", "-")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"seed": None},
        {"expect": {"lost": "some", "duplicate": 3}, "recovery": "90s"},
        {"cluster": {"system": "kafka", "hosts": 5, "controllers": 2, "config": {"num.io.threads": None, "x": True}}},
        {"cluster": {"system": "kafka", "disk": {"size": "1GiB", "filesystem": "xfs"}}},
        {"workload": {"kind": "log", "message_size": "1KiB", "rate": "max", "producer": {"acks": 1}}},
        {"faults": [{"from": "1s", "to": "9s", "every": "1500ms", "inject": ["kill", "pause"], "for": "2s"}]},
        {"faults": [{"at": "8s", "inject": "power-cut", "on": ["n2", "leader"]}]},
    ],
)
def test_a_resolved_scenario_gives_the_same_plan_again(tmp_path: Path, changes: dict[str, Any]) -> None:
    first = make_plan(parse_scenario(content(**changes), "x"), "x")
    path = tmp_path / "scenario.yaml"

    write_yaml(path, first.resolved())
    (again,) = find(str(path))
    second = make_plan(again.parsed(), again.source)

    assert second.resolved() == first.resolved()
    assert (second.seed, second.faults, second.declared) == (first.seed, first.faults, first.declared)
    assert second.provider_options == first.provider_options


def test_a_resolved_scenario_says_what_was_left_to_defaults() -> None:
    resolved = plan().resolved()

    assert resolved["cluster"]["version"].count(".") == 2
    assert (resolved["cluster"]["ready_within"], resolved["workload"]["rate"]) == ("1m", 5000)
    assert resolved["cluster"]["disk"] == {"size": "4GiB", "filesystem": "ext4", "kind": "plain", "images": {}}


def test_replication_is_declared_as_the_workload_creates_it() -> None:
    assert plan(cluster={"system": "kafka", "hosts": 2}).declared.replication == 2
    assert plan(workload={"kind": "log", "replication": 1}).declared.replication == 1


@pytest.mark.parametrize(
    ("disk", "seed"),
    [({"kind": "programmable"}, 7), ({"kind": "programmable", "seed": 3}, 3), ({}, 0)],
)
def test_a_disk_that_draws_does_so_by_the_seed_of_the_run(disk: dict[str, Any], seed: int) -> None:
    given = plan(cluster={"system": "kafka", "hosts": 3, "disk": disk})

    assert given.provider_options.seed == seed
    again = make_plan(parse_scenario(given.resolved(), "again.yaml"), "again.yaml", 99)
    assert again.provider_options == given.provider_options


def test_a_workload_needs_clients_that_can() -> None:
    refusal = _refusal(workload={"kind": "subscription", "duration": "20s"})

    assert "workload.kind: subscription needs SubscribingClients, which clients of kafka lack: share groups" in refusal


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        (
            {"cluster": {"system": "rocketmq", "hosts": 3}},
            "workload.replay needs SeekingClients, which clients of rocketmq lack: consumers that move while they read",
        ),
        (
            {"cluster": {"system": "kafka", "hosts": 3, "clients": "java"}},
            "workload.replay needs SeekingClients, which clients of kafka lack: set cluster.clients: librdkafka",
        ),
        ({"after": "20s"}, "workload.replay.after: must be before the end of the load, 20s"),
        (
            {"record": "latency"},
            "workload.replay: replayed messages cannot be recognized without the history; write record: history",
        ),
    ],
)
def test_consumers_go_back_only_where_that_can_be_done_and_judged(changes: dict[str, Any], refusal: str) -> None:
    replay = {"after": changes.pop("after", "5s"), "back": "1s"}

    assert refusal in _refusal(workload={"kind": "log", "duration": "20s", "replay": replay}, **changes)


@pytest.mark.parametrize(
    ("system", "load", "traits"),
    [
        ("kafka", {"kind": "log"}, ()),
        ("kafka", {"kind": "log", "consumption": "group"}, (Group(),)),
        ("kafka", {"kind": "log", "replay": {"after": "5s", "back": "1s"}}, (Replays(5 * SECOND, by_time=True),)),
        ("kafka", {"kind": "dedup"}, (Resends("asked", False),)),
        ("pulsar", {"kind": "dedup", "restart_every": "1s", "resend": "at-once"}, (Resends("at-once", True),)),
        ("pulsar", {"kind": "subscription", "subscription": "failover"}, (Group(), Subscription("failover"))),
    ],
)
def test_guarantees_are_told_what_a_workload_does(system: str, load: dict[str, Any], traits: Any) -> None:
    changes = content(cluster={"system": system, "hosts": 3}, workload={"duration": "20s", **load})
    declared = make_plan(parse_scenario(changes, "test.yaml"), "test.yaml").declared

    assert tuple(trait for trait in declared.traits if not isinstance(trait, Paced | Routed)) == traits
