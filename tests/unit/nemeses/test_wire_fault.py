"""The keys of the fault `wire`, and what is refused before anything starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.faults.nemesis import Preceding, Preparing
from chaoskit.contract.installed import nemesis, system
from chaoskit.contract.systems.wire import Wire
from chaoskit.run.preceding import preceded
from chaoskit.scenario.plan import Plan, read_plan
from nemeses.wire.fault import WireParameters, check_names

FAULT = {"at": "3s", "for": "10s", "inject": "wire", "on": "leader", "message": "Produce", "then": "drop-and-close"}


def planned(**changes: Any) -> Plan:
    return read_plan(
        {
            "name": "w",
            "cluster": {"system": "kafka", "hosts": 3},
            "workload": {"kind": "log", "duration": "20s"},
            "faults": [{key: value for key, value in (FAULT | changes).items() if value is not None}],
        },
        "w.yaml",
        7,
    )


def refusal(**changes: Any) -> str:
    with pytest.raises(BadInput) as refused:
        planned(**changes)
    return str(refused.value)


def unknown(**keys: Any) -> str:
    """Return why the names in a fault are refused."""
    kafka, wire = system("kafka", "system"), nemesis("wire")
    parameters = WireParameters.model_validate({"message": "Produce", "then": "drop", **keys})
    assert isinstance(wire, Preparing)
    with pytest.raises(BadInput) as refused:
        wire.prepare(kafka, kafka.options(), parameters)
    return str(refused.value)


def test_every_and_from_of_a_single_fault_are_its_own() -> None:
    plan = planned(of="response", every=20, **{"from": 3})

    (fault,) = plan.faults
    parameters = WireParameters.model_validate(fault.parameters)
    assert (parameters.every, parameters.first, fault.at_ns) == (20, 3, 3 * 10**9)
    entry = fault.as_spec(["n1"])
    assert (entry["every"], entry["from"], entry["at"]) == (20, 3, "3s")
    assert plan.resolved()["faults"][0]["every"] == 20
    again = read_plan(plan.resolved(), "w.yaml", 7)
    assert again.faults == plan.faults


def test_a_series_keeps_its_times() -> None:
    plan = planned(at=None, to="19s", every="8s", on="n1", **{"from": "1s"})

    assert [fault.at_ns for fault in plan.faults] == [10**9, 9 * 10**9, 17 * 10**9]
    assert "every" not in plan.faults[0].parameters


def test_a_kind_without_these_keys_has_one_kind_of_time() -> None:
    assert refusal(inject="kill", every="2s", message=None, then=None).endswith(
        "faults.0: specify either at, after or when, or from, to and every"
    )


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"then": "dropp"}, "faults.0.then: there is no 'dropp'; did you mean \"drop\"?"),
        ({"then": "delay"}, "faults.0.then: delay needs a time, such as delay 2s"),
        ({"then": "delay 2"}, "faults.0.then: '2' is not a duration"),
        ({"then": "drop 2s"}, "faults.0.then: drop takes no argument; remove '2s'"),
        ({"then": "error NOT_COORDINATOR"}, "then: error changes an answer; write of: response"),
        ({"which": [1], "every": 2}, "which names the messages; remove every, from, count and share"),
        ({"which": [0]}, "must be at least 1"),
        ({"share": 0}, "faults.0.share: must be more than 0"),
        ({"of": "answer"}, "faults.0.of: write one of these: 'request' or 'response'"),
        ({"message": None}, "faults.0.message"),
        ({"message": "*"}, "message: * of any client can only be counted; write of_client, or then: count"),
        (
            {"message": "*", "of_client": "a", "then": "hold-until x"},
            "message: * cannot be used with hold-until; name a message",
        ),
    ],
)
def test_what_cannot_be_is_refused(keys: dict[str, Any], why: str) -> None:
    assert why in refusal(**keys)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"message": "Produced"}, "message: there is no request 'Produced'; did you mean \"Produce\"?"),
        ({"then": "hold-until Fetsch"}, "then: hold-until: there is no 'Fetsch'; did you mean \"Fetch\"?"),
        (
            {"of": "response", "then": "error NOT_LEADER_FOR_PARTITION"},
            "then: error: there is no 'NOT_LEADER_FOR_PARTITION'; did you mean \"NOT_LEADER_OR_FOLLOWER\"?",
        ),
        (
            {"message": "ListOffsets", "of": "response", "then": "error NOT_LEADER_OR_FOLLOWER"},
            "then: error: cannot be used with ListOffsets, only with Produce, Fetch, Metadata,",
        ),
    ],
)
def test_names_that_the_protocol_does_not_have_are_refused(keys: dict[str, Any], why: str) -> None:
    assert unknown(**keys).startswith(why)


BOTH_WAYS = Wire({1: "m:D"}, ("SEND", "FLOW"), ("SEND_RECEIPT",), named=False)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"message": "SEND_RECEIPT"}, "no request 'SEND_RECEIPT'; the other direction has it: write of: response"),
        ({"message": "SEND", "of": "response"}, "no response 'SEND'; the other direction has it: write of: request"),
        ({"message": "SEND_RECIPE", "of": "response"}, 'did you mean "SEND_RECEIPT"?'),
        ({"message": "SEND", "of_client": "c*"}, "of_client: this protocol has no client names"),
    ],
)
def test_where_both_directions_have_their_names_each_is_asked_for_its_own(keys: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput) as raised:
        check_names(BOTH_WAYS, WireParameters(**{"then": "drop", **keys}))
    assert why in str(raised.value)


@pytest.mark.parametrize(("message", "of"), [("SEND", "request"), ("SEND_RECEIPT", "response")])
def test_a_name_of_its_direction_is_taken(message: str, of: Any) -> None:
    check_names(BOTH_WAYS, WireParameters(message=message, of=of, then="drop"))


def test_a_system_whose_protocol_nobody_decodes_is_refused() -> None:
    wire = nemesis("wire")
    assert isinstance(wire, Preparing)
    parameters = WireParameters(message="Produce", then="drop")

    with pytest.raises(BadInput, match="the protocol of this system is unknown to chaoskit"):
        wire.prepare(system("cyclonedds", "system"), None, parameters)


def test_what_is_encrypted_is_refused() -> None:
    kafka = system("kafka", "system")
    secured = kafka.options.model_validate({"security": {"tls": True}})

    assert not {*nemesis("wire").service_powers} <= {*kafka.service_powers(secured)}
    assert {*nemesis("wire").service_powers} <= {*kafka.service_powers(kafka.options())}


@pytest.mark.parametrize(
    ("on", "hosts"), [("leader", {"n1", "n2", "n3"}), ("n2", {"n2"}), (["n1", "n3"], {"n1", "n3"})]
)
def test_only_hosts_that_a_fault_may_concern_get_a_tap(on: Any, hosts: set[str]) -> None:
    assert isinstance(nemesis("wire"), Preceding)
    assert preceded(planned(on=on)) == {"wire": hosts}


def test_a_run_without_such_a_fault_has_none() -> None:
    assert preceded(planned(inject="kill", message=None, then=None)) == {}


def test_an_answer_is_made_an_error_that_it_can_have() -> None:
    refusable = {"SEND_RECEIPT": ("PersistenceError",), "ADD_ENTRY": ("EIO",)}
    wire = replace(BOTH_WAYS, answers=(*refusable,), refusable=refusable)
    check_names(wire, WireParameters(message="ADD_ENTRY", of="response", then="error EIO"))

    with pytest.raises(BadInput, match="then: error: SEND_RECEIPT has no 'EIO'; Known: PersistenceError"):
        check_names(wire, WireParameters(message="SEND_RECEIPT", of="response", then="error EIO"))
