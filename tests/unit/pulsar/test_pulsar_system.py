"""What cannot work is refused before anything is made, naming the key and the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base import plugins
from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.client import TransactionalClients
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.power import optional
from chaoskit.contract.systems.operating import Decommissioning
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Group
from clusters.pulsar.java.settings import transactional_settings
from clusters.pulsar.settings import PulsarOptions, broker_conf


def _check(hosts: int, producer: Any = None, consumer: Any = None, grouped: bool = False, **options: Any) -> None:
    system: Any = plugins.load("cluster", "pulsar", "cluster.system")
    chosen = PulsarOptions.model_validate(options)
    traits = (Group(),) if grouped else ()
    topics = (Topic("log-0", replication=3),)
    brokers = system.brokers(chosen, hosts)
    system.check(Declared(chosen, hosts, brokers, topics, producer or {}, consumer or {}, traits))


@pytest.mark.parametrize("hosts", [1, 2, 3, 6])
def test_any_number_of_hosts_will_do(hosts: int) -> None:
    _check(hosts)


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"version": "4.0"}, r"cluster\.version: '4\.0' is not a release number of Pulsar"),
        ({"roles": {"bookies": 4}}, r"cluster\.roles\.bookies: 4 require as many hosts"),
        ({"persistence": {"ensemble": 5}}, r"cluster\.persistence\.ensemble: 5 requires as many bookies; there are 3"),
        ({"config": {"broker": {"brokerDeduplicationEnabled": True}}}, r"set cluster\.deduplication instead"),
        ({"producer": {"acks": 1}}, r"workload\.producer\.acks: pulsar-client has no such setting"),
        ({"consumer": {"group.id": 1}}, r"workload\.consumer\.group\.id: pulsar-client has no such setting"),
        ({"consumer": {"consumer_type": "Failover"}}, r"workload\.consumer\.consumer_type: pulsar-client has no such"),
        ({"consumer": {"consumer_type": "Shared"}, "grouped": True}, r"read by one consumer at a time"),
    ],
)
def test_what_cannot_work_is_refused(given: dict[str, Any], refusal: str) -> None:
    with pytest.raises(BadInput, match=refusal):
        _check(3, **given)


def test_hosts_that_keep_data_are_those_with_bookies() -> None:
    system: Any = plugins.load("cluster", "pulsar", "cluster.system")

    assert system.brokers(PulsarOptions.model_validate({"roles": {"bookies": 4, "brokers": 2}}), 9 - 2) == 4


def test_doctor_is_told_of_java_and_maven() -> None:
    system: Any = plugins.load("cluster", "pulsar", "cluster.system")

    assert [capability.name for capability in system.diagnose()] == ["Java for Pulsar", "Maven, to download Pulsar"]


@pytest.mark.parametrize(("bookie", "offered"), [({}, False), ({"autoRecoveryDaemonEnabled": True}, True)])
def test_bookies_can_be_decommissioned_where_others_copy_what_they_kept(bookie: dict[str, Any], offered: bool) -> None:
    system: Any = plugins.load("cluster", "pulsar", "cluster.system")
    options = PulsarOptions.model_validate({"config": {"bookie": bookie}})

    assert (Decommissioning in system.service_powers(options)) is offered


@pytest.mark.parametrize(
    ("options", "can"),
    [
        ({"clients": "java", "transactions": True}, True),
        ({"clients": "java"}, False),
        ({"transactions": True}, False),
    ],
)
def test_transactions_need_coordinators_and_the_own_client(options: dict[str, Any], can: bool) -> None:
    system: Any = plugins.load("cluster", "pulsar", "cluster.system")

    assert (TransactionalClients in system.client_powers(PulsarOptions.model_validate(options))) is can
    settings = (
        {"service_url": "", "classpath": "", "transactions": "on"} if can else {"service_url": "", "classpath": ""}
    )
    assert (optional(system.clients(settings), TransactionalClients) is not None) is can


def test_brokers_coordinate_transactions_only_if_asked_to() -> None:
    off, on = (broker_conf(PulsarOptions(transactions=transactions), ["10.0.0.1"], 0) for transactions in (False, True))

    assert "transactionCoordinatorEnabled" not in off
    assert "systemTopicEnabled=false" in off
    assert "transactionCoordinatorEnabled=true" in on
    assert "systemTopicEnabled=true" in on


def test_sends_of_transactions_wait_without_end() -> None:
    settings = transactional_settings({"sendTimeoutMs": 5, "batchingEnabled": False})

    assert (settings["sendTimeoutMs"], settings["enableTransaction"], settings["batchingEnabled"]) == (0, True, False)
