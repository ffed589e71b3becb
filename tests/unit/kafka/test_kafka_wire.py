"""Kafka's messages on the wire: names, correlation, lengths, and responses made errors."""

from __future__ import annotations

import struct

import pytest

from chaoskit.contract.wire import Header
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

    bodies = [(produced(7, 0) if name == "Produce" else b"") + bytes(100 * n) for n, name in enumerate(names)]

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


def test_what_can_be_refused_is_a_message_and_errors_differ() -> None:
    assert set(REFUSABLE) < set(MESSAGES)
    assert len(set(ERRORS.values())) == len(ERRORS)
    assert len(set(MESSAGES)) == 93


def test_a_response_about_no_partition_has_no_place_for_an_error() -> None:
    with pytest.raises(ValueError, match="about no partition"):
        refused("Produce", 8, bytes(8))
