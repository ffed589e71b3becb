"""Keys that moved to another partition, beside their definition: was any message received before an earlier one?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from story import Row, Story, assigned, counted, received, sent

from chaoskit.model.message import PRODUCER_SHIFT

PLACES = ("t/0", "t/1", "t/2")
GROUPS = {"a": "g", "b": "g", "c": "h"}
OTHER = 1 << PRODUCER_SHIFT


def moved(*sends: tuple[str, int], learned: bool = True) -> Story:
    """One key, whose messages went to these places one after the other; a and b are of one group, c of another."""
    story = Story()
    if learned:
        story.op("p", "reroute", *(counted(place, len(PLACES)) for place in PLACES))
    for place, value in sends:
        story.op("p", "send", sent(place, value, value, key="k"))
    for client, group in GROUPS.items():
        story.op(client, "assign", *(assigned(place, group) for place in PLACES))
    return story


def overtaken(story: Story) -> list[Row]:
    return [row for row in story.check() if row["anomaly"] == "key-overtaken"]


def test_what_was_sent_later_is_received_first_from_another_partition() -> None:
    story = moved(("t/0", 0), ("t/0", 1), ("t/1", 2))
    newer = story.op("b", "poll", received("t/1", 2, 2))
    story.op("a", "poll", received("t/0", 0, 0))
    older = story.op("a", "poll", received("t/0", 1, 1))

    assert overtaken(story) == [
        {"anomaly": "key-overtaken", "topic": "t", "partition": 0, "value": 1, "position": 1, "op": older}
        | {"other_value": 2, "other_position": 2, "other_op": newer}
        | {"at_ns": 10 * older + 5, "since_ns": 10 * newer + 5}
    ]


def test_what_is_received_again_later_counts_by_its_first_receive() -> None:
    story = moved(("t/0", 0), ("t/1", 1))
    story.op("a", "poll", received("t/0", 0, 0))
    story.op("a", "poll", received("t/1", 1, 1))
    story.op("b", "poll", received("t/0", 0, 0))

    assert overtaken(story) == []


def test_each_group_has_an_order_of_its_own() -> None:
    story = moved(("t/0", 0), ("t/1", 1))
    story.op("a", "poll", received("t/0", 0, 0))
    story.op("c", "poll", received("t/1", 1, 1))
    story.op("a", "poll", received("t/1", 1, 1))
    story.op("c", "poll", received("t/0", 0, 0))

    (row,) = overtaken(story)
    assert story.operations[row["op"]]["client"] == "c"


def test_keys_and_producers_are_apart() -> None:
    story = moved(("t/0", 0))
    story.op("p", "send", sent("t/1", 1, 1, key="other"))
    story.op("q", "send", sent("t/1", OTHER | 2, 2, key="k"))
    story.op("p", "send", sent("t/1", 3, 3))
    for value in (1, OTHER | 2, 3):
        story.op("a", "poll", received("t/1", value, value & 3))
    story.op("a", "poll", received("t/0", 0, 0))

    assert overtaken(story) == []


@pytest.mark.parametrize("learned", [True, False])
def test_without_a_producer_that_chose_anew_nothing_is_looked_for(learned: bool) -> None:
    story = moved(("t/0", 0), ("t/1", 1), learned=learned)
    story.op("a", "poll", received("t/1", 1, 1))
    story.op("a", "poll", received("t/0", 0, 0))

    assert len(overtaken(story)) == learned


def test_a_producer_that_goes_back_and_forth_has_no_order_across_partitions() -> None:
    story = moved(("t/0", 0), ("t/1", 1), ("t/0", 2))
    story.op("a", "poll", received("t/1", 1, 1))
    story.op("a", "poll", received("t/0", 0, 0), received("t/0", 2, 2))

    assert overtaken(story) == []


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Keys of two producers that move once or twice, and members of two groups that receive in any order."""
    story = moved()
    messages = []
    for producer, key in product((0, OTHER), ("k", "l")):
        at = 0
        for number in range(draw(st.integers(0, 5))):
            at = min(at + draw(st.sampled_from([0, 0, 1])), len(PLACES) - 1)
            value = producer | (number << 1) | (key == "l")
            messages.append((PLACES[at], value))
            story.op("p" if not producer else "q", "send", sent(PLACES[at], value, value & 63, key=key))
    for place, value in draw(st.lists(st.sampled_from(messages), max_size=20)) if messages else ():
        story.op(draw(st.sampled_from(sorted(GROUPS))), "poll", received(place, value, value & 63))
    return story


def defined(story: Story) -> Iterator[tuple[Any, ...]]:
    """For each group, producer and key, and each partition: the first that was received there, if that was before any
    message of an earlier partition; and the one of those that was received last."""
    keys = {row["value"]: (row["value"] >> PRODUCER_SHIFT, row["key"]) for row in story.messages if "key" in row}
    for group, subject in product(sorted(set(GROUPS.values())), sorted(set(keys.values()))):
        first: dict[int, tuple[int, str]] = {}
        for row in story.messages:
            client = story.operations[row["op"]]["client"]
            if row["direction"] == "received" and GROUPS[client] == group and keys[row["value"]] == subject:
                first.setdefault(row["value"], (row["received_ns"], f"{row['topic']}/{row['partition']}"))
        for place in PLACES:
            own = [(at, value) for value, (at, where) in first.items() if where == place]
            before = [(at, value) for value, (at, where) in first.items() if where < place]
            if own and before and min(own) < max(before):
                yield min(own)[1], max(before)[1]


@given(stories())
def test_it_is_as_defined(story: Story) -> None:
    rows = overtaken(story)
    event(f"{min(len(rows), 3)} findings")

    assert sorted((row["other_value"], row["value"]) for row in rows) == sorted(defined(story))
