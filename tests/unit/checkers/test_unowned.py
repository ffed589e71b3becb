"""Times without an owner, beside their definition: at each millisecond, does any member work on the partition?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from story import Row, Story, assigned, received, sent

from chaoskit.contract.checkers.checker import FaultWindow
from checkers.subscription.unowned import LEAST_NS

P = "t/0"
MS = 1_000_000
LEAST_MS = LEAST_NS // MS


def story_of(*faults: FaultWindow, end_ms: int | None = 1000) -> Story:
    story = Story(unit_ns=MS, faults=faults, load_end_ns=None if end_ms is None else end_ms * MS)
    story.op("p", "send", sent(P, 0, 0))
    return story


def fault(client: str, from_ms: int, until_ms: int | None) -> FaultWindow:
    """A fault of a client; it is proved to be healed 15 ms after its undoing began."""
    healed_ns = None if until_ms is None else until_ms * MS
    undone_ns = None if until_ms is None else (until_ms - 15) * MS
    times = from_ms * MS, from_ms * MS, healed_ns
    return FaultWindow(0, "client-pause", *times, (client,), on_hosts=False, undone_ns=undone_ns, holds=True)


def gaps(story: Story) -> list[tuple[int, int, str]]:
    """Return from when to when nobody owned the partition, ms, and in which words."""
    return [(row["since_ns"] // MS, row["at_ns"] // MS, row["detail"]) for row in unowned(story)]


def unowned(story: Story) -> list[Row]:
    return [row for row in story.check() if row["anomaly"] == "unowned"]


def test_a_member_that_leaves() -> None:
    story = story_of()
    first = story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("a", "close", start=300)
    second = story.op("b", "assign", assigned(P, generation=2), start=400, lasts=20)
    story.op("b", "close", start=1100)

    assert unowned(story) == [
        {"anomaly": "unowned", "topic": "t", "partition": 0, "op": second, "other_op": first}
        | {"since_ns": 300 * MS, "at_ns": 420 * MS, "detail": "its owner gave it up, until it was owned again"}
    ]


def test_a_member_that_ends_without_a_word() -> None:
    story = story_of(fault("a", 350, 600))
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("a", "poll", start=300)
    story.op("b", "assign", assigned(P, generation=2), start=500)
    story.op("b", "close", start=1100)

    assert gaps(story) == [(350, 505, "its owner ended, until it was owned again")]


def test_a_member_that_works_until_it_is_killed_did_not_live_until_its_next_incarnation_is() -> None:
    story = story_of(fault("a", 350, 600), fault("a", 800, 900))
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("a", "poll", received(P, 0, 0), start=350, lasts=10)
    story.op("b", "assign", assigned(P, generation=2), start=500)
    story.op("b", "close", start=1100)

    assert gaps(story) == [(360, 505, "its owner ended, until it was owned again")]


def test_a_member_that_stands_still() -> None:
    story = story_of(fault("a", 200, 450))
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("a", "close", start=1100)

    assert gaps(story) == [(200, 450, "its owner stood still, until it was owned again")]
    assert "op" not in unowned(story)[0], "nobody else was given it"


def test_who_stands_still_is_replaced() -> None:
    story = story_of(fault("a", 200, 800))
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("b", "assign", assigned(P, generation=2), start=500)
    story.op("a", "revoke", start=820)
    story.op("b", "close", start=1100)

    assert gaps(story) == [(200, 505, "its owner stood still, until it was owned again")]


def test_who_wakes_gives_up_at_once() -> None:
    story = story_of(fault("a", 200, 800))
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("b", "assign", assigned(P, generation=2), start=500)
    story.op("a", "revoke", start=790)
    story.op("b", "close", start=1100)

    assert gaps(story) == [(200, 505, "its owner stood still, until it was owned again")]


def test_who_is_told_to_leave_owns_until_it_has_left() -> None:
    story = story_of(fault("a", 200, 800))
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("a", "close", start=290)
    story.op("b", "assign", assigned(P, generation=2), start=500)
    story.op("b", "close", start=1100)

    assert gaps(story) == [(290, 505, "its owner gave it up, until it was owned again")]


def test_who_owns_it_after_the_load_ended_no_gap() -> None:
    story = story_of()
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("a", "close", start=700)
    story.op("b", "assign", assigned(P, generation=2), start=1500)
    story.op("b", "close", start=1900)

    assert gaps(story) == [(700, 1000, "its owner gave it up, until the end of the load")]
    assert "op" not in unowned(story)[0]


def test_a_process_that_its_host_took_along_did_not_live_until_a_later_fault() -> None:
    story = story_of(fault("a", 700, 800))
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("a", "poll", received(P, 0, 0), start=200)
    story.op("a#1", "subscribe", start=300)
    story.op("b", "assign", assigned(P, generation=2), start=400)
    story.op("b", "close", start=1100)

    assert gaps(story) == [(205, 405, "its owner ended, until it was owned again")]


def test_who_is_assigned_it_just_before_it_hangs_stands_still() -> None:
    hangs = replace(fault("a", 200, 800), effective_ns=350 * MS)
    story = story_of(hangs)
    story.op("a", "assign", assigned(P, generation=1), start=300)
    story.op("a", "close", start=1100)

    assert gaps(story) == [(305, 800, "its owner stood still, until it was owned again")]


@pytest.mark.parametrize("change", [{"holds": False}, {"effective_ns": None}], ids=["a reset", "without effect"])
def test_a_fault_that_holds_nobody_changes_nothing(change: dict[str, Any]) -> None:
    story = story_of(replace(fault("a", 200, 800), **change))
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("a", "close", start=1100)

    assert gaps(story) == []


def test_nobody_until_the_end_of_the_load() -> None:
    story = story_of()
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("a", "close", start=700)

    assert gaps(story) == [(700, 1000, "its owner gave it up, until the end of the load")]


def test_an_owner_that_reports_its_partitions_anew_has_them_all_the_time() -> None:
    story = story_of()
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("a", "assign", assigned(P, generation=2), start=300, lasts=200)
    story.op("a", "close", start=1100)

    assert gaps(story) == []


def test_before_the_first_assignment_and_after_the_load_nothing_counts() -> None:
    story = story_of(end_ms=500)
    story.op("a", "assign", assigned(P, generation=1), start=400)
    story.op("a", "close", start=600)
    story.op("b", "assign", assigned(P, generation=2), start=900)

    assert gaps(story) == []


def test_without_an_end_of_the_load_only_what_ended_counts() -> None:
    story = story_of(end_ms=None)
    story.op("a", "assign", assigned(P, generation=1), start=100)
    story.op("a", "close", start=200)
    story.op("b", "assign", assigned(P, generation=2), start=300)
    story.op("b", "close", start=400)

    assert gaps(story) == [(200, 305, "its owner gave it up, until it was owned again")]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Two members, each of which is assigned the partition, gives it up, ends, or is held by a fault."""
    held = [
        fault(client, from_ms, draw(st.sampled_from([None, from_ms + 60, from_ms + 200])))
        for client in ("a", "b")
        for from_ms in draw(st.sets(st.sampled_from([105, 305, 505, 705]), max_size=2))
    ]
    story = story_of(*held, end_ms=draw(st.sampled_from([600, 900])))
    for at_ms in sorted(draw(st.sets(st.integers(1, 24), max_size=8))):
        client = draw(st.sampled_from(["a", "b", "a#1"]))
        f = draw(st.sampled_from(["assign", "assign", "revoke", "poll"]))
        rows = [received(P, 0, 0)] if f == "poll" else []
        if f == "assign":
            rows = [assigned(P, generation=draw(st.integers(0, 3)))]
        story.op(client, f, *rows, start=40 * at_ms, lasts=draw(st.sampled_from([1, 5, 30])))
    return story


def works_at(story: Story, at_ms: int) -> bool:
    """Say whether a member works on the partition at a time: from the end of an assign until its next move, or, if
    there is none, until it ended; and not in a fault of its client that it outlasted."""
    return any(_holds(story, row, at_ms) for row in story.operations if row["f"] == "assign")


def _holds(story: Story, assign: Row, at_ms: int) -> bool:
    own = [row for row in story.operations if row["process"] == assign["process"]]
    after = [row for row in own if row["start_ns"] > assign["start_ns"] and row["f"] in ("assign", "revoke", "close")]
    client = assign["client"].partition("#")[0]
    faults = [fault for fault in story.faults if client in fault.targets]
    if after:
        following = after[0]
        again = following["f"] == "assign"
        until_ns = following["end_ns"] if again else following["start_ns"]
        recorded_ns = following["start_ns"]
    else:
        last_ns = max(row["end_ns"] for row in own)
        same = [row for row in story.operations if row["client"].partition("#")[0] == client]
        began = {row["process"]: row["start_ns"] for row in reversed(same)}
        next_ns = min([ns for ns in began.values() if ns > began[assign["process"]]] or [10**18])
        late = [fault for fault in faults if fault.healed_ns is None or last_ns <= fault.healed_ns]
        begun = [fault.start_ns for fault in late if fault.start_ns < next_ns]
        until_ns = recorded_ns = max(last_ns, min(begun)) if begun else last_ns
    if not assign["end_ns"] <= at_ms * MS < until_ns:
        return False
    return not any(
        fault.start_ns <= at_ms * MS and (fault.healed_ns is None or at_ms * MS < fault.healed_ns)
        for fault in faults
        if assign["end_ns"] <= fault.start_ns < recorded_ns
        and fault.undone_ns is not None
        and fault.undone_ns <= recorded_ns
    )


def defined(story: Story) -> list[tuple[int, int]]:
    """Return the times without an owner, at least `LEAST_MS` long, ms by ms."""
    assigns = [row["end_ns"] // MS for row in story.operations if row["f"] == "assign"]
    if not assigns:
        return []
    assert story.load_end_ns is not None
    end_ms = story.load_end_ns // MS
    times: list[list[int]] = []
    for at_ms in range(min(assigns), end_ms):
        if works_at(story, at_ms):
            continue
        if times and times[-1][1] == at_ms:
            times[-1][1] += 1
        else:
            times.append([at_ms, at_ms + 1])
    return [(from_ms, until_ms) for from_ms, until_ms in times if until_ms - from_ms >= LEAST_MS]


@given(stories())
def test_times_are_those_of_the_definition(story: Story) -> None:
    expected = defined(story)
    event(f"{len(expected)} times")

    assert sorted((from_ms, until_ms) for from_ms, until_ms, _ in gaps(story)) == expected
