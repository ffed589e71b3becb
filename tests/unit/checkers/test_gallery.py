"""Every anomaly that an installed checker knows fires on its history, and not on the one beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from gallery import FEEDS, GALLERY, QUEUES
from gallery_table import table
from queue_story import Q, Queue
from story import Story, received

from chaoskit.contract.installed import checkers

EXAMPLES = Path(__file__).parent / "gallery.md"


NAMES = list(dict.fromkeys(anomaly.name for checker in checkers() for anomaly in checker.anomalies))
SHOWN = [
    *(pytest.param(name, GALLERY[name], id=name) for name in NAMES),
    *(pytest.param(name, make, id=f"queue-{name}") for name, make in QUEUES.items()),
    *(pytest.param(name, make, id=f"feed-{name}") for name, make in FEEDS.items()),
]


@pytest.mark.parametrize(("name", "make"), SHOWN)
def test_it_fires(name: str, make: Callable[[bool], Story]) -> None:
    assert name in make(True).names()


@pytest.mark.parametrize(("name", "make"), SHOWN)
def test_it_does_not_fire_beside(name: str, make: Callable[[bool], Story]) -> None:
    assert name not in make(False).names()


BESIDES = {"misrouted": {"lost"}}
"""What follows from an anomaly in its history: a message in the wrong queue is missing from its own."""


@pytest.mark.parametrize("name", QUEUES)
def test_a_queue_shows_nothing_else(name: str) -> None:
    assert QUEUES[name](True).names() == {name} | BESIDES.get(name, set())
    assert QUEUES[name](False).names() == set()


@pytest.mark.parametrize("name", FEEDS)
def test_a_feed_shows_nothing_else(name: str) -> None:
    assert FEEDS[name](True).names() == {name}
    assert FEEDS[name](False).names() == set()


def test_the_documented_examples_are_what_is_printed() -> None:
    assert table() in EXAMPLES.read_text(encoding="utf-8"), "run python tests/unit/checkers/gallery_table.py"


def test_a_queue_that_settles_what_it_delivers_and_marks_nothing_is_judged_by_what_arrives() -> None:
    story = Queue.of(3)
    story.op("c", "poll", received(Q, 1, None), start=100)
    story.op("c", "poll", received(Q, 0, None), received(Q, 0, None), start=200)

    assert story.names() == {"lost"}
