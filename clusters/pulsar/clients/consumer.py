"""Pulsar's readers and consumers (the C++ client through pulsar-client), and the reader of the final read.

Assigned partitions are read with a `Reader` each: it has no cursor on the brokers and never moves by itself. A group is
a `Failover` subscription: one of its members is given all messages of a partition. pulsar-client does not tell a
member which partitions are its own, nor a reader that a position is gone: neither is recorded.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pulsar

from chaoskit.base.errors import BadInput
from chaoskit.contract.clients.client import Gap, Membership, PositionLost, Reached
from chaoskit.contract.systems.service import ServiceError
from chaoskit.model.message import WITHOUT_CONTENT, Delivery
from chaoskit.model.outcome import INFO, Outcome
from clusters.pulsar.clients.settings import BEGINS, COMPACTED
from clusters.pulsar.connection import connect, full_name, library_settings, name_of, subscription
from clusters.pulsar.deploy.admin import Admin, partition_name
from clusters.pulsar.positions import following, pack, unpack

NO_RECEIPT = "NoReceipt"
"""Why no commit is `ok`: acknowledgements are sent off, and no broker confirms them."""

_RECEIVE_QUEUE = {"receiver_queue_size": 1000}
_READER_OURS = ("topic", "start_message_id", "schema", "reader_listener", "crypto_key_reader", "is_read_compacted")
_GROUP_OURS = (
    "topic", "subscription_name", "schema", "message_listener", "crypto_key_reader", "initial_position",
    "batch_receive_policy", "key_shared_policy", "dead_letter_policy", "pattern_auto_discovery_period",
    "is_read_compacted",
)  # fmt: skip
_WAIT_S = 0.001
"""How long one of several partitions is waited for before the next one is looked at."""

Partition = tuple[str, int]
Source = Any
"""A reader or a consumer of one partition."""


class PulsarConsumer:
    """See `chaoskit.contract.clients.client.Consumer`."""

    def __init__(self, connection: Mapping[str, Any], settings: Mapping[str, Any], group: int = 0) -> None:
        self._client = connect(connection)
        self._subscription = subscription(connection, group)
        self._settings = settings
        self._compacted = bool(connection.get(COMPACTED))
        self._sources: dict[Partition, Source | None] = {}
        self._open: Callable[[Partition], Source] = self._reader
        self._last: dict[Partition, Any] = {}
        self._begin: dict[Partition, Any] = {}
        self._grouped = False
        self._paused = False
        self._next = 0

    def assign(self, partitions: Sequence[Partition]) -> None:
        self._sources = dict.fromkeys(partitions)

    def subscribe(self, topics: Sequence[str], membership: Membership) -> None:
        self._grouped, self._open = True, self._member
        self._sources = dict.fromkeys(
            (topic, partition)
            for topic in topics
            for partition in range(len(self._client.get_topic_partitions(full_topic(topic))))
        )
        # Before the load begins, so that later members take nothing over; what cannot be reached now is for `poll`.
        self._connect_missing(keep_on=False)

    def reached(self) -> Reached:
        if not self._grouped:
            return []
        return [(*where, _position(message) + 1) for where, message in self._last.items()]

    def commit(self, reached: Reached) -> tuple[Outcome, str | None]:
        error = NO_RECEIPT
        for topic, partition, _ in reached:
            source, message = self._sources[topic, partition], self._last.pop((topic, partition))
            try:
                if source is not None:
                    source.acknowledge_cumulative(message)
            except pulsar.PulsarException as failure:
                error = name_of(failure)
        return INFO, error

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        deliveries: list[Delivery] = []
        failure = self._connect_missing()
        connected = [(where, source) for where, source in self._sources.items() if source is not None]
        if not connected or self._paused:
            time.sleep(timeout_s)
            return deliveries, [], failure
        deadline = time.monotonic() + timeout_s
        while True:
            for where, source in connected:
                failure = self._take(where, source, deliveries, messages_max, 0) or failure
            left_s = deadline - time.monotonic()
            if deliveries or failure or left_s <= 0:
                return deliveries, [], failure
            self._next = (self._next + 1) % len(connected)
            where, source = connected[self._next]
            wait_s = left_s if len(connected) == 1 else min(left_s, _WAIT_S)
            failure = self._take(where, source, deliveries, 1, wait_s)

    def seek_to_beginning(self, topic: str, partition: int) -> None:
        source = self._sources[topic, partition]
        if source is not None:
            source.seek(pulsar.MessageId.earliest)

    def seek_to_time(self, place: Partition, at_ms: int) -> str | None:
        """See `chaoskit.contract.clients.client.SeekingConsumer`."""
        return self._seek(place, at_ms)

    def seek_to(self, place: Partition, position: int) -> str | None:
        """See `chaoskit.contract.clients.client.SeekingConsumer`."""
        ledger, entry, index = unpack(position)
        # The broker begins with this entry; of its batch, the library leaves out what is up to this index.
        return self._seek(place, pulsar.MessageId(-1, ledger, entry, index - 1))

    def _seek(self, place: Partition, target: Any) -> str | None:
        source = self._sources[place]
        try:
            if source is not None:
                source.seek(target)
        except pulsar.PulsarException as error:
            return name_of(error)
        self._last.pop(place, None)
        return None

    def hold(self, *, paused: bool) -> None:
        self._paused = paused

    def close(self) -> None:
        try:
            self._client.close()
        except pulsar.PulsarException:
            self._client.shutdown()

    def _connect_missing(self, *, keep_on: bool = True) -> str | None:
        """Connect to the partitions that are not; return why one could not be. Unless to `keep_on`, stop there."""
        failure = None
        for where, source in self._sources.items():
            if source is None:
                try:
                    self._sources[where] = self._open(where)
                except pulsar.PulsarException as error:
                    failure = name_of(error)
                    if not keep_on:
                        break
        return failure

    def _reader(self, where: Partition) -> Source:
        settings = reader_settings(self._settings)
        begin = self._begin.get(where, pulsar.MessageId.earliest)
        return self._client.create_reader(full_name(*where), begin, **settings, is_read_compacted=self._compacted)

    def _member(self, where: Partition) -> Source:
        settings = group_settings(self._settings)
        earliest = pulsar.InitialPosition.Earliest
        return self._client.subscribe(
            full_name(*where),
            self._subscription,
            initial_position=earliest,
            **settings,
            is_read_compacted=self._compacted,
        )

    def _take(
        self, where: Partition, source: Source, deliveries: list[Delivery], messages_max: int, wait_s: float
    ) -> str | None:
        """Receive what is there, waiting for the first message; return an error, if any."""
        receive = source.receive if self._grouped else source.read_next
        while len(deliveries) < messages_max:
            try:
                message = receive(int(wait_s * 1000))
            except pulsar.Timeout:
                return None
            except pulsar.PulsarException as error:
                return name_of(error)
            wait_s = 0
            self._last[where] = message
            if not (self._compacted and _is_left_out(message)):
                deliveries.append(self._delivery(where, message))
        return None

    def _delivery(self, where: Partition, message: pulsar.Message) -> Delivery:
        key = message.partition_key()
        count = message.redelivery_count() if self._grouped else None
        return Delivery(*where, key.encode() if key else None, _payload(message), _position(message), count)


class PulsarAuditor(PulsarConsumer):
    """See `chaoskit.contract.clients.client.Auditor`."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        super().__init__(connection, {})
        self._admin = Admin(connection["brokers"])
        self._begins: Mapping[str, int] = connection[BEGINS]
        self._passed: dict[Partition, int] = {}

    def bounds(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        first = self._admin.state(topic, partition, timeout_s).first_ledger
        # Ledger ids count up over the whole cluster: a partition whose first ledger is still there lost nothing.
        low = 0 if first == self._begins[partition_name(topic, partition)] else pack(max(first, 0), 0, 0)
        last = self._admin.last_message(topic, partition, timeout_s)
        return low, low if last is None else pack(*last) + 1

    def position(self, topic: str, partition: int) -> int:
        message = self._last.get((topic, partition))
        passed = self._passed.get((topic, partition), 0)
        return passed if message is None else max(passed, _position(message) + 1)

    def gap(self, topic: str, partition: int, end: int, timeout_s: float) -> Gap | None:
        """See `chaoskit.contract.clients.client.GapReader`."""
        deadline = time.monotonic() + timeout_s
        at = self.position(topic, partition)
        first, error = -1, ""
        try:
            for ledger, entry in following(self._admin.entries(topic, partition, timeout_s), at):
                refusal = self._admin.refusal(topic, partition, ledger, entry, timeout_s)
                if not refusal or time.monotonic() > deadline:
                    return Gap(first, pack(ledger, entry, 0), error) if error else None
                if not error:
                    first, error = pack(ledger, entry, 0), refusal
        except ServiceError:
            return None
        return Gap(first, end, error) if error else None

    def pass_gap(self, topic: str, partition: int, until: int) -> None:
        """See `chaoskit.contract.clients.client.GapReader`."""
        self._passed[topic, partition] = until
        ledger, entry, _ = unpack(until)
        # A new reader starts behind a position that it need not be able to read.
        self._begin[topic, partition] = pulsar.MessageId(-1, ledger, entry - 1, -1)
        source = self._sources[topic, partition]
        if source is not None:
            source.close()
        self._sources[topic, partition] = None


def reader_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of readers of assigned partitions: given ones over ours.

    Raises:
        BadInput: unknown setting.
    """
    return library_settings({**_RECEIVE_QUEUE, **given}, pulsar.Client.create_reader, _READER_OURS, "consumer")


def group_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of members of a group: given ones over ours.

    Raises:
        BadInput: unknown setting, or a subscription type that assigns a partition to several members.
    """
    settings = library_settings(
        {**_RECEIVE_QUEUE, "consumer_type": "Failover", **given}, pulsar.Client.subscribe, _GROUP_OURS, "consumer"
    )
    if settings["consumer_type"] not in (pulsar.ConsumerType.Failover, pulsar.ConsumerType.Exclusive):
        raise BadInput("workload.consumer.consumer_type: a log is read by one consumer at a time; write Failover")
    return settings


def _is_left_out(message: pulsar.Message) -> bool:
    """Return whether a message only fills the place of one that compaction took out of a batch.

    Pulsar's own client passes over these (`ConsumerImpl.receiveIndividualMessagesFromBatch`, `compactedOut`; Pulsar
    pull request 1361), pulsar-client does not: they have neither key nor content.
    """
    return not (message.data() or message.partition_key() or message.properties())


def _payload(message: pulsar.Message) -> bytes:
    """Return the payload of a message; one without content, which deletes its key, carries it in a property."""
    content: bytes = message.data()
    return content or base64.b64decode(message.properties().get(WITHOUT_CONTENT, ""))


def full_topic(topic: str) -> str:
    """Return the name of a partitioned topic of the workload."""
    return full_name(topic, 0).rpartition("-partition-")[0]


def _position(message: pulsar.Message) -> int:
    where = message.message_id()
    return pack(where.ledger_id(), where.entry_id(), where.batch_index())
