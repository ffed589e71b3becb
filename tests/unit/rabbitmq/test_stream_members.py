"""Members of groups and rstream's own producer, without a node: who is active, where it goes on, what is reported."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from rstream import ConfirmationStatus, schema
from rstream.exceptions import OffsetNotFound

from chaoskit.model.outcome import FAIL, INFO, OK, Outcome
from clusters.rabbitmq.connection import Addresses
from clusters.rabbitmq.streams.library import LibraryProducer
from clusters.rabbitmq.streams.member import StreamMember, _MemberLink
from clusters.rabbitmq.streams.messages import encoded

ACTIVE, WAITING = (schema.ConsumerUpdateResponse(7, 1, active) for active in (1, 0))


class _Node:
    """What a member is answered, and what it said."""

    def __init__(self, offset: int | None = None) -> None:
        self.offset = offset
        self.answers: list[tuple[int, int, int]] = []
        self.stored: list[tuple[str, str, int]] = []

    async def query_offset(self, stream: str, group: str) -> int:
        if self.offset is None:
            raise OffsetNotFound
        return self.offset

    async def store_offset(self, stream: str, group: str, offset: int) -> None:
        self.stored.append((stream, group, offset))

    async def consumer_update(self, correlation: int, where: Any) -> None:
        self.answers.append((correlation, int(where.offset_type), where.offset))


def _chunk(first: int, *payloads: bytes) -> Any:
    class Chunk:
        chunk_first_offset = first

        @staticmethod
        def get_messages() -> list[bytes]:
            return [encoded(None, payload) for payload in payloads]

    return Chunk()


def _link(node: _Node) -> Any:
    link: Any = _MemberLink(Addresses(["10.0.0.1"], 0), "log-0-1", {}, "group", "log-0")
    link.client = link.latest = node
    return link


class _Membership:
    def __init__(self) -> None:
        self.told: list[object] = []

    def assigned(self, group: str, generation: int | None, partitions: list[tuple[str, int]]) -> None:
        self.told.append(partitions)

    def revoked(self) -> None:
        self.told.append("revoked")


@pytest.mark.parametrize(("stored", "begins"), [(41, 42), (None, 0)])
def test_a_member_goes_on_behind_what_the_group_stored(stored: int | None, begins: int) -> None:
    node = _Node(stored)
    link = _link(node)
    link.arrived(_chunk(0, b"too early"))

    asyncio.run(link.activate(ACTIVE))
    link.arrived(_chunk(40, b"40", b"41", b"42"))

    assert node.answers == [(7, 4, begins)]
    assert [delivery.position for delivery in link.take(10)] == list(range(max(begins, 40), 43))


def test_one_that_is_told_to_wait_hands_over_nothing_more() -> None:
    node = _Node()
    link = _link(node)
    asyncio.run(link.activate(ACTIVE))
    link.arrived(_chunk(0, b"a"))

    asyncio.run(link.deactivate(WAITING))

    assert (link.take(10), link.active, node.answers[-1]) == ([], False, (7, 3, 0))


def test_a_group_is_told_who_is_active_and_commits_before_that_changes() -> None:
    node, membership = _Node(), _Membership()
    member: Any = StreamMember(["10.0.0.1"], {}, "group")
    link = member._members["log-0", 1] = _link(node)
    member._membership = membership

    link._pending.append(ACTIVE)
    member._follow(link)
    link.arrived(_chunk(0, b"a", b"b"))
    link.take(10)
    reached = member.reached()
    outcome, error = member.commit(reached)
    again = member.reached()
    link._pending.append(WAITING)
    member._follow(link)
    link.client = None
    member.close()

    assert reached == [("log-0", 1, 2)]
    assert (outcome, error, again) == (INFO, "NoReceipt", [])
    assert node.stored == [("log-0-1", "group", 1)]
    assert membership.told == [[("log-0", 1)], "revoked", []]


def test_a_connection_that_is_lost_ends_being_active() -> None:
    membership = _Membership()
    member: Any = StreamMember(["10.0.0.1"], {}, "group")
    link = member._members["log-0", 1] = _link(_Node())
    member._membership = membership
    asyncio.run(link.activate(ACTIVE))

    link.lost("ConnectionClosed")
    member._follow(link)
    member._follow(link)
    link.client = None
    member.close()

    assert membership.told == ["revoked", []]


class _Sends(list[tuple[int, int, str | None]]):
    def __call__(
        self, token: int, outcome: Outcome, error: str | None, position: int | None, delivered_ns: int | None = None
    ) -> None:
        self.append((token, outcome, error))


def test_what_rstream_reports_counts_once_and_what_it_never_got_failed() -> None:
    sends = _Sends()
    producer: Any = LibraryProducer("10.0.0.1", {}, sends)
    producer._again_at = float("inf")
    producer._unconfirmed = {1, 2, 3, 4}

    producer._reported(1, ConfirmationStatus(10, True))
    producer._reported(1, ConfirmationStatus(11, False, -1))
    producer._reported(2, ConfirmationStatus(12, False, -1))
    producer._reported(3, ConfirmationStatus(13, False, 6))
    producer.send("log-0", 0, None, b"", 5)
    producer.close(0)

    assert sends == [
        (1, OK, None),
        (2, INFO, "ConnectionClosed"),
        (3, INFO, "StreamNotAvailable"),
        (5, FAIL, "not connected"),
        (4, INFO, "no confirm in time"),
    ]
