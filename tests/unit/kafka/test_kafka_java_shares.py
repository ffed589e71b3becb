"""Queues of Kafka with its own client: what its JVM is told, what the member leaves, and what is refused."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from relays import AskedClient

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Queueing
from clusters.common.relay import frames, queue_consumer
from clusters.common.relay.frames import RelayAnswer
from clusters.kafka.java import settings
from clusters.kafka.java.settings import check_java_clients, member_settings
from clusters.kafka.settings import KafkaOptions
from clusters.kafka.shares.java.consumer import KafkaJavaShareConsumer
from clusters.kafka.shares.queues import check_queues

NO_ERROR = frames.text("")


class Jvm:
    """Remembers what it is asked; it answers with nothing to say of."""

    def __init__(self, *answers: bytes) -> None:
        self.asked: list[bytes] = []
        self.answers = list(answers)
        self.closed = False

    def say(self, request: bytes) -> None:
        self.asked.append(request)

    def hear(self) -> tuple[bytes, RelayAnswer]:
        return b"k", RelayAnswer(self.answers.pop(0) if self.answers else NO_ERROR + struct.pack(">i", 0))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def dialogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_consumer, "Dialogue", lambda jvm: jvm)


def _member(jvm: Any) -> KafkaJavaShareConsumer:
    return KafkaJavaShareConsumer(jvm, ["127.0.0.1:1"], "r-chaoskit")


@pytest.mark.usefixtures("dialogue")
def test_one_member_receives_from_all_queues() -> None:
    jvm = Jvm()
    _member(jvm).consume(["queue-0", "queue-1"])

    assert jvm.asked == [b"q" + struct.pack(">i", 2) + frames.text("queue-0") + frames.text("queue-1")]


@pytest.mark.usefixtures("dialogue")
def test_each_way_to_settle_has_a_letter() -> None:
    jvm = Jvm()
    member = _member(jvm)
    for how in ("ack", "nack", "reject"):
        member.settle([7], how)

    assert [asked[:1] for asked in jvm.asked] == [b"a", b"n", b"r"]


@pytest.mark.usefixtures("dialogue")
@pytest.mark.parametrize(("abruptly", "said"), [(False, [b"e"]), (True, [])])
def test_a_member_that_crashes_leaves_without_a_word(abruptly: bool, said: list[bytes]) -> None:
    jvm = Jvm()
    member = _member(jvm)
    member.consume(["queue-0"])
    member.close(abruptly=abruptly)

    assert jvm.asked[1:] == said
    assert jvm.closed


def _declared(traits: tuple[object, ...] = (), consumer: dict[str, Any] | None = None, **options: Any) -> Declared:
    given = KafkaOptions.model_validate({"clients": "java", **options})
    return Declared(given, 3, 3, (Topic("queue-0", QUEUE, 1, 3),), {}, consumer or {}, traits)


def test_its_process_can_crash_but_it_leaves_no_message() -> None:
    check_queues(_declared((Queueing(confirms=True, persistent=True, consumers=1, crashes=True),)))
    with pytest.raises(BadInput, match=r"workload\.leave_every"):
        check_queues(_declared((Queueing(confirms=True, persistent=True, consumers=1, leaves=True),)))


def test_the_share_consumer_checks_the_settings_of_members(monkeypatch: pytest.MonkeyPatch) -> None:
    relay, shares = AskedClient(), AskedClient()
    monkeypatch.setattr(settings, "RELAY", relay)
    monkeypatch.setattr(settings, "SHARES", shares)
    queueing = (Queueing(confirms=True, persistent=True, consumers=3),)

    check_java_clients(_declared(queueing, {"max.poll.records": 5}))
    assert list(relay.asked) == ["producer"]
    assert shares.asked["queues"]["max.poll.records"] == 5
    assert "isolation.level" not in shares.asked["queues"], "it belongs to the group"

    with pytest.raises(BadInput, match=r"workload\.consumer\.share\.acknowledgement\.mode: ours"):
        check_java_clients(_declared(queueing, {"share.acknowledgement.mode": "implicit"}))


def test_members_acknowledge_explicitly() -> None:
    assert member_settings({"fetch.max.wait.ms": None}) == {
        "reconnect.backoff.max.ms": 500, "socket.connection.setup.timeout.ms": 2000,
        "share.acknowledgement.mode": "explicit",
    }  # fmt: skip
