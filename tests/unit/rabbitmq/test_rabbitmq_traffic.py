"""What an application does with queues, read from the segments of its connections."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pytest
from pika import spec
from pika.frame import Body, Header, Heartbeat, Method, ProtocolHeader

from clusters.rabbitmq.traffic import observer
from clusters.rabbitmq.traffic.connection import ObservedConnection
from clusters.rabbitmq.traffic.observer import RabbitTraffic
from clusters.rabbitmq.traffic.packets import ACK, FIN, RST, SYN, Segment, segment_of
from clusters.rabbitmq.traffic.stream import Stream

APPLICATION, NODE = ("10.0.0.4", 40_000), ("10.0.0.1", 5672)
QUEUE, SINK = "orders", "payments"
FIRST = 2**32 - 100
"""So that sequence numbers begin again soon."""


class Talk:
    """A connection of an application with a node, segment by segment; each acknowledges all before it."""

    def __init__(self, *, no_ack: bool = False, confirms: bool = False) -> None:
        self._next = {APPLICATION: FIRST, NODE: FIRST - 7}
        self._at_ns = 0
        self.connection = ObservedConnection(APPLICATION[0], self.segment(APPLICATION, flags=SYN))
        self.shown: list[tuple[str, str, bytes]] = []
        self.add(self.segment(NODE, flags=SYN | ACK))
        self.client(ProtocolHeader())
        self.client(Method(1, spec.Basic.Consume(queue=QUEUE, no_ack=no_ack)))
        self.node(Method(1, spec.Basic.ConsumeOk("tag")))
        if confirms:
            self.client(Method(1, spec.Confirm.Select()))

    def segment(self, source: tuple[str, int], content: bytes = b"", flags: int = ACK) -> Segment:
        """Return the next segment of one end."""
        target = NODE if source == APPLICATION else APPLICATION
        seq, ack = self._next[source], self._next[target]
        self._next[source] = (seq + len(content) + bool(flags & (SYN | FIN))) % 2**32
        self._at_ns += 1_000_000
        return Segment(source, target, seq % 2**32, ack % 2**32, flags, content, self._at_ns)

    def add(self, segment: Segment) -> None:
        """A segment passes."""
        for passed in self.connection.add(segment):
            unsure = "" if passed.arrived else "?"
            self.shown.append((passed.act + unsure, passed.record.topic, passed.record.value))

    def client(self, *frames: Any) -> None:
        """The application sends frames."""
        self.add(self.segment(APPLICATION, marshalled(*frames)))

    def node(self, *frames: Any) -> None:
        """The node sends frames, or nothing but an acknowledgement of TCP."""
        self.add(self.segment(NODE, marshalled(*frames)))

    def deliver(self, tag: int, body: bytes) -> None:
        """The node delivers a message."""
        self.node(*content(spec.Basic.Deliver("tag", tag, False, "", QUEUE), body))

    def publish(self, body: bytes) -> None:
        """The application publishes a message."""
        self.client(*content(spec.Basic.Publish(exchange="", routing_key=SINK), body))


def marshalled(*frames: Any) -> bytes:
    return b"".join(frame.marshal() for frame in frames)


def content(method: Any, body: bytes, **properties: Any) -> list[Any]:
    return [Method(1, method), Header(1, len(body), spec.BasicProperties(**properties)), Body(1, body)]


def test_a_delivery_and_its_acknowledgement() -> None:
    talk = Talk()
    talk.deliver(1, b"7")
    assert (talk.shown, len(talk.connection.channels[1].held)) == ([("given", QUEUE, b"7")], 1)

    talk.client(Method(1, spec.Basic.Ack(1)))
    assert len(talk.shown) == 1, "it is under way"
    talk.node()
    assert talk.shown[1:] == [("ack", QUEUE, b"7")]
    assert not talk.connection.channels[1].held


def test_an_acknowledgement_of_several() -> None:
    talk = Talk()
    for tag in (1, 2, 3):
        talk.deliver(tag, b"%d" % tag)
    talk.client(Method(1, spec.Basic.Ack(2, multiple=True)))
    talk.node()

    assert [body for act, _, body in talk.shown if act == "ack"] == [b"1", b"2"]


@pytest.mark.parametrize(
    ("method", "act"),
    [
        (spec.Basic.Nack(1, requeue=True), "nack"),
        (spec.Basic.Nack(1, requeue=False), "reject"),
        (spec.Basic.Reject(1, requeue=True), "nack"),
        (spec.Basic.Reject(1, requeue=False), "reject"),
        (spec.Basic.Recover(requeue=True), "nack"),
    ],
)
def test_what_is_refused(method: Any, act: str) -> None:
    talk = Talk()
    talk.deliver(1, b"7")
    talk.client(Method(1, method))
    talk.node()

    assert talk.shown[1:] == [(act, QUEUE, b"7")]


def test_a_delivery_without_acknowledgements_settles() -> None:
    talk = Talk(no_ack=True)
    talk.deliver(1, b"7")

    assert [act for act, _, _ in talk.shown] == ["given", "auto-ack"]
    assert not talk.connection.channels[1].held


def test_a_message_that_was_asked_for() -> None:
    talk = Talk()
    talk.client(Method(1, spec.Basic.Get(queue="others", no_ack=True)))
    talk.node(*content(spec.Basic.GetOk(1, False, "", "others", 0), b"7"))

    assert talk.shown == [("given", "others", b"7"), ("auto-ack", "others", b"7")]


def test_publishes_and_confirms() -> None:
    talk = Talk(confirms=True)
    for body in (b"1", b"2", b"3"):
        talk.publish(body)
    talk.node(Method(1, spec.Basic.Ack(2, multiple=True)))
    talk.node(Method(1, spec.Basic.Nack(3)))

    published = [("published", SINK, body) for body in (b"1", b"2", b"3")]
    assert talk.shown == [*published, ("confirmed", SINK, b"1"), ("confirmed", SINK, b"2")]


def test_what_was_returned_is_not_confirmed() -> None:
    talk = Talk(confirms=True)
    talk.publish(b"1")
    talk.node(*content(spec.Basic.Return(312, "NO_ROUTE", "", SINK), b"1"))
    talk.node(Method(1, spec.Basic.Ack(1)))

    assert talk.shown == [("published", SINK, b"1")]


def test_what_another_exchange_routes_has_no_known_queue() -> None:
    talk = Talk()
    talk.client(*content(spec.Basic.Publish(exchange="paid", routing_key=SINK), b"1", message_id="m"))

    assert talk.shown == [("published", "", b"1")]


def test_nobody_knows_whether_an_acknowledgement_before_a_reset_arrived() -> None:
    talk = Talk()
    talk.deliver(1, b"7")
    talk.client(Method(1, spec.Basic.Ack(1)))
    talk.add(talk.segment(APPLICATION, flags=RST))

    assert talk.shown[1:] == [("ack?", QUEUE, b"7")]
    assert not talk.connection.channels


def test_an_acknowledgement_before_an_orderly_end_arrives() -> None:
    talk = Talk()
    talk.deliver(1, b"7")
    talk.client(Method(1, spec.Basic.Ack(1)))
    talk.add(talk.segment(APPLICATION, flags=FIN | ACK))
    talk.node()

    assert talk.shown[1:] == [("ack", QUEUE, b"7")]


def test_frames_in_pieces_late_and_twice() -> None:
    talk = Talk()
    whole = marshalled(*content(spec.Basic.Deliver("tag", 1, False, "", QUEUE), b"7" * 300))
    pieces = [talk.segment(NODE, whole[at : at + 50]) for at in range(0, len(whole), 50)]
    for piece in [pieces[0], pieces[2], pieces[1], pieces[2], *pieces[3:]]:
        talk.add(piece)

    assert talk.shown == [("given", QUEUE, b"7" * 300)]


def test_a_body_in_several_frames_between_heartbeats() -> None:
    talk = Talk()
    method = Method(1, spec.Basic.Deliver("tag", 1, True, "", QUEUE))
    header = Header(1, 2, spec.BasicProperties(headers={"x-delivery-count": 3}))
    (passed,) = talk.connection.add(
        talk.segment(NODE, marshalled(method, header, Body(1, b"a"), Heartbeat(), Body(1, b"b")))
    )

    assert (passed.record.value, passed.earlier) == (b"ab", 3)


def test_a_closed_channel_holds_nothing() -> None:
    talk = Talk()
    talk.deliver(1, b"7")
    talk.client(Method(1, spec.Channel.Close(200, "bye", 0, 0)))

    assert not talk.connection.channels


def test_what_is_no_amqp_cannot_be_read() -> None:
    talk = Talk()
    talk.add(talk.segment(NODE, b"HTTP/1.1 200 OK\r\n\r\n"))

    assert talk.connection.unreadable


def test_a_stream_whose_segment_did_not_pass_is_torn() -> None:
    stream = Stream(10)
    stream.add(10, b"ab")
    stream.add(14, b"ef")
    stream.acknowledged(16, 0)
    assert not stream.torn, "it may pass late"
    stream.acknowledged(16, 2_000_000_000)

    assert stream.torn


def test_a_stream_that_is_late_is_whole() -> None:
    stream = Stream(10)
    stream.acknowledged(12, 0)
    assert stream.add(10, b"ab") == b"ab"
    stream.acknowledged(12, 2_000_000_000)

    assert not stream.torn


class Wire:
    """Packets that a test lets pass."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self.segments: list[Segment] = []
        self.missed = 0

    def read(self, timeout_s: float) -> list[Segment]:
        segments, self.segments = self.segments, []
        return segments

    def dropped(self) -> int:
        return self.missed


@pytest.fixture
def traffic(monkeypatch: pytest.MonkeyPatch) -> RabbitTraffic:
    monkeypatch.setattr(observer, "Packets", Wire)
    return RabbitTraffic([APPLICATION[0]], NODE[1])


def passes(traffic: RabbitTraffic, *segments: Segment) -> list[str]:
    """These segments pass; return what they show."""
    wire: Any = traffic._packets
    wire.segments += segments
    return [passed.act for passed in traffic.poll(0)]


def recorded(*, no_ack: bool = False) -> tuple[Talk, list[Segment]]:
    """A talk whose segments are kept."""
    segments: list[Segment] = []

    class Kept(Talk):
        def segment(self, *given: Any, **how: Any) -> Segment:
            segments.append(super().segment(*given, **how))
            return segments[-1]

    return Kept(no_ack=no_ack), segments


def test_who_consumes_and_what_they_hold(traffic: RabbitTraffic) -> None:
    talk, segments = recorded()
    talk.deliver(1, b"7")
    assert passes(traffic, *segments) == ["given"]
    assert (traffic.consumers(QUEUE), traffic.consumers(SINK)) == ({APPLICATION[0]}, set())
    assert (traffic.held(QUEUE), traffic.held(SINK), traffic.gap) == (1, 0, "")

    talk.client(Method(1, spec.Basic.Ack(1)))
    assert passes(traffic, segments[-1]) == []
    assert [(passed.act, passed.arrived) for passed in traffic.end()] == [("ack", False)]


def test_a_connection_begins_again_on_the_same_ports(traffic: RabbitTraffic) -> None:
    talk, segments = recorded()
    talk.deliver(1, b"7")
    talk.client(Method(1, spec.Basic.Ack(1)))
    _, others = recorded()

    assert passes(traffic, *segments) == ["given"]
    assert passes(traffic, *others) == ["ack"]
    assert traffic.held(QUEUE) == 0


def test_a_reset_ends_a_connection_and_what_comes_late_is_no_gap(traffic: RabbitTraffic) -> None:
    talk, segments = recorded()
    passes(traffic, *segments, talk.segment(APPLICATION, flags=RST), talk.segment(NODE, b"late"))

    assert (traffic.consumers(QUEUE), traffic.gap) == (set(), "")


def test_a_connection_that_did_not_begin_is_a_gap(traffic: RabbitTraffic) -> None:
    _, segments = recorded()
    passes(traffic, *segments[2:])

    assert "did not begin while it was observed" in traffic.gap


def test_packets_that_were_missed_are_a_gap(traffic: RabbitTraffic) -> None:
    wire: Any = traffic._packets
    wire.missed = 1
    passes(traffic)

    assert "faster than they could be read" in traffic.gap


def test_what_cannot_be_read_is_a_gap(traffic: RabbitTraffic) -> None:
    talk, segments = recorded()
    passes(traffic, *segments, talk.segment(NODE, b"HTTP/1.1 200 OK"))

    assert "could not be read" in traffic.gap


def test_others_are_not_looked_at(traffic: RabbitTraffic) -> None:
    elsewhere = Segment(("10.0.0.9", 1), NODE, 0, 0, ACK, b"AMQP", 0)
    other_port = Segment(APPLICATION, ("10.0.0.1", 80), 0, 0, ACK, b"GET", 0)

    assert (passes(traffic, elsewhere, other_port), traffic.gap) == ([], "")


def test_a_segment_in_a_frame() -> None:
    tcp = struct.pack(">HHIIBBHHH", 40_000, 5672, 7, 9, 5 << 4, ACK, 0, 0, 0) + b"AMQP"
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, bytes([10, 0, 0, 4]), bytes([10, 0, 0, 1])
    )
    segment = segment_of(bytes(12) + b"\x08\x00" + ip + tcp + b"padding", 5)

    assert segment == Segment(APPLICATION, NODE, 7, 9, ACK, b"AMQP", 5)
    assert segment_of(bytes(60), 5) is None
