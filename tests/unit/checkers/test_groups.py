from __future__ import annotations

import pytest
from story import Row, Story, assigned, committed, received, sent

from chaoskit.contract.checkers.checker import FaultWindow

P = "t/0"


def filled(count: int = 4, **more: object) -> Story:
    """A log with some messages, acknowledged and later read by somebody outside of the group."""
    story = Story(**more)  # type: ignore[arg-type]
    for index in range(count):
        story.op("p", "send", sent(P, index, index))
    return story


def outsider(story: Story, count: int = 4) -> None:
    story.op("auditor", "poll", *(received(P, index, index) for index in range(count)))


def test_commit_regression() -> None:
    story = filled()
    story.op("a", "assign", assigned(P, generation=1))
    story.op("a", "poll", *(received(P, index, index) for index in range(4)))
    high = story.op("a", "commit", committed(P, 4))
    low = story.op("a", "commit", committed(P, 2))

    assert story.check() == [
        {"anomaly": "commit-regression", "topic": "t", "partition": 0, "position": 2, "op": low}
        | {"other_position": 4, "other_op": high, "at_ns": 10 * low, "since_ns": 10 * high}
    ]


@pytest.mark.parametrize("between", ["seek", "another group", "failed", "concurrent"])
def test_committing_a_lower_position_for_a_reason(between: str) -> None:
    story = filled()
    story.op("a", "assign", assigned(P, generation=1))
    story.op("a", "poll", *(received(P, index, index) for index in range(4)))
    story.op("a", "commit", committed(P, 4), lasts=50 if between == "concurrent" else 5)
    if between == "seek":
        story.op("a", "seek")
    group = "h" if between == "another group" else "g"
    story.op("a", "commit", committed(P, 2, group), outcome="fail" if between == "failed" else "ok")

    assert story.only("commit-regression") == []


def test_commit_beyond_what_the_group_received() -> None:
    story = filled()
    story.op("a", "assign", assigned(P, generation=1))
    story.op("a", "poll", received(P, 0, 0), received(P, 1, 1))
    commit = story.op("a", "commit", committed(P, 4))
    outsider(story)

    assert story.check() == [
        {"anomaly": "commit-beyond", "topic": "t", "partition": 0, "position": 4, "op": commit}
        | {"other_value": 2, "other_position": 2, "at_ns": 10 * commit}
    ]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_committing_what_was_received_or_less(position: int) -> None:
    story = filled()
    story.op("a", "assign", assigned(P, generation=1))
    story.op("a", "poll", received(P, 0, 0), received(P, 1, 1))
    story.op("a", "commit", committed(P, position))
    outsider(story)

    assert story.names() == set()


def test_committing_what_another_member_had_received() -> None:
    story = filled()
    story.op("a", "assign", assigned(P, generation=1))
    story.op("a", "poll", received(P, 0, 0), received(P, 1, 1))
    story.op("a", "revoke")
    story.op("b", "assign", assigned(P, generation=2))
    story.op("b", "poll", received(P, 2, 2))
    story.op("b", "commit", committed(P, 3))
    outsider(story)

    assert story.names() == set()


def test_reprocessed_by_who_takes_over() -> None:
    story = filled(3)
    story.op("a", "assign", assigned(P, generation=1))
    before = story.op("a", "poll", received(P, 0, 0), received(P, 1, 1))
    story.op("a", "revoke")
    story.op("b", "assign", assigned(P, generation=2))
    after = story.op("b", "poll", received(P, 1, 1), received(P, 2, 2))

    assert story.check() == [
        {"anomaly": "reprocessed", "topic": "t", "partition": 0, "value": 1, "position": 1, "op": after}
        | {"other_value": 1, "other_op": before, "at_ns": 10 * after + 5}
    ]


@pytest.mark.parametrize("who", ["the same member", "another group", "no member", "another message"])
def test_receiving_what_no_other_member_had_received(who: str) -> None:
    story = filled()
    story.op("a", "assign", assigned(P, generation=1))
    story.op("a", "poll", received(P, 0, 0), received(P, 1, 1))
    again = "a" if who == "the same member" else "b"
    if who != "no member":
        story.op(again, "assign", assigned(P, "h" if who == "another group" else "g", generation=2))
    story.op(again, "poll", received(P, 2 if who == "another message" else 1, 1))

    assert story.only("reprocessed") == []


def test_a_message_that_goes_from_member_to_member_is_reprocessed_each_time() -> None:
    story = filled()
    for generation, client in enumerate("aba"):
        story.op(client, "assign", assigned(P, generation=generation))
        story.op(client, "poll", received(P, 0, 0))

    assert len(story.only("reprocessed")) == 2


def test_double_assignment() -> None:
    story = filled()
    first = story.op("a", "assign", assigned(P, generation=3))
    second = story.op("b", "assign", assigned(P, generation=3))
    story.op("a", "close")
    story.op("b", "close")

    assert story.only("double-assignment") == [
        {"anomaly": "double-assignment", "topic": "t", "partition": 0, "op": second}
        | {"other_op": first, "at_ns": 10 * second + 5}
    ]


@pytest.mark.parametrize(
    ("generation", "handover", "place"), [(4, None, P), (3, "revoke", P), (3, None, "t/1"), (None, None, P)]
)
def test_assignments_that_do_not_clash(generation: int | None, handover: str | None, place: str) -> None:
    story = filled()
    story.op("a", "assign", assigned(P, generation=generation and 3))
    if handover:
        story.op("a", handover)
    story.op("b", "assign", assigned(place, generation=generation))
    story.op("a", "close")
    story.op("b", "close")

    assert story.only("double-assignment") == []


def stuck(story: Story, *, until: int = 1000) -> list[Row]:
    story.op("a", "assign", assigned(P, generation=1), start=50)
    story.op("a", "poll", received(P, 0, 0), start=60)
    story.op("a", "close", start=until)
    outsider(story)
    return story.only("stuck-partition")


def test_stuck_partition() -> None:
    (finding,) = stuck(filled())

    assert (finding["value"], finding["position"], finding["op"], finding["other_op"]) == (1, 1, 4, 1)
    assert finding["at_ns"] == 65 + 100, "the bound after the last delivery"
    assert finding["detail"] == "its owner received nothing"


def hindered(reason: str) -> Story:
    """A log of which nobody need receive anything, for one of some reasons."""
    story = filled(count=1 if reason == "nothing waits" else 4)
    if reason == "fault not healed":
        story.faults = (FaultWindow(0, "kill", 0, 0, None),)
    if reason == "healed late":
        story.faults = (FaultWindow(0, "kill", 0, 0, 950),)
    return story


@pytest.mark.parametrize("reason", ["nothing waits", "soon gone", "fault not healed", "healed late"])
def test_a_partition_that_is_not_stuck(reason: str) -> None:
    story = hindered(reason)

    assert stuck(story, until=150 if reason == "soon gone" else 1000) == []


def paused(story: Story, until: int | None) -> Story:
    """The only member pauses soon, and goes on, if it does."""
    story.op("a", "pause", start=70)
    if until is not None:
        story.op("a", "unpause", start=until)
    return story


@pytest.mark.parametrize("until", [930, None], ids=["until shortly before the end", "until the end"])
def test_a_partition_whose_owner_is_paused_is_not_stuck(until: int | None) -> None:
    assert stuck(paused(filled(), until)) == []


def test_a_partition_whose_owner_receives_nothing_after_a_pause_is_stuck() -> None:
    (finding,) = stuck(paused(filled(), 800))

    assert finding["at_ns"] == 805 + 100


def forsaken(story: Story, *, until: int = 1000, owned: bool = True) -> list[Row]:
    """Two members of a group; `a` received the first message, and after that neither owned the partition."""
    for client in ("a", "b"):
        story.op(client, "subscribe", start=45)
    story.op("a", "assign", *([assigned(P, generation=1)] if owned else []), start=50)
    story.op("a", "poll", received(P, 0, 0), start=60)
    story.op("a", "revoke", start=70)
    for client in ("a", "b"):
        story.op(client, "close", start=until)
    outsider(story)
    return story.only("stuck-partition")


def test_a_partition_without_an_owner_is_stuck() -> None:
    (finding,) = forsaken(filled())

    assert (finding["value"], finding["position"], finding["other_op"]) == (1, 1, 1)
    assert finding["at_ns"] == 65 + 100, "the bound after the last delivery to the group"
    assert finding["detail"] == "no member received anything"


@pytest.mark.parametrize(
    "reason", ["nothing waits", "soon gone", "fault not healed", "healed late", "never left", "never owned"]
)
def test_a_partition_without_an_owner_that_is_not_stuck(reason: str) -> None:
    story = hindered(reason)
    if reason == "never left":
        story.op("a", "subscribe", start=45)
        story.op("a", "poll", received(P, 0, 0), start=60)
        outsider(story)
        assert story.only("stuck-partition") == []
        return

    owned = reason != "never owned"  # it may have subscribed to other topics
    assert forsaken(story, until=150 if reason == "soon gone" else 1000, owned=owned) == []


@pytest.mark.parametrize(("until", "count"), [(930, 0), (None, 0), (800, 1)])
def test_a_group_that_is_paused_is_judged_from_when_it_goes_on(until: int | None, count: int) -> None:
    assert len(forsaken(paused(filled(), until))) == count


def test_what_only_plain_consumers_did_is_not_judged() -> None:
    story = filled()
    story.op("a", "assign")
    outsider(story)

    assert story.names() == set()
