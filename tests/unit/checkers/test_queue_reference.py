"""The checker of queues agrees with the definitions, on histories that broken queues might leave behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st
from queue_story import D, Q, Queue, seen
from reference_queue import MS, Row
from reference_queues import CASES, findings
from story import Story, received, sent

from chaoskit.contract.checkers.checker import FaultWindow
from chaoskit.model.message import PRODUCER_SHIFT
from checkers.queue.queues import QueueChecker

VALUES = st.sampled_from([0, 1, 2, 3, 4, 1 << PRODUCER_SHIFT])
STEPS_MS = st.sampled_from([1, 10, 10, 10, 100, 600, 1100, 1100, 20_000, 40_000])
REASONS = st.sampled_from(["rejected", "rejected", "expired", "maxlen", "delivery_limit", "other-queue", "strange"])
OUTCOMES = st.sampled_from(["ok", "ok", "ok", "ok", "info", "fail"])
FOCUSED: list[dict[str, int]] = [
    {"priorities": 3, "prefetch": 1},
    {"priorities": 3, "prefetch": 2, "message_ttl": 3000},
    {"message_ttl": 500},
    {"message_ttl": 500, "delay": 3000},
    {"max_length": 2},
    {"single_active": 1},
    {"single_active": 1},
]
AS_ELSEWHERE = {"failed-visible", "phantom", "corrupt", "misrouted", "unavailable", "slow-recovery", "latency-outlier"}
"""Found by code that other models share, and compared there."""


@st.composite
def settings(draw: st.DrawFn) -> dict[str, int]:
    """What a queue may be declared with; some contradict each other."""
    known: dict[str, st.SearchStrategy[int]] = {
        "message_ttl": st.sampled_from([0, 500, 3000, 50_000]),
        "delay": st.sampled_from([500, 3000]),
        "max_length": st.integers(0, 4),
        "delivery_limit": st.integers(0, 2),
        "priorities": st.sampled_from([1, 3]),
        "prefetch": st.integers(0, 2),
        "single_active": st.integers(0, 1),
        "dead_letters": st.integers(0, 1),
        "unrouted": st.just(0),
        "nacks_free": st.just(1),
        "ends_free": st.just(1),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(known)), max_size=4, unique=True))
    return {name: draw(known[name]) for name in chosen}


class _Maker:
    """Adds operations to a story, one after the other; a client does one thing at a time."""

    def __init__(self, draw: st.DrawFn, given_settings: dict[str, int] | None = None) -> None:
        self.draw = draw
        named = draw(settings()) if given_settings is None else given_settings
        self.story = Queue.of(0, complete=draw(st.sampled_from([True, True, True, False])), **named)
        self.story.load_end_ns = draw(st.sampled_from([None, 100_000 * MS]))
        self.busy_ms: dict[str, int] = {}
        self.now_ms = 100

    def op(
        self, client: str, f: str, *rows: Row, outcome: str = "ok", long: bool = False, error: str | None = None
    ) -> None:
        self.now_ms = max(self.now_ms + self.draw(STEPS_MS), self.busy_ms.get(client, 0))
        lasts = self.draw(st.sampled_from([5, 5, 700, 5000] if long else [5]))
        self.busy_ms[client] = self.now_ms + lasts
        self.story.op(client, f, *rows, start=self.now_ms, lasts=lasts, outcome=outcome, error=error)

    def send(self) -> None:
        value, priority = self.draw(VALUES), self.draw(st.sampled_from([None, 0, 1, 2]))
        priorities = () if priority is None else (seen("prioritised", value=value, position=priority),)
        outcome = self.draw(OUTCOMES)
        self.op(self.draw(st.sampled_from("pq")), "send", sent(Q, value), *priorities, outcome=outcome, long=True)

    def receive(self, client: str | None = None, place: str = Q) -> None:
        rows = [
            received(place, value, None, delivery=self.draw(st.sampled_from([0, 0, 0, 1, None])), payload=payload)
            for value, payload in self.draw(
                st.lists(st.tuples(VALUES, st.sampled_from(["ok", "ok", "ok", "corrupt"])), max_size=4)
            )
        ]
        outcome, error = self.draw(
            st.sampled_from(
                [("ok", None), ("ok", None), ("ok", None), ("fail", "StreamLostError"), ("fail", "not connected")]
            )
        )
        rows = [] if error == "not connected" else rows
        self.op(client or self.draw(st.sampled_from("abc")), "receive", *rows, outcome=outcome, error=error)

    def settle(self, client: str | None = None, place: str = Q) -> None:
        how, kind = self.draw(
            st.sampled_from([("ack", "acked"), ("ack", "acked"), ("nack", "nacked"), ("reject", "rejected")])
        )
        values = self.draw(st.lists(VALUES, min_size=1, max_size=3))
        rows = [seen(kind, place, value=value) for value in values]
        self.op(client or self.draw(st.sampled_from("abc")), how, *rows, outcome=self.draw(OUTCOMES))

    def serve(self, client: str, left: list[int]) -> None:
        """A consumer is given one of the messages that are left, and acknowledges it."""
        if left:
            value = left.pop(self.draw(st.integers(0, len(left) - 1)))
            self.op(client, "receive", received(Q, value, None, delivery=0))
            self.op(client, "ack", seen("acked", value=value))

    def control(self) -> None:
        f, client = (
            self.draw(st.sampled_from(["subscribe", "subscribe", "crash", "close"])),
            self.draw(st.sampled_from("abcd")),
        )
        observed = (seen("subscribed"),) if f == "subscribe" and self.draw(st.booleans()) else ()
        self.op(client, f, *observed, long=True)

    def dead(self) -> None:
        value, count = self.draw(VALUES), self.draw(st.sampled_from([0, 1, 1, None]))
        death = seen("dead-lettered", name=self.draw(REASONS), value=value, position=count)
        delivery = self.draw(st.sampled_from([0, 0, 1]))
        self.op("d", "receive", received(D, value, None, delivery=delivery), death)
        if self.draw(st.booleans()):
            self.settle("d", D)

    def audit(self) -> None:
        if self.draw(st.booleans()):
            self.op("auditor", "send", sent(Q, 3))
        depth = self.draw(st.sampled_from([None, 0, 1, 2, 5]))
        depths = () if depth is None else (seen("depth", position=depth),)
        self.op("auditor", "audit", *depths, outcome=self.draw(st.sampled_from(["ok", "ok", "info"])))
        self.op("auditor", "subscribe")
        for _ in range(self.draw(st.integers(0, 2))):
            self.receive("auditor", self.draw(st.sampled_from([Q, Q, D])))
        if self.draw(st.booleans()):
            self.settle("auditor")


@st.composite
def queue_stories(draw: st.DrawFn) -> Story:
    """Producers, consumers of a queue and of its dead letters, and a final read, all at random."""
    maker = _Maker(draw)
    actions: list[Callable[[], Any]] = [
        maker.send, maker.send, maker.send, maker.receive, maker.receive, maker.settle, maker.settle, maker.control,
        maker.dead,
    ]  # fmt: skip
    for _ in range(draw(st.integers(1, 16))):
        draw(st.sampled_from(actions))()
    if draw(st.sampled_from([True, True, True, False])):
        maker.audit()
    if draw(st.integers(0, 4)) == 0:
        start_ns = draw(st.integers(0, 60_000)) * MS
        healed_ns = draw(st.sampled_from([None, start_ns + 1000 * MS]))
        maker.story.faults = (FaultWindow(0, "kill", start_ns, start_ns, healed_ns),)
    return maker.story


@st.composite
def orderly_stories(draw: st.DrawFn) -> Story:
    """Each message is delivered once and settled, in any order, by consumers that come and go; the final read gets the
    rest."""
    maker = _Maker(draw, draw(st.sampled_from(FOCUSED)))
    for client in "ab":
        maker.op(client, "subscribe", seen("subscribed"))
    left: list[int] = []
    for value in range(draw(st.integers(2, 8))):
        observation = seen("prioritised", value=value, position=draw(st.integers(0, 2)))
        maker.op(draw(st.sampled_from("pq")), "send", sent(Q, value), observation)
        left.append(value)
        if draw(st.booleans()):
            maker.serve(draw(st.sampled_from("ab")), left)
        if draw(st.integers(0, 5)) == 0:
            maker.op(draw(st.sampled_from("ab")), draw(st.sampled_from(["crash", "close", "subscribe"])))
    for _ in range(draw(st.integers(0, len(left)))):
        maker.serve(draw(st.sampled_from("ab")), left)
    maker.op("auditor", "audit")
    maker.op("auditor", "subscribe")
    rest = draw(st.permutations(left))
    maker.op("auditor", "receive", *(received(Q, value, None, delivery=0) for value in rest))
    return maker.story


def assert_agreed(story: Story) -> None:
    """Compare what is found in each queue with its definitions."""
    judged = [row for row in story.check() if row["anomaly"] not in AS_ELSEWHERE]
    places = {(row["topic"], row["partition"]) for row in (*story.messages, *story.observations)}
    for topic, partition in places:
        expected = findings(story, f"{topic}/{partition}")
        for name in expected:
            event(name)
        here = [row for row in judged if row["topic"] == topic]
        assert {row["anomaly"] for row in here} == set(expected)
        for name, rows in expected.items():
            own = [row for row in here if row["anomaly"] == name]
            wanted = [{key: value for key, value in row.items() if value is not None} for row in rows]
            assert len(own) == len(wanted), name
            assert all(any(want.items() <= row.items() for row in own) for want in wanted), name


@given(st.one_of(queue_stories(), orderly_stories()))
def test_findings_are_those_of_the_definitions(story: Story) -> None:
    assert_agreed(story)


def test_every_anomaly_has_a_definition() -> None:
    assert {anomaly.name for anomaly in QueueChecker.anomalies} - AS_ELSEWHERE == set(CASES)
