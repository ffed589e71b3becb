"""Kafka's messages on the wire: names, correlation, lengths, and responses made errors."""

from __future__ import annotations

import struct

import pytest

from chaoskit.contract.systems.wire import Header
from chaoskit.testing.conformance import check_decoder
from clusters.kafka.settings import WIRE
from clusters.kafka.wire import ERRORS, MESSAGES, REFUSABLE, KafkaDecoder


def request(name: str, correlation: int, *, version: int = 7, client: str = "rdkafka", body: bytes = b"body") -> bytes:
    key = MESSAGES.index(name)
    head = struct.pack(">hhih", key, version, correlation, len(client)) + client.encode()
    return struct.pack(">i", len(head + body)) + head + body


def response(correlation: int, body: bytes = b"body") -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation) + body


def refused(name: str, version: int, body: bytes, error: str = "NOT_COORDINATOR") -> bytes:
    decoder = KafkaDecoder()
    header = decoder.request(request(name, 5, version=version))
    assert header is not None
    return decoder.refused(header, response(5, body), error)[8:]


def test_the_decoder_is_whole() -> None:
    names = ["ApiVersions", "Metadata", "Produce", "Fetch", "Vote", "Produce"]
    requests = [request(name, number, body=bytes(300 * number)) for number, name in enumerate(names)]

    made = {"Produce": produced(7, 0), "Fetch": fetched(7, 0), "Metadata": described(7, 0)}
    bodies = [made.get(name, b"") + bytes(100 * n) for n, name in enumerate(names)]

    check_decoder(WIRE, requests, [response(number, body) for number, body in enumerate(bodies)])


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (0, "Produce"), (1, "Fetch"), (3, "Metadata"), (8, "OffsetCommit"), (11, "JoinGroup"), (12, "Heartbeat"),
        (22, "InitProducerId"), (25, "AddOffsetsToTxn"), (26, "EndTxn"), (52, "Vote"), (53, "BeginQuorumEpoch"),
        (56, "AlterPartition"), (63, "BrokerHeartbeat"), (68, "ConsumerGroupHeartbeat"),
        (92, "DeleteShareGroupOffsets"),
    ],
)  # fmt: skip
def test_requests_have_the_names_of_the_protocol(key: int, name: str) -> None:
    assert MESSAGES[key] == name


def test_a_response_has_the_header_of_its_request() -> None:
    decoder = KafkaDecoder()
    sent = [decoder.request(request(name, number, client="c1")) for number, name in enumerate(["Produce", "Fetch"])]

    answered = [decoder.response(response(number)) for number in range(2)]

    assert answered == sent == [Header("Produce", 0, "c1", 7), Header("Fetch", 1, "c1", 7)]


def test_requests_without_a_response_do_not_confuse() -> None:
    decoder = KafkaDecoder()
    for number in range(5):
        decoder.request(request("Produce", number))
    decoder.request(request("Metadata", 5))

    assert decoder.response(response(5)) == Header("Metadata", 5, "rdkafka", 7)
    assert decoder.response(response(4)) is None


def test_unknown_keys_and_foreign_responses_have_no_header() -> None:
    decoder = KafkaDecoder()

    assert decoder.request(struct.pack(">ihhih", 10, 4711, 0, 1, -1)) is None
    assert decoder.response(response(1)) is None


def test_a_client_without_a_name_has_an_empty_one() -> None:
    assert KafkaDecoder().request(struct.pack(">ihhih", 10, 18, 0, 1, -1)) == Header("ApiVersions", 1, "", 0)


@pytest.mark.parametrize("length", range(4))
def test_a_length_needs_four_bytes(length: int) -> None:
    assert KafkaDecoder().length(response(1)[:length]) is None
    assert KafkaDecoder().length(response(1)[:4]) == len(response(1))


@pytest.mark.parametrize("begin", [b"GET / HTTP/1.1", b"\x16\x03\x01\x02\x00\x01", b"\x80\0\0\0", b"\0\0\0\0"])
def test_what_is_no_frame_is_told(begin: bytes) -> None:
    if begin[0] == 0x16:
        assert KafkaDecoder().length(begin) == 0x16030102 + 4
    else:
        with pytest.raises(ValueError, match="a frame of"):
            KafkaDecoder().length(begin)


@pytest.mark.parametrize(
    ("name", "version", "at"),
    [("Heartbeat", 0, 0), ("Heartbeat", 3, 4), ("Heartbeat", 4, 5), ("EndTxn", 0, 4), ("EndTxn", 5, 5),
     ("InitProducerId", 1, 4), ("JoinGroup", 1, 0), ("JoinGroup", 9, 5), ("ConsumerGroupHeartbeat", 0, 5)],
)  # fmt: skip
def test_an_error_is_put_where_the_response_has_its_code(name: str, version: int, at: int) -> None:
    changed = refused(name, version, bytes(20))

    assert changed == bytes(at) + struct.pack(">h", 16) + bytes(18 - at)


def produced(version: int, error: int) -> bytes:
    """Return the body of a response about two partitions of a topic `t`."""
    times = bytes(8 + 8 * (version >= 2) + 8 * (version >= 5))
    if version >= 9:
        partition = struct.pack(">ih", 0, error) + times + b"\1" + b"\0" + b"\0"
        topic = bytes(16) if version >= 13 else b"\2t"
        return b"\0" + b"\2" + topic + b"\3" + 2 * partition + b"\0" + bytes(4) + b"\0"
    errors = struct.pack(">ih", 0, -1) if version >= 8 else b""
    return struct.pack(">ih", 1, 1) + b"t" + struct.pack(">i", 2) + 2 * (struct.pack(">ih", 0, error) + times + errors)


@pytest.mark.parametrize("version", [0, 2, 3, 5, 7, 8, 9, 11, 12, 13])
def test_each_partition_of_a_produce_response_gets_the_error(version: int) -> None:
    assert refused("Produce", version, produced(version, 0), "NOT_LEADER_OR_FOLLOWER") == produced(version, 6)


def _text(flexible: bool, text: bytes) -> bytes:
    return (bytes([len(text) + 1]) if flexible else struct.pack(">h", len(text))) + text


def _array(flexible: bool, *elements: bytes) -> bytes:
    return (bytes([len(elements) + 1]) if flexible else struct.pack(">i", len(elements))) + b"".join(elements)


def fetched(version: int, error: int, whole: int = 0) -> bytes:
    """Return the body of a response about two partitions, each with an aborted transaction and records."""
    flexible = version >= 12
    tags = b"\0" * flexible
    aborted = _array(flexible, bytes(16) + tags) if version >= 4 else b""
    records = (b"\4" if flexible else struct.pack(">i", 3)) + b"abc"
    offsets = bytes(8 + 8 * (version >= 4) + 8 * (version >= 5))
    partition = struct.pack(">ih", 0, error) + offsets + aborted + bytes(4 * (version >= 11)) + records + tags
    topic = bytes(16) if version >= 13 else _text(flexible, b"t")
    head = bytes(4 * (version >= 1)) + (struct.pack(">hi", whole, 9) if version >= 7 else b"")
    return tags + head + _array(flexible, topic + _array(flexible, partition, partition) + tags) + tags


@pytest.mark.parametrize("version", range(18))
def test_each_partition_of_a_fetch_response_gets_the_error(version: int) -> None:
    assert refused("Fetch", version, fetched(version, 0), "OFFSET_OUT_OF_RANGE") == fetched(version, 1)


@pytest.mark.parametrize("version", [7, 11, 12, 17])
def test_an_error_of_a_fetch_session_is_that_of_the_whole_response(version: int) -> None:
    body, error = fetched(version, 0), "INVALID_FETCH_SESSION_EPOCH"

    assert refused("Fetch", version, body, error) == fetched(version, 0, whole=71)


def committed(version: int, error: int, *, throttled: int, flexible_from: int, ids_from: int) -> bytes:
    flexible = version >= flexible_from
    tags = b"\0" * flexible
    partition = struct.pack(">ih", 0, error) + tags
    topic = bytes(16) if version >= ids_from else _text(flexible, b"t")
    topics = _array(flexible, topic + _array(flexible, partition, partition) + tags)
    return tags + bytes(4 * (version >= throttled)) + topics + tags


@pytest.mark.parametrize(
    ("name", "version", "throttled", "flexible_from", "ids_from"),
    [*(("OffsetCommit", version, 3, 8, 10) for version in (0, 2, 3, 7, 8, 9, 10)),
     *(("TxnOffsetCommit", version, 0, 3, 99) for version in (0, 2, 3, 5))],
)  # fmt: skip
def test_each_partition_of_a_commit_gets_the_error(
    name: str, version: int, throttled: int, flexible_from: int, ids_from: int
) -> None:
    def body(error: int) -> bytes:
        return committed(version, error, throttled=throttled, flexible_from=flexible_from, ids_from=ids_from)

    assert refused(name, version, body(0)) == body(16)


def described(version: int, error: int) -> bytes:
    """Return the body of a response about a broker, and about a topic with a partition on three of them."""
    flexible = version >= 9
    tags = b"\0" * flexible
    rack = _text(flexible, b"rack") if version >= 1 else b""
    broker = bytes(4) + _text(flexible, b"n1") + bytes(4) + rack + tags
    nodes = _array(flexible, bytes(4), bytes(4), bytes(4))
    lists = nodes * (2 + (version >= 5))
    partition = struct.pack(">h", error) + bytes(8 + 4 * (version >= 7)) + lists + tags
    topic = struct.pack(">h", error) + _text(flexible, b"t") + bytes(16 * (version >= 10) + (version >= 1))
    topic += _array(flexible, partition, partition) + bytes(4 * (version >= 8)) + tags
    head = bytes(4 * (version >= 3)) + _array(flexible, broker)
    head += (_text(flexible, b"cluster") if version >= 2 else b"") + bytes(4 * (version >= 1))
    return tags + head + _array(flexible, topic) + bytes(4 * (8 <= version <= 10)) + tags


@pytest.mark.parametrize("version", range(14))
def test_topics_and_partitions_of_metadata_get_the_error(version: int) -> None:
    assert refused("Metadata", version, described(version, 0), "LEADER_NOT_AVAILABLE") == described(version, 5)


def test_what_can_be_refused_is_a_message_and_errors_differ() -> None:
    assert set(REFUSABLE) < set(MESSAGES)
    assert len(set(ERRORS.values())) == len(ERRORS)
    assert len(set(MESSAGES)) == 93


def test_a_response_about_no_partition_has_no_place_for_an_error() -> None:
    with pytest.raises(ValueError, match="about no partition"):
        refused("Produce", 8, bytes(8))
