"""Cyclone DDS's plug-in without a network: samples, settings, who is matched, what is refused, rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import guaranteed
import pytest
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import sequence, uint8

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.guarantees.mechanism import Limit, Measure
from chaoskit.contract.workloads.traits import Paced
from chaoskit.model.observations.feed import Promise
from chaoskit.scenario.plan import read_plan
from clusters.cyclonedds.guarantees.promise import promise
from clusters.cyclonedds.guarantees.rules import RULES
from clusters.cyclonedds.matching import known
from clusters.cyclonedds.message import CycloneMessage
from clusters.cyclonedds.settings import CycloneOptions
from clusters.cyclonedds.system import CycloneSystem

SECOND = 10**9
LOCAL = {"durability": "transient-local"}


class Plain(IdlStruct, typename="chaoskit.Message"):
    """The same type as the library packs it."""

    payload: sequence[uint8]  # type: ignore[type-arg]


def _content(cluster: dict[str, Any] | None = None, **workload: Any) -> dict[str, Any]:
    return {
        "name": "small",
        "cluster": {"system": "cyclonedds", "hosts": 2, **(cluster or {})},
        "workload": {"kind": "feed", "duration": "5s", **workload},
    }


@pytest.mark.parametrize("expected", [b"", b"a", bytes(range(256)) * 40])
def test_a_sample_is_packed_as_the_library_packs_it(expected: bytes) -> None:
    assert CycloneMessage(expected).serialize() == CycloneMessage.__idl__.serialize(CycloneMessage(list(expected)))  # type: ignore[arg-type]
    assert CycloneMessage.deserialize(CycloneMessage(expected).serialize()) == CycloneMessage(expected)
    assert CycloneMessage.deserialize(CycloneMessage(expected).serialize() + b"\0\0").payload == expected, (
        "samples are padded"
    )


def test_all_hosts_of_a_system_between_its_clients_are_theirs() -> None:
    plan = read_plan(_content({"hosts": 3}, consumers=2), "small.yaml")

    assert (plan.scenario.cluster.hosts, plan.scenario.cluster.seats) == (0, 3)
    assert plan.declared.brokers == 0
    assert read_plan(_content({"hosts": 0, "seats": 3}), "small.yaml").scenario.cluster == plan.scenario.cluster


def test_any_host_may_be_drawn_for_a_fault() -> None:
    expected = {**_content({"hosts": 3}), "faults": [{"at": "1s", "inject": "power-cut", "on": "all", "for": "1s"}]}

    (fault,) = read_plan(expected, "small.yaml").faults

    assert fault.on == ("n1", "n2", "n3")


@pytest.mark.parametrize(
    ("workload", "agreed"),
    [
        ({"qos": "reliable"}, Promise("exactly-once", lasting=False)),
        ({}, Promise("exactly-once", lasting=False)),
        ({"qos": "best-effort"}, Promise("at-most-once", lasting=False)),
        ({"consumer": {"qos": "best-effort"}}, Promise("at-most-once", lasting=False)),
        ({"producer": {"history": "keep-last", "depth": 7}}, Promise("exactly-once", lasting=False, keeps=7)),
        ({"consumer": {"history": "keep-last", "depth": 7}}, Promise("at-most-once", lasting=False)),
        ({"producer": LOCAL}, Promise("exactly-once", lasting=False)),
        ({"producer": LOCAL, "consumer": LOCAL}, Promise("exactly-once", lasting=False, replays=1)),
        (
            {"producer": {**LOCAL, "durability_service": "history"}, "consumer": LOCAL},
            Promise("exactly-once", lasting=False, replays=2**31),
        ),
        (
            {"producer": {**LOCAL, "history": "keep-last", "depth": 7}, "consumer": LOCAL},
            Promise("exactly-once", lasting=False, keeps=7, replays=7),
        ),
    ],
)
def test_the_lower_quality_of_service_holds(workload: dict[str, Any], agreed: Promise) -> None:
    declared = read_plan(_content(**workload), "small.yaml").declared

    assert promise(10 * SECOND, declared.producer, declared.consumer) == agreed._replace(liveliness_ns=10 * SECOND)


SECOND_LEASE = {"liveliness_lease": "1s"}
HALF = {"deadline": "500ms"}


@pytest.mark.parametrize(
    ("workload", "counts"),
    [
        ({"producer": SECOND_LEASE}, (SECOND, 0, False)),
        ({"producer": {"liveliness_lease": "20s"}}, (10 * SECOND, 0, False)),
        ({"producer": HALF, "consumer": HALF}, (10 * SECOND, SECOND // 2, False)),
        ({"producer": HALF}, (10 * SECOND, 0, False)),
        ({"producer": {**HALF, "liveliness_lease": "200ms"}, "consumer": HALF}, (SECOND // 5, 0, False)),
        ({"producer": {"ownership": "exclusive"}, "consumer": {"ownership": "exclusive"}}, (10 * SECOND, 0, True)),
    ],
)
def test_what_readers_are_told_of_writers(workload: dict[str, Any], counts: tuple[int, int, bool]) -> None:
    declared = read_plan(_content(**workload), "small.yaml").declared

    promised = promise(10 * SECOND, declared.producer, declared.consumer)

    assert (promised.liveliness_ns, promised.deadline_ns, promised.exclusive) == counts


@pytest.mark.parametrize(
    ("workload", "line"),
    [
        ({"producer": {"qos": 1}}, "workload.producer.qos: "),
        ({"producer": {"acks": "all"}}, "workload.producer.acks: "),
        ({"consumer": {"acks": "readers"}}, "workload.consumer.acks: there is no such setting; there are qos, history"),
        ({"producer": {"qos": "best-effort"}}, "workload.consumer.qos: reliable is not offered; set producer"),
        ({"consumer": {"durability": "transient-local"}}, "workload.consumer.durability: transient-local is not offer"),
        ({"producer": {"history": "keep-last", "depth": 0}}, "workload.producer.depth: "),
        (
            {"consumer": {"liveliness": "manual-by-topic"}},
            "workload.consumer.liveliness: manual-by-topic is not offered",
        ),
        (
            {"consumer": SECOND_LEASE},
            "workload.consumer.liveliness_lease: 1s is not offered; set producer.liveliness_l",
        ),
        ({"producer": SECOND_LEASE, "consumer": {"liveliness_lease": "500ms"}}, "liveliness_lease: 500ms is not offer"),
        (
            {"consumer": HALF},
            "workload.consumer.deadline: 500ms is not offered; set producer.deadline to that, or less",
        ),
        ({"consumer": {"ownership": "exclusive"}}, "workload.consumer.ownership: another one than that of the produc"),
    ],
)
def test_settings_that_cannot_be_are_refused(workload: dict[str, Any], line: str) -> None:
    declared = read_plan(_content(**workload), "small.yaml").declared

    with pytest.raises(BadInput) as refused:
        CycloneSystem().check(declared)

    assert line in str(refused.value)


def test_peers_that_come_while_the_library_counts_them_are_asked_for_again() -> None:
    answers: Iterator[IndexError | list[int]] = iter([IndexError("invalid index"), [1, 2]])

    def ask() -> list[int]:
        answer = next(answers)
        if isinstance(answer, IndexError):
            raise answer
        return answer

    assert known(ask) == [1, 2]


def _effect(lasted_s: float, *, abrupt: bool = False, delays: bool = True, healed: bool = True) -> Effect:
    healed_ns = SECOND + int(lasted_s * SECOND) if healed else None
    acts = guaranteed.acts_of(abrupt=abrupt, on_links=True, delays=delays)
    return Effect("fault", ("n1",), True, Damage.NONE, SECOND, healed_ns, on_links=not abrupt, acts=acts)


CUT = _effect(5)
LAST = {"history": "keep-last", "depth": 10}


@pytest.mark.parametrize(
    ("rule", "producer", "consumer", "effects", "applies"),
    [
        ("best-effort", {"qos": "best-effort"}, {"qos": "best-effort"}, [CUT], True),
        ("best-effort", {}, {"qos": "best-effort"}, [CUT], True),
        ("best-effort", {}, {"qos": "best-effort"}, [], False),
        ("best-effort", {}, {"qos": "best-effort"}, [_effect(1, delays=False)], False),
        ("best-effort", {}, {}, [CUT], False),
        ("keep-last", LAST, {}, [], False),
        ("keep-last", {"depth": 10}, {}, [CUT], False),
        ("best-effort", LAST, LAST, [CUT], False),
        ("writer-ended", {}, {}, [_effect(1, abrupt=True)], True),
        ("writer-ended", {"acks": "readers"}, {}, [_effect(1, abrupt=True)], False),
        ("writer-ended", {}, {}, [CUT], False),
        ("lease", {}, {}, [_effect(10)], True),
        ("lease", {}, {}, [_effect(1, healed=False)], True),
        ("lease", {}, {}, [_effect(9.9)], False),
        ("lease", {}, {}, [_effect(20, delays=False)], False),
        ("not-heard", SECOND_LEASE, {}, [_effect(1)], True),
        ("not-heard", SECOND_LEASE, {}, [_effect(0.9)], False),
        ("not-heard", {}, {}, [_effect(9.9)], False),
        ("not-heard", {}, {}, [_effect(10)], True),
        ("not-heard", {}, {"qos": "best-effort"}, [_effect(2)], True),
        ("not-heard", {}, {"qos": "best-effort"}, [_effect(1.9)], False),
        ("not-heard", SECOND_LEASE, {"qos": "best-effort"}, [_effect(0.2)], True),
        ("not-heard", SECOND_LEASE, {"qos": "best-effort"}, [_effect(0.1)], False),
        ("not-heard", SECOND_LEASE, {}, [_effect(5, delays=False)], False),
        ("owner-ended", {"ownership": "exclusive"}, {}, [_effect(1, abrupt=True)], True),
        ("owner-ended", {"ownership": "exclusive"}, {}, [CUT], False),
        ("owner-ended", {}, {}, [_effect(1, abrupt=True)], False),
    ],
)
def test_a_rule_applies_to_its_settings_and_faults_alone(
    rule: str, producer: dict[str, Any], consumer: dict[str, Any], effects: list[Effect], applies: bool
) -> None:
    (applied,) = (candidate for candidate in RULES if candidate.id == f"cyclonedds.{rule}")
    declared = Declared(CycloneOptions(), 2, 0, (), producer, consumer, load_ns=30 * SECOND)

    assert bool(guaranteed.applies(applied, declared, effects)) == applies


def test_of_a_writer_or_reader_that_keeps_the_last_ones_newer_ones_replace_them() -> None:
    (rule,) = (rule for rule in RULES if rule.id == "cyclonedds.keep-last")
    for producer, consumer, most in ((LAST, {}, 10), ({}, LAST, 10), (LAST, {**LAST, "depth": 3}, 3)):
        (limit,) = rule.mechanisms(Declared(CycloneOptions(), 2, 0, (), producer, consumer))
        assert isinstance(limit, Limit)
        assert (limit.measure, limit.most) == (Measure.NEWER, most)


@pytest.mark.parametrize(
    ("rate", "qos", "applies"), [(None, "best-effort", True), (None, "reliable", False), (900, "best-effort", False)]
)
def test_only_publishers_without_a_rate_outrun_a_reader(rate: int | None, qos: str, applies: bool) -> None:
    (rule,) = (rule for rule in RULES if rule.id == "cyclonedds.best-effort")
    sides, traits = {"qos": qos}, (Paced(rate, 1, 100),)
    declared = Declared(CycloneOptions(), 2, 0, (), sides, sides, traits, 30 * SECOND)

    assert bool(guaranteed.applies(rule, declared, [])) == applies


def test_the_domain_tells_where_its_peers_are() -> None:
    class Host:
        address = "10.0.0.1"

    domain = CycloneSystem().deploy([Host()], CycloneOptions(domain=3, lease="2s"))  # type: ignore[list-item, arg-type]

    expected = {"peers": ["10.0.0.1"], "domain": 3, "lease_ns": 2 * SECOND, "discovery": "multicast"}
    assert domain.client_settings() == expected
