"""A consumer of a system's own (Java) client: one request to it after the other."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from chaoskit.contract.clients.client import Membership, PositionLost, Reached
from chaoskit.model.message import Delivery
from chaoskit.model.outcome import INFO, OK, Outcome
from chaoskit.model.place import Place
from clusters.common.relay import frames
from clusters.common.relay.dialogue import ANSWER, Dialogue
from clusters.common.relay.frames import RelayAnswer
from clusters.common.relay.process import Jvm


class JavaConsumer:
    """See `chaoskit.contract.clients.client.Consumer`.

    Args:
        jvm: the JVM of the client.
        group: name of the group that it may join.
        commits_itself: whether the client commits positions without being told to.
    """

    def __init__(self, jvm: Jvm, group: str, *, commits_itself: bool = False) -> None:
        self._dialogue = Dialogue(jvm)
        self._group = group
        self._commits_itself = commits_itself
        self._membership: Membership | None = None
        self._reached: dict[Place, int] = {}
        self._rebalances = 0
        self._closing = False

    def assign(self, partitions: Sequence[Place]) -> None:
        self._ask(b"a" + frames.places(partitions))

    def subscribe(self, topics: Sequence[str], membership: Membership) -> None:
        self._membership = membership
        self._ask(b"s" + len(topics).to_bytes(4, "big") + b"".join(map(frames.text, topics)))

    def reached(self) -> Reached:
        return [] if self._commits_itself else [(*where, position) for where, position in self._reached.items()]

    def commit(self, reached: Reached) -> tuple[Outcome, str | None]:
        entries = [frames.text(topic) + struct.pack(">iq", number, position) for topic, number, position in reached]
        error = self._ask(b"c" + len(reached).to_bytes(4, "big") + b"".join(entries)).text()
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
        self._ask(b"b" + frames.places([(topic, partition)]))

    def hold(self, *, paused: bool) -> None:
        self._ask(b"h" + bytes([paused]))

    def close(self) -> None:
        self._closing = True
        self._ask(b"x")
        self._dialogue.close()

    def _ask(self, request: bytes) -> RelayAnswer:
        """Make a request and return the answer; meanwhile say what happens to partitions."""
        self._dialogue.say(request)
        while True:
            kind, answer = self._dialogue.hear()
            if kind == ANSWER:
                return answer
            self._moved(kind, answer)
            self._dialogue.say(b"g")

    def _moved(self, kind: bytes, answer: RelayAnswer) -> None:
        generation, owned = answer.number(), answer.places()
        assert self._membership is not None
        if kind == b"R":
            self._membership.revoked()
            self._rebalances += 1
            self._reached = {place: position for place, position in self._reached.items() if place in owned}
            if self._closing or not owned:
                return
        self._membership.assigned(self._group, generation if generation >= 0 else None, owned)
