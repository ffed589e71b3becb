"""Queues of Kafka: what share groups may be asked for, how their messages are handed out, and what they may repeat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import guaranteed
import pytest
from confluent_kafka import AcknowledgeType, KafkaError, KafkaException, TopicPartition
from guaranteed import effect

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.clients.queue import NoQueue, QueueClients
from chaoskit.contract.guarantees.guarantee import Allowance, Declared, Effect
from chaoskit.contract.workloads.datamodel import LOG, QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Queueing
from chaoskit.model.outcome import INFO, OK
from clusters.kafka.deploy import probe
from clusters.kafka.deploy.requests import Refused
from clusters.kafka.powers import of_clients
from clusters.kafka.settings import KafkaOptions
from clusters.kafka.shares import consumer as module
from clusters.kafka.shares import groups
from clusters.kafka.shares.consumer import NOT_ANSWERED, KafkaShareConsumer
from clusters.kafka.shares.queues import check_queues, group_settings, imposed

ALL = ("n1", "n2", "n3")


def _options(**given: Any) -> KafkaOptions:
    return KafkaOptions.model_validate(given)


def _queue(**settings: int) -> Topic:
    return Topic("queue-0", QUEUE, 1, 3, settings=tuple((name.replace("_", "-"), n) for name, n in settings.items()))


def _declared(options: KafkaOptions, *traits: object) -> Declared:
    return Declared(options, 3, 3, (_queue(),), {}, {}, traits)


QUEUES = Queueing(confirms=True, persistent=True, consumers=3)


@pytest.mark.parametrize(
    ("given", "has"),
    [({"version": "4.1.2"}, False), ({"version": "4.2.0"}, True), ({"version": "4.4.0", "clients": "java"}, True)],
)
def test_queues_need_a_release_with_share_groups(given: dict[str, Any], has: bool) -> None:
    assert (QueueClients in of_clients(_options(**given))) is has


def test_a_group_reads_from_the_first_message_on_and_returns_what_the_workload_says() -> None:
    given = {"share.record.lock.duration.ms": 1000}

    settings = group_settings(_options(share_group=given), _queue(delivery_limit=2))

    assert settings == {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": 3, **given}


@pytest.mark.parametrize(
    ("options", "queue", "limits"),
    [
        ({}, _queue(), {"delivery-limit": 4, "ends-free": 1}),
        ({"config": {"group.share.delivery.count.limit": 8}}, _queue(), {"delivery-limit": 7, "ends-free": 1}),
        ({"share_group": {"share.delivery.count.limit": 3}}, _queue(), {"delivery-limit": 2, "ends-free": 1}),
        ({}, _queue(delivery_limit=2), {"ends-free": 1}),
        ({}, Topic("log-0", LOG, 1, 3), {}),
    ],
)
def test_brokers_limit_deliveries_unless_the_workload_does(
    options: dict[str, Any], queue: Topic, limits: dict[str, int]
) -> None:
    assert imposed(_options(**options), queue) == limits


@pytest.mark.parametrize(
    ("options", "traits", "refusal"),
    [
        ({"share_group": {"share.auto.offset.reset": "latest"}}, (), "cluster.share_group: only queues"),
        ({"security": {"sasl": "plain"}}, (QUEUES,), "cluster.security: "),
        ({}, (Queueing(confirms=True, persistent=True, consumers=1, leaves=True),), "workload.leave_every: "),
        ({}, (Queueing(confirms=True, persistent=True, consumers=1, crashes=True),), "workload.crash_every: "),
    ],
)
def test_what_cannot_be_done_is_refused(options: dict[str, Any], traits: tuple[object, ...], refusal: str) -> None:
    with pytest.raises(BadInput, match=refusal):
        check_queues(_declared(_options(**options), *traits))


class Message:
    """A message of `queue-0`."""

    def __init__(self, number: int, deliveries: int = 1, failure: KafkaError | None = None) -> None:
        self.number, self.deliveries, self.failure = number, deliveries, failure

    def error(self) -> KafkaError | None:
        return self.failure

    def topic(self) -> str:
        return "queue-0"

    def partition(self) -> int:
        return 0

    def value(self) -> bytes:
        return b"%d" % self.number

    def delivery_count(self) -> int:
        return self.deliveries


class Member:
    """A share consumer that refuses to poll before everything is acknowledged, like librdkafka."""

    batches: ClassVar[list[list[Message]]] = []
    answers: ClassVar[Mapping[TopicPartition, KafkaException | None]] = {TopicPartition("queue-0", 0): None}

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.open: set[int] = set()
        self.acknowledged: list[tuple[int, AcknowledgeType]] = []
        self.queues: list[str] = []

    def subscribe(self, queues: list[str]) -> None:
        self.queues = queues

    def poll(self, timeout_s: float) -> list[Message]:
        assert not self.open, "records from previous poll have not been acknowledged"
        batch = self.batches.pop(0) if self.batches else []
        self.open = {message.number for message in batch if message.failure is None}
        return batch

    def acknowledge(self, message: Message, kind: AcknowledgeType) -> None:
        self.open.remove(message.number)
        self.acknowledged.append((message.number, kind))

    def commit_sync(self, timeout_s: float) -> Mapping[TopicPartition, KafkaException | None]:
        return self.answers


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> KafkaShareConsumer:
    """A consumer that gets five messages at once, of which two may be with it."""
    monkeypatch.setattr(module, "ShareConsumer", Member)
    monkeypatch.setattr(Member, "batches", [[Message(0), Message(1, 2), Message(2), Message(3), Message(4)]])
    consumer = KafkaShareConsumer({"bootstrap.servers": "b1:9092,b2:9092,b3:9092", "group.id": "orders"}, prefetch=2)
    consumer.consume(["queue-0"])
    return consumer


def test_a_batch_is_handed_out_in_parts_and_settled_before_the_next(consumer: KafkaShareConsumer) -> None:
    parts = []
    while arrivals := consumer.poll(0.001, 100)[0]:
        parts.append([(int(arrival.delivery.payload), arrival.delivery.delivery) for arrival in arrivals])
        assert consumer.poll(0.001, 100) == ([], None)  # no more than two at a time
        assert consumer.settle([arrival.tag for arrival in arrivals], "ack") == (OK, None)

    assert parts == [[(0, 0), (1, 1)], [(2, 0), (3, 0)], [(4, 0)]]


def test_each_way_to_settle_is_told(consumer: KafkaShareConsumer) -> None:
    first, second = consumer.poll(0.001, 100)[0]
    consumer.settle([first.tag], "nack")
    consumer.settle([second.tag], "reject")

    member: Any = consumer._consumer
    assert member.acknowledged == [(0, AcknowledgeType.RELEASE), (1, AcknowledgeType.REJECT)]


def test_an_acknowledgement_of_which_nothing_is_said_is_unknown(
    consumer: KafkaShareConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Member, "answers", {TopicPartition("queue-1", 0): None})
    first, _ = consumer.poll(0.001, 100)[0]

    assert consumer.settle([first.tag], "ack") == (INFO, NOT_ANSWERED)


def test_an_acknowledgement_that_was_refused_is_not_known_to_be_of_no_effect(
    consumer: KafkaShareConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT))
    monkeypatch.setattr(Member, "answers", {TopicPartition("queue-0", 0): refusal})
    (arrival, *_), _ = consumer.poll(0.001, 100)

    assert consumer.settle([arrival.tag], "ack") == (INFO, "REQUEST_TIMED_OUT")


def test_an_error_beside_messages_is_recorded(consumer: KafkaShareConsumer) -> None:
    failure = KafkaError(KafkaError.REQUEST_TIMED_OUT)
    Member.batches[0] = [Message(0), Message(1, failure=failure)]

    arrivals, error = consumer.poll(0.001, 100)

    assert [arrival.delivery.payload for arrival in arrivals] == [b"0"]
    assert error == "REQUEST_TIMED_OUT"


def test_brokers_are_asked_one_after_the_other_what_is_left(
    consumer: KafkaShareConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lags = {"b2": -1, "b3": 7}

    def offsets(host: str, *_: object) -> probe.ShareOffsets:
        if host == "b1":
            raise ConnectionRefusedError
        return probe.ShareOffsets("AAAA", lags[host])

    monkeypatch.setattr(probe, "share_offsets", offsets)
    monkeypatch.setattr(probe, "share_members", lambda *_: 3)

    assert consumer.left("queue-0") == (7, 3)


@pytest.mark.parametrize(("code", "raised"), [(probe.UNKNOWN_TOPIC, NoQueue), (16, Unreachable)])
def test_a_topic_that_is_gone_is_told_from_brokers_that_do_not_know(
    code: int, raised: type[Unreachable], monkeypatch: pytest.MonkeyPatch
) -> None:
    def offsets(*_: object) -> probe.ShareOffsets:
        raise Refused(code)

    monkeypatch.setattr(probe, "share_offsets", offsets)

    with pytest.raises(Unreachable) as error:
        groups.unsettled(["b1:9092"], "orders", "queue-0")

    assert error.type is raised


def _allowed(anomaly: str, *effects: Effect, queues: bool = True, **options: Any) -> Allowance:
    given = {"topic": {"min.insync.replicas": 2}, **options}
    topics = (_queue() if queues else Topic("log-0", LOG, 1, 3),)
    declared = replace(_declared(_options(**given), *((QUEUES,) if queues else ())), topics=topics)
    return guaranteed.table("kafka", declared, list(effects))[anomaly]


POWER = [effect("power-cut", host) for host in ALL]
KILLS = [effect("kill", host) for host in ALL]
FLUSHED = {"config": {"log.flush.interval.messages": 1}}


@pytest.mark.parametrize(
    ("anomaly", "effects", "options", "allowed"),
    [
        ("lost", POWER, {}, True),
        ("lost", POWER, FLUSHED, False),
        ("lost", KILLS, {}, False),
        ("lost", POWER[:1], {}, False),
        ("duplicate", POWER, {"topic": {"flush.messages": 1}}, True),
        ("duplicate", POWER, FLUSHED, False),
        ("duplicate", KILLS, {}, False),
        ("redelivery-flag-missing", POWER, FLUSHED, True),
        ("redelivery-flag-missing", KILLS, FLUSHED, True),
        ("redelivery-flag-missing", [], FLUSHED, False),
        ("delivery-limit-exceeded", KILLS, FLUSHED, True),
        ("delivery-limit-exceeded", [], FLUSHED, False),
        ("unacked-vanished", KILLS, {}, False),
        ("dropped", POWER, {}, False),
    ],
)
def test_what_faults_may_do_to_a_queue(
    anomaly: str, effects: list[Effect], options: dict[str, Any], allowed: bool
) -> None:
    assert _allowed(anomaly, *effects, **options).allowed is allowed


def test_rules_of_queues_are_of_queues_only() -> None:
    assert not _allowed("duplicate", *POWER, queues=False, topic={"flush.messages": 1}).allowed


class Admin:
    """An admin client whose requests end with these errors, one after the other, and then succeed."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)

    def incremental_alter_configs(self, resources: list[Any], request_timeout: float) -> dict[Any, Any]:
        return {resources[0]: self}

    def result(self) -> None:
        if self.codes:
            raise KafkaException(KafkaError(self.codes.pop(0)))


def test_a_group_is_configured_once_its_coordinator_is_back() -> None:
    admin: Any = Admin(KafkaError._TRANSPORT, KafkaError.COORDINATOR_NOT_AVAILABLE)

    groups.configure(admin, "orders", {"share.auto.offset.reset": "earliest"})

    assert not admin.codes


def test_a_setting_that_brokers_refuse_is_the_users() -> None:
    admin: Any = Admin(KafkaError.INVALID_CONFIG)

    with pytest.raises(BadInput, match=r"^cluster.share_group: Kafka rejected it: "):
        groups.configure(admin, "orders", {"share.auto.offset.reset": "yesterday"})
