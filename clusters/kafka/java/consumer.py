"""A consumer of Kafka's own client: one request to it after the other."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from chaoskit.contract.client import Membership, PositionLost, Reached
from chaoskit.contract.cluster import ClusterError
from chaoskit.history.audits import Place
from chaoskit.history.recorder import Delivery
from chaoskit.history.schema import INFO, OK
from clusters.kafka.java import relay

_FRAME = struct.Struct(">ci")
_RECORD = struct.Struct(">qi")


class JavaConsumer:
    """See `chaoskit.contract.client.Consumer`.

    Args:
        path: class path of the relay.
        settings: all settings of the client, among them `group.id`.
    """

    def __init__(self, path: str, settings: Mapping[str, Any]) -> None:
        self._process = relay.start(path, "consumer", settings)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._group = str(settings["group.id"])
        self._commits_itself = str(settings.get("enable.auto.commit", False)).lower() != "false"
        self._membership: Membership | None = None
        self._reached: dict[Place, int] = {}
        self._rebalances = 0

    def assign(self, partitions: Sequence[Place]) -> None:
        self._ask(b"a" + relay.places(partitions))

    def subscribe(self, topics: Sequence[str], membership: Membership) -> None:
        self._membership = membership
        self._ask(b"s" + len(topics).to_bytes(4, "big") + b"".join(map(relay.text, topics)))

    def reached(self) -> Reached:
        return [] if self._commits_itself else [(*where, position) for where, position in self._reached.items()]

    def commit(self, reached: Reached) -> tuple[int, str | None]:
        told = [relay.text(topic) + struct.pack(">iq", number, position) for topic, number, position in reached]
        error = self._ask(b"c" + len(reached).to_bytes(4, "big") + b"".join(told)).text()
        return (INFO, error) if error else (OK, None)

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], list[PositionLost], str | None]:
        rebalances = self._rebalances
        answer = self._ask(b"p" + round(timeout_s * 1000).to_bytes(4, "big"))
        error = answer.text()
        lost = [PositionLost(*place, error) for place in answer.places()]
        deliveries: list[Delivery] = []
        reached: dict[Place, int] = {}
        for _ in range(answer.number()):
            place = answer.text(), answer.number()
            deliveries += answer.records(*place)
            reached[place] = deliveries[-1].position + 1
        if self._rebalances == rebalances:  # otherwise they may be of a partition that is not owned any more
            self._reached |= reached
        return deliveries, lost, None if lost else error or None

    def seek_to_beginning(self, topic: str, partition: int) -> None:
        self._reached.pop((topic, partition), None)
        self._ask(b"b" + relay.places([(topic, partition)]))

    def hold(self, *, paused: bool) -> None:
        self._ask(b"h" + bytes([paused]))

    def close(self) -> None:
        self._ask(b"x")
        self._in.close()
        self._out.close()
        self._process.wait()

    def _ask(self, request: bytes) -> _Answer:
        """Make a request and return the answer; meanwhile say what happens to partitions."""
        self._in.write(request)
        while True:
            kind, size = _FRAME.unpack(self._exactly(_FRAME.size))
            answer = _Answer(self._exactly(size))
            if kind == b"k":
                return answer
            self._moved(kind, answer)
            self._in.write(b"g")

    def _moved(self, kind: bytes, answer: _Answer) -> None:
        generation, owned = answer.number(), answer.places()
        assert self._membership is not None
        if kind == b"A":
            self._membership.assigned(self._group, generation if generation >= 0 else None, owned)
            return
        self._membership.revoked()
        self._rebalances += 1
        self._reached.clear()

    def _exactly(self, size: int) -> bytes:
        content = b""
        while len(content) < size:
            more = self._out.read(size - len(content))
            if not more:
                raise ClusterError("Kafka's Java client ended; see the client's log")
            content += more
        return content


class _Answer:
    """Reads a frame from its beginning."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def number(self) -> int:
        (number,) = struct.unpack_from(">i", self._content, self._at)
        self._at += 4
        return int(number)

    def text(self) -> str:
        (size,) = struct.unpack_from(">H", self._content, self._at)
        self._at += 2 + size
        return self._content[self._at - size : self._at].decode()

    def places(self) -> list[Place]:
        return [(self.text(), self.number()) for _ in range(self.number())]

    def records(self, topic: str, partition: int) -> list[Delivery]:
        found = []
        content, at, count = self._content, self._at, self.number()
        at += 4
        for _ in range(count):
            position, size = _RECORD.unpack_from(content, at)
            at += _RECORD.size
            key = None if size < 0 else content[at : at + size]
            at += max(0, size)
            size = int.from_bytes(content[at : at + 4], "big")
            at += 4 + size
            found.append(Delivery(topic, partition, key, content[at - size : at], position, None))
        self._at = at
        return found
