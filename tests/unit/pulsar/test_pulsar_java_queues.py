"""Queues with Pulsar's own client: what is refused, what its JVM is told, and what it tells."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import guaranteed
import pytest
from queued import queued
from relays import AskedClient

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.client import Unreachable
from chaoskit.contract.clients.queue import QueueFeature
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.outcome import INFO, OK
from clusters.common.relay import frames, queue_consumer
from clusters.common.relay.frames import RelayAnswer
from clusters.pulsar.clients.queues import QUEUES, acknowledges_by_index, batches, has_retries, retry_topics
from clusters.pulsar.clients.settings import NAMESPACE
from clusters.pulsar.guarantees.queues import QUEUE_RULES
from clusters.pulsar.java import queue_clients, settings
from clusters.pulsar.java.queue_clients import PulsarJavaQueueConsumer
from clusters.pulsar.java.queues import for_client, for_relay, refusal_ms
from clusters.pulsar.java.settings import check_java_clients, queue_consumer_settings

LIMITED = {"delivery-limit": 2, "dead-letters": 1}
BACKOFF = "negativeAckRedeliveryBackoff"


def declared(consumer: dict[str, Any] | None = None, limits: dict[str, int] | None = None, **given: Any) -> Declared:
    return queued(consumer=consumer, settings=limits, **{"clients": "java", **given})


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> AskedClient:
    known = AskedClient()
    monkeypatch.setattr(settings, "RELAY", known)
    return known


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"consumer": {"retryEnable": True}}, r"consumer\.retryEnable: .*; set workload\.delivery_limit"),
        (
            {"consumer": {"retryEnable": True, BACKOFF: {}}, "limits": LIMITED},
            rf"consumer\.{BACKOFF}: is not used with retryEnable",
        ),
        ({"consumer": {"reconsumeLaterMs": 5}, "limits": LIMITED}, r"consumer\.reconsumeLaterMs: is used with"),
        (
            {"consumer": {"retryEnable": True, "reconsumeLaterMs": 60_000}, "limits": LIMITED},
            r"consumer\.reconsumeLaterMs: write a whole number, 20000 at most",
        ),
        ({"consumer": {"negativeAckRedeliveryDelayMicros": 10**8}}, r"DelayMicros: .*, 20000000 at most"),
        ({"consumer": {BACKOFF: {"minDelayMs": 0}}}, rf"{BACKOFF}\.minDelayMs: must be at least 1"),
        ({"consumer": {BACKOFF: {"maxDelay": 5}}}, rf"{BACKOFF}\.maxDelay: .*maxDelayMs"),
        ({"consumer": {BACKOFF: 5}}, rf"{BACKOFF}.*mapping"),
        ({"consumer": {BACKOFF: {"multiplier": 1}}}, rf"{BACKOFF}\.multiplier: must be more than 1"),
        ({"consumer": {BACKOFF: {"maxDelayMs": 500}}}, rf"{BACKOFF}.*maxDelayMs must be at least minDelayMs \(1000\)"),
        (
            {"consumer": {"retryEnable": True, "reconsumeLaterMs": True}, "limits": LIMITED},
            r"consumer\.reconsumeLaterMs: write a whole number",
        ),
        ({"consumer": {"acknowledgementsGroupTimeMicros": 10**7}}, r"GroupTimeMicros: .*, 1000000 at most"),
        ({"consumer": {"ackTimeoutMillis": 5000}}, r"consumer\.ackTimeoutMillis: .*workload\.kind: subscription"),
        ({"consumer": {"receiverQueueSize": 5}}, r"consumer\.receiverQueueSize: ours"),
        ({"consumer": {"deadLetterPolicy": {}}}, r"consumer\.deadLetterPolicy: ours"),
        ({"queueing": {"confirms": False}}, r"workload\.confirms: brokers answer every send"),
        ({"version": "2.11.0"}, r"cluster\.clients: java: there is none for Pulsar 2\.11\.0; choose 3\.0\.0"),
    ],
)
def test_what_is_of_no_use_is_refused(given: dict[str, Any], refusal: str, client: AskedClient) -> None:
    with pytest.raises(BadInput, match=refusal):
        check_java_clients(declared(**given))


def test_the_client_is_asked_about_its_own_settings_only(client: AskedClient) -> None:
    check_java_clients(declared({"retryEnable": True, "reconsumeLaterMs": 500, "ackReceiptEnabled": True}, LIMITED))

    assert client.asked["consumer"]["ackReceiptEnabled"] is True
    assert client.asked["consumer"]["retryEnable"] is True
    assert "reconsumeLaterMs" not in client.asked["consumer"]


def test_the_relay_gets_what_the_client_does_not_read() -> None:
    given = queue_consumer_settings({BACKOFF: {"minDelayMs": 500, "multiplier": 3}})

    arguments = for_relay(given, 50)
    assert arguments["prefetch"] == 50
    assert arguments["reconsumeLaterMs"] == 1000
    assert {name: value for name, value in arguments.items() if name.startswith(BACKOFF)} == {
        f"{BACKOFF}.minDelayMs": 500, f"{BACKOFF}.maxDelayMs": 20_000, f"{BACKOFF}.multiplier": 3,
    }  # fmt: skip
    assert BACKOFF not in for_client(given)
    assert refusal_ms(given) == 20_000
    assert refusal_ms(queue_consumer_settings({})) == 1000


def test_a_queue_has_a_retry_topic_if_the_client_may_use_one() -> None:
    (limited,) = declared(limits=LIMITED).topics
    (free,) = declared().topics

    assert retry_topics(declared().options, limited) == ("queue-0-retry",)
    assert retry_topics(declared().options, free) == ()
    assert retry_topics(declared(clients="pulsar-client").options, limited) == ()


def test_the_names_of_settings_are_those_of_the_client() -> None:
    assert not batches(declared())
    assert batches(declared(producer={"batchingEnabled": True}))
    assert batches(declared(producer={"batchingEnabled": None})), "null is the client's default"
    assert acknowledges_by_index(declared({"batchIndexAckEnabled": True}))
    assert not acknowledges_by_index(declared({"batch_index_ack_enabled": True}))
    assert has_retries(declared({"retryEnable": True}))
    assert not has_retries(declared({"retryEnable": True}, clients="pulsar-client"))


class Jvm:
    """A JVM that got a message of a queue and one of its dead letters; it remembers what it was asked."""

    def __init__(self, error: str = "") -> None:
        self.error = error
        self.asked: list[bytes] = []
        self.closed = False

    def say(self, request: bytes) -> None:
        self.asked.append(request)

    def hear(self) -> tuple[bytes, RelayAnswer]:
        kind = self.asked[-1][:1]
        if kind == b"p":
            texts = [("queue-0", "persistent://t/n/queue-0-partition-0"), ("queue-0.dead", "persistent://t/n/queue-0")]
            messages = [
                frames.text(f"persistent://t/n/{queue}-partition-0") + frames.text(origin)
                + struct.pack(">iqiii", 1, tag, 1, -1, 2) + b"ab"
                for tag, (queue, origin) in enumerate(texts, 1)
            ]  # fmt: skip
            return b"k", RelayAnswer(frames.text("") + struct.pack(">i", len(messages)) + b"".join(messages))
        return b"k", RelayAnswer(frames.text(self.error) if kind in {b"a", b"n"} else struct.pack(">i", 1))

    def close(self) -> None:
        self.closed = True


class Brokers:
    """Brokers that say what is left of each topic."""

    def __init__(self, left: dict[str, int]) -> None:
        self.left = left

    def backlog(self, topic: str, *_: Any) -> tuple[int, int]:
        if topic not in self.left:
            raise ServiceError("no such topic")
        return self.left[topic], 2


def consumer(monkeypatch: pytest.MonkeyPatch, jvm: Jvm, left: dict[str, int], **given: Any) -> PulsarJavaQueueConsumer:
    monkeypatch.setattr(queue_consumer, "Dialogue", lambda _: jvm)
    monkeypatch.setattr(queue_clients, "Admin", lambda _: Brokers(left))
    monkeypatch.setattr(queue_clients, "time", SimpleNamespace(monotonic=lambda: 5.0, sleep=waits.append))
    waits.clear()
    connection = {"brokers": [], NAMESPACE: "r-", QUEUES: {"queue-0": LIMITED, "queue-1": {}}}
    relay: Any = jvm
    return PulsarJavaQueueConsumer(relay, connection, queue_consumer_settings(given))


waits: list[float] = []


def test_the_jvm_is_told_where_messages_come_from_and_where_they_go(monkeypatch: pytest.MonkeyPatch) -> None:
    retrying = consumer(monkeypatch, Jvm(), {}, retryEnable=True)
    one, other = retrying.sources(["queue-0", "queue-1"])

    assert [path.rpartition("/")[2] for path in one] == [
        "queue-0-partition-0", "r-chaoskit", "2", "queue-0.dead-partition-0", "queue-0-retry-partition-0",
    ]  # fmt: skip
    assert (other[2], other[4]) == ("0", "")
    assert consumer(monkeypatch, Jvm(), {}).sources(["queue-0"])[0][4] == ""


def test_only_dead_letters_have_a_death(monkeypatch: pytest.MonkeyPatch) -> None:
    arrivals, error = consumer(monkeypatch, Jvm(), {}).poll(1, 10)

    assert error is None
    assert [(arrival.delivery.topic, arrival.delivery.delivery) for arrival in arrivals] == [
        ("queue-0", 1),
        ("queue-0.dead", 1),
    ]
    assert [arrival.death for arrival in arrivals] == [None, ("delivery_limit", "queue-0", 1)]


def test_what_waits_in_the_retry_topic_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    left = {"queue-0": 3, "queue-0-retry": 4, "queue-1": 5}

    retrying = consumer(monkeypatch, Jvm(), left, retryEnable=True)
    assert (retrying.left("queue-0"), retrying.left("queue-1")) == ((7, 2), (5, 2))
    assert consumer(monkeypatch, Jvm(), left).left("queue-0") == (3, 2)
    with pytest.raises(Unreachable, match="queue queue-9: no such topic"):
        retrying.left("queue-9")


@pytest.mark.parametrize(("given", "waited"), [({}, [pytest.approx(1.5 + 4 / 3)]), ({"retryEnable": True}, [0])])
def test_a_consumer_that_leaves_waits_for_what_it_refused(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], waited: list[Any]
) -> None:
    jvm = Jvm()
    leaving = consumer(monkeypatch, jvm, {}, **given)
    leaving.consume(["queue-0"])

    assert leaving.settle([1], "nack") == (OK, None)
    leaving.close()

    assert waits == waited
    assert [question[:1] for question in jvm.asked] == [b"q", b"n", b"e"]
    assert jvm.closed


def test_a_crash_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    jvm = Jvm("NotConnectedException")
    crashing = consumer(monkeypatch, jvm, {})
    crashing.consume(["queue-0"])

    assert crashing.settle([1], "nack") == (INFO, "NotConnectedException")
    crashing.close(abruptly=True)

    assert not waits
    assert jvm.asked[-1][:1] == b"n"
    assert jvm.closed


@pytest.mark.parametrize(
    ("limits", "crashes", "allowed"), [(LIMITED, True, True), (LIMITED, False, False), ({}, True, False)]
)
def test_a_crash_may_leave_a_message_twice_if_consumers_publish_it_again(
    limits: dict[str, int], crashes: bool, allowed: bool
) -> None:
    (rule,) = (rule for rule in QUEUE_RULES if rule.id == "pulsar.queue-at-least-once")
    assert bool(guaranteed.applies(rule, declared(limits=limits, queueing={"crashes": crashes}), [])) == allowed


def test_queues_may_refuse_and_have_dead_letters(client: AskedClient) -> None:
    features = (("return_every", QueueFeature.REFUSAL),)
    check_java_clients(declared({"retryEnable": True}, LIMITED, queueing={"features": features}))
