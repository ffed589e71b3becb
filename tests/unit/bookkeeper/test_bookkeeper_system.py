"""What cannot work is refused before anything is made, naming the key and the remedy; who has which role."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from pydantic import ValidationError

from chaoskit.base import plugins
from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.ledger import LedgerClients
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.wire import Tapped
from chaoskit.contract.workloads.datamodel import LEDGER
from chaoskit.contract.workloads.topic import Topic
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import make_plan
from clusters.bookkeeper.options import BookKeeperOptions
from clusters.bookkeeper.system import BookKeeperSystem
from clusters.storage.settings import BookieFolders, bookkeeper_conf, metadata_uri

ADDRESSES = [f"10.0.0.{index}" for index in range(1, 7)]


def _check(hosts: int, **options: Any) -> None:
    system: Any = plugins.load("cluster", "bookkeeper", "cluster.system")
    chosen = BookKeeperOptions.model_validate(options)
    ledgers = (Topic("ledger", LEDGER, None),)
    system.check(Declared(chosen, hosts, system.brokers(chosen, hosts), ledgers, {}, {}))


@pytest.mark.parametrize("hosts", [1, 2, 3, 6])
def test_any_number_of_hosts_will_do(hosts: int) -> None:
    _check(hosts)


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (
            {"version": "4.17"},
            r"cluster\.version: '4\.17' is not a release number of BookKeeper; write for example 4\.18\.0",
        ),
        ({"version": "4.14.8"}, r"cluster\.version: 4\.14\.8 is too old; chaoskit supports BookKeeper 4\.15\+"),
        ({"roles": {"bookies": 4}}, r"cluster\.roles\.bookies: 4 require as many hosts"),
        ({"roles": {"zookeepers": 1, "bookies": 1}}, r"cluster\.roles: n3 would have no role"),
        ({"persistence": {"ensemble": 5}}, r"cluster\.persistence\.ensemble: 5 requires as many bookies; there are 3"),
    ],
)
def test_what_cannot_work_is_refused(given: dict[str, Any], refusal: str) -> None:
    with pytest.raises(BadInput, match=refusal):
        _check(3, **given)


@pytest.mark.parametrize(
    "given",
    [{"config": {"broker": {}}}, {"roles": {"brokers": 1}}, {"heap": {"broker": "1GiB"}}, {"digest": "SHA"}],
)
def test_what_nobody_knows_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BookKeeperOptions.model_validate(given)


@pytest.mark.parametrize(
    ("hosts", "roles", "placed"),
    [
        (1, {}, ("1", "1")),
        (3, {}, ("123", "123")),
        (4, {"zookeepers": 1, "bookies": 3}, ("1", "234")),
        (6, {"zookeepers": 1, "bookies": 5}, ("1", "23456")),
    ],
)
def test_roles_are_placed(hosts: int, roles: dict[str, int], placed: tuple[str, str]) -> None:
    layout = BookKeeperOptions.model_validate({"roles": roles}).place(hosts)

    assert (
        tuple("".join(str(index + 1) for index in indices) for indices in (layout.zookeepers, layout.bookies)) == placed
    )


def test_bookies_and_clients_are_told_the_same_metadata() -> None:
    options = BookKeeperOptions.model_validate({"roles": {"zookeepers": 1}})
    uri = metadata_uri(ADDRESSES[:3], options.place(3))

    assert uri == "zk+hierarchical://10.0.0.1:2181/ledgers"
    assert f"metadataServiceUri={uri}\n" in bookkeeper_conf(
        options, ADDRESSES[:3], 2, BookieFolders(["/j"], ["/l"]), "eth0"
    )


def test_its_clients_have_ledgers() -> None:
    assert BookKeeperSystem().clients({}).power(LedgerClients)
    assert BookKeeperSystem().client_powers(BookKeeperOptions()) == (LedgerClients,)
    assert BookKeeperSystem().service_powers(BookKeeperOptions()) == (Installation, Tapped)


def test_doctor_is_told_of_java_and_maven() -> None:
    names = [capability.name for capability in BookKeeperSystem().diagnose()]

    assert names == ["Java for BookKeeper", "Maven, to download BookKeeper"]


def test_logs_need_a_system_that_has_topics() -> None:
    content = {"name": "x", "cluster": {"system": "bookkeeper"}, "workload": {"kind": "log"}}

    with pytest.raises(BadInput, match=r"workload\.kind: log needs a log; bookkeeper has these data models: ledger"):
        make_plan(parse_scenario(content, "x.yaml"), "x.yaml")


@pytest.mark.parametrize("system", ["kafka", "pulsar"])
def test_ledgers_need_a_system_that_has_them(system: str) -> None:
    content = {"name": "x", "cluster": {"system": system}, "workload": {"kind": "ledger"}}

    with pytest.raises(BadInput, match=rf"workload\.kind: ledger needs a ledger; {system} has these data models: log"):
        make_plan(parse_scenario(content, "x.yaml"), "x.yaml")


@pytest.mark.parametrize(
    ("on", "refusal"),
    [
        ("ensembel", r"faults\.0\.on: there is no host or role 'ensembel'; did you mean \"ensemble\""),
        ("ensemble", None),
    ],
)
def test_roles_need_no_partition_that_is_there_before_the_run(on: str, refusal: str | None) -> None:
    content = {
        "name": "x",
        "cluster": {"system": "bookkeeper"},
        "workload": {"kind": "ledger"},
        "faults": [{"at": "1s", "inject": "kill", "on": on}],
    }

    with pytest.raises(BadInput, match=refusal) if refusal else nullcontext():
        make_plan(parse_scenario(content, "x.yaml"), "x.yaml")
