"""Findings of an application name the operation of the instance that is to blame, if the record proves one."""

from __future__ import annotations

import pytest
from pipeline_story import Pipeline, pipeline
from queued_story import Queued, queued
from story import Story


def fed(within: int | None = None, *, ordered: bool = False) -> Pipeline:
    """Four inputs, read by application-1, of which two have outputs."""
    story = pipeline(within=within, ordered=ordered)
    for instance in range(2):
        story.op(f"application-{instance}", "start", start=10 + instance, lasts=1)
    story.feed(range(4), key="k")
    story.owned(1, 20)
    story.write((0, 0), (1, 1), start=1000)
    return story


def given() -> Queued:
    """Two inputs of a queue, of which application-1 was given one."""
    story = queued()
    for instance in range(2):
        story.op(f"application-{instance}", "start", start=10 + instance, lasts=1)
    story.feed(range(2))
    story.given(0, 200)
    return story


def blamed(story: Story, anomaly: str) -> set[tuple[str, str] | None]:
    """Return the clients and kinds of the operations that findings name; None: they name none."""
    named = [row.get("other_ops") for row in story.only(anomaly)]
    assert named
    operations = [None if ops is None else story.operations[ops[0]] for ops in named]
    return {None if row is None else (row["client"], row["f"]) for row in operations}


def test_an_end_is_named() -> None:
    story = fed()
    story.commit(4, 8000)
    story.ends(1, 8050)

    assert blamed(story, "unprocessed") == {("application-1", "exit")}


def test_of_who_went_on_running_the_beginning_is_named() -> None:
    story = fed()
    story.commit(4, 8000)
    story.ends(1, 20_000)
    story.op("application-1", "start", start=21_000, lasts=1)

    assert blamed(story, "unprocessed") == {("application-1", "start")}
    assert story.only("unprocessed")[0]["other_ops"] == [
        next(row["op"] for row in story.operations if (row["client"], row["f"]) == ("application-1", "start"))
    ]


def test_at_a_rebalance_nobody_is_named() -> None:
    story = fed()
    story.commit(4, 8000)
    story.owned(0, 8500)

    assert blamed(story, "unprocessed") == {None}


def test_nobody_is_named_whose_beginning_was_not_seen() -> None:
    story = fed()
    story.operations = [row | {"f": "other"} if row["f"] == "start" else row for row in story.operations]
    story.commit(4, 8000)

    assert blamed(story, "unprocessed") == {None}


@pytest.mark.parametrize(("ended", "named"), [(True, "exit"), (False, "start")])
def test_who_repeats_is_named(ended: bool, named: str) -> None:
    story = fed()
    story.owned(1, 6000)
    story.write((2, 2), (3, 3), start=3000)
    if ended:
        story.ends(1, 4000)
    story.write((2, 4), (3, 5), start=6000)
    story.commit(4, 6500)

    assert blamed(story, "processed-twice") == {("application-1", named)}


def test_an_end_of_one_that_did_not_own_the_partition_names_nobody() -> None:
    story = fed()
    story.write((2, 2), (3, 3), start=3000)
    story.ends(0, 4000)
    story.write((2, 4), (3, 5), start=6000)
    story.commit(4, 6500)

    assert blamed(story, "processed-twice") == {None}


@pytest.mark.parametrize("moved", [True, False])
def test_who_owned_the_partition_all_the_time_is_too_late(moved: bool) -> None:
    story = fed(within=1_000_000_000)
    if moved:
        story.owned(0, 2000)
    story.write((2, 2), (3, 3), start=5000)

    assert blamed(story, "too-late") == {None if moved else ("application-1", "start")}


@pytest.mark.parametrize("moved", [True, False])
def test_who_owned_the_partition_disordered_it(moved: bool) -> None:
    story = fed(ordered=True)
    story.write((3, 2), start=3000)
    if moved:
        story.owned(0, 5500)
    story.write((2, 3), start=5000)

    assert blamed(story, "out-of-order") == {None if moved else ("application-1", "start")}


def test_an_output_of_no_input_names_nobody() -> None:
    story = fed()
    story.write((99, 2), start=2000)

    assert blamed(story, "made-up") == {None}


@pytest.mark.parametrize(("ended_ms", "named"), [(None, "start"), (400, "exit")])
def test_who_acknowledged_an_input_of_a_queue_is_named(ended_ms: int | None, named: str) -> None:
    story = given()
    story.settled("ack", 0, 300)
    if ended_ms is not None:
        story.ends(1, ended_ms)

    assert blamed(story, "unprocessed") == {("application-1", named)}


def test_who_did_not_settle_an_input_is_named_and_nobody_who_was_given_none() -> None:
    story = given()
    story.left(0, 1)
    named = {row["value"]: "other_ops" in row for row in story.only("not-drained")}

    assert list(named.values()) == [True, False]


def test_whose_end_made_a_queue_deliver_again_is_named() -> None:
    story = given()
    story.write(0, start=250)
    story.ends(1, 300)
    story.given(0, 500, instance=0, before=1)
    story.write(0, start=600, before=0)
    story.settled("ack", 0, 650, instance=0)

    assert blamed(story, "processed-twice") == {("application-1", "exit")}
