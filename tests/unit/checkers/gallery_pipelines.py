"""The gallery's histories of applications under test."""

from __future__ import annotations

from gallery_log import shows
from pipeline_story import IN, OUT_2, Pipeline, pipeline
from queued_story import Queued, queued

from chaoskit.model.observations.pipeline import UNIDENTIFIED


@shows("unprocessed")
def unprocessed(broken: bool) -> Pipeline:
    story = pipeline()
    story.feed(range(3))
    story.write((0, 0), (1, 1), *([] if broken else [(2, 2)]))
    story.commit(3)
    return story


@shows("half-processed")
def half_processed(broken: bool) -> Pipeline:
    story = pipeline(sinks=("out/0", OUT_2))
    story.feed(range(2))
    story.write((0, 0), (1, 1))
    story.write((0, 0), *([] if broken else [(1, 1)]), place=OUT_2)
    story.commit(2)
    return story


@shows("not-drained")
def not_drained(broken: bool) -> Pipeline:
    story = pipeline()
    story.feed(range(2))
    story.write((0, 0), *([] if broken else [(1, 1)]))
    story.commit(1)
    return story


@shows("processed-twice")
def processed_twice(broken: bool) -> Pipeline:
    story = pipeline(outputs=(1, 1 if broken else 2))
    story.feed(range(2))
    story.write((0, 0), (1, 1), (1, 2))
    story.commit(2)
    return story


@shows("out-of-order")
def out_of_order(broken: bool) -> Pipeline:
    story = pipeline(ordered=True)
    story.feed((0, 1), key="k")
    story.write(*([(1, 0), (0, 1)] if broken else [(0, 0), (1, 1), (0, 2)]))
    story.commit(2)
    return story


@shows("unattributed")
def unattributed(broken: bool) -> Pipeline:
    story = pipeline()
    story.feed(range(2))
    story.write((UNIDENTIFIED, 0), (UNIDENTIFIED if broken else 1, 1))
    story.commit(2)
    return story


@shows("made-up")
def made_up(broken: bool) -> Pipeline:
    story = pipeline()
    story.feed(range(2), kept=False)
    story.feed([2])
    story.write((0, 0), (1, 1), (7 if broken else 2, 2))
    story.commit(3)
    return story


@shows("too-late")
def too_late(broken: bool) -> Pipeline:
    story = pipeline(within=1_000_000_000)
    story.feed([0], place=IN)
    story.write((0, 0), start=1100 if broken else 900)
    story.commit(1)
    return story


@shows("ambiguous-output")
def ambiguous_output(broken: bool) -> Queued:
    story = queued()
    story.feed([0])
    story.given(0)
    for _ in range(2 if broken else 1):
        story.published(0)
    story.published(0, confirmed=True)
    story.settled("ack", 0)
    story.write(0)
    story.write(0, before=1)
    return story


@shows("unconfirmed-output")
def unconfirmed_output(broken: bool) -> Queued:
    story = queued()
    story.feed([0])
    story.given(0)
    story.published(0)
    if not broken:
        story.published(0, confirmed=True)
    story.write(0)
    story.settled("ack", 0)
    return story


@shows("input-dead-lettered")
def input_dead_lettered(broken: bool) -> Queued:
    story = queued()
    story.feed([0])
    story.given(0)
    story.settled("reject", 0)
    if broken:
        story.dead(0)
    return story


def unseen(broken: bool) -> Queued:
    """What the broker confirmed to the application, and nobody received; of a log, `unseen` is shown elsewhere."""
    story = queued()
    story.feed([0])
    story.given(0)
    story.published(0)
    story.published(0, confirmed=True)
    story.settled("ack", 0)
    if not broken:
        story.write(0)
    return story
