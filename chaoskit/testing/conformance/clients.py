"""Conformance suite for clients: outcomes are classified, and every completion is reported exactly once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from chaoskit.base.waiting import wait_until
from chaoskit.contract.clients.application import ApplicationClients
from chaoskit.contract.clients.client import (
    Auditor,
    Completed,
    Consumer,
    LogClients,
    Producer,
    SeekingClients,
    SequencedClients,
    SubscribingClients,
    TransactionalClients,
    Unreachable,
)
from chaoskit.contract.clients.feed import FeedClients, FeedSubscriber
from chaoskit.contract.clients.ledger import LedgerClients
from chaoskit.contract.clients.queue import Arrival, Publishing, QueueClients, QueueConsumer
from chaoskit.contract.clients.traffic import QueueApplicationClients
from chaoskit.contract.power import Powered, optional
from chaoskit.contract.workloads.topic import Topic
from chaoskit.model.message import Delivery
from chaoskit.model.observations.feed import PROMISES
from chaoskit.model.outcome import FAIL, INFO, OK
from chaoskit.testing.conformance.wants import Wants

_COUNT = 20
_WITHIN_S = 30.0
_ACKS_S = 1.0
"""How long a consumer lives on so that its acknowledgements count, as for the checkers of queues."""


class _Completion(NamedTuple):
    """A completion of a send, as reported by a client."""

    token: int
    outcome: int
    error: str | None
    position: int | None


class _Completions(list[_Completion]):
    """All completions that a client reported."""

    def __call__(
        self, token: int, outcome: int, error: str | None, position: int | None, at_ns: int | None = None, /
    ) -> None:
        self.append(_Completion(token, outcome, error, position))


_Suite = Callable[[Any, Topic, dict[str, Any], Wants], None]


def check_clients(clients: Powered, topic: Topic, settings: Mapping[str, Any] | None = None) -> None:
    """Check clients on a running system.

    Args:
        clients: clients of a cluster in a trial; every power of `chaoskit.contract.clients.client` and `.ledger` that
            they have for the topic's data model is tested.
        topic: an existing empty topic, by its name in the system.
        settings: the system's own client settings.

    Raises:
        AssertionError: lists what is missing.
    """
    given = dict(settings or {})
    with Wants(f"clients {type(clients).__name__}") as wants:
        for power in topic.model.powers:
            implemented = optional(clients, power)
            # What an application does with queues is seen only where one runs.
            if implemented is not None and power is not QueueApplicationClients:
                with wants.step(power.__name__):
                    _SUITES[power](implemented, topic, given, wants)


def _check_log(clients: LogClients, topic: Topic, settings: dict[str, Any], wants: Wants) -> None:
    sent = _send(lambda completed: clients.producer(settings, completed), topic.name, b"log", wants)
    sent += _send(lambda completed: clients.prober(settings, completed), topic.name, b"probe", wants)
    consumer = clients.consumer(settings)
    try:
        consumer.assign([(topic.name, 0)])
        received = _read(consumer, sent)
        wants.that(received == sent, f"a consumer received {received} of {sent}")
    finally:
        consumer.close()
    auditor = clients.auditor(settings)
    try:
        low, end = auditor.bounds(topic.name, 0, _WITHIN_S)
        wants.that(low < end, f"the bounds after {_COUNT} messages are {low} and {end}")
        auditor.assign([(topic.name, 0)])
        _read(auditor, sent)
        _reaches(auditor, topic.name, end, wants)
    finally:
        auditor.close()
    nowhere = _Completions()
    producer = clients.producer(settings, nowhere)
    producer.send(f"{topic.name}-that-is-not-there", 0, None, b"x", 0)
    producer.close(_WITHIN_S)
    _check_completions(nowhere, range(1), wants)


def _check_application(clients: ApplicationClients, topic: Topic, settings: dict[str, Any], wants: Wants) -> None:
    place, observer = (topic.name, 0), clients.group_observer([topic.name])
    try:
        wants.that(not observer.committed(0), "somebody has committed a position of a new topic")
        wants.that(not observer.owners(), "somebody owns a partition of a new topic")
    finally:
        observer.close()
    reader = clients.records([place])
    try:
        _, end = reader.bounds(place, _WITHIN_S)

        def reached() -> bool:
            reader.poll(0.1)
            return reader.reached(place) >= end

        wants.that(wait_until(reached, _WITHIN_S), f"a reader is at {reader.reached(place)}, not at {end}")
    finally:
        reader.close()


def _reaches(auditor: Auditor, topic: str, end: int, wants: Wants) -> None:
    def reached() -> bool:
        auditor.poll(0.1, _COUNT)
        return auditor.position(topic, 0) >= end

    wants.that(wait_until(reached, _WITHIN_S), f"a final read is at {auditor.position(topic, 0)}, not at {end}")


def _check_seeking(clients: SeekingClients, topic: Topic, settings: dict[str, Any], wants: Wants) -> None:
    consumer, place = clients.seeking_consumer(settings), (topic.name, 0)
    received: list[Delivery] = []

    def some() -> bool:
        received.extend(consumer.poll(0.1, _COUNT)[0])
        return bool(received)

    try:
        consumer.assign([place])
        if not wants.that(wait_until(some, _WITHIN_S), "a consumer received nothing that it could go back to"):
            return
        first = received[0]
        for how in ("position", "time"):
            by_time = how == "time"
            error = consumer.seek_to_time(place, 0) if by_time else consumer.seek_to(place, first.position)
            wants.that(error is None, f"a {how} could not be sought: {error}")
            received.clear()
            begins = wait_until(some, _WITHIN_S) and received[0].position == first.position
            wants.that(begins, f"after seeking the {how} of the first message, another one came first")
    finally:
        consumer.close()


def _check_transactions(clients: TransactionalClients, topic: Topic, settings: dict[str, Any], wants: Wants) -> None:
    completions = _Completions()
    producer = clients.transactional_producer(settings, f"{topic.name}-name", completions)
    try:
        why_not = producer.register(_WITHIN_S)
        wants.that(why_not is None, f"a name could not be registered: {why_not}")
        producer.begin()
        producer.send(topic.name, 0, None, b"aborted", 0)
        wants.that(producer.abort(_WITHIN_S) is None, "a transaction could not be aborted")
        producer.begin()
        producer.send(topic.name, 0, None, b"committed", 1)
        outcome, error = producer.commit(_WITHIN_S)
        wants.that(outcome == OK, f"a transaction could not be committed: {error}")
    finally:
        producer.close(_WITHIN_S)
    _check_completions(completions, range(2), wants)


def _check_sequences(clients: SequencedClients, topic: Topic, settings: dict[str, Any], wants: Wants) -> None:
    completions = _Completions()
    producer = clients.sequenced_producer(settings, f"{topic.name}-name", completions)
    wants.that(producer.last_sequence(topic.name, 0) < 1, "a new name already has a sequence id")
    sequences = range(1, _COUNT + 1)
    for sequence in sequences:
        producer.send_as(topic.name, 0, None, b"%d" % sequence, sequence, sequence)
    producer.close(_WITHIN_S)
    _check_completions(completions, sequences, wants)


def _check_subscription(clients: SubscribingClients, topic: Topic, settings: dict[str, Any], wants: Wants) -> None:
    subscriber = clients.subscriber(settings, "exclusive")
    try:
        subscriber.join([(topic.name, 0)])
        received: list[Delivery] = []

        def some() -> list[Delivery]:
            received.extend(subscriber.poll(0.1, _COUNT)[0])
            return received

        if wants.that(wait_until(some, _WITHIN_S), "a new subscription did not deliver existing messages"):
            outcome, error = subscriber.settle(received, "ack")
            wants.that(outcome in (OK, INFO), f"an acknowledgement failed: {error}")
            wants.that(outcome == OK or error, "the outcome of an acknowledgement is unknown, without a reason")
    finally:
        subscriber.close()


def _check_ledgers(clients: LedgerClients, topic: Topic, settings: dict[str, Any], wants: Wants) -> None:
    client = clients.ledger_client(settings)
    completions = _Completions()
    try:
        writer = client.create(completions)
        wants.that(writer.ledger >= client.first, f"ledger {writer.ledger} is older than the trial")
        wants.that(writer.ledger in client.open_for_writing(), "a created ledger is not among the open ones")
        for number in range(_COUNT):
            writer.add(b"%d" % number, number)

        def added() -> bool:
            writer.poll(0.1)
            return not writer.pending()

        wait_until(added, _WITHIN_S)
        _check_completions(completions, range(_COUNT), wants)
        end = writer.close(_WITHIN_S)
        wants.that(end == _COUNT, f"a ledger with {_COUNT} entries ends at {end}")
        reader = client.open(writer.ledger, recover=False)
        wants.that(reader.confirmed() == (_COUNT, True), f"`confirmed` returns {reader.confirmed()}")
        payloads = [entry.payload for entry in reader.read(0, _COUNT)]
        wants.that(payloads == [b"%d" % number for number in range(_COUNT)], f"`read` returns {payloads}")
        reader.close()
        wants.that(writer.ledger not in client.open_for_writing(), "a closed ledger is among the open ones")
    finally:
        client.close()


def _is_empty(consumer: QueueConsumer, queue: str) -> bool:
    """Return whether a queue says that it is empty."""
    with suppress(Unreachable):
        return consumer.left(queue)[0] == 0
    return False


def _check_queue(clients: QueueClients, topic: Topic, settings: dict[str, Any], wants: Wants) -> None:
    sent = _send(lambda completed: clients.publisher(settings, 0, completed, Publishing()), topic.name, b"queue", wants)
    first = clients.queue_consumer(settings, 0, _COUNT)
    try:
        first.consume([topic.name])
        arrivals = _arrive(first, _COUNT)
        received = [arrival.delivery.payload for arrival in arrivals]
        wants.that(sorted(received) == sorted(sent), f"a consumer received {received} of {sent}")
        wants.that(not any(arrival.delivery.delivery for arrival in arrivals), "first deliveries are marked")
        outcome, error = first.settle([arrival.tag for arrival in arrivals[1:]], "ack")
        wants.that(outcome == OK, f"an acknowledgement failed: {error}")
        time.sleep(_ACKS_S)
    finally:
        first.close(abruptly=True)
    second = clients.queue_consumer(settings, 1, _COUNT)
    try:
        second.consume([topic.name])
        again = _arrive(second, 1)
        payloads = [arrival.delivery.payload for arrival in again]
        wants.that(payloads == received[:1], f"after a consumer ended, what it had not settled came again: {payloads}")
        second.settle([arrival.tag for arrival in again], "nack")
        refused = _arrive(second, 1)
        wants.that(len(refused) == 1, "what was refused did not come again")
        wants.that(all(arrival.delivery.delivery for arrival in refused), "what was refused comes again unmarked")
        second.settle([arrival.tag for arrival in refused], "ack")
        wants.that(wait_until(lambda: _is_empty(second, topic.name), _WITHIN_S), "a drained queue is not empty")
    finally:
        second.close()


def _check_feed(clients: FeedClients, topic: Topic, settings: dict[str, Any], wants: Wants) -> None:
    promised = clients.promise(settings, settings)
    wants.that(promised.delivery in PROMISES, f"{promised.delivery} is not a promise")
    subscriber = clients.feed_subscriber(settings, f"{topic.name}-subscriber", [topic.name])
    try:
        began = subscriber.changes()
        wants.that([change.kind for change in began] == ["subscribed"], f"a new subscriber tells the changes {began}")

        def publisher(completed: Completed) -> Producer:
            return clients.feed_publisher(settings, f"{topic.name}-p", [topic.name], completed)

        sent = _send(publisher, topic.name, b"feed", wants)
        received = _hear(subscriber, len(sent))
        wants.that(received == sent, f"a subscriber received {received} of {sent}")
    finally:
        subscriber.close()
    ended = subscriber.changes()
    wants.that([change.kind for change in ended] == ["unsubscribed"], f"a closed subscriber tells the changes {ended}")
    for change in (*began, *ended):
        wants.that(change.topic == topic.name and change.since_ns <= change.until_ns, f"{change} cannot be")


def _hear(subscriber: FeedSubscriber, count: int) -> list[bytes]:
    received: list[bytes] = []

    def all_of_them() -> bool:
        received.extend(delivery.payload for delivery in subscriber.poll(0.1, count)[0])
        return len(received) >= count

    wait_until(all_of_them, _WITHIN_S)
    return received


def _arrive(consumer: QueueConsumer, count: int) -> list[Arrival]:
    arrivals: list[Arrival] = []

    def all_of_them() -> bool:
        arrivals.extend(consumer.poll(0.1, count)[0])
        return len(arrivals) >= count

    wait_until(all_of_them, _WITHIN_S)
    return arrivals


def _send(connect: Callable[[Completed], Producer], topic: str, prefix: bytes, wants: Wants) -> list[bytes]:
    completions = _Completions()
    producer = connect(completions)
    payloads = [prefix + b"-%d" % number for number in range(_COUNT)]
    for number, payload in enumerate(payloads):
        taken = producer.send(topic, 0, None, payload, number)
        wants.that(taken, f"send {number} of {_COUNT} was not accepted: the queue is full")
    wants.that(producer.pending() + len(completions) == _COUNT, "`pending` is not the number of sends in flight")
    producer.poll(0.1)
    producer.close(_WITHIN_S)
    wants.that(producer.pending() == 0, f"{producer.pending()} sends are pending after `close`")
    _check_completions(completions, range(_COUNT), wants)
    return payloads


def _check_completions(completions: _Completions, tokens: range, wants: Wants) -> None:
    completed = sorted(completion.token for completion in completions)
    wants.that(
        completed == [*tokens], f"{len(completions)} completions of {len(tokens)} sends, with the tokens {completed}"
    )
    for completion in completions:
        wants.that(completion.outcome in (OK, FAIL, INFO), f"{completion.outcome} is not an outcome")
        wants.that(completion.outcome == OK or completion.error, f"send {completion.token} failed without an error")
    positions = [
        completion.position
        for completion in sorted(completions)
        if completion.outcome == OK and completion.position is not None
    ]
    wants.that(positions == sorted(set(positions)), f"positions of successive sends do not ascend: {positions}")


def _read(consumer: Consumer, wanted: list[bytes]) -> list[bytes]:
    received: list[bytes] = []

    def all_of_them() -> bool:
        received.extend(delivery.payload for delivery in consumer.poll(0.1, _COUNT)[0])
        return len(received) >= len(wanted)

    wait_until(all_of_them, _WITHIN_S)
    return received


_SUITES: Mapping[type, _Suite] = {
    ApplicationClients: _check_application,
    LogClients: _check_log,
    SeekingClients: _check_seeking,
    TransactionalClients: _check_transactions,
    SequencedClients: _check_sequences,
    SubscribingClients: _check_subscription,
    LedgerClients: _check_ledgers,
    QueueClients: _check_queue,
    FeedClients: _check_feed,
}
