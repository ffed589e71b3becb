"""Transactions of RocketMQ: one message each, and an end that nobody confirms."""

from __future__ import annotations

import os
import struct
import subprocess
import threading
from collections.abc import Iterator

import guaranteed
import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared, Effect
from chaoskit.contract.workloads.traits import Transactions
from chaoskit.model.outcome import FAIL, INFO, OK
from clusters.common.relay.process import Jvm
from clusters.rocketmq.checks import check_transactions
from clusters.rocketmq.clients.transactions import RocketTransactionalProducer
from clusters.rocketmq.guarantees.transactions import TRANSACTION_RULES
from clusters.rocketmq.settings import RocketOptions

KILL = [guaranteed.effect("kill", "n1")]
NO_FAULT: list[Effect] = []
_ENDING = struct.Struct(">cq?")
_DONE = struct.Struct(">qqqh")


class _Client:
    """Stands for the JVM at the other end of the pipes: answers each end of a transaction as it is told."""

    def __init__(self, error: str | None) -> None:
        self.asked: list[bool] = []
        self._error = error
        requests, to_us = os.pipe()
        from_us, answers = os.pipe()
        self._requests, self._answers = open(requests, "rb", 0), open(answers, "wb", 0)  # noqa: PTH123, SIM115
        sleeper = subprocess.Popen(["sleep", "60"])
        to, from_ = open(to_us, "wb", 0), open(from_us, "rb", 0)  # noqa: PTH123, SIM115
        self.jvm = Jvm(to, from_, sleeper)
        self._serving = threading.Thread(target=self._serve, daemon=True)
        self._serving.start()

    def _serve(self) -> None:
        while len(asked := self._requests.read(_ENDING.size)) == _ENDING.size:
            _, token, commit = _ENDING.unpack(asked)
            self.asked.append(commit)
            if self._error is not None:
                message = self._error.encode()
                self._answers.write(_DONE.pack(token, -1, 1, len(message)) + message)

    def close(self) -> None:
        self.jvm.close()
        self._serving.join()
        self._requests.close()
        self._answers.close()


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[_Client]:
    made = _Client(request.param)
    yield made
    made.close()


def _producer(client: _Client) -> RocketTransactionalProducer:
    def completed(*completion: object) -> None:
        raise AssertionError(f"the end of a transaction is no message: {completion}")

    return RocketTransactionalProducer(client.jvm, completed)


@pytest.mark.parametrize("client", [""], indirect=True)
def test_what_was_committed_is_committed_without_an_answer_of_the_broker(client: _Client) -> None:
    producer = _producer(client)

    assert producer.register(1.0) is None
    assert producer.commit(5.0) == (OK, None)
    assert producer.abort(5.0) is None
    assert client.asked == [True, False]


@pytest.mark.parametrize("client", ["not all halves were stored"], indirect=True)
def test_a_transaction_whose_half_was_not_stored_is_rolled_back(client: _Client) -> None:
    assert _producer(client).commit(5.0) == (FAIL, "not all halves were stored")


@pytest.mark.parametrize("client", [None], indirect=True)
def test_a_client_that_does_not_answer_leaves_it_open(client: _Client) -> None:
    outcome, error = _producer(client).commit(0.3)

    assert outcome == INFO
    assert error


def _declared(messages: int = 1, **producer: str) -> Declared:
    return Declared(RocketOptions(), 3, 3, (), producer, {}, (Transactions(messages),))


def _impatient(asks_after_ms: int) -> Declared:
    options = RocketOptions(config={"transactionTimeOut": asks_after_ms})
    return Declared(options, 3, 3, (), {}, {}, (Transactions(),))


def _often(asks_every_ms: int, **producer: str) -> Declared:
    options = RocketOptions(config={"transactionCheckInterval": asks_every_ms})
    return Declared(options, 3, 3, (), producer, {}, (Transactions(),))


def test_a_transaction_has_one_message() -> None:
    check_transactions(_declared())
    with pytest.raises(BadInput, match=r"workload\.messages: 50: a transaction has one message; set messages: 1"):
        check_transactions(_declared(50))


@pytest.mark.parametrize(
    ("rule", "declared", "effects", "applies"),
    [
        ("check-unanswered", _declared(end="unsent", check="unanswered"), NO_FAULT, True),
        ("check-unanswered", _declared(check="unanswered"), KILL, True),
        ("check-unanswered", _declared(check="unanswered"), NO_FAULT, False),
        ("check-unanswered", _declared(end="unsent"), KILL, False),
        ("committed-again", _declared(), KILL, True),
        ("committed-again", _impatient(3000), NO_FAULT, True),
        ("committed-again", _often(3000, end="unsent"), NO_FAULT, True),
        ("committed-again", _often(3001, end="unsent"), NO_FAULT, False),
        ("committed-again", _often(3000), NO_FAULT, False),
        ("committed-again", _impatient(3001), NO_FAULT, False),
        ("committed-again", _declared(), NO_FAULT, False),
        ("committed-late", _declared(), NO_FAULT, True),
        ("no-fencing", _declared(), NO_FAULT, True),
    ],
)
def test_a_rule_applies_where_its_cause_is_and_not_beside_it(
    rule: str, declared: Declared, effects: list[Effect], applies: bool
) -> None:
    (applied,) = (known for known in TRANSACTION_RULES if known.id == f"rocketmq.{rule}")

    assert bool(guaranteed.applies(applied, declared, effects)) is applies
    assert not guaranteed.applies(applied, Declared(RocketOptions(), 3, 3, (), {}, {}), effects)
