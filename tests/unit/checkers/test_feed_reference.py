"""The checker of topics that keep nothing agrees with the definitions."""

from __future__ import annotations

from typing import Any

from feed_story import F, Feed
from gallery_log import MS, OTHER
from hypothesis import event, given
from hypothesis import strategies as st
from reference_feed_stays import findings_of_stays
from reference_feeds import findings

from chaoskit.model.observations.feed import PROMISES
from checkers.pubsub import PubSubChecker

JUDGED = {
    "lost", "unseen", "missed", "duplicate", "redelivered", "fifo-violation", "late-joiner-lost", "stale",
    "unnoticed", "false-alarm", "not-owner", "misrouted", "stuck",
}  # fmt: skip


def test_what_was_sent_before_a_subscription_was_confirmed_is_not_due() -> None:
    story = Feed.of()
    story.join("c", start=0, lasts=100)
    story.publish(1, start=50)
    story.publish(2, start=150)
    story.take("c", 2, start=200)

    assert story.names() == set()


def test_what_is_under_way_when_a_subscription_ends_is_not_due() -> None:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, start=1000)
    story.leave("c", start=2900)

    assert story.names() == set()


def test_who_was_there_for_two_seconds_and_idle_must_have_got_it() -> None:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, start=1000)
    story.leave("c", start=3005)

    assert story.names() == {"lost"}


class _Maker:
    """Adds operations to a story, one after the other; a client does one thing at a time."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        keeps = draw(st.sampled_from([None, None, 1, 2]))
        given: dict[str, Any] = draw(
            st.sampled_from([{}, {"replays": 1}, {"replays": 2}, {"retained": True}, {"share": "g"}])
        )
        settings: dict[str, Any] = draw(st.sampled_from([{}, {"liveliness_ns": 300 * MS}, {"deadline_ns": 300 * MS}]))
        if draw(st.booleans()):
            settings = {"liveliness_ns": 300 * MS, "exclusive": True}
        self.story = Feed.of(
            draw(st.sampled_from(PROMISES)), lasting=draw(st.booleans()), keeps=keeps, **given, **settings
        )
        self.story.bound_ns = 1500 * MS
        self.story.load_end_ns = draw(st.sampled_from([None, 4000 * MS, 20_000 * MS]))
        self.now_ms = 0
        self.there: set[str] = set()
        self.fresh = 10

    def step(self) -> None:
        self.now_ms += self.draw(st.sampled_from([10, 10, 50, 700, 1990, 2100]))
        client = self.draw(st.sampled_from(["c", "c", "c#1", "d"]))
        value = self.draw(st.sampled_from([0, 1, 2, 3, OTHER, OTHER + 1]))
        {"p": self._publish, "t": self._take, "j": self._change, "l": self._part, "a": self._alarm, "s": self.stream}[
            self.draw(st.sampled_from("pppttttjlas"))
        ](client, value)

    def _alarm(self, client: str, value: int) -> None:
        self.story.alarm(client, self.draw(st.sampled_from(["p", "p#1", None])), start=self.now_ms)

    def stream(self, client: str, value: int) -> None:
        """Messages go on for a while, now and then one is not received, or the subscriber is told something."""
        publisher = self.draw(st.sampled_from(["p", "p#1"]))
        for _ in range(self.draw(st.integers(2, 15))):
            self.now_ms += self.draw(st.sampled_from([200] * 9 + [1500]))
            self.fresh += 1
            self.story.publish(self.fresh, start=self.now_ms, client=publisher)
            step = self.draw(st.sampled_from(["take"] * 8 + ["alarm", "miss"]))
            if step != "miss":
                self.story.take(client, self.fresh, start=self.now_ms + 20)
            if step != "take" or self.draw(st.booleans()):
                self.story.publish(OTHER + self.fresh, start=self.now_ms + 25, client="q")
                self.story.take(client, OTHER + self.fresh, start=self.now_ms + 28)
            if step == "alarm":
                self.story.alarm(client, self.draw(st.sampled_from(["p", "p#1", None])), start=self.now_ms + 30)
            self.story.ask(client, start=self.now_ms + 40, until=self.now_ms + 1500)

    def _publish(self, client: str, value: int) -> None:
        outcome = self.draw(st.sampled_from(["ok", "ok", "ok", "info", "fail"]))
        self.story.publish(value, start=self.now_ms, outcome=outcome)

    def _take(self, client: str, value: int) -> None:
        more = self.draw(st.lists(st.sampled_from([0, 1, 2, 3, OTHER, OTHER + 1]), max_size=2))
        payload = self.draw(st.sampled_from(["ok", "ok", "ok", "corrupt"]))
        self.story.take(client, value, *more, start=self.now_ms, payload=payload)

    def _part(self, client: str, value: int) -> None:
        lasts = self.draw(st.sampled_from([5, 300]))
        self.story.part(client, "p", start=max(self.now_ms - lasts, 0), lasts=lasts)

    def _change(self, client: str, value: int) -> None:
        if client in self.there:
            self.there.discard(client)
            self.story.leave(client, start=self.now_ms)
        else:
            self.there.add(client)
            self.story.join(client, start=self.now_ms)


@st.composite
def stories(draw: st.DrawFn) -> Feed:
    maker = _Maker(draw)
    for _ in range(draw(st.integers(1, 25))):
        maker.step()
    return maker.story


@st.composite
def streams(draw: st.DrawFn) -> Feed:
    """Stories of one subscriber that is there all the time, and told something of publishers that are started again."""
    maker = _Maker(draw)
    maker.story.join("c", start=0)
    for _ in range(draw(st.integers(1, 3))):
        maker.stream("c", 0)
    maker.story.leave("c", start=maker.now_ms + draw(st.sampled_from([100, 1500, 4000])))
    return maker.story


@given(st.one_of(stories(), streams()))
def test_it_agrees_with_the_definitions(story: Feed) -> None:
    parts = {f"{part.setting.topic}/{part.setting.partition}": part for part in story.parts()}
    rows = PubSubChecker().check(parts[F]).to_pylist() if F in parts else []
    keys = {(row["anomaly"], row["value"], row["op"]) for row in rows if row["anomaly"] in JUDGED}
    for name, _, _ in keys:
        event(name)

    assert keys == findings(story) | findings_of_stays(story)
    assert all(row["at_ns"] < 10**6 * MS for row in rows)
