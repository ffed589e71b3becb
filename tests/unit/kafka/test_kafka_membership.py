"""What a consumer is told of its group's protocol, and what is refused before a run starts."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Group
from clusters.kafka.clients.consumer import KafkaConsumer
from clusters.kafka.clients.membership import resolve_consumer
from clusters.kafka.clients.refusals import check_clients
from clusters.kafka.clients.settings import CONSUMER_DEFAULTS
from clusters.kafka.java.settings import consumer_settings
from clusters.kafka.settings import KafkaOptions

NEW = {"group.protocol": "consumer"}


def _declared(consumer: dict[str, Any], *, members: int = 3, version: str = "4.1.1") -> Declared:
    return Declared(KafkaOptions(version=version), 3, 3, (), {}, consumer, (Group(members=members),))


def test_null_removes_a_setting_of_consumers() -> None:
    assert "session.timeout.ms" in resolve_consumer({}, CONSUMER_DEFAULTS)
    assert "session.timeout.ms" not in resolve_consumer({"session.timeout.ms": None}, CONSUMER_DEFAULTS)
    KafkaConsumer({"group.id": "some", "fetch.wait.max.ms": None}).close()


def test_the_new_protocol_gets_no_setting_of_the_classic_one() -> None:
    assert "session.timeout.ms" not in resolve_consumer(NEW, CONSUMER_DEFAULTS)
    assert "session.timeout.ms" not in consumer_settings(NEW)
    KafkaConsumer({"group.id": "some", **NEW}).close()


@pytest.mark.parametrize(
    "consumer",
    [{}, NEW, {**NEW, "session.timeout.ms": None}, {**NEW, "group.instance.id": "m-{consumer}"}],
)
def test_what_can_work_is_taken(consumer: dict[str, Any]) -> None:
    check_clients(_declared(consumer))


@pytest.mark.parametrize(
    ("consumer", "version", "words"),
    [
        (
            {**NEW, "session.timeout.ms": 6000},
            "4.1.1",
            "workload.consumer.session.timeout.ms: not with group.protocol: consumer: brokers set "
            "group.consumer.session.timeout.ms; remove it",
        ),
        (NEW, "3.9.1", "workload.consumer.group.protocol: consumer needs Kafka 4.0.0 or later, not 3.9.1"),
        (
            {"group.instance.id": "member"},
            "4.1.1",
            "workload.consumer.group.instance.id: 3 members of a group would share 'member', and each would fence the "
            "one before; write {consumer} into it, such as member-{consumer}",
        ),
    ],
)
def test_what_cannot_work_is_refused(consumer: dict[str, Any], version: str, words: str) -> None:
    with pytest.raises(BadInput) as refused:
        check_clients(_declared(consumer, version=version))

    assert str(refused.value) == words


def test_a_group_of_one_may_have_a_fixed_id() -> None:
    check_clients(_declared({"group.instance.id": "member"}, members=1))
