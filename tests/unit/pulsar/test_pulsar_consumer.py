"""Readers of assigned partitions, members of a group, and the reader of the final read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulsar
import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.client import Gap, GapReader
from chaoskit.model.outcome import INFO
from clusters.pulsar.clients.consumer import PulsarAuditor, PulsarConsumer, group_settings, reader_settings
from clusters.pulsar.clients.settings import BEGINS, NAMESPACE
from clusters.pulsar.deploy.admin import TopicState, partition_name
from clusters.pulsar.positions import pack


class FakeMessage:
    """A message at a place."""

    def __init__(self, entry: int, key: str = "", batch_index: int = -1) -> None:
        self._entry, self._key, self._batch_index = entry, key, batch_index

    def message_id(self) -> Any:
        return pulsar.MessageId(-1, 1, self._entry, self._batch_index)

    def partition_key(self) -> str:
        return self._key

    def data(self) -> bytes:
        return b"payload"

    def redelivery_count(self) -> int:
        return 3


class FakeSource:
    """A reader, or a member of a subscription, of one partition."""

    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages
        self.acknowledged: list[FakeMessage] = []
        self.sought: list[Any] = []

    def read_next(self, timeout_ms: int) -> FakeMessage:
        if not self.messages:
            raise pulsar.Timeout("nothing there")
        message = self.messages.pop(0)
        if isinstance(message, Exception):
            raise message
        assert isinstance(message, FakeMessage)
        return message

    receive = read_next

    def acknowledge_cumulative(self, message: FakeMessage) -> None:
        self.acknowledged.append(message)

    def seek(self, where: Any) -> None:
        self.sought.append(where)

    def close(self) -> None:
        """Nothing is held."""


class FakeClient:
    """A client with partitions of given content; those without content cannot be connected to."""

    def __init__(self, partitions: dict[str, list[Any]]) -> None:
        self.sources = {name: FakeSource(messages) for name, messages in partitions.items()}
        self.closed = False
        self.began: list[Any] = []

    def create_reader(self, name: str, start: Any, **settings: Any) -> FakeSource:
        self.began.append(start)
        if name not in self.sources:
            raise pulsar.ConnectError("no owner")
        return self.sources[name]

    def subscribe(self, name: str, group: str, **settings: Any) -> FakeSource:
        assert (group, settings["initial_position"]) == ("chaoskit", pulsar.InitialPosition.Earliest)
        return self.sources[name]

    def get_topic_partitions(self, topic: str) -> list[str]:
        return [name for name in self.sources if name.startswith(topic)]

    def close(self) -> None:
        self.closed = True


def _name(partition: int) -> str:
    return f"persistent://public/default/log-0-partition-{partition}"


def _client(monkeypatch: pytest.MonkeyPatch, **partitions: list[Any]) -> FakeClient:
    client = FakeClient({_name(int(number[1:])): messages for number, messages in partitions.items()})
    monkeypatch.setattr("clusters.pulsar.clients.consumer.connect", lambda _: client)
    return client


class NoMembership:
    """Nobody is told anything: pulsar-client does not say what a member owns."""

    def assigned(self, *call: Any) -> None:
        raise AssertionError(call)

    revoked = assigned


def test_messages_come_in_order_with_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    _client(monkeypatch, p0=[FakeMessage(0, "k"), FakeMessage(0, batch_index=1), FakeMessage(1)])
    consumer = PulsarConsumer({NAMESPACE: ""}, {})
    consumer.assign([("log-0", 0)])

    deliveries, lost, failure = consumer.poll(0.1, 10)

    assert [delivery.position for delivery in deliveries] == [pack(1, 0, 0), pack(1, 0, 1), pack(1, 1, 0)]
    assert [(delivery.key, delivery.payload, delivery.delivery) for delivery in deliveries[:2]] == [
        (b"k", b"payload", None),
        (None, b"payload", None),
    ]
    assert (lost, failure) == ([], None)


def test_no_more_messages_come_than_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    _client(monkeypatch, p0=[FakeMessage(0), FakeMessage(1)], p1=[FakeMessage(2)])
    consumer = PulsarConsumer({NAMESPACE: ""}, {})
    consumer.assign([("log-0", 0), ("log-0", 1)])

    polled = [[delivery.position for delivery in consumer.poll(0.1, 2)[0]] for _ in range(2)]

    assert polled == [[pack(1, 0, 0), pack(1, 1, 0)], [pack(1, 2, 0)]]


def test_an_empty_partition_is_waited_for_no_longer_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    _client(monkeypatch, p0=[])
    consumer = PulsarConsumer({NAMESPACE: ""}, {})
    consumer.assign([("log-0", 0)])

    assert consumer.poll(0.01, 10) == ([], [], None)


def test_an_error_is_told_with_what_came_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _client(monkeypatch, p0=[FakeMessage(0), pulsar.AlreadyClosed("gone")])
    consumer = PulsarConsumer({NAMESPACE: ""}, {})
    consumer.assign([("log-0", 0)])

    deliveries, _, failure = consumer.poll(0.1, 10)

    assert ([delivery.position for delivery in deliveries], failure) == ([pack(1, 0, 0)], "AlreadyClosed")


def test_a_partition_that_cannot_be_connected_to_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    client = _client(monkeypatch, p0=[FakeMessage(0)])
    consumer = PulsarConsumer({NAMESPACE: ""}, {})
    consumer.assign([("log-0", 0), ("log-0", 1)])

    first = consumer.poll(0.1, 10)
    client.sources[_name(1)] = FakeSource([FakeMessage(5)])
    second = consumer.poll(0.1, 10)

    assert (len(first[0]), first[2]) == (1, "ConnectError")
    assert ([delivery.partition for delivery in second[0]], second[2]) == ([1], None)


def test_a_member_acknowledges_up_to_what_it_received_and_knows_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [FakeMessage(0), FakeMessage(1)]
    client = _client(monkeypatch, p0=list(messages), p1=[])
    consumer = PulsarConsumer({NAMESPACE: ""}, {})
    consumer.subscribe(["log-0"], NoMembership())
    assert consumer.reached() == []

    deliveries, _, _ = consumer.poll(0.1, 10)
    reached = consumer.reached()

    assert [delivery.delivery for delivery in deliveries] == [3, 3]
    assert reached == [("log-0", 0, pack(1, 1, 0) + 1)]
    assert consumer.commit(reached) == (INFO, "NoReceipt")
    assert client.sources[_name(0)].acknowledged == messages[1:]
    assert consumer.reached() == []


def test_readers_of_assigned_partitions_do_not_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    _client(monkeypatch, p0=[FakeMessage(0)])
    consumer = PulsarConsumer({NAMESPACE: ""}, {})
    consumer.assign([("log-0", 0)])
    consumer.poll(0.1, 10)

    assert consumer.reached() == []


def test_a_reader_seeks_to_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    client = _client(monkeypatch, p0=[FakeMessage(0)])
    consumer = PulsarConsumer({NAMESPACE: ""}, {})
    consumer.assign([("log-0", 0)])
    consumer.poll(0.1, 10)

    consumer.seek_to_beginning("log-0", 0)
    consumer.close()

    assert client.sources[_name(0)].sought == [pulsar.MessageId.earliest]
    assert client.closed


class FakeAdmin:
    """The admin API: where a partition begins, and its last message."""

    last: tuple[int, int, int] | None = (4, 9, 2)

    def __init__(self, brokers: list[str]) -> None:
        assert brokers == ["10.0.0.1"]

    def state(self, topic: str, partition: int, timeout_s: float) -> TopicState:
        return TopicState(True, 1 if self.last else -1, ())

    def last_message(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int, int] | None:
        return self.last

    missing: Sequence[tuple[int, int]] = ()

    def entries(self, topic: str, partition: int, timeout_s: float) -> list[tuple[int, int]]:
        return [(1, 12), (2, 1)]

    def refusal(self, topic: str, partition: int, ledger: int, entry: int, timeout_s: float) -> str:
        return "No such entry" if (ledger, entry) in self.missing else ""


@pytest.mark.parametrize(
    ("begins", "last", "bounds"),
    [
        (1, (4, 9, 2), (0, pack(4, 9, 2) + 1)),
        (0, (4, 9, 2), (pack(1, 0, 0), pack(4, 9, 2) + 1)),
        (1, None, (0, 0)),
        (0, (1, 0, -1), (2**39, 2**39 + 1)),
    ],
    ids=["whole", "expired", "empty", "expired, one message"],
)
def test_the_final_read_begins_with_what_has_not_expired_and_ends_behind_the_last_message(
    monkeypatch: pytest.MonkeyPatch, begins: int, last: tuple[int, int, int] | None, bounds: tuple[int, int]
) -> None:
    _client(monkeypatch, p0=[FakeMessage(9, batch_index=2)])
    monkeypatch.setattr("clusters.pulsar.clients.consumer.Admin", FakeAdmin)
    monkeypatch.setattr(FakeAdmin, "last", last)
    auditor = PulsarAuditor({NAMESPACE: "", "brokers": ["10.0.0.1"], BEGINS: {partition_name("log-0", 0): begins}})
    auditor.assign([("log-0", 0)])

    assert auditor.bounds("log-0", 0, 1) == bounds
    assert auditor.position("log-0", 0) == 0
    auditor.poll(0.1, 10)
    assert auditor.position("log-0", 0) == pack(1, 9, 2) + 1


@pytest.mark.parametrize(
    ("missing", "gap"),
    [
        ([(1, 10), (1, 11)], Gap(pack(1, 10, 0), pack(2, 0, 0), "No such entry")),
        ([(1, 10), (1, 11), (2, 0)], Gap(pack(1, 10, 0), pack(2, 1, 0), "No such entry")),
        ([(1, 11)], None),
        ([], None),
    ],
    ids=["to the next ledger", "to the end", "not here", "nowhere"],
)
def test_a_gap_is_what_the_owner_says_it_cannot_read(
    monkeypatch: pytest.MonkeyPatch, missing: list[tuple[int, int]], gap: Gap | None
) -> None:
    _client(monkeypatch, p0=[FakeMessage(9, batch_index=2)])
    monkeypatch.setattr("clusters.pulsar.clients.consumer.Admin", FakeAdmin)
    monkeypatch.setattr(FakeAdmin, "missing", missing)
    auditor = PulsarAuditor({NAMESPACE: "", "brokers": ["10.0.0.1"], BEGINS: {partition_name("log-0", 0): 1}})
    auditor.assign([("log-0", 0)])
    auditor.poll(0.1, 10)

    assert isinstance(auditor, GapReader)
    assert auditor.gap("log-0", 0, pack(2, 1, 0), 5) == gap


def test_the_final_read_goes_on_behind_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    client = _client(monkeypatch, p0=[])
    monkeypatch.setattr("clusters.pulsar.clients.consumer.Admin", FakeAdmin)
    auditor = PulsarAuditor({NAMESPACE: "", "brokers": ["10.0.0.1"], BEGINS: {}})
    auditor.assign([("log-0", 0)])
    auditor.poll(0, 10)
    auditor.pass_gap("log-0", 0, pack(2, 5, 0))
    auditor.poll(0, 10)

    assert auditor.position("log-0", 0) == pack(2, 5, 0)
    begin = client.began[-1]
    assert (begin.ledger_id(), begin.entry_id()) == (2, 4), "readers start behind what they are given"


def test_settings_of_consumers_are_those_of_readers_or_of_members() -> None:
    assert reader_settings({"receiver_queue_size": 5}) == {"receiver_queue_size": 5}
    assert group_settings({})["consumer_type"] == pulsar.ConsumerType.Failover
    assert group_settings({"consumer_type": "Exclusive"})["consumer_type"] == pulsar.ConsumerType.Exclusive


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"consumer_type": "Shared"}, r"consumer_type: a log is read by one consumer at a time; write Failover"),
        ({"consumer_type": "Failsafe"}, r"workload\.consumer\.consumer_type: there is no 'Failsafe'"),
        ({"group.id": "x"}, r"workload\.consumer\.group\.id: pulsar-client has no such setting"),
    ],
)
def test_settings_of_members_that_are_of_no_use_are_refused(given: dict[str, Any], refusal: str) -> None:
    with pytest.raises(BadInput, match=refusal):
        group_settings(given)


@pytest.mark.parametrize(
    ("by", "sought"), [("time", [1_700_000_000_000]), ("position", [pulsar.MessageId(-1, 3, 4, 1)])]
)
def test_a_reader_goes_back_to_a_time_or_a_position(
    by: str, sought: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = _client(monkeypatch, p0=[FakeMessage(0)])
    consumer = PulsarConsumer({NAMESPACE: ""}, {})
    consumer.assign([("log-0", 0)])
    consumer.poll(0.1, 1)

    seek = consumer.seek_to_time if by == "time" else consumer.seek_to
    position = seek(("log-0", 0), 1_700_000_000_000 if by == "time" else pack(3, 4, 2))

    assert (position, client.sources[_name(0)].sought) == (None, sought)


def test_a_seek_that_failed_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(where: Any) -> None:
        raise pulsar.Timeout("no owner")

    client = _client(monkeypatch, p0=[FakeMessage(0)])
    consumer = PulsarConsumer({NAMESPACE: ""}, {})
    consumer.assign([("log-0", 0)])
    consumer.poll(0.1, 1)
    monkeypatch.setattr(client.sources[_name(0)], "seek", refused)

    assert consumer.seek_to_time(("log-0", 0), 5) == "Timeout"
