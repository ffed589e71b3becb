"""The worker's end of systems' own clients: what it writes, what it makes of what it reads, and of a JVM that ends."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from io import FileIO
from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.contract.clients.client import PositionLost, ProducerFenced
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.message import Delivery
from chaoskit.model.outcome import DUPLICATE, FAIL, INFO, OK
from clusters.common.relay import frames, process
from clusters.common.relay.consumer import JavaConsumer
from clusters.common.relay.producer import JavaProducer
from clusters.common.relay.transactional import JavaTransactionalProducer
from clusters.kafka.java.transactions import KafkaTransactions


class Jvm:
    """What a relay reads and writes, by hand."""

    def __init__(self) -> None:
        its_in, ours_out = os.pipe()
        ours_in, its_out = os.pipe()
        self._in, self._out = FileIO(its_in), FileIO(its_out, "w")
        stdin, stdout = FileIO(ours_out, "w"), FileIO(ours_in)
        its: Any = SimpleNamespace(kill=self.end, wait=lambda: None)
        self.ours = process.Jvm(stdin, stdout, its)

    def says(self, content: bytes) -> None:
        self._out.write(content)

    def heard(self) -> bytes:
        return self._in.read(1 << 16)

    def end(self) -> None:
        self._out.close()

    def close(self) -> None:
        for stream in (self._in, self._out, self.ours.requests, self.ours.answers):
            stream.close()


@pytest.fixture
def jvm() -> Iterator[Jvm]:
    jvm = Jvm()
    yield jvm
    jvm.close()


def _done(token: int, position: int, at_ns: int, error: str = "") -> bytes:
    return struct.pack(">qqq", token, position, at_ns) + frames.text(error)


Told = list[tuple[Any, ...]]


@pytest.fixture
def completions() -> Told:
    return []


@pytest.fixture
def producer(jvm: Jvm, completions: Told) -> JavaProducer:
    return JavaProducer(jvm.ours, {"RecordTooLargeException"}, lambda *row: completions.append(row))


def test_a_send_is_passed_on_when_it_is_polled_and_its_topic_once(jvm: Jvm, producer: JavaProducer) -> None:
    producer.send("log-0", 3, None, b"abc", 7)
    producer.send("log-0", 0, b"key", b"", 8)
    producer.poll(0)

    assert producer.pending() == 2
    first = b"s" + struct.pack(">qhii", 7, 0, 3, -1) + struct.pack(">i", 3) + b"abc"
    second = b"s" + struct.pack(">qhii", 8, 0, 0, 3) + b"key" + struct.pack(">i", 0)
    assert jvm.heard() == b"t\x00\x05log-0" + first + second


@pytest.mark.parametrize(
    ("frame", "completion"),
    [
        (_done(7, 41, 123), (OK, None, 41)),
        (_done(7, -1, 123), (OK, DUPLICATE, None)),
        (_done(7, -1, 123, "TimeoutException"), (INFO, "TimeoutException", None)),
        (_done(7, -1, 123, "RecordTooLargeException"), (FAIL, "RecordTooLargeException", None)),
        (_done(7, -1, 123, "refused IllegalStateException"), (FAIL, "IllegalStateException", None)),
    ],
)
def test_a_completion_is_of_the_time_that_the_jvm_tells(
    jvm: Jvm, producer: JavaProducer, completions: Told, frame: bytes, completion: tuple[Any, ...]
) -> None:
    producer.send("log-0", 0, None, b"abc", 7)
    jvm.says(frame[:5])
    producer.poll(1)
    assert completions == [], "half a frame"
    jvm.says(frame[5:])
    producer.poll(1)

    assert completions == [(7, *completion, 123)]
    assert producer.pending() == 0


def test_without_acknowledgements_there_are_no_positions(jvm: Jvm, completions: Told) -> None:
    producer = JavaProducer(jvm.ours, (), lambda *row: completions.append(row), tells_positions=False)
    producer.send("log-0", 0, None, b"abc", 7)
    jvm.says(_done(7, -1, 5))
    producer.poll(1)

    assert completions == [(7, OK, None, None, 5)]


@pytest.mark.parametrize("last", [JavaProducer.poll, JavaProducer.close])
def test_what_a_jvm_that_ended_does_not_tell_stays_unknown(
    jvm: Jvm, producer: JavaProducer, completions: Told, last: Callable[[JavaProducer, float], None]
) -> None:
    producer.send("log-0", 0, None, b"abc", 7)
    producer.send("log-0", 0, None, b"abc", 8)
    producer.poll(0)
    jvm.says(_done(7, 1, 5))
    producer.poll(1)
    jvm.end()
    last(producer, 0.1)

    assert completions[0] == (7, OK, None, 1, 5)
    assert completions[1] == (8, INFO, "the JVM ended", None)
    assert producer.pending() == 0


@pytest.fixture
def transactional(jvm: Jvm, completions: Told) -> JavaTransactionalProducer:
    return JavaTransactionalProducer(jvm.ours, (), lambda *row: completions.append(row))


def test_a_transaction_ends_as_the_jvm_says(
    jvm: Jvm, transactional: JavaTransactionalProducer, completions: Told
) -> None:
    jvm.says(_done(-2, -1, 5))
    assert transactional.register(1.0) is None
    transactional.begin()
    assert transactional.commit(5.0) == (OK, None)
    jvm.says(_done(-3, -1, 6, "refused TransactionAborted"))
    assert transactional.commit(5.0) == (FAIL, "TransactionAborted")
    assert jvm.heard() == struct.pack(">cq?cq?", b"e", -2, True, b"e", -3, True)
    assert completions == [], "the end of a transaction is no message"


def test_an_end_that_is_told_too_late_is_not_that_of_the_next(
    jvm: Jvm, transactional: JavaTransactionalProducer, completions: Told
) -> None:
    outcome, error = transactional.commit(0)
    jvm.says(_done(-2, -1, 5) + _done(7, 3, 6) + _done(-3, -1, 7, "CoordinatorNotFoundException"))

    assert (outcome, error) == (INFO, "the client did not end it in time")
    assert transactional.commit(5.0) == (INFO, "CoordinatorNotFoundException")
    assert completions == [(7, OK, None, 3, 6)]


def test_kafkas_own_producer_registers_and_is_over_once_an_end_is_unknown(jvm: Jvm, completions: Told) -> None:
    producer = KafkaTransactions(jvm.ours, (), lambda *row: completions.append(row))
    jvm.says(_done(-2, -1, 5, "TimeoutException"))
    assert producer.register(5.0) == "TimeoutException", "and may be asked again"
    jvm.says(_done(-3, -1, 6))
    assert producer.register(5.0) is None
    producer.begin()
    jvm.says(_done(-4, -1, 7, "refused KafkaException"))
    assert producer.commit(5.0) == (FAIL, "KafkaException")
    producer.begin()
    jvm.says(_done(-5, -1, 8, "ProducerFencedException"))
    assert producer.commit(5.0) == (INFO, "ProducerFencedException")
    with pytest.raises(ProducerFenced, match="ProducerFencedException"):
        producer.begin()


@pytest.mark.parametrize("ended", [False, True])
def test_kafkas_own_producer_that_cannot_register_is_over(jvm: Jvm, completions: Told, ended: bool) -> None:
    producer = KafkaTransactions(jvm.ours, (), lambda *row: completions.append(row))
    jvm.says(_done(-2, -1, 5, "" if ended else "ProducerFencedException"))
    if ended:
        assert producer.register(5.0) is None
        jvm.end()
    with pytest.raises(ProducerFenced):
        producer.register(5.0)


class Member:
    """Says what happens to partitions; commits when they are revoked."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.consumer: Any = None

    def assigned(self, *call: Any) -> None:
        self.told.append(call)

    def revoked(self) -> None:
        self.told.append(self.consumer.reached())
        self.told.append(self.consumer.commit(self.consumer.reached()))


def _frame(content: bytes = b"", kind: bytes = b"k") -> bytes:
    return kind + struct.pack(">i", len(content)) + content


def _moved(generation: int, *partitions: tuple[str, int]) -> bytes:
    return struct.pack(">i", generation) + frames.places(partitions)


def _polled(error: str = "", lost: tuple[tuple[str, int], ...] = (), content: bytes = struct.pack(">i", 0)) -> bytes:
    return _frame(frames.text(error) + frames.places(lost) + content)


_RECORDS = struct.pack(">i", 1) + frames.text("log-0") + struct.pack(">ii", 2, 2)
_RECORDS += struct.pack(">qii", 5, -1, -1) + struct.pack(">i", 3) + b"abc"
_RECORDS += struct.pack(">qii", 6, 2, 1) + b"k" + struct.pack(">i", 0)


@pytest.fixture
def consumer(jvm: Jvm) -> JavaConsumer:
    return JavaConsumer(jvm.ours, "g")


def test_a_member_of_a_group(jvm: Jvm, consumer: JavaConsumer) -> None:
    member = Member()
    member.consumer = consumer
    jvm.says(_frame() + _frame(_moved(3, ("log-0", 2)), b"A") + _polled(content=_RECORDS))
    consumer.subscribe(["log-0"], member)
    deliveries, lost, error = consumer.poll(0.1, 1000)

    assert jvm.heard() == b"s\x00\x00\x00\x01\x00\x05log-0" + b"p\x00\x00\x00\x64" + b"g"
    assert (lost, error) == ([], None)
    assert deliveries == [
        Delivery("log-0", 2, None, b"abc", 5, None),
        Delivery("log-0", 2, b"k", b"", 6, 2),
    ]
    assert consumer.reached() == [("log-0", 2, 7)]
    jvm.says(_frame(_moved(3), b"R") + _frame(frames.text("CommitFailedException")) + _polled())
    consumer.poll(0.1, 1000)

    assert member.told == [("g", 3, [("log-0", 2)]), [("log-0", 2, 7)], (INFO, "CommitFailedException")]
    assert consumer.reached() == [], "nothing is owned"
    commit = b"c\x00\x00\x00\x01\x00\x05log-0" + struct.pack(">iq", 2, 7)
    assert jvm.heard() == b"p\x00\x00\x00\x64" + commit + b"g"


def test_a_member_from_which_only_some_partitions_are_taken_keeps_the_others(jvm: Jvm, consumer: JavaConsumer) -> None:
    member = Member()
    member.consumer = consumer
    jvm.says(_frame())
    consumer.subscribe(["log-0"], member)
    jvm.says(_frame(_moved(3, ("log-0", 1), ("log-0", 2)), b"A") + _polled(content=_RECORDS))
    consumer.poll(0.1, 1000)
    jvm.says(_frame(_moved(4, ("log-0", 2)), b"R") + _frame(frames.text("")) + _polled())
    consumer.poll(0.1, 1000)

    assert member.told == [
        ("g", 3, [("log-0", 1), ("log-0", 2)]),
        [("log-0", 2, 7)],
        (OK, None),
        ("g", 4, [("log-0", 2)]),
    ]
    assert consumer.reached() == [("log-0", 2, 7)], "it goes on where it was"


def test_positions_that_are_gone(jvm: Jvm, consumer: JavaConsumer) -> None:
    jvm.says(_polled("OffsetOutOfRangeException", (("log-0", 1),)))
    assert consumer.poll(0.1, 1000) == ([], [PositionLost("log-0", 1, "OffsetOutOfRangeException")], None)
    jvm.says(_polled("TimeoutException"))
    assert consumer.poll(0.1, 1000) == ([], [], "TimeoutException")
    jvm.says(_frame())
    consumer.seek_to_beginning("log-0", 1)
    assert jvm.heard().endswith(b"b\x00\x00\x00\x01\x00\x05log-0\x00\x00\x00\x01")


def test_a_consumer_whose_jvm_ended(jvm: Jvm, consumer: JavaConsumer) -> None:
    jvm.end()

    with pytest.raises(ServiceError, match="the Java client ended"):
        consumer.hold(paused=True)
