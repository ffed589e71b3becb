"""Mistakes that people make in scenarios: all are named at once, each with its place and its remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from samples import content, plan

from chaoskit.base import yaml
from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import DAY, parse_duration
from chaoskit.scenario.files import find, find_all, plan_all
from chaoskit.scenario.plan import read_plan


def _lines(**changes: Any) -> list[str]:
    with pytest.raises(BadInput) as refused:
        read_plan(content(**changes), "bad.yaml")
    return [line.removeprefix("bad.yaml: ") for line in str(refused.value).splitlines()]


def _fault(**keys: Any) -> list[str]:
    return _lines(faults=[{"at": "1s", **keys}])


@pytest.mark.parametrize(
    ("fault", "refusal"),
    [
        ({"inject": "partition", "peers": "borkers"}, "faults.0.peers: there is no host or role 'borkers'; "),
        ({"inject": "packet-loss", "peers": ["n1", "n7"]}, "faults.0.peers: there is no host or role 'n7'; "),
        ({"inject": "partition", "on": "n1", "peers": "n1"}, "faults.0.peers: n1 is the target itself; name the other"),
        ({"inject": "partition", "groups": [["n1"], ["folowers"]]}, "faults.0.groups: there is no host or role 'folo"),
        (
            {"inject": "zombie", "role": "leadre"},
            "faults.0.role: there is no host or role 'leadre'; did you mean \"lea",
        ),
        (
            {"inject": [{"packet-loss": {"peers": "n0"}}]},
            "faults.0.inject.0.packet-loss.peers: there is no host or role 'n0'",
        ),
        (
            {"inject": "packet-loss", "peers": "leader:log-0/9"},
            "faults.0.peers: there is no partition 'log-0/9'; did you mean",
        ),
    ],
)
def test_names_in_parameters_are_resolved_before_the_start(fault: dict[str, Any], refusal: str) -> None:
    (line,) = _fault(**fault)

    assert line.startswith(refusal)


@pytest.mark.parametrize(
    "fault",
    [
        {"inject": "partition", "peers": ["hosts", "n2", "followers"]},
        {"inject": "partition", "groups": [["n1", "n2"], ["n3"]]},
        {"inject": "zombie", "role": "controller", "on": "controller"},
        {"inject": "packet-loss", "peers": "leader:log-0/0"},
        {"inject": "reset-connections", "peers": "clients"},
    ],
)
def test_names_in_parameters_that_there_are_pass(fault: dict[str, Any]) -> None:
    assert len(plan([{"at": "1s", **fault}]).faults) == 1


def test_one_mapping_is_as_good_as_a_list_of_one() -> None:
    flat, mapped, listed = (
        plan([{"at": "1s", "on": "n1", **faults}]).faults[0]
        for faults in (
            {"inject": "clock-jump", "by": "5s"},
            {"inject": {"clock-jump": {"by": "5s"}}},
            {"inject": [{"clock-jump": {"by": "5s"}}]},
        )
    )

    assert flat == mapped == listed


def test_a_setting_without_its_role_is_told_the_roles() -> None:
    (line,) = _lines(cluster={"system": "pulsar", "config": {"journalSyncData": False}}, workload={"kind": "log"})

    assert line == (
        "cluster.config.journalSyncData: unknown key; settings are below the role that reads them: "
        "bookie, broker, zookeeper; such as bookie: {journalSyncData: ...}"
    )


def test_an_unknown_key_of_a_part_is_told_the_keys_of_that_part() -> None:
    (line,) = _lines(cluster={"system": "pulsar", "persistence": {"ensembel": 3}}, workload={"kind": "log"})

    assert line == (
        'cluster.persistence.ensembel: unknown key; did you mean "ensemble"? Known: ack_quorum, ensemble, write_quorum'
    )


def test_a_setting_of_kafka_beside_its_keys_is_told_where_it_belongs() -> None:
    (line,) = _lines(cluster={"system": "kafka", "min.insync.replicas": 2})

    assert line.startswith("cluster.min.insync.replicas: unknown key; write settings of brokers below config: ")
    assert "topic:" in line


@pytest.mark.parametrize("at", ["12:03", " 12:03 "])
def test_a_time_of_day_is_no_duration(at: str) -> None:
    (line,) = _fault(inject="kill", at=at)

    assert "YAML 1.1 reads it as the number 723; write 723s or 723m" in line


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"faults": [{"at": "1s", "injct": "kill"}]}, 'faults.0.injct: unknown key; did you mean "inject"? Known: '),
        ({"workload": {"knd": "log"}}, 'workload.knd: unknown key; did you mean "kind"? Known: '),
        ({"faults": [{"at": "1s", "what": "kill"}]}, "faults.0.inject: is missing"),
    ],
)
def test_a_key_that_is_missing_since_it_was_misspelt_is_told_as_it_was_written(
    changes: dict[str, Any], line: str
) -> None:
    assert _lines(**changes)[0].startswith(line)


def test_durations_may_be_days() -> None:
    assert parse_duration("2d") == 2 * DAY == parse_duration("48h")


def test_the_mistakes_of_all_sections_are_named_at_once() -> None:
    lines = _lines(
        cluster={"system": "kafka", "hosts": 3, "verzion": "4.1.1", "disk": {"siez": "1GiB"}},
        workload={"kind": "log", "duration": "20s", "producrs": 2},
        faults=[{"at": "1s", "inject": "kil"}, {"at": "30s", "inject": "kill"}],
        expect={"losst": "none"},
        accept=["kafka.none"],
    )

    assert [line.partition(": ")[0] for line in lines] == [
        "cluster.disk.siez",
        "cluster.verzion",
        "workload.producrs",
        "expect.losst",
        "accept.0",
        "faults.0.inject",
        "faults.1",
    ]


def test_what_the_engine_and_what_plug_ins_refuse_is_named_at_once() -> None:
    lines = _lines(
        cluster={"system": "kafka", "hosts": -1, "verzion": "4.1.1"},
        workload={"kind": "log", "duration": 20},
        faults=[{"at": 1, "inject": "kill"}, {"at": "1s", "inject": "kill", "on": "n9"}],
        expects={},
    )

    assert [line.partition(": ")[0] for line in lines] == [
        "cluster.hosts",
        "workload.duration",
        "faults.0.at",
        "expects",
        "cluster.verzion",
        "faults.1.on",
    ]


def test_every_wrong_target_is_named() -> None:
    lines = _lines(faults=[{"at": "1s", "inject": "kill", "on": "n9"}, {"at": "2s", "inject": "kill", "on": "n8"}])

    assert [line.partition(": ")[0] for line in lines] == ["faults.0.on", "faults.1.on"]


@pytest.mark.parametrize("changes", [{"cluster": 3}, {"workload": {}}, {"cluster": {"hosts": 3}}, {"faults": "kill"}])
def test_a_scenario_that_is_wrong_as_a_whole_is_refused(changes: dict[str, Any]) -> None:
    assert _lines(**changes)


def test_what_variants_share_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(
        "cluster: {system: kafka, verzion: 4}\nworkload: {kind: log}\n"
        "variants:\n  a: {}\n  b: {expect: {losst: none}}\n"
    )

    with pytest.raises(BadInput) as refused:
        plan_all(find(str(path)))

    assert [line.split(": ")[:2] for line in str(refused.value).splitlines()] == [
        [f"{path}:a", "cluster.verzion"],
        [f"{path}:b", "expect.losst"],
    ]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"faults": {"at": "2s", "inject": "kill"}}, "faults: write a list: each entry on a line of its own"),
        ({"faults": ["kill"]}, "faults.0: write a mapping: keys with values, each on a line of its own"),
        ({"cluster": "kafka"}, "cluster: write a mapping: keys with values"),
        ({"cluster": {"system": "kafka", "version": 4.1}}, "cluster.version: write a text; a number needs quotes"),
        ({"cluster": {"system": "kafka", "hosts": "three"}}, "cluster.hosts: write a whole number, such as 3 (given: "),
        ({"cluster": {"system": "kafka", "hosts": 0}}, "cluster.hosts: must be at least 1 (given: 0)"),
        (
            {"workload": {"kind": "log", "rate": "2k"}},
            "workload.rate: write a number of sends per second, such as 2000",
        ),
        ({"name": "a b"}, "name: write letters, digits and signs such as -, no spaces"),
        (
            {"faults": [{"at": "1s", "inject": "kill", "peers": "n2"}]},
            "faults.0.peers: unknown key; Known: after, at, at_most",
        ),
        ({"expect": {"losst": "none"}}, 'expect.losst: unknown anomaly; did you mean "lost"?'),
    ],
)
def test_mistakes_are_told_in_the_words_of_a_scenario(changes: dict[str, Any], line: str) -> None:
    (words,) = _lines(**changes)

    assert words.startswith(line)
    assert "Input should" not in words


def test_a_misspelt_role_of_a_setting_is_told_the_role() -> None:
    cluster = {"system": "pulsar", "config": {"bookies": {"journalSyncData": False}}}
    (line,) = _lines(cluster=cluster, workload={"kind": "log"})

    assert line == 'cluster.config.bookies: unknown key; did you mean "bookie"? Known: bookie, broker, zookeeper'


def test_an_expectation_that_cannot_fail_is_refused() -> None:
    expect = {"lost": "none", "not-owner": "none", "commit-beyond": "none", "torn-transaction": "none"}

    assert _lines(cluster={"system": "kafka"}, workload={"kind": "log"}, expect=expect) == [
        "expect.not-owner: cannot be found in topics of the model log, only in those of pubsub; remove it",
        "expect.commit-beyond: cannot be found in this run, only where consumers share a group; remove it",
        "expect.torn-transaction: cannot be found in this run, only where producers write in transactions; remove it",
    ]


def test_what_the_system_refuses_is_named_with_the_rest() -> None:
    lines = _lines(
        cluster={"system": "kafka", "hosts": 3, "controllers": 3, "topic": {"cleanup.policy": "compact"}},
        workload={
            "kind": "log",
            "duration": "20s",
            "rate": "fast",
            "producer": {"acks": 2, "lingr.ms": 1, "ack": 1},
            "consumer": {"fetch.mn.bytes": 3},
        },
        faults=[{"at": "12:03", "inject": "kil"}, {"at": "1s", "inject": "kill", "for": 5, "on": "n9"}],
    )

    assert [line.partition(": ")[0] for line in lines] == [
        "faults.0.at",
        "faults.1.for",
        "workload.rate",
        "cluster.controllers",
        "cluster.topic.cleanup.policy",
        "workload.producer.acks",
        "workload.producer.lingr.ms",
        "workload.producer.ack",
        "workload.consumer.fetch.mn.bytes",
        "faults.0.inject",
        "faults.1.on",
    ]


def test_every_line_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("cluster: {system: kafka}\nworkload: {kind: log, rate: 2k, producer: {acks: 2, ack: 1}}\n")

    with pytest.raises(BadInput) as refused:
        plan_all(find(str(path)))

    assert len(str(refused.value).splitlines()) == 3
    assert all(line.startswith(f"{path}: workload.") for line in str(refused.value).splitlines())


def test_a_tab_is_told() -> None:
    with pytest.raises(yaml.NotYaml, match="line 2: there is a tab; YAML is indented with spaces"):
        yaml.load("cluster:\n\tsystem: kafka\n")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"cluster": {"system": "kafka", "sync": "yes"}}, "cluster.sync: write true or false"),
        ({"workload": {"kind": "log", "topics": True}}, "workload.topics: write a whole number, such as 3"),
        ({"seed": True}, "seed: write a whole number, such as 3"),
        (
            {"cluster": {"system": "kafka", "controllers": True}},
            "cluster.controllers: write one of these: 'combined', or ",
        ),
        ({"workload": {"kind": "log", "duration": "0s"}}, "workload.duration: must be at least 1s"),
        (
            {"workload": {"kind": "dedup", "restart_every": "1ms"}},
            "workload.restart_every: must be at least 100ms (given: '1ms')",
        ),
        ({"workload": {"kind": "log", "message_size": 1}}, "workload.message_size: must be at least 40B (given: '1B')"),
        ({"expect": {"unavailable": ">= 3s"}}, "expect.unavailable: '>= 3s' is not a bound; write < or >, without ="),
        ({"cluster": {"system": "kafka", "provider": "aws"}}, "cluster.provider: there is no host provider 'aws'"),
        ({"faults": [{"at": "1s", "inject": []}]}, "faults.0.inject: is empty; write at least one"),
        (
            {"faults": [{"inject": "kill", "from": "1s", "to": "5s", "every": "1s", "quiet": ["1s", "2s"]}]},
            "faults.0.quiet.0: write a list of two, such as [1s, 2s]",
        ),
        (
            {"faults": [{"at": "1s", "inject": "partition", "groups": [["n1"], ["n1", "n2"]]}]},
            "faults.0: n1 is in two groups; a host is on one side",
        ),
        (
            {"workload": {"kind": "log", "consumer": {"auto.offset.reset": "earliest"}, "rate": 0}},
            "workload.rate: write a number of sends per second",
        ),
    ],
)
def test_what_a_new_user_wrote_is_refused_in_plain_words(changes: dict[str, Any], line: str) -> None:
    assert _lines(**changes)[0].startswith(line)


def test_what_chaoskit_sets_itself_is_no_setting_of_a_client() -> None:
    producer, consumer = {"bootstrap.servers": "x"}, {"auto.offset.reset": "earliest"}
    lines = _lines(workload={"kind": "log", "rate": 0, "producer": producer, "consumer": consumer})

    assert lines[1:] == [
        "workload.producer.bootstrap.servers: chaoskit sets it itself; remove it",
        "workload.consumer.auto.offset.reset: chaoskit sets it itself; remove it",
    ]


def test_a_file_with_no_variant_runs_nothing_and_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("cluster: {system: kafka}\nworkload: {kind: log}\nvariants: {}\n")

    with pytest.raises(BadInput, match=r"mine\.yaml: variants: is empty; write at least one"):
        find(str(path))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("sweeps/dedup", "sweeps/dedup: is a sweep; run it with `chaoskit sweep sweeps/dedup`"),
        ("kafka", "kafka: has several scenarios; name one: kafka/"),
        (".", r"\.: is a folder; name a file in it"),
    ],
)
def test_what_is_no_scenario_is_told_what_it_is(spec: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        find(spec)


def test_every_missing_file_is_named() -> None:
    with pytest.raises(BadInput) as refused:
        find_all(["one.yaml", "kafka/power-all", "two.yaml"])

    assert str(refused.value).splitlines() == ["one.yaml: no such file", "two.yaml: no such file"]
