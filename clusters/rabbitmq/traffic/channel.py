"""What a channel of AMQP 0.9.1 shows of messages: deliveries, settlements, publishes and confirms."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pika import spec

from chaoskit.contract.clients.application import ReadRecord
from chaoskit.contract.clients.traffic import Act
from chaoskit.model.message import NO_POSITION
from clusters.rabbitmq.clients.properties import delivered_before, headers_of


class Shown(NamedTuple):
    """What a frame shows of a message."""

    act: Act
    record: ReadRecord
    earlier: int | None = None


class Content(NamedTuple):
    """A method with its content."""

    method: Any
    properties: spec.BasicProperties
    body: bytes


@dataclass
class ObservedChannel:
    """A channel.

    Attributes:
        consumers: queue, and whether it is settled by delivery, of each consumer, by its tag.
        gets: queues from which single messages are asked for.
        held: messages that were delivered and not settled, by delivery tag.
    """

    consumers: dict[str, tuple[str, bool]] = field(default_factory=dict)
    gets: set[str] = field(default_factory=set)
    held: dict[int, ReadRecord] = field(default_factory=dict)
    _asked: deque[tuple[str, bool]] = field(default_factory=deque)
    _getting: deque[tuple[str, bool]] = field(default_factory=deque)
    _confirms: bool = False
    _published: int = 0
    _open: dict[int, ReadRecord] = field(default_factory=dict)
    _returned: list[bytes] = field(default_factory=list)

    def from_client(self, method: Any) -> list[Shown]:
        """Return what a method without content shows that the client sent."""
        if isinstance(method, spec.Basic.Consume):
            if method.nowait:
                self.consumers[method.consumer_tag] = method.queue, method.no_ack
            else:
                self._asked.append((method.queue, method.no_ack))
        elif isinstance(method, spec.Basic.Get):
            self.gets.add(method.queue)
            self._getting.append((method.queue, method.no_ack))
        elif isinstance(method, spec.Basic.Cancel):
            self.consumers.pop(method.consumer_tag, None)
        elif isinstance(method, spec.Confirm.Select):
            self._confirms = True
        elif isinstance(method, spec.Basic.Ack):
            return self._settled("ack", method.delivery_tag, multiple=method.multiple)
        elif isinstance(method, spec.Basic.Nack):
            how: Act = "nack" if method.requeue else "reject"
            return self._settled(how, method.delivery_tag, multiple=method.multiple)
        elif isinstance(method, spec.Basic.Reject):
            return self._settled("nack" if method.requeue else "reject", method.delivery_tag)
        elif isinstance(method, spec.Basic.Recover):
            return self._settled("nack", 0, multiple=True)
        return []

    def from_node(self, method: Any) -> list[Shown]:
        """Return what a method without content shows that the node sent."""
        if isinstance(method, spec.Basic.ConsumeOk) and self._asked:
            self.consumers[method.consumer_tag] = self._asked.popleft()
        elif isinstance(method, spec.Basic.GetEmpty) and self._getting:
            self._getting.popleft()
        elif isinstance(method, spec.Basic.Cancel):
            self.consumers.pop(method.consumer_tag, None)
        elif isinstance(method, spec.Basic.Ack):
            records = _taken(self._open, method.delivery_tag, multiple=method.multiple)
            return [Shown("confirmed", record) for record in records if not self._was_returned(record)]
        elif isinstance(method, spec.Basic.Nack):
            _taken(self._open, method.delivery_tag, multiple=method.multiple)
        return []

    def published(self, content: Content) -> list[Shown]:
        """Return what a method with content shows that the client sent."""
        method = content.method
        # Another exchange's queues are not known here.
        record = _record("" if method.exchange else method.routing_key, content)
        if self._confirms:
            self._published += 1
            self._open[self._published] = record
        return [Shown("published", record)]

    def delivered(self, content: Content) -> list[Shown]:
        """Return what a method with content shows that the node sent."""
        method = content.method
        if isinstance(method, spec.Basic.Return):
            self._returned.append(content.body)
            return []
        if isinstance(method, spec.Basic.GetOk):
            queue, no_ack = self._getting.popleft() if self._getting else ("", False)
        else:
            queue, no_ack = self.consumers.get(method.consumer_tag, ("", False))
        record = _record(queue, content)
        earlier = delivered_before(content.properties, redelivered=method.redelivered)
        given = [Shown("given", record, earlier)]
        if no_ack:
            return [*given, Shown("auto-ack", record)]
        self.held[method.delivery_tag] = record
        return given

    def _settled(self, how: Act, tag: int, *, multiple: bool = False) -> list[Shown]:
        return [Shown(how, record) for record in _taken(self.held, tag, multiple=multiple)]

    def _was_returned(self, record: ReadRecord) -> bool:
        if record.value not in self._returned:
            return False
        self._returned.remove(record.value)
        return True


def _record(queue: str, content: Content) -> ReadRecord:
    return ReadRecord(queue, 0, NO_POSITION, None, content.body, headers_of(content.properties))


def _taken(open_: dict[int, ReadRecord], tag: int, *, multiple: bool) -> list[ReadRecord]:
    """Remove what a tag names, with all before it or alone; 0 names everything."""
    if not multiple:
        return [open_.pop(tag)] if tag in open_ else []
    tags = [known for known in open_ if tag in (0, known) or known < tag]
    return [open_.pop(known) for known in tags]
