"""Queues with RocketMQ's Python client: what it is told, what it tells, and what it cannot do."""

from __future__ import annotations

import importlib
import importlib.util
import os
import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Queueing
from chaoskit.model.outcome import FAIL, INFO, OK
from clusters.rocketmq.clients.popped import Invisible
from clusters.rocketmq.clients.queues import real_topic
from clusters.rocketmq.python import consumer as consuming
from clusters.rocketmq.python import library as module
from clusters.rocketmq.python import publisher as publishing
from clusters.rocketmq.python.client import check_python_clients
from clusters.rocketmq.python.consumer import PythonQueueConsumer
from clusters.rocketmq.python.publisher import PythonPublisher
from clusters.rocketmq.settings import RocketOptions


class Refused(Exception):
    """What the client raises."""


class Library:
    """The client, with some messages to be popped; it remembers what it was asked."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.answers: list[Future[Any]] = []
        self.refuses = False
        self.messages: list[Any] = []
        self.settled: list[tuple[str, int]] = []
        self.fails = False
        self.closed = 0
        self.Message = SimpleNamespace
        self.FilterExpression = SimpleNamespace

    def Credentials(self) -> None:  # noqa: N802
        return None

    def ClientConfiguration(self, endpoints: str, _: None, request_timeout: int) -> str:  # noqa: N802
        return endpoints

    def Producer(self, _: str) -> Library:  # noqa: N802
        return self

    def SimpleConsumer(self, *_: Any) -> Library:  # noqa: N802
        return self

    def startup(self) -> None: ...

    def shutdown(self) -> None:
        self.closed += 1

    def send(self, message: Any) -> None:
        self.sent.append(message)

    def send_async(self, message: Any) -> Future[Any]:
        if self.refuses:
            raise Refused
        self.sent.append(message)
        self.answers.append(Future())
        return self.answers[-1]

    def receive(self, most: int, invisible_s: int) -> list[Any]:
        some, self.messages = self.messages[:most], self.messages[most:]
        time.sleep(0 if some else 0.01)
        return some

    def ack(self, message: Any) -> None:
        self._settle("ack", message)

    def change_invisible_duration(self, message: Any, _: int) -> None:
        self._settle("nack", message)

    def _settle(self, how: str, message: Any) -> None:
        if self.fails:
            raise Refused
        self.settled.append((how, message.body[0]))


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Library:
    fake = Library()
    for part in (module, publishing, consuming):
        monkeypatch.setattr(part, "library", lambda: fake)
    return fake


def published(completions: list[Any], **given: Any) -> PythonPublisher:
    settings: dict[str, Any] = {"ordered": (), "delays_ms": {}, **given}
    return PythonPublisher("p:8081", lambda *completion: completions.append(completion[:4]), "producer-0", **settings)


def awaited(publisher: PythonPublisher) -> None:
    deadline = time.monotonic() + 10
    while publisher.pending() and time.monotonic() < deadline:
        publisher.poll(0.01)


def test_a_send_completes_when_the_proxy_has_answered(known: Library) -> None:
    completions: list[Any] = []
    publisher = published(completions)
    for token in (1, 2, 3):
        publisher.publish("queue-0", b"x", token, None)
    publisher.poll(0)
    assert not completions

    known.answers[0].set_result(None)
    known.answers[1].set_exception(Refused())
    publisher.poll(1)
    publisher.poll(0)
    publisher.close(0)

    assert completions == [(1, OK, None, None), (2, INFO, "Refused", None), (3, INFO, "never completed", None)]
    assert {message.topic for message in known.sent} == {real_topic("queue-0")}
    assert known.closed == 1


def test_what_the_client_refuses_at_once_was_not_sent(known: Library) -> None:
    completions: list[Any] = []
    known.refuses = True
    published(completions).publish("queue-0", b"x", 1, None)

    assert completions == [(1, FAIL, "Refused", None)]


def test_messages_of_a_producer_are_one_group_where_order_is_kept(known: Library) -> None:
    completions: list[Any] = []
    publisher, began_s = published(completions, ordered=["queue-0"], delays_ms={"queue-1": 3000}), time.time()
    publisher.publish("queue-0", b"x", 1, None)
    awaited(publisher)
    publisher.publish("queue-1", b"x", 2, None)

    assert completions == [(1, OK, None, None)]
    assert known.sent[0].message_group == "producer-0"
    assert known.sent[1].delivery_timestamp >= began_s + 3, "whole seconds, and never early"
    assert known.sent[1].delivery_timestamp <= time.time() + 4


def popped(known: Library, count: int, prefetch: int = 0) -> PythonQueueConsumer:
    known.messages = [SimpleNamespace(body=bytes([number]), delivery_attempt=2) for number in range(count)]
    consumer = PythonQueueConsumer("p:8081", [], prefetch, Invisible(10))
    consumer.consume(["queue-0"])
    return consumer


def taken(consumer: PythonQueueConsumer, count: int) -> list[Any]:
    arrivals: list[Any] = []
    deadline = time.monotonic() + 10
    while len(arrivals) < count and time.monotonic() < deadline:
        arrivals += consumer.poll(0.05, 100)[0]
    return arrivals


def test_messages_are_popped_and_settled(known: Library) -> None:
    consumer = popped(known, 3)
    arrivals = taken(consumer, 3)

    assert [(arrival.delivery.payload, arrival.delivery.delivery) for arrival in arrivals] == [
        (b"\0", 1),
        (b"\1", 1),
        (b"\2", 1),
    ]
    assert consumer.settle([arrivals[0].tag, arrivals[1].tag], "ack") == (OK, None)
    assert consumer.settle([arrivals[2].tag], "nack") == (OK, None)
    assert sorted(known.settled) == [("ack", 0), ("ack", 1), ("nack", 2)]
    consumer.close()
    assert known.closed == 1
    assert not any(thread.name.startswith("receive") for thread in threading.enumerate())


def test_a_consumer_pops_no_more_than_its_prefetch(known: Library) -> None:
    consumer = popped(known, 6, prefetch=2)
    first = taken(consumer, 2)

    assert consumer.poll(0.3, 100) == ([], None)
    consumer.settle([first[0].tag], "ack")
    assert len(taken(consumer, 1)) == 1
    consumer.close()


@pytest.mark.parametrize(("fails", "settles", "abruptly", "left"), [
    (False, True, False, False), (True, True, False, True), (False, False, False, True), (False, True, True, True),
])  # fmt: skip
def test_what_a_consumer_leaves_is_invisible(
    known: Library, fails: bool, settles: bool, abruptly: bool, left: bool
) -> None:
    consumer = popped(known, 1)
    (arrival,) = taken(consumer, 1)
    consumer._invisible._until = 0.0
    known.fails = fails
    if settles:
        assert consumer.settle([arrival.tag], "ack") == ((INFO, "Refused") if fails else (OK, None))
    consumer.close(abruptly=abruptly)

    assert consumer._invisible.there() == left


def test_a_message_of_the_dead_letters_tells_why(known: Library) -> None:
    known.messages = [SimpleNamespace(body=b"\0", delivery_attempt=1)]
    consumer = PythonQueueConsumer("p:8081", [], 0, Invisible(10))
    consumer.consume(["queue-0.dead"])

    (arrival,) = taken(consumer, 1)
    assert arrival.death == ("delivery_limit", "queue-0", 1)
    consumer.close()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"queued": False}, r"cluster\.clients: python: is for workload\.kind: queue"),
        ({"producer": {"sendMsgTimeout": 5}}, r"workload\.producer\.sendMsgTimeout: the Python client has no settings"),
        ({"consumer": {"pullBatchSize": 5}}, r"workload\.consumer\.pullBatchSize"),
        ({"confirms": False}, r"workload\.confirms: proxies answer every send"),
    ],
)
def test_what_it_cannot_do_is_refused(given: dict[str, Any], why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "check", lambda: None)
    given = {"queued": True, "producer": {}, "consumer": {}, "confirms": True, **given}
    queued = Queueing(confirms=given["confirms"], persistent=True, consumers=2)
    traits = (queued,) if given["queued"] else ()
    options = RocketOptions(clients="python", proxies=1)
    declared = Declared(options, 3, 3, (Topic("queue-0", QUEUE, 1, 3, "normal", ()),), given["producer"],
                        given["consumer"], traits)  # fmt: skip
    with pytest.raises(BadInput, match=why):
        check_python_clients(declared)


def test_a_client_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(BadInput, match=r"clients: python: its client is missing; .*install .*\[rocketmq\]"):
        module.check()


def test_the_client_logs_into_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    homes: list[str] = []
    monkeypatch.setenv("HOME", "/home/x")
    monkeypatch.setattr(importlib, "import_module", lambda _: homes.append(os.environ["HOME"]))
    module.library.cache_clear()
    module.library()
    module.library.cache_clear()

    assert homes != ["/home/x"]
    assert os.environ["HOME"] == "/home/x"
