"""A connection of AMQP 0.9.1, read from its segments."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from pika import frame, spec
from pika.exceptions import AMQPError

from chaoskit.contract.clients.traffic import Passed
from clusters.rabbitmq.traffic.channel import Content, ObservedChannel, Shown
from clusters.rabbitmq.traffic.packets import ACK, FIN, RST, SYN, Segment
from clusters.rabbitmq.traffic.stream import Stream

_WITH_CONTENT = (spec.Basic.Publish, spec.Basic.Deliver, spec.Basic.GetOk, spec.Basic.Return)
_BEGINS = frozenset((spec.FRAME_METHOD, spec.FRAME_HEADER, spec.FRAME_BODY, spec.FRAME_HEARTBEAT, *b"A"))
"""The first bytes of frames, and of the greeting."""

_SETTLES = ("ack", "nack", "reject")


class _Frames:
    """The frames of one direction: methods, and methods with their content."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._method: dict[int, Any] = {}
        self._header: dict[int, frame.Header] = {}
        self._body: dict[int, bytes] = {}

    def add(self, content: bytes) -> Iterator[tuple[int, Any]]:
        """Yield the channel, and the method or `Content`, of what is now whole."""
        self._bytes += content
        while self._bytes:
            if self._bytes[0] not in _BEGINS:
                raise ValueError(f"a frame of type {self._bytes[0]}, which is none of AMQP 0.9.1")
            size, whole = frame.decode_frame(bytes(self._bytes))
            if not size:
                return
            del self._bytes[:size]
            yield from self._of(whole)

    def _of(self, whole: Any) -> Iterator[tuple[int, Any]]:
        if isinstance(whole, frame.Method):
            if isinstance(whole.method, _WITH_CONTENT):
                self._method[whole.channel_number] = whole.method
            else:
                yield whole.channel_number, whole.method
        elif isinstance(whole, frame.Header):
            self._header[whole.channel_number], self._body[whole.channel_number] = whole, b""
            yield from self._complete(whole.channel_number)
        elif isinstance(whole, frame.Body):
            self._body[whole.channel_number] += whole.fragment
            yield from self._complete(whole.channel_number)

    def _complete(self, channel: int) -> Iterator[tuple[int, Any]]:
        header = self._header[channel]
        if len(self._body[channel]) >= header.body_size:
            yield channel, Content(self._method.pop(channel), header.properties, self._body.pop(channel))


class ObservedConnection:
    """A connection of an instance with a node.

    Args:
        member: the address of the instance's host.
        syn: the segment with which it began.

    Attributes:
        channels: its channels by number; none once it is closed.
        unreadable: why it cannot be read any more; empty if it can.
    """

    def __init__(self, member: str, syn: Segment) -> None:
        self.channels: dict[int, ObservedChannel] = {}
        self.unreadable: str = ""
        self._member = member
        self._sent = Stream(syn.seq + 1)
        self._answered: Stream | None = None
        self._requests, self._answers = _Frames(), _Frames()
        self._underway: deque[tuple[int, Passed]] = deque()

    def add(self, segment: Segment) -> list[Passed]:
        """Return what a segment shows."""
        if self.unreadable:
            return []
        try:
            passed = self._of_client(segment) if segment.source[0] == self._member else self._of_node(segment)
        except (AMQPError, ValueError, KeyError, IndexError) as error:
            self.unreadable = f"{type(error).__name__}: {error}"
            return []
        if self._sent.torn or (self._answered is not None and self._answered.torn):
            self.unreadable = "packets are missing"
        if segment.flags & (FIN | RST):
            self.channels = {}
        return [*passed, *self.end()] if segment.flags & RST else passed

    def end(self) -> list[Passed]:
        """Return the settlements of which nobody knows whether they arrived."""
        passed = [event._replace(arrived=False) for _, event in self._underway]
        self._underway.clear()
        return passed

    def _of_client(self, segment: Segment) -> list[Passed]:
        if segment.flags & ACK and self._answered is not None:
            self._answered.acknowledged(segment.ack, segment.at_ns)
        passed: list[Passed] = []
        content = self._sent.add(segment.seq, segment.content)
        for number, method in self._requests.add(content) if content else ():
            shown = self._shown(number, method, ObservedChannel.published, ObservedChannel.from_client)
            for event in self._passed(shown, segment):
                if event.act in _SETTLES:
                    self._underway.append((self._sent.position, event))
                else:
                    passed.append(event)
        return passed

    def _of_node(self, segment: Segment) -> list[Passed]:
        if segment.flags & SYN:
            self._answered = self._answered or Stream(segment.seq + 1)
        if self._answered is None:
            return []
        passed: list[Passed] = []
        if segment.flags & ACK:
            arrived = self._sent.acknowledged(segment.ack, segment.at_ns)
            while self._underway and self._underway[0][0] <= arrived:
                passed.append(self._underway.popleft()[1])
        content = self._answered.add(segment.seq, segment.content)
        for number, method in self._answers.add(content) if content else ():
            passed += self._passed(
                self._shown(number, method, ObservedChannel.delivered, ObservedChannel.from_node), segment
            )
        return passed

    def _shown(
        self,
        number: int,
        method: Any,
        with_content: Callable[[ObservedChannel, Content], list[Shown]],
        without: Callable[[ObservedChannel, Any], list[Shown]],
    ) -> list[Shown]:
        """Return what a message shows; a channel that is closed is forgotten."""
        if isinstance(method, spec.Channel.Close | spec.Channel.CloseOk):
            self.channels.pop(number, None)
            return []
        channel = self.channels.setdefault(number, ObservedChannel())
        return with_content(channel, method) if isinstance(method, Content) else without(channel, method)

    def _passed(self, shown: list[Shown], segment: Segment) -> list[Passed]:
        return [Passed(event.act, self._member, event.record, event.earlier, segment.at_ns) for event in shown]
