"""Clients of the feed workload: what is received and subscribed, how that is recorded, and who answers the roll."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from loads import RUN, Load, Powers, rows_of
from pydantic import ValidationError

from chaoskit.contract.clients.feed import SubscriptionChange
from chaoskit.contract.workloads.datamodel import PUBSUB
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Task
from chaoskit.history.format.models import write_topics
from chaoskit.model import payload
from chaoskit.model.audit import Drained
from chaoskit.model.message import NO_POSITION, Delivery
from chaoskit.model.observations.feed import Promise
from chaoskit.model.operation import AUDITOR
from chaoskit.model.outcome import OK
from workloads.feed import auditor
from workloads.feed.options import FeedOptions
from workloads.feed.workload import FeedWorkload

PROBE = 1 << 40
OPTIONS = FeedOptions(rate="max", producers=1, consumers=1)


class Feed(Powers):
    """A feed in memory: one subscriber of each name, whose messages wait for it."""

    def __init__(self, *values: int, answers: bool = True, **promised: Any) -> None:
        self.promised = promised
        self.joined_ns = 0
        self.waiting = [("feed-0", payload.Writer(RUN, 100).build(value, 1, 1)) for value in values]
        self.published: list[tuple[str, bytes]] = []
        self.answers = answers
        self.names: list[str] = []

    def promise(self, publishing: Any, subscribing: Any) -> Promise:
        return Promise("exactly-once", lasting=True, **self.promised)

    def feed_publisher(self, settings: Any, name: str, topics: Any, completed: Any) -> Any:
        self.names.append(name)
        return _Publisher(self, completed)

    def feed_subscriber(self, settings: Any, name: str, topics: Any) -> Any:
        self.names.append(name)
        self.joined_ns = time.monotonic_ns()
        return _Subscriber(self, topics)


class _Publisher:
    def __init__(self, feed: Feed, completed: Any) -> None:
        self.feed, self.completed = feed, completed

    def send(self, topic: str, partition: int, key: Any, content: bytes, token: int) -> bool:
        self.feed.published.append((topic, content))
        self.completed(token, OK, None, None)
        return True

    def pending(self) -> int:
        return 0

    def poll(self, timeout_s: float) -> None: ...
    def close(self, timeout_s: float) -> None: ...


class _Subscriber:
    """A subscriber; it is asked for answers if it listens to the roll."""

    def __init__(self, feed: Feed, topics: list[str]) -> None:
        self.feed, self.topics = feed, topics
        self.changed = [SubscriptionChange("subscribed", topic, 100, 200) for topic in topics]

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], str | None]:
        if self.topics == ["roll-0"]:
            answers = [("roll-0", b"0 feed-0")] if self.feed.answers else []
        else:
            answers, self.feed.waiting = self.feed.waiting, []
        return [Delivery(topic, 0, None, content, NO_POSITION, 0) for topic, content in answers], None

    def changes(self) -> list[SubscriptionChange]:
        changed, self.changed = self.changed, []
        return changed

    def close(self, *, abruptly: bool = False) -> None:
        self.changed = [SubscriptionChange("unsubscribed", topic, 300, 400) for topic in self.topics]


def _load(folder: Path, feed: Feed) -> Load:
    load = Load(folder, FeedWorkload(), feed)
    write_topics(folder / "wal", {"feed-0": PUBSUB.name})
    return load


def test_a_publisher_sends_to_all_topics_in_turn(tmp_path: Path) -> None:
    feed = Feed()
    load = Load(tmp_path, FeedWorkload(), feed)
    load.work(Task(PRODUCER, 0), 3, FeedOptions(topics=2, rate="max"))

    assert {topic for topic, _ in feed.published} == {"feed-0", "feed-1"}
    assert feed.names == ["producer-0"]


def test_subscriptions_are_recorded_with_their_promise_and_how_uncertain_they_are(tmp_path: Path) -> None:
    load = _load(tmp_path, Feed(1, 2))
    load.work(Task(CONSUMER, 0), 2, OPTIONS)
    history = load.history()
    messages, observations = rows_of(history, "feed-0")
    spans = {row["op"]: row["end_ns"] - row["start_ns"] for row in history.operations.to_pylist()}

    assert [row["value"] for row in messages] == [1, 2]
    assert [(row["kind"], row["name"], row["value"]) for row in observations] == [
        ("subscribed", "exactly-once", 1),
        ("unsubscribed", "exactly-once", 1),
    ]
    assert [spans[row["op"]] for row in observations] == [100, 100]


@pytest.mark.parametrize(
    ("promised", "expected"),
    [({"replays": 3}, ("replayed", 3)), ({"retained": True}, ("retained", 1)), ({"keeps": 3}, None)],
)
def test_what_a_subscription_is_given_of_before_is_recorded(tmp_path: Path, promised: Any, expected: Any) -> None:
    load = _load(tmp_path, Feed(**promised))
    load.work(Task(CONSUMER, 0), 2, OPTIONS)
    _, observations = rows_of(load.history(), "feed-0")

    given = [(row["kind"], row["value"]) for row in observations if row["kind"] in ("replayed", "retained")]
    assert given == ([expected] if expected else [])
    assert observations[0]["position"] == promised.get("keeps")


def test_with_whom_a_subscription_is_shared_is_recorded(tmp_path: Path) -> None:
    load = _load(tmp_path, Feed(share="workers"))
    load.work(Task(CONSUMER, 0), 2, OPTIONS)
    _, observations = rows_of(load.history(), "feed-0")

    assert [row["name"] for row in observations if row["kind"] == "shared"] == ["workers"]


def test_the_last_subscribers_are_late_and_wait(tmp_path: Path) -> None:
    feed, began_ns = Feed(), time.monotonic_ns()
    options = FeedOptions(consumers=3, late=2, late_by=f"{began_ns // 10**6 + 200}ms")  # type: ignore[arg-type]
    _load(tmp_path, feed).work(Task(CONSUMER, 1), 100, options)

    assert [options.is_late(index) for index in range(3)] == [False, True, True]
    assert feed.joined_ns - began_ns > 190_000_000


def test_there_cannot_be_more_late_subscribers_than_subscribers() -> None:
    with pytest.raises(ValidationError, match="there are only 1 consumers"):
        FeedOptions(consumers=1, late=2)


@pytest.mark.parametrize(("index", "taken"), [(0, []), (1, [1])])
def test_the_first_subscribers_leave_and_take_nothing_more(tmp_path: Path, index: int, taken: list[int]) -> None:
    options = FeedOptions(consumers=2, leavers=1, leave_after="1ms")  # type: ignore[arg-type]
    load = _load(tmp_path, Feed(1))
    load.work(Task(CONSUMER, index), 5, options)
    history = load.history()

    assert [row["value"] for row in rows_of(history, "feed-0")[0]] == taken
    assert history.operations.to_pylist()[-1]["f"] == "close"
    assert options.leaves(index) == (not taken)


@pytest.mark.parametrize("given", [{"consumers": 1, "leavers": 2}, {"consumers": 2, "late": 1, "leavers": 2}])
def test_who_leaves_was_there_from_the_beginning(given: Any) -> None:
    with pytest.raises(ValidationError, match=r"leavers: 2: there are only .* late; reduce it"):
        FeedOptions(**given)
    with pytest.raises(ValidationError, match=r"leavers: 2: no consumer would stay; add consumers"):
        FeedOptions(consumers=2, leavers=2)


def test_a_subscriber_answers_each_message_of_the_final_read_once(tmp_path: Path) -> None:
    feed = Feed(1, PROBE, PROBE, PROBE + 1)
    _load(tmp_path, feed).work(Task(CONSUMER, 0), 2, OPTIONS)

    assert feed.published == [("roll-0", b"0 feed-0"), ("roll-0", b"0 feed-0")]


def test_a_client_has_the_same_name_after_a_crash(tmp_path: Path) -> None:
    feed = Feed()
    _load(tmp_path, feed).work(Task(CONSUMER, 0, incarnation=2), 1, OPTIONS)

    assert feed.names == ["consumer-0"]


def test_the_final_read_is_complete_once_everybody_has_answered(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(auditor, "_SETTLE_S", 0.0)
    load = _load(tmp_path, Feed())
    result = load.work(Task(AUDITOR, 0), 100, OPTIONS)

    assert result == {"accepted": True, "audited": True, "why": ""}
    assert load.history().audit("feed-0", 0) == Drained(complete=True)


def test_without_subscribers_nobody_is_listened_to(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(auditor, "_SETTLE_S", 0.0)
    feed = Feed()
    result = _load(tmp_path, feed).work(Task(AUDITOR, 0), 100, FeedOptions(rate="max", producers=1, consumers=0))

    assert (result["accepted"], result["audited"]) == (True, True)
    assert not any("roll" in name for name in feed.names)


def test_who_does_not_answer_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(auditor, "_AGAIN_S", 0.1)
    feed = Feed(answers=False)
    load = _load(tmp_path, feed)
    result = load.work(Task(AUDITOR, 0), 2, OPTIONS)

    assert not result["accepted"]
    assert result["why"] == "consumer-0 did not receive anything of feed-0"
    assert len(feed.published) > 1, "it publishes again for those that were away"
    assert load.history().audit("feed-0", 0) == Drained(complete=False)


def test_who_does_not_answer_for_many_topics_is_named_once() -> None:
    missing = {(0, f"feed-{topic}") for topic in range(5)} | {(2, "feed-1")}

    assert auditor._why(missing) == (
        "consumer-0 did not receive anything of feed-0, feed-1, feed-2 and 2 more topics; "
        "consumer-2 did not receive anything of feed-1"
    )
    assert auditor._why(()) == ""


@pytest.mark.parametrize("topics", [1, 3])
def test_each_topic_keeps_nothing(topics: int) -> None:
    declared = FeedWorkload().topics(FeedOptions(topics=topics), 1)

    assert [(topic.name, topic.model) for topic in declared] == [(f"feed-{number}", PUBSUB) for number in range(topics)]
