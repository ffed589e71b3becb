"""How long transactions stayed open, beside their definition."""

from __future__ import annotations

from typing import Any

from gallery_log import MS, blank
from gallery_transactions import still_open
from hypothesis import event, given
from hypothesis import strategies as st
from story import Story

from checkers.transaction.held_back import LEAST_NS

LEAST_MS = LEAST_NS // MS
Look = tuple[int, str, int, int]


def found(story: Story) -> set[tuple[Any, ...]]:
    """Return of each finding its words, the position, and from when to when, ms."""
    return {
        (row["detail"], row["position"], row["since_ns"] // MS, row["at_ns"] // MS) for row in story.only("held-back")
    }


def defined(looks: list[Look]) -> set[tuple[Any, ...]]:
    """A transaction is its first message, and when it was first seen; it was open until it was last seen, by the name
    that it had then."""
    result = set()
    for _, _, position, since in looks:
        own = [look for look in looks if look[2:] == (position, since)]
        until = max(look[0] for look in own)
        name = [look[1] for look in own if look[0] == until][-1]
        if until - since >= LEAST_MS:
            result.add((f"by a transaction of {name}", position, since, until))
    return result


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5).map(lambda second: second * 1000),
            st.sampled_from(["a", "b"]),
            st.integers(0, 2),
            st.sampled_from([0, 1000, 1001]),
        ).filter(lambda look: look[0] > look[3]),
        max_size=12,
    )
)
def test_findings_are_those_of_the_definition(looks: list[Look]) -> None:
    story = blank()
    for look in looks:
        still_open(story, *look)

    event(f"{len(defined(looks))} findings")
    assert found(story) == defined(looks)
