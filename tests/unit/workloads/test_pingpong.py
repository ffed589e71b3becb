"""Clients of the ping-pong workload: a send is acknowledged by its answer, and given up without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from loads import RUN, Load, Powers, rows_of
from pydantic import ValidationError

from chaoskit.contract.workloads.datamodel import PUBSUB
from chaoskit.contract.workloads.workload import CONSUMER, PRODUCER, Task
from chaoskit.history.format.models import write_topics
from chaoskit.model import payload
from chaoskit.model.message import NO_POSITION, Delivery
from chaoskit.model.observations.feed import Promise
from chaoskit.model.outcome import FAIL, OK, Outcome
from workloads.feed import pingpong
from workloads.feed.firehose import FirehoseOptions
from workloads.feed.pingpong import PingPongOptions, PingPongWorkload

OPTIONS = PingPongOptions()


class Wire(Powers):
    """Everything that is published comes back under another name, if the other side is there."""

    def __init__(self, *arriving: bytes, back: bool = True, accepted: Outcome = OK) -> None:
        self.back, self.accepted = back, accepted
        self.arriving = [("ping", content) for content in arriving]
        self.published: list[tuple[str, bytes]] = []
        self.seen: list[tuple[str, int]] = []

    def promise(self, publishing: Any, subscribing: Any) -> Promise:
        return Promise("at-least-once", lasting=False)

    def feed_publisher(self, settings: Any, name: str, topics: Any, completed: Any) -> Any:
        return _Publisher(self, completed)

    def feed_subscriber(self, settings: Any, name: str, topics: Any) -> Any:
        return _Subscriber(self)


class _Publisher:
    def __init__(self, wire: Wire, completed: Any) -> None:
        self.wire, self.completed = wire, completed

    def send(self, topic: str, partition: int, key: Any, content: bytes, token: int) -> bool:
        self.wire.published.append((topic, content))
        self.completed(token, self.wire.accepted, None if self.wire.accepted == OK else "refused", None)
        if self.wire.back and topic == "ping":
            self.wire.arriving.append(("pong", content))
        return True

    def poll(self, timeout_s: float) -> None: ...
    def close(self, timeout_s: float) -> None: ...


class _Subscriber:
    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def poll(self, timeout_s: float, messages_max: int) -> tuple[list[Delivery], str | None]:
        deliveries, self.wire.arriving = self.wire.arriving, []
        return [Delivery(topic, 0, None, content, NO_POSITION, 0) for topic, content in deliveries], None

    def changes(self) -> list[Any]:
        return []

    def close(self) -> None: ...


def _load(folder: Path, wire: Wire) -> Load:
    load = Load(folder, PingPongWorkload(), wire)
    write_topics(folder / "wal", {"ping": PUBSUB.name})
    return load


def _sends(load: Load) -> list[tuple[str, str | None]]:
    rows = load.history().operations.to_pylist()
    return [(row["outcome"], row["error"]) for row in rows if row["f"] == "send"]


def test_one_message_is_under_way_and_its_answer_acknowledges_it(tmp_path: Path) -> None:
    wire = Wire()
    load = _load(tmp_path, wire)
    load.work(Task(PRODUCER, 0), 6, OPTIONS)

    assert {topic for topic, _ in wire.published} == {"ping"}
    assert len(wire.published) >= 3
    assert set(_sends(load)) == {("ok", None)}


def test_the_systems_acknowledgement_is_no_answer(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(pingpong, "_ANSWERED_NS", 1_000_000)
    monkeypatch.setattr("chaoskit.load.sender.WARM_UP_TIMEOUT_S", 0.1)
    load = _load(tmp_path, Wire(back=False))
    load.work(Task(PRODUCER, 0), 6, OPTIONS)

    assert {outcome for outcome, _ in _sends(load)} == {"info"}


def test_what_the_system_refused_has_failed(tmp_path: Path) -> None:
    load = _load(tmp_path, Wire(back=False, accepted=FAIL))
    load.work(Task(PRODUCER, 0), 3, OPTIONS)

    assert set(_sends(load)) == {("fail", "refused")}


def test_the_other_side_sends_back_what_it_receives_and_records_it(tmp_path: Path) -> None:
    content = payload.Writer(RUN, 64).build(7, 1, 1)
    wire = Wire(content)
    load = _load(tmp_path, wire)
    load.work(Task(CONSUMER, 0), 2, OPTIONS)

    assert wire.published == [("pong", content)]
    messages, _ = rows_of(load.history(), "ping")
    assert [row["value"] for row in messages] == [7]


def test_its_clients_need_topics_in_which_nothing_is_judged() -> None:
    workload = PingPongWorkload()

    assert [topic.name for topic in workload.topics(OPTIONS, 1)] == ["ping"]
    assert [topic.name for topic in workload.side_topics(OPTIONS)] == ["roll-0", "pong"]


def test_there_is_one_message_under_way_whatever_is_asked() -> None:
    with pytest.raises(ValidationError, match="in_flight"):
        PingPongOptions(in_flight=2)  # type: ignore[arg-type]


def test_a_firehose_is_a_feed_at_the_maximum_rate() -> None:
    options = FirehoseOptions()

    assert (options.rate, options.message_size, options.in_flight) == ("max", 8192, 64)
    assert options.topic_names() == ["feed-0"]
